"""Alert configurations, alerts, notifications, destinations and maintenance windows."""

from alerting.models.alerts import Alert
from alerting.models.configs import AlertConfig, NotificationSetting
from alerting.models.destinations import Destination, UnreachableHost
from alerting.models.notifications import Notification, NotificationAttempt
from alerting.models.windows import MaintenanceWindow
from alerting.models.workers import EvaluationTurn, WorkerHeartbeat

__all__ = [
    "Alert",
    "AlertConfig",
    "Destination",
    "EvaluationTurn",
    "MaintenanceWindow",
    "Notification",
    "NotificationAttempt",
    "NotificationSetting",
    "UnreachableHost",
    "WorkerHeartbeat",
]
