"""The models of all slices, as Django and other apps import them."""

from automation.agent_settings.models import AgentSettings
from automation.agents.models import Agent, FleetWatch
from automation.desired_state.models import AutomationRevision, ProcessStatus
from automation.hosts.models import Cluster, Database, Host, LiveHostManager, ReplicaSet
from automation.leases.models import HostLease, Watcher
from automation.measurements.models import (
    Measurement,
    PackedReadings,
    PackedRollups,
    Packing,
    Reading,
    Rollup,
    Source,
)
from automation.observations.models import MemberObservation
from automation.reports.models import ReachedLimit, ReportAnswer, StoredDay
from automation.turns.models import FetchedConfig, PausedPlan, PlanTurn, WaitingMove

__all__ = [
    "Agent",
    "AgentSettings",
    "AutomationRevision",
    "Cluster",
    "Database",
    "FetchedConfig",
    "FleetWatch",
    "Host",
    "HostLease",
    "LiveHostManager",
    "Measurement",
    "MemberObservation",
    "PackedReadings",
    "PackedRollups",
    "Packing",
    "PausedPlan",
    "PlanTurn",
    "ProcessStatus",
    "ReachedLimit",
    "Reading",
    "ReplicaSet",
    "ReportAnswer",
    "Rollup",
    "Source",
    "StoredDay",
    "WaitingMove",
    "Watcher",
]
