"""Alerting in the console: alerts, notifications, maintenance windows and configurations."""

from alerting.admin.alerts import AlertAdmin
from alerting.admin.configs import AlertConfigAdmin, NotificationSettingAdmin
from alerting.admin.destinations import (
    DestinationAdmin,
    EvaluationTurnAdmin,
    UnreachableHostAdmin,
    WorkerHeartbeatAdmin,
)
from alerting.admin.notifications import NotificationAdmin, NotificationAttemptAdmin
from alerting.admin.windows import MaintenanceWindowAdmin

__all__ = [
    "AlertAdmin",
    "AlertConfigAdmin",
    "DestinationAdmin",
    "EvaluationTurnAdmin",
    "MaintenanceWindowAdmin",
    "NotificationAdmin",
    "NotificationAttemptAdmin",
    "NotificationSettingAdmin",
    "UnreachableHostAdmin",
    "WorkerHeartbeatAdmin",
]
