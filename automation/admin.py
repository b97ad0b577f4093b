"""Registers the pages of all slices with the console."""

from automation.agents.console import AgentAdmin, FleetWatchAdmin
from automation.desired_state.console import AutomationRevisionAdmin, ProcessStatusAdmin
from automation.hosts.console import DatabaseAdmin, HostAdmin
from automation.hosts.sets import ClusterAdmin, ReplicaSetAdmin
from automation.leases.console import HostLeaseAdmin, WatcherAdmin
from automation.reports.console import ReportAnswerAdmin

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
