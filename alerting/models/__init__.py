"""Alert configurations, alerts, who was told of them, and when nobody is to be."""

from alerting.models.alerts import Alert
from alerting.models.configs import AlertConfig, NotificationSetting
from alerting.models.notifications import Notification, NotificationAttempt
from alerting.models.receivers import FailingReceiver
from alerting.models.windows import MaintenanceWindow
from alerting.models.workers import WorkerHeartbeat

__all__ = [
    "Alert",
    "AlertConfig",
    "FailingReceiver",
    "MaintenanceWindow",
    "Notification",
    "NotificationAttempt",
    "NotificationSetting",
    "WorkerHeartbeat",
]
