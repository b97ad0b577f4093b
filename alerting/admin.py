"""Registers the pages of all slices with the console."""

from alerting.configs.console import AlertConfigAdmin, NotificationSettingAdmin
from alerting.destinations.console import DestinationAdmin, UnreachableHostAdmin
from alerting.engine.console import (
    EvaluationTurnAdmin,
    NotificationAdmin,
    NotificationAttemptAdmin,
    WorkerHeartbeatAdmin,
)
from alerting.incidents.console import AlertAdmin
from alerting.windows.console import MaintenanceWindowAdmin

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
