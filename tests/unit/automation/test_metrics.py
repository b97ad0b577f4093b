"""Metrics: the whole list, written out by hand, each with its base unit, kind, engines and meaning."""

from automation.metrics import Engine, Metric, MetricKind, MetricSubject, allowed_units, base_unit, by_subject
from automation.units import Unit
from tests.each import each

# The metrics of the first version, whose units followed from patterns of their names: they must not change.
FIRST = {
    Unit.BYTES: """
        CACHE_BYTES_READ_INTO CACHE_BYTES_WRITTEN_FROM CACHE_DIRTY_BYTES CACHE_USED_BYTES
        MEMORY_RESIDENT MEMORY_VIRTUAL MEMORY_MAPPED COMPUTED_MEMORY
        NETWORK_BYTES_IN NETWORK_BYTES_OUT DB_STORAGE_TOTAL DB_DATA_SIZE_TOTAL
        SYSTEM_MEMORY_USED SYSTEM_MEMORY_FREE SYSTEM_MEMORY_AVAILABLE
        SYSTEM_NETWORK_BYTES_IN SYSTEM_NETWORK_BYTES_OUT SWAP_USAGE_USED SWAP_USAGE_FREE
    """,
    Unit.MILLISECONDS: """
        BACKGROUND_FLUSH_AVG OP_EXECUTION_TIME_READS OP_EXECUTION_TIME_WRITES OP_EXECUTION_TIME_COMMANDS
    """,
    Unit.SECONDS: "OPLOG_SLAVE_LAG_MASTER_TIME OPLOG_MASTER_TIME OPLOG_MASTER_LAG_TIME_DIFF",
    Unit.RAW: """
        ASSERT_REGULAR ASSERT_WARNING ASSERT_MSG ASSERT_USER
        TICKETS_AVAILABLE_READS TICKETS_AVAILABLE_WRITES
        CONNECTIONS CURSORS_TOTAL_OPEN CURSORS_TOTAL_TIMED_OUT EXTRA_INFO_PAGE_FAULTS
        GLOBAL_LOCK_CURRENT_QUEUE_TOTAL GLOBAL_LOCK_CURRENT_QUEUE_READERS GLOBAL_LOCK_CURRENT_QUEUE_WRITERS
        INDEX_COUNTERS_BTREE_ACCESSES INDEX_COUNTERS_BTREE_HITS INDEX_COUNTERS_BTREE_MISSES
        INDEX_COUNTERS_BTREE_MISS_RATIO
        JOURNALING_COMMITS_IN_WRITE_LOCK JOURNALING_MB JOURNALING_WRITE_DATA_FILES_MB
        NETWORK_NUM_REQUESTS OPLOG_RATE_GB_PER_HOUR
        OPCOUNTER_CMD OPCOUNTER_QUERY OPCOUNTER_UPDATE OPCOUNTER_DELETE OPCOUNTER_GETMORE OPCOUNTER_INSERT
        OPCOUNTER_REPL_CMD OPCOUNTER_REPL_UPDATE OPCOUNTER_REPL_DELETE OPCOUNTER_REPL_INSERT
        DOCUMENT_METRICS_RETURNED DOCUMENT_METRICS_INSERTED DOCUMENT_METRICS_UPDATED DOCUMENT_METRICS_DELETED
        OPERATIONS_SCAN_AND_ORDER RESTARTS_IN_LAST_HOUR
        QUERY_EXECUTOR_SCANNED QUERY_EXECUTOR_SCANNED_OBJECTS
        QUERY_TARGETING_SCANNED_PER_RETURNED QUERY_TARGETING_SCANNED_OBJECTS_PER_RETURNED
    """,
}
CPU_STATES = ("USER", "KERNEL", "NICE", "IOWAIT", "IRQ", "SOFTIRQ", "STEAL", "GUEST")
SINCE = {
    Unit.PERCENT: f"""
        CACHE_FILL_RATIO DIRTY_FILL_RATIO CONNECTIONS_PERCENT PG_CACHE_HIT_RATIO
        {" ".join(f"SYSTEM_CPU_{state} SYSTEM_NORMALIZED_CPU_{state}" for state in CPU_STATES)}
        DISK_PARTITION_SPACE_PERCENT_FREE DISK_PARTITION_SPACE_PERCENT_USED DISK_PARTITION_UTILIZATION
        SYSTEM_MEMORY_PERCENT_USED DISK_PARTITION_INODES_PERCENT_USED
        PG_WAL_DISK_PERCENT_USED PG_TABLESPACE_DISK_PERCENT_USED
        MONGO_FLOW_CONTROL_LAGGED
    """,
    Unit.BYTES: """
        DISK_PARTITION_SPACE_FREE DISK_PARTITION_SPACE_USED PG_WAL_DISK_FREE
        DATABASE_DATA_SIZE DATABASE_STORAGE_SIZE DATABASE_INDEX_SIZE DATABASE_AVERAGE_OBJECT_SIZE
        PG_TEMP_BYTES PG_REPLICATION_LAG_BYTES PG_REPLICATION_SLOT_RETAINED_BYTES PG_WAL_BYTES
        PG_SLOT_SAFE_WAL_BYTES PG_WAL_SIZE
        MONGO_DISK_SIZE_TOTAL
    """,
    Unit.MILLISECONDS: """
        DISK_PARTITION_LATENCY_READ DISK_PARTITION_LATENCY_WRITE PG_CHECKPOINT_WRITE_TIME
        MONGO_FLOW_CONTROL_WAIT
    """,
    Unit.HOURS: "BACKUP_AGE",
    Unit.DAYS: "SERVER_CERTIFICATE_DAYS SERVER_SUPPORT_DAYS",
    Unit.SECONDS: """
        PG_LONGEST_TRANSACTION PG_REPLICATION_LAG_TIME PG_ARCHIVE_AGE PG_LONGEST_LOCK_WAIT
        MONGO_MAJORITY_LAG
    """,
    Unit.RAW: """
        DISK_PARTITION_IOPS_READ DISK_PARTITION_IOPS_WRITE DISK_PARTITION_IOPS_TOTAL
        DATABASE_OBJECT_COUNT DATABASE_COLLECTION_COUNT DATABASE_INDEX_COUNT
        PG_TRANSACTIONS_COMMITTED PG_TRANSACTIONS_ROLLED_BACK PG_DEADLOCKS PG_CONFLICTS PG_CHECKSUM_FAILURES
        PG_ROWS_RETURNED PG_ROWS_FETCHED PG_ROWS_INSERTED PG_ROWS_UPDATED PG_ROWS_DELETED
        PG_IDLE_IN_TRANSACTION PG_LOCKS_WAITING PG_XID_AGE PG_MXID_AGE
        PG_CHECKPOINTS_TIMED PG_CHECKPOINTS_REQUESTED PG_IO_READS PG_IO_WRITES PG_IO_FSYNCS
        PG_DEAD_ROWS PG_ARCHIVE_FAILURES PG_TABLES_NEED_VACUUM PG_CRASHED_IN_LAST_HOUR
        PG_REPLICATION_CONNECTED PG_STANDBYS_CONNECTED PG_SYNC_STANDBYS_MISSING
        PG_SLOTS_LOST PG_SLOTS_INACTIVE PG_SLOT_XMIN_AGE PG_XMIN_AGE PG_ARCHIVE_WAITING
        SYSTEM_LOAD_1
        MONGO_FSYNC_LOCKED MONGO_ELECTIONS MONGO_MEMBERS_UNREACHABLE BACKUP_UNKNOWN
    """,
}
ROWS = [(name, unit) for table in (FIRST, SINCE) for unit, names in table.items() for name in names.split()]
RETIRED = {
    "BACKGROUND_FLUSH_AVG",
    "INDEX_COUNTERS_BTREE_ACCESSES",
    "INDEX_COUNTERS_BTREE_HITS",
    "INDEX_COUNTERS_BTREE_MISSES",
    "INDEX_COUNTERS_BTREE_MISS_RATIO",
    "JOURNALING_COMMITS_IN_WRITE_LOCK",
    "JOURNALING_MB",
    "JOURNALING_WRITE_DATA_FILES_MB",
    "MEMORY_MAPPED",
}


def test_it_knows_exactly_the_metrics_of_the_contract() -> None:
    assert sorted(Metric) == sorted(name for name, _ in ROWS)


@each(("name", "unit"), ROWS)
def test_it_knows_the_base_unit(name: str, unit: Unit) -> None:
    assert base_unit(Metric(name)) is unit


def test_a_metric_is_named_as_its_row() -> None:
    assert [metric.name for metric in Metric] == [metric.value for metric in Metric]


def test_every_metric_has_words_and_a_meaning_of_its_own() -> None:
    specs = [metric.spec for metric in Metric]
    for texts in ([spec.words for spec in specs], [spec.meaning for spec in specs]):
        assert len(set(texts)) == len(texts)
        assert all(text[0].isupper() and "_" not in text for text in texts)
    assert all(spec.meaning.endswith(".") and not spec.words.endswith(".") for spec in specs)


def test_metrics_of_servers_that_are_gone_are_deprecated() -> None:
    assert {metric.value for metric in Metric if metric.spec.deprecated} == RETIRED


@each(
    ("metric", "kind"),
    [
        (Metric.CONNECTIONS, MetricKind.GAUGE),
        (Metric.OPCOUNTER_QUERY, MetricKind.RATE),
        (Metric.OP_EXECUTION_TIME_READS, MetricKind.GAUGE),
        (Metric.NETWORK_BYTES_IN, MetricKind.RATE),
        (Metric.SYSTEM_CPU_USER, MetricKind.GAUGE),
        (Metric.DISK_PARTITION_IOPS_TOTAL, MetricKind.RATE),
        (Metric.OPLOG_RATE_GB_PER_HOUR, MetricKind.GAUGE),
        (Metric.PG_DEADLOCKS, MetricKind.RATE),
        (Metric.PG_CACHE_HIT_RATIO, MetricKind.GAUGE),
    ],
)
def test_a_counter_is_a_rate_and_a_level_or_a_share_a_gauge(metric: Metric, kind: MetricKind) -> None:
    assert metric.spec.kind is kind


def test_no_share_is_a_rate() -> None:
    assert not [
        metric
        for metric in Metric
        if metric.spec.unit is Unit.PERCENT and metric.spec.kind is MetricKind.RATE
    ]


def test_names_of_an_engine_are_measured_on_it_alone() -> None:
    for metric in Metric:
        if metric.startswith("PG_"):
            assert metric.spec.engines == (Engine.POSTGRESQL,)
        elif metric.startswith(("OPLOG_", "OPCOUNTER_", "CACHE_", "TICKETS_")):
            assert metric.spec.engines == (Engine.MONGODB,)
    assert Metric.CONNECTIONS.spec.engines == (Engine.MONGODB, Engine.POSTGRESQL)


def test_every_metric_is_under_one_subject_in_the_order_of_subjects() -> None:
    listed = list(by_subject(Metric))
    assert [subject for subject, _ in listed] == list(MetricSubject)
    assert sorted(metric for _, metrics in listed for metric in metrics) == sorted(Metric)


def test_a_subject_without_metrics_is_left_out() -> None:
    assert list(by_subject([Metric.SWAP_USAGE_FREE])) == [(MetricSubject.MACHINE, [Metric.SWAP_USAGE_FREE])]


@each(
    ("metric", "names"),
    [
        (Metric.ASSERT_REGULAR, "RAW"),
        (Metric.DIRTY_FILL_RATIO, "PERCENT"),
        (Metric.MEMORY_RESIDENT, "BYTES KILOBYTES MEGABYTES GIGABYTES TERABYTES PETABYTES"),
        (Metric.OPLOG_MASTER_TIME, "NANOSECONDS MILLISECONDS SECONDS MINUTES HOURS DAYS"),
    ],
)
def test_it_allows_the_units_of_the_metric_s_family(metric: Metric, names: str) -> None:
    assert list(allowed_units(metric)) == names.split()
