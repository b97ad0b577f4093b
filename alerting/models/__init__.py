"""Alert configurations, alerts, notifications, destinations and maintenance windows."""

from alerting.models.alerts import Alert
from alerting.models.configs import AlertConfig, NotificationSetting
from alerting.models.incidents import Incident
from alerting.models.notifications import (
    Destination,
    EvaluationTurn,
    Notification,
    NotificationAttempt,
    UnreachableHost,
    WorkerHeartbeat,
)
from alerting.models.setup import SetupMark
from alerting.models.usage import ProjectUsage
from alerting.models.windows import MaintenanceWindow

__all__ = [
    "Alert",
    "AlertConfig",
    "Destination",
    "EvaluationTurn",
    "Incident",
    "MaintenanceWindow",
    "Notification",
    "NotificationAttempt",
    "NotificationSetting",
    "ProjectUsage",
    "SetupMark",
    "UnreachableHost",
    "WorkerHeartbeat",
]
