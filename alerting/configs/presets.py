"""Recommended alert configurations by engine. Pure.

Presets are offered and only added on request. Presets for machines and agents belong to both engines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from alerting.configs.rules import CountThreshold, MetricThreshold, Threshold, ThresholdOperator
from alerting.engine.transition import ConfigView
from automation.metrics import BOTH, MONGODB, POSTGRESQL, Engine, Metric
from automation.units import Unit
from events.types import EventType, Severity
from opsapi.page_paths import DOCUMENTS_PATH

_INFO, _CRITICAL = Severity.INFO, Severity.CRITICAL
_LASTING = 5
"""Minutes that a high load must last, because short peaks often pass."""


class PresetSubject(StrEnum):
    """The subject of a preset; presets are shown by subject in this order. The values are for people."""

    HOSTS = "Hosts and agents"
    REPLICATION = "Replica sets and replication"
    DISK = "Disk, slots and archive"
    LOAD = "Connections, locks and load"
    MAINTENANCE = "Maintenance"


@dataclass(frozen=True)
class PresetSpec:
    """A row of the table: the condition of a configuration, its delay in minutes, its name and its severity.

    `meaning` is a sentence. `runbook` is the name of the page in docs/runbooks. `title` is the name of the
    configuration. The severity is CRITICAL if a database is down or loses data, or may within hours. INFO
    means that no person has to act on the same day.
    """

    name: str
    engines: tuple[Engine, ...]
    event_type: EventType
    meaning: str
    threshold: Threshold | None = None
    delay_min: int = 0
    runbook: str = ""
    subject: PresetSubject = PresetSubject.HOSTS
    title: str = field(kw_only=True)
    severity: Severity = field(default=Severity.WARNING, kw_only=True)

    @property
    def runbook_path(self) -> str:
        """The page of the runbook that the platform serves."""
        return f"{DOCUMENTS_PATH}runbooks/{self.runbook}.html"

    @property
    def metric_threshold(self) -> MetricThreshold | None:
        return self.threshold if isinstance(self.threshold, MetricThreshold) else None

    @property
    def wire_threshold(self) -> Mapping[str, Any] | None:
        return self.metric_threshold.document if self.metric_threshold else None

    @property
    def wire_count_threshold(self) -> Mapping[str, Any] | None:
        return self.threshold.document if isinstance(self.threshold, CountThreshold) else None

    def is_of(self, config: ConfigView) -> bool:
        """Whether the configuration has the same condition for all targets, in any units."""
        return (
            config.event_type is self.event_type
            and not config.matchers
            and _in_base(config.threshold) == _in_base(self.threshold)
        )


def _in_base(threshold: Threshold | None) -> object:
    """The threshold for a comparison in any units."""
    if isinstance(threshold, MetricThreshold):
        return threshold.metric, threshold.operator, threshold.limit
    return threshold


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

    HOST_DOWN = PresetSpec(
        "HOST_DOWN",
        BOTH,
        EventType.HOST_DOWN,
        "An agent cannot reach a host.",
        title="Host down",
        severity=_CRITICAL,
        runbook="host-down",
    )
    HOST_NOT_MEASURED = PresetSpec(
        "HOST_NOT_MEASURED",
        BOTH,
        EventType.HOST_NOT_MEASURED,
        "An agent reaches a host and has not measured it for 4 minutes, for example because its login is "
        "refused. Alerts about measurements cannot open meanwhile.",
        title="Host not measured",
        runbook="not-measured",
    )
    MONITORING_AGENT_DOWN = PresetSpec(
        "MONITORING_AGENT_DOWN",
        BOTH,
        EventType.MONITORING_AGENT_DOWN,
        "A monitoring agent stopped reporting. Without its reports, none of the other alerts can open.",
        title="Monitoring agent down",
        severity=_CRITICAL,
        runbook="agent-down",
    )
    """New projects already have it."""
    HOST_RESTARTED = PresetSpec(
        "HOST_RESTARTED",
        BOTH,
        EventType.HOST_RESTARTED,
        "A server restarted. Without a planned restart, the server crashed or was killed.",
        title="Server restarted",
        runbook="host-down",
    )
    """The service manager starts a crashed server again within seconds, so that it is never seen down. The
    message is sent once; a maintenance window mutes a planned restart:
    https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html (Restart)"""
    HOST_RECOVERING = PresetSpec(
        "HOST_RECOVERING",
        BOTH,
        EventType.HOST_RECOVERING,
        "A host has been recovering for 15 minutes and serves no reads or writes.",
        delay_min=15,
        title="Long recovery",
        runbook="unhealthy-members",
    )
    """After a crash, a server replays what it wrote since its last checkpoint, which is at most a few minutes
    old (60 s in MongoDB, 5 min in PostgreSQL): https://www.mongodb.com/docs/manual/core/wiredtiger/,
    https://www.postgresql.org/docs/current/wal-configuration.html. A quarter of an hour is a long replay, an
    initial sync, or a member that cannot catch up."""
    NO_PRIMARY = PresetSpec(
        "NO_PRIMARY",
        BOTH,
        EventType.NO_PRIMARY,
        "A replica set has no primary and accepts no writes.",
        title="No primary",
        severity=_CRITICAL,
        runbook="primary",
        subject=PresetSubject.REPLICATION,
    )
    """An election takes 12 s at the median, and reports are a minute apart, so a delay would only cost time:
    https://www.mongodb.com/docs/manual/core/replica-set-elections/"""
    MULTIPLE_PRIMARIES = PresetSpec(
        "MULTIPLE_PRIMARIES",
        BOTH,
        EventType.MULTIPLE_PRIMARIES,
        "A replica set has had several primaries for 2 minutes. Writes to one of them will be lost.",
        delay_min=2,
        title="Several primaries",
        severity=_CRITICAL,
        runbook="primary",
        subject=PresetSubject.REPLICATION,
    )
    """During a switch of the primary, an agent that asks one member after the other can see two in one
    report. They are still there in the second report only if the old primary did not step down:
    https://www.mongodb.com/docs/manual/core/replica-set-primary/,
    https://www.postgresql.org/docs/current/warm-standby-failover.html (STONITH)"""
    UNHEALTHY_MEMBERS = PresetSpec(
        "UNHEALTHY_MEMBERS",
        BOTH,
        EventType.TOO_MANY_UNHEALTHY_MEMBERS,
        "A member of a replica set has been down or recovering for 10 minutes. The set survives fewer "
        "failures.",
        delay_min=10,
        threshold=CountThreshold(ThresholdOperator.GREATER_THAN, 0),
        title="Unhealthy member",
        runbook="unhealthy-members",
        subject=PresetSubject.REPLICATION,
    )
    """Unlike a number of healthy members, this fits replica sets of every size, also of one member. Ten
    minutes cover the restart of a member for maintenance:
    https://www.mongodb.com/docs/manual/tutorial/perform-maintenance-on-replica-set-members/"""
    MEMBERS_UNREACHABLE = PresetSpec(
        "MEMBERS_UNREACHABLE",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A member of a replica set has not reached another member for 10 minutes. The agent may reach both.",
        _above(Metric.MONGO_MEMBERS_UNREACHABLE, 0, Unit.RAW),
        delay_min=10,
        title="Member not reached by another",
        runbook="unhealthy-members",
        subject=PresetSubject.REPLICATION,
    )
    """A member is unreachable after 10 s without a heartbeat (`electionTimeoutMillis`). The delay is that of
    UNHEALTHY_MEMBERS: https://www.mongodb.com/docs/manual/reference/command/replSetGetStatus/ (health)"""
    REPLICATION_LAG = PresetSpec(
        "REPLICATION_LAG",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A secondary has been more than 60 seconds behind its primary for 5 minutes.",
        _above(Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 60, Unit.SECONDS),
        delay_min=_LASTING,
        title="Replication lag",
        runbook="replication-lag",
        subject=PresetSubject.REPLICATION,
    )
    """Flow control slows writes down to keep a majority within 10 s (`flowControlTargetLagSeconds`), so a
    minute is more than the server can correct: https://www.mongodb.com/docs/manual/replication/#replication-lag"""
    OPLOG_WINDOW = PresetSpec(
        "OPLOG_WINDOW",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The oplog covers less than 1 hour. A member that is down for longer needs an initial sync.",
        _below(Metric.OPLOG_MASTER_TIME, 1, Unit.HOURS),
        title="Short oplog",
        runbook="replication-lag",
        subject=PresetSubject.REPLICATION,
    )
    """The window must be longer than the maintenance of a member, which usually takes more than an hour:
    https://www.mongodb.com/docs/manual/core/replica-set-oplog/"""
    DISK_SPACE = PresetSpec(
        "DISK_SPACE",
        BOTH,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "Less than 10 % of the data disk is free.",
        _below(Metric.DISK_PARTITION_SPACE_PERCENT_FREE, 10, Unit.PERCENT),
        title="Disk almost full",
        severity=_CRITICAL,
        runbook="disk-full",
        subject=PresetSubject.DISK,
    )
    """A server stops when it cannot write its journal, and the repair needs space, too:
    https://www.mongodb.com/docs/atlas/reference/alert-resolutions/disk-space-used/. The disk of a PostgreSQL
    server is measured by an agent on its machine."""
    CONNECTIONS = PresetSpec(
        "CONNECTIONS",
        BOTH,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "For 5 minutes, clients have used more than 80 % of the connections available to them.",
        _above(Metric.CONNECTIONS_PERCENT, 80, Unit.PERCENT),
        delay_min=_LASTING,
        title="Many connections",
        runbook="connections",
        subject=PresetSubject.LOAD,
    )
    """At 100 % clients are refused.

    A fifth leaves room for another of a few application servers, and time:
    https://www.mongodb.com/docs/atlas/reference/alert-resolutions/connections-used/,
    https://www.postgresql.org/docs/current/runtime-config-connection.html (max_connections)
    """
    OPLOG_HEADROOM = PresetSpec(
        "OPLOG_HEADROOM",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "In less than 1 hour, a secondary is too far behind for the oplog and needs an initial sync.",
        _below(Metric.OPLOG_MASTER_LAG_TIME_DIFF, 1, Unit.HOURS),
        title="Secondary falls off the oplog",
        severity=_CRITICAL,
        runbook="replication-lag",
        subject=PresetSubject.REPLICATION,
    )
    """Somebody has to enlarge the oplog or relieve the secondary before the time is over;
    `replSetResizeOplog` takes effect at once: https://www.mongodb.com/docs/manual/tutorial/change-oplog-size/"""
    MAJORITY_LAG = PresetSpec(
        "MAJORITY_LAG",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "Most members have been more than 60 seconds behind for 5 minutes. Writes wait for the majority.",
        _above(Metric.MONGO_MAJORITY_LAG, 60, Unit.SECONDS),
        delay_min=_LASTING,
        title="Majority lag",
        severity=_CRITICAL,
        runbook="replication-lag",
        subject=PresetSubject.REPLICATION,
    )
    """As REPLICATION_LAG. Writes wait, because `majority` is the default write concern from version 5.0 on:
    https://www.mongodb.com/docs/manual/reference/write-concern/"""
    FSYNC_LOCKED = PresetSpec(
        "FSYNC_LOCKED",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "fsyncLock has blocked all writes to a server for 30 minutes.",
        _above(Metric.MONGO_FSYNC_LOCKED, 0, Unit.RAW),
        delay_min=30,
        title="Writes blocked by fsyncLock",
        severity=_CRITICAL,
        runbook="locks",
        subject=PresetSubject.LOAD,
    )
    """A backup locks a server for as long as its snapshot takes, usually minutes, and a backup that fails
    leaves the lock: https://www.mongodb.com/docs/manual/reference/method/db.fsyncLock/"""
    QUEUED_OPERATIONS = PresetSpec(
        "QUEUED_OPERATIONS",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "More than 128 operations have been waiting for a lock for 5 minutes.",
        _above(Metric.GLOBAL_LOCK_CURRENT_QUEUE_TOTAL, 128, Unit.RAW),
        delay_min=_LASTING,
        title="Operations wait for locks",
        runbook="overload",
        subject=PresetSubject.LOAD,
    )
    """Up to version 6.0, a server admits 128 reads and 128 writes at a time; as many again wait:
    https://www.mongodb.com/docs/v6.0/reference/parameters/ (wiredTigerConcurrentReadTransactions)"""
    READ_TICKETS = PresetSpec(
        "READ_TICKETS",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A server has had no read tickets left for 5 minutes, so reads queue.",
        _below(Metric.TICKETS_AVAILABLE_READS, 1, Unit.RAW),
        delay_min=_LASTING,
        title="No read tickets",
        runbook="overload",
        subject=PresetSubject.LOAD,
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
        title="No write tickets",
        runbook="overload",
        subject=PresetSubject.LOAD,
    )
    """As READ_TICKETS."""
    DIRTY_CACHE = PresetSpec(
        "DIRTY_CACHE",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "More than 20 % of the cache has been dirty for 5 minutes, which slows down clients.",
        _above(Metric.DIRTY_FILL_RATIO, 20, Unit.PERCENT),
        delay_min=_LASTING,
        title="Dirty cache",
        runbook="overload",
        subject=PresetSubject.LOAD,
    )
    """`eviction_dirty_trigger`, from where on threads of the application evict:
    https://source.wiredtiger.com/develop/tune_cache.html, https://jira.mongodb.org/browse/SERVER-64505"""
    CACHE_FULL = PresetSpec(
        "CACHE_FULL",
        MONGODB,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "More than 95 % of the cache has been in use for 5 minutes, which slows down clients.",
        _above(Metric.CACHE_FILL_RATIO, 95, Unit.PERCENT),
        delay_min=_LASTING,
        title="Cache full",
        runbook="overload",
        subject=PresetSubject.LOAD,
    )
    """`eviction_trigger`; the server itself keeps the cache at 80 % (`eviction_target`). Source as
    DIRTY_CACHE."""
    WAL_DISK_SPACE = PresetSpec(
        "WAL_DISK_SPACE",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "More than 90 % of the disk of the write-ahead log is used. A full disk stops the server.",
        _above(Metric.PG_WAL_DISK_PERCENT_USED, 90, Unit.PERCENT),
        title="Disk of the write-ahead log almost full",
        severity=_CRITICAL,
        runbook="disk-full",
        subject=PresetSubject.DISK,
    )
    """As DISK_SPACE. The server stops with a panic when it cannot write its log:
    https://www.postgresql.org/docs/current/disk-full.html"""
    TABLESPACE_DISK_SPACE = PresetSpec(
        "TABLESPACE_DISK_SPACE",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "More than 90 % of the disk of a tablespace is used. On a full disk, writes fail.",
        _above(Metric.PG_TABLESPACE_DISK_PERCENT_USED, 90, Unit.PERCENT),
        title="Disk of a tablespace almost full",
        severity=_CRITICAL,
        runbook="disk-full",
        subject=PresetSubject.DISK,
    )
    """As DISK_SPACE: https://www.postgresql.org/docs/current/disk-full.html"""
    CRASHED = PresetSpec(
        "CRASHED",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A server process crashed, and the server ended all sessions and restarted its processes.",
        _above(Metric.PG_CRASHED_IN_LAST_HOUR, 0, Unit.RAW),
        title="Server process crashed",
        severity=_CRITICAL,
        runbook="host-down",
    )
    """Only an operator can find the cause, such as the system's lack of memory, before it happens again:
    https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-MEMORY-OVERCOMMIT. The alert closes
    after an hour without a crash."""
    STANDBY_DISCONNECTED = PresetSpec(
        "STANDBY_DISCONNECTED",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A standby has not been connected to its primary for 5 minutes.",
        _below(Metric.PG_REPLICATION_CONNECTED, 1, Unit.RAW),
        delay_min=_LASTING,
        title="Standby disconnected",
        runbook="replication-broken",
        subject=PresetSubject.REPLICATION,
    )
    """A standby connects again after 5 s (`wal_retrieve_retry_interval`). After minutes, its password, the
    network or the write-ahead log that it needs is missing:
    https://www.postgresql.org/docs/current/runtime-config-replication.html"""
    SYNC_STANDBY_MISSING = PresetSpec(
        "SYNC_STANDBY_MISSING",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A synchronous standby has been missing for 2 minutes, so all commits wait.",
        _above(Metric.PG_SYNC_STANDBYS_MISSING, 0, Unit.RAW),
        delay_min=2,
        title="Synchronous standby missing",
        severity=_CRITICAL,
        runbook="replication-broken",
        subject=PresetSubject.REPLICATION,
    )
    """A broken connection is noticed after 60 s (`wal_sender_timeout`), and a cluster manager then names
    another standby; afterwards, commits wait for ever:
    https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA"""
    STANDBY_LAG = PresetSpec(
        "STANDBY_LAG",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A standby has been more than 60 seconds behind its primary for 5 minutes.",
        _above(Metric.PG_REPLICATION_LAG_TIME, 60, Unit.SECONDS),
        delay_min=_LASTING,
        title="Standby lag",
        runbook="replication-lag",
        subject=PresetSubject.REPLICATION,
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
        title="Old transaction IDs",
        runbook="wraparound",
        subject=PresetSubject.MAINTENANCE,
    )
    """Autovacuum begins at 200 million (`autovacuum_freeze_max_age`), and ignores its cost limits from 1.6
    billion on (`vacuum_failsafe_age`). 1.2 billion leaves time to find the cause:
    https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND"""
    MULTIXACT_AGE = PresetSpec(
        "MULTIXACT_AGE",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The oldest multixact ID is more than 1.2 billion multixacts old. Close to 2.1 billion, the server "
        "refuses writes.",
        _above(Metric.PG_MXID_AGE, 1_200_000_000, Unit.RAW),
        title="Old multixact IDs",
        runbook="wraparound",
        subject=PresetSubject.MAINTENANCE,
    )
    """As TRANSACTION_ID_AGE: autovacuum begins at 400 million (`autovacuum_multixact_freeze_max_age`), and
    `vacuum_multixact_failsafe_age` is 1.6 billion:
    https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-MULTIXACT-WRAPAROUND"""
    REPLICATION_SLOT = PresetSpec(
        "REPLICATION_SLOT",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A replication slot makes the server keep more than 10 GB of write-ahead log.",
        _above(Metric.PG_REPLICATION_SLOT_RETAINED_BYTES, 10, Unit.GIGABYTES),
        title="Replication slot keeps much log",
        runbook="slots-and-archive",
        subject=PresetSubject.DISK,
    )
    """A slot that nobody reads keeps the log without limit unless `max_slot_wal_keep_size` is set, until the
    disk is full. 10 GB is ten times the default of `max_wal_size`:
    https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS"""
    SLOT_INACTIVE = PresetSpec(
        "SLOT_INACTIVE",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "Nothing has used a replication slot for an hour. Since then the server keeps all write-ahead log.",
        _above(Metric.PG_SLOTS_INACTIVE, 0, Unit.RAW),
        delay_min=60,
        title="Unused replication slot",
        runbook="slots-and-archive",
        subject=PresetSubject.DISK,
    )
    """An hour covers the maintenance of a standby or subscriber. After it, somebody decides whether the slot
    is needed, before its log fills the disk:
    https://www.postgresql.org/docs/current/view-pg-replication-slots.html (active)"""
    SLOT_LOST = PresetSpec(
        "SLOT_LOST",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A replication slot is lost. Its standby or subscriber cannot continue and must be built again.",
        _above(Metric.PG_SLOTS_LOST, 0, Unit.RAW),
        title="Lost replication slot",
        runbook="slots-and-archive",
        subject=PresetSubject.DISK,
    )
    """A lost slot never recovers:
    https://www.postgresql.org/docs/current/view-pg-replication-slots.html (wal_status)"""
    ARCHIVE_FAILURES = PresetSpec(
        "ARCHIVE_FAILURES",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The server cannot archive write-ahead log, which breaks backups and fills the disk.",
        _above(Metric.PG_ARCHIVE_FAILURES, 0, Unit.RAW),
        title="Archiving fails",
        runbook="slots-and-archive",
        subject=PresetSubject.DISK,
    )
    """The server tries again for ever and keeps every file until it succeeds:
    https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-ARCHIVING-WAL"""
    ARCHIVE_WAIT = PresetSpec(
        "ARCHIVE_WAIT",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A file of the write-ahead log has been waiting for the archive for more than 10 minutes. Backups "
        "lack its changes.",
        _above(Metric.PG_ARCHIVE_AGE, 10, Unit.MINUTES),
        title="Archiving waits",
        runbook="slots-and-archive",
        subject=PresetSubject.DISK,
    )
    """An archive command that hangs never fails. Copying a file of 16 MB takes seconds, and an archive is
    usually asked to be no older than minutes (`archive_timeout`):
    https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-ARCHIVE-TIMEOUT"""
    LOCK_WAIT = PresetSpec(
        "LOCK_WAIT",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A session has been waiting for a lock for more than 5 minutes, and others may wait behind it.",
        _above(Metric.PG_LONGEST_LOCK_WAIT, 5, Unit.MINUTES),
        title="Long wait for a lock",
        runbook="locks",
        subject=PresetSubject.LOAD,
    )
    """By default the wait has no end (`lock_timeout`), and most clients give up after seconds to minutes:
    https://www.postgresql.org/docs/current/runtime-config-client.html"""
    LONG_TRANSACTION = PresetSpec(
        "LONG_TRANSACTION",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "A transaction has been open for more than 1 hour, so vacuum cannot remove dead rows.",
        _above(Metric.PG_LONGEST_TRANSACTION, 1, Unit.HOURS),
        title="Long transaction",
        runbook="locks",
        subject=PresetSubject.LOAD,
    )
    """Even an idle transaction holds back vacuum (`idle_in_transaction_session_timeout`):
    https://www.postgresql.org/docs/current/runtime-config-client.html"""
    DEADLOCKS = PresetSpec(
        "DEADLOCKS",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The server ended a transaction because of a deadlock.",
        _above(Metric.PG_DEADLOCKS, 0, Unit.RAW),
        title="Deadlock",
        severity=_INFO,
        runbook="locks",
        subject=PresetSubject.LOAD,
    )
    """A single deadlock shows that the application locks rows in different orders, whatever the load:
    https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-DEADLOCKS"""

    CHECKSUM_FAILURES = PresetSpec(
        "CHECKSUM_FAILURES",
        POSTGRESQL,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The server read a damaged page: data is lost unless a copy has it.",
        _above(Metric.PG_CHECKSUM_FAILURES, 0, Unit.RAW),
        title="Damaged page",
        severity=_CRITICAL,
        runbook="host-down",
    )
    """A single damaged page shows that disk, memory or file system is not reliable:
    https://www.postgresql.org/docs/current/checksums.html"""
    CERTIFICATE = PresetSpec(
        "CERTIFICATE",
        BOTH,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The certificate of a server expires in less than 10 days. After that, clients that verify it cannot "
        "connect.",
        _below(Metric.SERVER_CERTIFICATE_DAYS, 10, Unit.DAYS),
        title="Certificate expires",
        runbook="certificate",
        subject=PresetSubject.MAINTENANCE,
    )
    """Certificates that are renewed automatically have at least 15 days left (a third of 45), so the renewal
    does not work; a working week is left: https://letsencrypt.org/2025/12/02/from-90-to-45"""
    BACKUP_AGE = PresetSpec(
        "BACKUP_AGE",
        BOTH,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The newest backup of a server is older than 26 hours. Opens only if the agent knows the marker that "
        "the backup job writes.",
        _above(Metric.BACKUP_AGE, 26, Unit.HOURS),
        delay_min=_LASTING,
        title="Old backup",
        runbook="no-backup",
        subject=PresetSubject.MAINTENANCE,
    )
    """A daily backup, and two hours in which it may be slower than the day before. The delay lets a job that
    is late by minutes finish."""
    BACKUP_UNKNOWN = PresetSpec(
        "BACKUP_UNKNOWN",
        BOTH,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "The agent cannot read the marker of a backup job, so it is unknown whether the server has a backup. "
        "Opens only if the settings of the agent name a marker.",
        _above(Metric.BACKUP_UNKNOWN, 0, Unit.RAW),
        delay_min=_LASTING,
        title="Unknown backup",
        runbook="no-backup",
        subject=PresetSubject.MAINTENANCE,
    )
    """A job that has never succeeded writes no marker. The delay outlasts a file system that does not answer
    for a moment."""
    PLAN_STOPPED = PresetSpec(
        "PLAN_STOPPED",
        MONGODB,
        EventType.AUTOMATION_PLAN_STOPPED,
        "A move of the automation configuration failed, and its plan stopped. A member may be down.",
        title="Automation plan stopped",
        severity=_CRITICAL,
        runbook="automation-plan",
        subject=PresetSubject.MAINTENANCE,
    )
    """The plan does not continue by itself, so the message is sent at once."""
    PLAN_WAITING = PresetSpec(
        "PLAN_WAITING",
        MONGODB,
        EventType.AUTOMATION_PLAN_WAITING,
        "The plan of the automation configuration has waited with a move for 30 minutes, or for the minutes "
        "of its option patienceMin.",
        title="Automation plan waits",
        runbook="automation-plan",
        subject=PresetSubject.MAINTENANCE,
    )
    """The half hour has passed when the event is recorded, so there is no other delay."""
    VERSION_SUPPORT = PresetSpec(
        "VERSION_SUPPORT",
        BOTH,
        EventType.OUTSIDE_METRIC_THRESHOLD,
        "Support for the version of a server ends in 30 days or less, or has ended.",
        _below(Metric.SERVER_SUPPORT_DAYS, 31, Unit.DAYS),
        title="End of support",
        severity=_INFO,
        runbook="old-version",
        subject=PresetSubject.MAINTENANCE,
    )
    """The last minor version comes out in the month in which support ends, and an upgrade to the next major
    version needs a plan: https://www.postgresql.org/support/versioning/,
    https://www.mongodb.com/legal/support-policy/lifecycles"""


def presets_of(engine: Engine) -> Sequence[Preset]:
    """The presets of an engine, in order."""
    return [preset for preset in Preset if engine in preset.spec.engines]
