"""What went wrong with hosts in the course of the day, and what agents saw of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from alerting.demo.tables.fleet import NEWER_VERSION
from automation.choices import HostType
from automation.metrics import Metric
from events.types import EventType

_NEVER = -1
"""An end that has not come."""


@dataclass(frozen=True, slots=True)
class Phase:
    """From `begin` to `end` minutes ago a host, named without its domain, is otherwise than usual."""

    host: str
    begin: int
    end: int = _NEVER
    reachable: bool = True
    type_name: HostType | None = None
    version: str | None = None


PHASES = (
    # A shard loses its primary, is without one for ten minutes, and gets the old one back in the morning.
    Phase("pay-s1-a", 1200, 1140, reachable=False, type_name=HostType.SHARD_SECONDARY),
    Phase("pay-s1-a", 1140, 900, type_name=HostType.SHARD_SECONDARY),
    Phase("pay-s1-b", 1190, 900, type_name=HostType.SHARD_PRIMARY),
    # One after the other is brought to the newer version.
    Phase("cat-s0-c", 330, 320, reachable=False),
    Phase("cat-s0-c", 320, version=NEWER_VERSION),
    Phase("cat-s0-b", 310, 300, reachable=False),
    Phase("cat-s0-b", 300, version=NEWER_VERSION),
    Phase("rec-c", 60, 50, type_name=HostType.RECOVERING),
    Phase("rec-c", 50, version=NEWER_VERSION),
    # A router that was gone for a while.
    Phase("cat-router-2", 700, 655, reachable=False),
    # Down still: a disk that is being replaced, and a host that is being moved.
    Phase("track-eu-c", 75, reachable=False),
    Phase("routes-b", 45, reachable=False),
    Phase("sessions-b", 10, reachable=False),
)


@dataclass(frozen=True, slots=True)
class Surge:
    """A metric climbs to `peak`, in its base unit, and stays there until `end`."""

    host: str
    metric: Metric
    begin: int
    peak: float
    end: int = _NEVER


_GB = 2**30
SURGES = (
    Surge("pay-s0-a", Metric.CONNECTIONS, 95, 1180),
    Surge("pay-s1-b", Metric.CONNECTIONS, 1185, 1050, 1010),
    Surge("accounts-a", Metric.CACHE_USED_BYTES, 560, 13.1 * _GB, 370),
    Surge("track-eu-a", Metric.OP_EXECUTION_TIME_READS, 75, 88),
    Surge("cat-s1-a", Metric.CURSORS_TOTAL_OPEN, 480, 910, 250),
    Surge("rec-b", Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 25, 140),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """An event the monitoring agent of a project reported; `host` is named without its domain."""

    ago: int
    group: str
    event_type: EventType
    host: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


_EU: Mapping[str, Any] = {"replica_set_name": "track-eu"}
_QUERY: Mapping[str, Any] = {"database": "titles", "collection": "films", "op_type": "QUERY"}
_UPDATE: Mapping[str, Any] = {"database": "titles", "collection": "films", "op_type": "UPDATE"}

SEEN = (
    Seen(1300, "parcel-tracking", EventType.SNAPSHOT_EXPIRY_UPDATED_AUDIT, facts=_EU),
    Seen(1190, "payments", EventType.PRIMARY_ELECTED, facts={"replica_set_name": "pay-s1"}),
    Seen(1080, "catalogue", EventType.SHARD_ADDED, facts={"cluster_name": "cat", "shard_name": "s1"}),
    Seen(840, "parcel-tracking", EventType.OPLOG_BEHIND, facts=_EU),
    Seen(780, "parcel-tracking", EventType.OPLOG_CURRENT, facts=_EU),
    Seen(700, "catalogue", EventType.CLUSTER_MONGOS_IS_MISSING, facts={"cluster_name": "cat"}),
    Seen(655, "catalogue", EventType.CLUSTER_MONGOS_IS_PRESENT, facts={"cluster_name": "cat"}),
    Seen(610, "customer-accounts", EventType.BI_CONNECTOR_DOWN, "accounts-reporting"),
    Seen(570, "customer-accounts", EventType.BI_CONNECTOR_UP, "accounts-reporting"),
    Seen(520, "catalogue", EventType.DATA_EXPLORER, "cat-s0-a", _QUERY),
    Seen(515, "catalogue", EventType.DATA_EXPLORER_CRUD, "cat-s0-a", _UPDATE),
    Seen(430, "payments", EventType.RESTORE_REQUESTED_AUDIT, facts={"replica_set_name": "pay-s0"}),
    Seen(285, "route-planning", EventType.CONFIGURATION_CHANGED, facts={"replica_set_name": "routes"}),
    Seen(240, "recommendations", EventType.HOST_SSL_CERTIFICATE_STALE, "rec-sandbox"),
    Seen(150, "recommendations", EventType.HOST_SSL_CERTIFICATE_CURRENT, "rec-sandbox"),
    Seen(40, "route-planning", EventType.CONFIGURATION_CHANGED, facts={"replica_set_name": "routes"}),
)
