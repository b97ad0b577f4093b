"""The fleet in the console: what agents report, and the actions on it."""

from automation.admin.agents import AgentAdmin, FleetWatchAdmin, ReportAnswerAdmin
from automation.admin.hosts import DatabaseAdmin, HostAdmin
from automation.admin.leases import HostLeaseAdmin, WatcherAdmin
from automation.admin.revisions import AutomationRevisionAdmin, ProcessStatusAdmin
from automation.admin.sets import ClusterAdmin, ReplicaSetAdmin

__all__ = [
    "AgentAdmin",
    "AutomationRevisionAdmin",
    "ClusterAdmin",
    "DatabaseAdmin",
    "FleetWatchAdmin",
    "HostAdmin",
    "HostLeaseAdmin",
    "ProcessStatusAdmin",
    "ReplicaSetAdmin",
    "ReportAnswerAdmin",
    "WatcherAdmin",
]
