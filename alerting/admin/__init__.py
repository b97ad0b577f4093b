"""Alerting in the console: what is wrong, who was told, and the silence."""

from alerting.admin.alerts import AlertAdmin
from alerting.admin.configs import AlertConfigAdmin, NotificationSettingAdmin
from alerting.admin.notifications import NotificationAdmin, NotificationAttemptAdmin
from alerting.admin.windows import MaintenanceWindowAdmin
from alerting.admin.workers import FailingReceiverAdmin, WorkerHeartbeatAdmin

__all__ = [
    "AlertAdmin",
    "AlertConfigAdmin",
    "FailingReceiverAdmin",
    "MaintenanceWindowAdmin",
    "NotificationAdmin",
    "NotificationAttemptAdmin",
    "NotificationSettingAdmin",
    "WorkerHeartbeatAdmin",
]
