"""Presets: each opens on its outage and closes afterwards; none opens on healthy servers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from alerting.configs.presets import Preset, presets_of
from alerting.engine.observations import Observation, of_agent, of_event, of_host, of_plan, of_replica_set
from alerting.engine.transition import AlertAction, AlertView, ConfigView, step
from automation.hosts.rules import restart_event
from automation.metrics import Engine, Metric
from events.types import EVENT_TYPES
from tests.each import each

HOST = {"hostId": "h1", "hostname": "db1", "port": 27017, "reachable": True, "typeName": "REPLICA_SECONDARY"}
SET = {"replicaSetName": "rs0", "primaries": 1, "healthy": 3, "unhealthy": 0}
PLAN = {**HOST, "planStopped": False, "planWaits": False}
AGENT = {"hostname": "agent1", "sourceTypeName": "MONITORING", "down": False, "versionBehind": False}

HEALTHY: Mapping[Engine, Mapping[str, float]] = {
    Engine.MONGODB: {
        "OPLOG_SLAVE_LAG_MASTER_TIME": 0,
        "CONNECTIONS_PERCENT": 0.05,
        "MONGO_MAJORITY_LAG": 0.586,
        "MONGO_FSYNC_LOCKED": 0,
        "MONGO_MEMBERS_UNREACHABLE": 0,
        "GLOBAL_LOCK_CURRENT_QUEUE_TOTAL": 0,
        "TICKETS_AVAILABLE_READS": 128,
        "TICKETS_AVAILABLE_WRITES": 128,
        "DIRTY_FILL_RATIO": 0.077,
        "CACHE_FILL_RATIO": 0.09,
        "DISK_PARTITION_SPACE_PERCENT_FREE": 89.77,
    },
    Engine.POSTGRESQL: {
        "CONNECTIONS_PERCENT": 2.13,
        "PG_WAL_DISK_PERCENT_USED": 5.29,
        "PG_CRASHED_IN_LAST_HOUR": 0,
        "PG_REPLICATION_CONNECTED": 1,
        "PG_SYNC_STANDBYS_MISSING": 0,
        "PG_REPLICATION_LAG_TIME": 0.0034,
        "PG_XID_AGE": 12,
        "PG_MXID_AGE": 0,
        "PG_REPLICATION_SLOT_RETAINED_BYTES": 0,
        "PG_SLOTS_LOST": 0,
        "PG_SLOTS_INACTIVE": 0,
        "PG_ARCHIVE_FAILURES": 0,
        "PG_LONGEST_LOCK_WAIT": 0,
        "PG_LONGEST_TRANSACTION": 0,
        "PG_DEADLOCKS": 0,
        "SERVER_SUPPORT_DAYS": 348,
        "DISK_PARTITION_SPACE_PERCENT_FREE": 94.71,
    },
}
"""Recorded from a new replica set of MongoDB 6.0, and from a primary of PostgreSQL 15 with a standby: of each
metric of a preset, the worst value of all members."""

UNMEASURED: Mapping[Engine, Collection[Metric]] = {
    Engine.MONGODB: {
        Metric.OPLOG_MASTER_TIME,
        Metric.OPLOG_MASTER_LAG_TIME_DIFF,
        Metric.SERVER_CERTIFICATE_DAYS,
        Metric.SERVER_SUPPORT_DAYS,
        Metric.BACKUP_AGE,
        Metric.BACKUP_UNKNOWN,
    },
    Engine.POSTGRESQL: {
        Metric.PG_TABLESPACE_DISK_PERCENT_USED,
        Metric.PG_ARCHIVE_AGE,
        Metric.PG_CHECKSUM_FAILURES,
        Metric.SERVER_CERTIFICATE_DAYS,
        Metric.BACKUP_AGE,
        Metric.BACKUP_UNKNOWN,
    },
}
"""Not reported by these servers: the oplog is not full; no tablespace, archive, checksums, TLS
or marker of backups. The support
of MongoDB 6.0 has ended, which is an outage."""

GIGABYTE = 1024**3
BILLION = 1_000_000_000


def host(**changes: Any) -> Sequence[Observation]:
    """A report of the host."""
    return of_host(HOST | changes, {})


def measured(**values: float) -> Sequence[Observation]:
    """A report of the host with these values, in base units."""
    return of_host(HOST, {metric: [value] for metric, value in values.items()})


def members(primaries: int, healthy: int, unhealthy: int) -> Sequence[Observation]:
    """The members of the replica set."""
    return of_replica_set(SET | {"primaries": primaries, "healthy": healthy, "unhealthy": unhealthy})


OUTAGES: Mapping[Preset, tuple[Sequence[Observation], Sequence[Observation]]] = {
    Preset.HOST_DOWN: (host(reachable=False), host()),
    Preset.MONITORING_AGENT_DOWN: (of_agent(AGENT | {"down": True}), of_agent(AGENT)),
    Preset.HOST_NOT_MEASURED: (host(notMeasured=True), host()),
    Preset.HOST_RECOVERING: (host(typeName="RECOVERING"), host()),
    Preset.NO_PRIMARY: (members(0, 2, 1), members(1, 2, 1)),
    Preset.MULTIPLE_PRIMARIES: (members(2, 3, 0), members(1, 3, 0)),
    Preset.UNHEALTHY_MEMBERS: (members(1, 2, 1), members(1, 3, 0)),
    Preset.DISK_SPACE: (
        measured(DISK_PARTITION_SPACE_PERCENT_FREE=9.9),
        measured(DISK_PARTITION_SPACE_PERCENT_FREE=10),
    ),
    Preset.CONNECTIONS: (measured(CONNECTIONS_PERCENT=80.1), measured(CONNECTIONS_PERCENT=80)),
    Preset.REPLICATION_LAG: (
        measured(OPLOG_SLAVE_LAG_MASTER_TIME=61),
        measured(OPLOG_SLAVE_LAG_MASTER_TIME=60),
    ),
    Preset.OPLOG_WINDOW: (measured(OPLOG_MASTER_TIME=3599), measured(OPLOG_MASTER_TIME=3600)),
    Preset.OPLOG_HEADROOM: (
        measured(OPLOG_MASTER_LAG_TIME_DIFF=3599),
        measured(OPLOG_MASTER_LAG_TIME_DIFF=3600),
    ),
    Preset.MAJORITY_LAG: (measured(MONGO_MAJORITY_LAG=61), measured(MONGO_MAJORITY_LAG=60)),
    Preset.MEMBERS_UNREACHABLE: (
        measured(MONGO_MEMBERS_UNREACHABLE=1),
        measured(MONGO_MEMBERS_UNREACHABLE=0),
    ),
    Preset.FSYNC_LOCKED: (measured(MONGO_FSYNC_LOCKED=1), measured(MONGO_FSYNC_LOCKED=0)),
    Preset.QUEUED_OPERATIONS: (
        measured(GLOBAL_LOCK_CURRENT_QUEUE_TOTAL=129),
        measured(GLOBAL_LOCK_CURRENT_QUEUE_TOTAL=128),
    ),
    Preset.READ_TICKETS: (measured(TICKETS_AVAILABLE_READS=0), measured(TICKETS_AVAILABLE_READS=1)),
    Preset.WRITE_TICKETS: (measured(TICKETS_AVAILABLE_WRITES=0), measured(TICKETS_AVAILABLE_WRITES=1)),
    Preset.DIRTY_CACHE: (measured(DIRTY_FILL_RATIO=20.1), measured(DIRTY_FILL_RATIO=20)),
    Preset.CACHE_FULL: (measured(CACHE_FILL_RATIO=95.1), measured(CACHE_FILL_RATIO=95)),
    Preset.WAL_DISK_SPACE: (measured(PG_WAL_DISK_PERCENT_USED=90.1), measured(PG_WAL_DISK_PERCENT_USED=90)),
    Preset.TABLESPACE_DISK_SPACE: (
        measured(PG_TABLESPACE_DISK_PERCENT_USED=90.1),
        measured(PG_TABLESPACE_DISK_PERCENT_USED=90),
    ),
    Preset.CRASHED: (measured(PG_CRASHED_IN_LAST_HOUR=1), measured(PG_CRASHED_IN_LAST_HOUR=0)),
    Preset.STANDBY_DISCONNECTED: (
        measured(PG_REPLICATION_CONNECTED=0),
        measured(PG_REPLICATION_CONNECTED=1),
    ),
    Preset.SYNC_STANDBY_MISSING: (measured(PG_SYNC_STANDBYS_MISSING=1), measured(PG_SYNC_STANDBYS_MISSING=0)),
    Preset.STANDBY_LAG: (measured(PG_REPLICATION_LAG_TIME=61), measured(PG_REPLICATION_LAG_TIME=60)),
    Preset.TRANSACTION_ID_AGE: (measured(PG_XID_AGE=1.3 * BILLION), measured(PG_XID_AGE=1.2 * BILLION)),
    Preset.MULTIXACT_AGE: (measured(PG_MXID_AGE=1.3 * BILLION), measured(PG_MXID_AGE=1.2 * BILLION)),
    Preset.REPLICATION_SLOT: (
        measured(PG_REPLICATION_SLOT_RETAINED_BYTES=11 * GIGABYTE),
        measured(PG_REPLICATION_SLOT_RETAINED_BYTES=10 * GIGABYTE),
    ),
    Preset.SLOT_INACTIVE: (measured(PG_SLOTS_INACTIVE=1), measured(PG_SLOTS_INACTIVE=0)),
    Preset.SLOT_LOST: (measured(PG_SLOTS_LOST=1), measured(PG_SLOTS_LOST=0)),
    Preset.ARCHIVE_FAILURES: (measured(PG_ARCHIVE_FAILURES=0.02), measured(PG_ARCHIVE_FAILURES=0)),
    Preset.ARCHIVE_WAIT: (measured(PG_ARCHIVE_AGE=601), measured(PG_ARCHIVE_AGE=600)),
    Preset.LOCK_WAIT: (measured(PG_LONGEST_LOCK_WAIT=301), measured(PG_LONGEST_LOCK_WAIT=300)),
    Preset.LONG_TRANSACTION: (measured(PG_LONGEST_TRANSACTION=3601), measured(PG_LONGEST_TRANSACTION=3600)),
    Preset.DEADLOCKS: (measured(PG_DEADLOCKS=0.02), measured(PG_DEADLOCKS=0)),
    Preset.CHECKSUM_FAILURES: (measured(PG_CHECKSUM_FAILURES=0.02), measured(PG_CHECKSUM_FAILURES=0)),
    Preset.CERTIFICATE: (
        measured(SERVER_CERTIFICATE_DAYS=9),
        measured(SERVER_CERTIFICATE_DAYS=10),
    ),
    Preset.BACKUP_AGE: (measured(BACKUP_AGE=26.1), measured(BACKUP_AGE=26)),
    Preset.BACKUP_UNKNOWN: (measured(BACKUP_UNKNOWN=1), measured(BACKUP_UNKNOWN=0)),
    Preset.PLAN_STOPPED: (of_plan(PLAN | {"planStopped": True}), of_plan(PLAN)),
    Preset.PLAN_WAITING: (of_plan(PLAN | {"planWaits": True}), of_plan(PLAN)),
    Preset.VERSION_SUPPORT: (measured(SERVER_SUPPORT_DAYS=30), measured(SERVER_SUPPORT_DAYS=31)),
}
"""Of each preset the observations during its outage, and after it."""


def config(preset: Preset) -> ConfigView:
    """The configuration that the preset adds."""
    spec = preset.spec
    return ConfigView("c", spec.event_type, threshold=spec.threshold)


def actions(preset: Preset, observations: Sequence[Observation], alert: AlertView | None) -> set[AlertAction]:
    """What the observations do to the alert of the preset."""
    about = [seen for seen in observations if seen.event_type is preset.spec.event_type]
    return {step(config(preset), seen, alert).action for seen in about}


@each("preset", OUTAGES)
def test_each_preset_opens_on_its_outage_and_closes_after_it(preset: Preset) -> None:
    during, after = OUTAGES[preset]
    assert actions(preset, during, None) == {AlertAction.START}
    assert actions(preset, during, AlertView()) <= {AlertAction.NOTHING, AlertAction.UPDATE}
    assert actions(preset, after, AlertView()) == {AlertAction.CLOSE}
    assert actions(preset, after, None) == {AlertAction.NOTHING}


def test_every_preset_has_an_outage_or_notifies_once() -> None:
    once = [preset for preset in Preset if EVENT_TYPES[preset.spec.event_type].one_shot]
    assert {*OUTAGES, *once} == set(Preset)
    for preset in once:
        happened = of_event({"eventId": "e1", "eventTypeName": preset.spec.event_type.value})
        assert actions(preset, happened, None) == {AlertAction.NOTIFY}


def test_a_server_that_restarts_sends_the_message_of_a_crash() -> None:
    assert restart_event(before=3600, after=5) is Preset.HOST_RESTARTED.spec.event_type
    assert restart_event(before=3600, after=3660) is None


@each(("engine", "values"), list(HEALTHY.items()))
def test_no_preset_opens_on_a_new_healthy_replica_set(engine: Engine, values: Mapping[str, float]) -> None:
    healthy = [*measured(**values), *members(1, 3, 0), *of_agent(AGENT), *of_plan(PLAN)]
    for preset in presets_of(engine):
        if not EVENT_TYPES[preset.spec.event_type].one_shot:
            assert actions(preset, healthy, None) == {AlertAction.NOTHING}, preset


@each("size", [1, 2, 3, 7])
def test_no_preset_opens_on_a_healthy_replica_set_of_any_size(size: int) -> None:
    for preset in Preset:
        assert actions(preset, members(1, size, 0), None) <= {AlertAction.NOTHING}, preset


@each("engine", Engine)
def test_the_recorded_values_have_the_metrics_of_all_presets(engine: Engine) -> None:
    thresholds = [preset.spec.metric_threshold for preset in presets_of(engine)]
    metrics = {threshold.metric for threshold in thresholds if threshold}
    assert metrics - set(HEALTHY[engine]) == UNMEASURED[engine]
