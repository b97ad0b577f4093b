"""Recommended alert configurations by engine. Pure.

Presets are offered and only added on request. Presets for machines and agents belong to both engines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from alerting.rules.thresholds import MetricThreshold, ThresholdMode, ThresholdOperator, limit_of
from alerting.rules.transition import ConfigView
from automation.metrics import BOTH, MONGODB, POSTGRESQL, Engine, Metric
from automation.units import Unit
from events.types import EventType

_LASTING = 5
"""Minutes that a high load must last, because short peaks often pass."""


@dataclass(frozen=True)
class PresetSpec:
    """A row of the table: the condition of a configuration, and its delay in minutes.

    `meaning` is a sentence.
    """

    name: str
    engines: tuple[Engine, ...]
    event_type: EventType
    meaning: str
    metric_threshold: MetricThreshold | None = None
    delay_min: int = 0

    @property
    def wire_threshold(self) -> Mapping[str, Any] | None:
        if self.metric_threshold is None:
            return None
        threshold = self.metric_threshold
        return {
            "metricName": threshold.metric.value,
            "mode": ThresholdMode.AVERAGE.value,
            "operator": threshold.operator.value,
            "threshold": threshold.threshold,
            "units": threshold.units.value,
        }

    def is_of(self, config: ConfigView) -> bool:
        """Whether the configuration has the same condition for all targets, in any units."""
        return (
            config.event_type is self.event_type
            and not config.matchers
            and config.threshold is None
            and _in_base(config.metric_threshold) == _in_base(self.metric_threshold)
        )


def _in_base(threshold: MetricThreshold | None) -> tuple[Metric, ThresholdOperator, float] | None:
    return (threshold.metric, threshold.operator, limit_of(threshold)) if threshold else None


def _above(metric: Metric, limit: float, units: Unit) -> MetricThreshold:
    return MetricThreshold(metric, ThresholdOperator.GREATER_THAN, limit, units)


def _below(metric: Metric, limit: float, units: Unit) -> MetricThreshold:
    return MetricThreshold(metric, ThresholdOperator.LESS_THAN, limit, units)


class Preset(StrEnum):
    """All presets: a member is its wire name and has its row as `spec`.

    Below each: the reason for its values.
    """

    spec: PresetSpec

    # Any: for a type checker, a look-up such as `Preset("NO_PRIMARY")` passes through here as well.
    def __new__(cls, row: Any) -> Self:
        member = str.__new__(cls, row.name)
        member._value_ = row.name
        member.spec = row
        return member

    HOST_DOWN = PresetSpec("HOST_DOWN", BOTH, EventType.HOST_DOWN, "An agent cannot reach a host.")
    HOST_NOT_MEASURED = PresetSpec(
        "HOST_NOT_MEASURED",
        BOTH,
        EventType.HOST_NOT_MEASURED,
        "An agent reaches a host and has not measured it for 4 minutes, for example because its login is "
        "refused. Alerts about measurements cannot open meanwhile.",
    )
    MONITORING_AGENT_DOWN = PresetSpec(
        "MONITORING_AGENT_DOWN",
        BOTH,
        EventType.MONITORING_AGENT_DOWN,
        "A monitoring agent stopped reporting. Without its reports, none of the other alerts can open.",
    )
    """New projects already have it."""
    NO_PRIMARY = PresetSpec(
        "NO_PRIMARY", MONGODB, EventType.NO_PRIMARY, "A replica set has no primary and accepts no writes."
    )
    REPLICATION_LAG = PresetSpec(
        "REPLICATION_LAG",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A secondary has been more than 60 seconds behind its primary for 5 minutes.",
        _above(Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 60, Unit.SECONDS),
        delay_min=_LASTING,
    )
    """Flow control slows writes down to keep a majority within 10 s (`flowControlTargetLagSeconds`), so a
    minute is more than the server can correct: https://www.mongodb.com/docs/manual/replication/#replication-lag"""
    OPLOG_WINDOW = PresetSpec(
        "OPLOG_WINDOW",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The oplog covers less than 1 hour. A member that is down for longer needs an initial sync.",
        _below(Metric.OPLOG_MASTER_TIME, 1, Unit.HOURS),
    )
    """The window must be longer than the maintenance of a member, which usually takes more than an hour:
    https://www.mongodb.com/docs/manual/core/replica-set-oplog/"""
    DISK_SPACE = PresetSpec(
        "DISK_SPACE",
        BOTH,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "Less than 10 % of the data disk is free.",
        _below(Metric.DISK_PARTITION_SPACE_PERCENT_FREE, 10, Unit.PERCENT),
    )
    """A server stops when it cannot write its journal, and the repair needs space, too:
    https://www.mongodb.com/docs/atlas/reference/alert-resolutions/disk-space-used/. The disk of a PostgreSQL
    server is measured by an agent on its machine."""
    CONNECTIONS = PresetSpec(
        "CONNECTIONS",
        BOTH,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "More than 80 % of the allowed connections have been open for 5 minutes.",
        _above(Metric.CONNECTIONS_PERCENT, 80, Unit.PERCENT),
        delay_min=_LASTING,
    )
    """At 100 % clients are refused.

    A fifth leaves room for another of a few application servers, and time:
    https://www.mongodb.com/docs/atlas/reference/alert-resolutions/connections-used/,
    https://www.postgresql.org/docs/current/runtime-config-connection.html (max_connections)
    """
    READ_TICKETS = PresetSpec(
        "READ_TICKETS",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A server has had no read tickets left for 5 minutes, so reads queue.",
        _below(Metric.TICKETS_AVAILABLE_READS, 1, Unit.RAW),
        delay_min=_LASTING,
    )
    """The limit is not higher, because from version 7.0 on the server adjusts the number of tickets. A few
    tickets are normal, none means overload: https://www.mongodb.com/docs/manual/reference/parameters/
    (storageEngineConcurrentReadTransactions)"""
    WRITE_TICKETS = PresetSpec(
        "WRITE_TICKETS",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A server has had no write tickets left for 5 minutes, so writes queue.",
        _below(Metric.TICKETS_AVAILABLE_WRITES, 1, Unit.RAW),
        delay_min=_LASTING,
    )
    """As READ_TICKETS."""
    DIRTY_CACHE = PresetSpec(
        "DIRTY_CACHE",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "More than 20 % of the cache has been dirty for 5 minutes, which slows down clients.",
        _above(Metric.DIRTY_FILL_RATIO, 20, Unit.PERCENT),
        delay_min=_LASTING,
    )
    """`eviction_dirty_trigger`, from where on threads of the application evict:
    https://source.wiredtiger.com/develop/tune_cache.html, https://jira.mongodb.org/browse/SERVER-64505"""
    STANDBY_LAG = PresetSpec(
        "STANDBY_LAG",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A standby has been more than 60 seconds behind its primary for 5 minutes.",
        _above(Metric.PG_REPLICATION_LAG_TIME, 60, Unit.SECONDS),
        delay_min=_LASTING,
    )
    """Twice the 30 s for which a standby lets queries hold up recovery (`max_standby_streaming_delay`):
    https://www.postgresql.org/docs/current/runtime-config-replication.html"""
    TRANSACTION_ID_AGE = PresetSpec(
        "TRANSACTION_ID_AGE",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The oldest transaction ID is more than 1.2 billion transactions old. Close to 2.1 billion, "
        "the server refuses writes.",
        _above(Metric.PG_XID_AGE, 1_200_000_000, Unit.RAW),
    )
    """Autovacuum begins at 200 million (`autovacuum_freeze_max_age`), and ignores its cost limits from 1.6
    billion on (`vacuum_failsafe_age`). 1.2 billion leaves time to find the cause:
    https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND"""
    REPLICATION_SLOT = PresetSpec(
        "REPLICATION_SLOT",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A replication slot makes the server keep more than 10 GB of write-ahead log.",
        _above(Metric.PG_REPLICATION_SLOT_RETAINED_BYTES, 10, Unit.GIGABYTES),
    )
    """A slot that nobody reads keeps the log without limit unless `max_slot_wal_keep_size` is set, until the
    disk is full. 10 GB is ten times the default of `max_wal_size`:
    https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS"""
    ARCHIVE_FAILURES = PresetSpec(
        "ARCHIVE_FAILURES",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The server cannot archive write-ahead log, which breaks backups and fills the disk.",
        _above(Metric.PG_ARCHIVE_FAILURES, 0, Unit.RAW),
    )
    """The server tries again for ever and keeps every file until it succeeds:
    https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-ARCHIVING-WAL"""
    LONG_TRANSACTION = PresetSpec(
        "LONG_TRANSACTION",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A transaction has been open for more than 1 hour, so vacuum cannot remove dead rows.",
        _above(Metric.PG_LONGEST_TRANSACTION, 1, Unit.HOURS),
    )
    """Even an idle transaction holds back vacuum (`idle_in_transaction_session_timeout`):
    https://www.postgresql.org/docs/current/runtime-config-client.html"""
    DEADLOCKS = PresetSpec(
        "DEADLOCKS",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The server ended a transaction because of a deadlock.",
        _above(Metric.PG_DEADLOCKS, 0, Unit.RAW),
    )
    """A single deadlock shows that the application locks rows in different orders, whatever the load:
    https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-DEADLOCKS"""


def presets_of(engine: Engine) -> Sequence[Preset]:
    """The presets of an engine, in order."""
    return [preset for preset in Preset if engine in preset.spec.engines]
