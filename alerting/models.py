"""The models of all slices, as Django and other apps import them."""

from alerting.configs.models import AlertConfig, NotificationSetting, SetupMark
from alerting.destinations.models import Destination, UnreachableHost
from alerting.engine.models import (
    EvaluationTurn,
    Notification,
    NotificationAttempt,
    ProjectUsage,
    WorkerHeartbeat,
)
from alerting.incidents.models import Alert, Incident
from alerting.windows.models import MaintenanceWindow

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
