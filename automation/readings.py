"""Stored readings: the identity of their report, the number of each metric, and their rows. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from automation.metrics import Metric
from automation.reports import Samples

# Readings store numbers, not names: append new metrics, and never move or remove one.
_IN_ORDER = """
ASSERT_REGULAR ASSERT_WARNING ASSERT_MSG ASSERT_USER BACKGROUND_FLUSH_AVG CACHE_BYTES_READ_INTO
CACHE_BYTES_WRITTEN_FROM CACHE_DIRTY_BYTES CACHE_USED_BYTES CACHE_FILL_RATIO DIRTY_FILL_RATIO
TICKETS_AVAILABLE_READS TICKETS_AVAILABLE_WRITES CONNECTIONS CONNECTIONS_PERCENT CURSORS_TOTAL_OPEN
CURSORS_TOTAL_TIMED_OUT EXTRA_INFO_PAGE_FAULTS GLOBAL_LOCK_CURRENT_QUEUE_TOTAL
GLOBAL_LOCK_CURRENT_QUEUE_READERS GLOBAL_LOCK_CURRENT_QUEUE_WRITERS INDEX_COUNTERS_BTREE_ACCESSES
INDEX_COUNTERS_BTREE_HITS INDEX_COUNTERS_BTREE_MISSES INDEX_COUNTERS_BTREE_MISS_RATIO
JOURNALING_COMMITS_IN_WRITE_LOCK JOURNALING_MB JOURNALING_WRITE_DATA_FILES_MB MEMORY_RESIDENT
MEMORY_VIRTUAL MEMORY_MAPPED COMPUTED_MEMORY NETWORK_BYTES_IN NETWORK_BYTES_OUT NETWORK_NUM_REQUESTS
OPLOG_SLAVE_LAG_MASTER_TIME OPLOG_MASTER_TIME OPLOG_MASTER_LAG_TIME_DIFF OPLOG_RATE_GB_PER_HOUR
DB_STORAGE_TOTAL DB_DATA_SIZE_TOTAL DATABASE_DATA_SIZE DATABASE_STORAGE_SIZE DATABASE_INDEX_SIZE
DATABASE_AVERAGE_OBJECT_SIZE DATABASE_OBJECT_COUNT DATABASE_COLLECTION_COUNT DATABASE_INDEX_COUNT
OPCOUNTER_CMD OPCOUNTER_QUERY OPCOUNTER_UPDATE OPCOUNTER_DELETE OPCOUNTER_GETMORE OPCOUNTER_INSERT
OPCOUNTER_REPL_CMD OPCOUNTER_REPL_UPDATE OPCOUNTER_REPL_DELETE OPCOUNTER_REPL_INSERT
DOCUMENT_METRICS_RETURNED DOCUMENT_METRICS_INSERTED DOCUMENT_METRICS_UPDATED DOCUMENT_METRICS_DELETED
OPERATIONS_SCAN_AND_ORDER OP_EXECUTION_TIME_READS OP_EXECUTION_TIME_WRITES OP_EXECUTION_TIME_COMMANDS
RESTARTS_IN_LAST_HOUR SYSTEM_CPU_USER SYSTEM_CPU_KERNEL SYSTEM_CPU_NICE SYSTEM_CPU_IOWAIT SYSTEM_CPU_IRQ
SYSTEM_CPU_SOFTIRQ SYSTEM_CPU_STEAL SYSTEM_CPU_GUEST SYSTEM_NORMALIZED_CPU_USER
SYSTEM_NORMALIZED_CPU_KERNEL SYSTEM_NORMALIZED_CPU_NICE SYSTEM_NORMALIZED_CPU_IOWAIT
SYSTEM_NORMALIZED_CPU_IRQ SYSTEM_NORMALIZED_CPU_SOFTIRQ SYSTEM_NORMALIZED_CPU_STEAL
SYSTEM_NORMALIZED_CPU_GUEST SYSTEM_MEMORY_USED SYSTEM_MEMORY_FREE SYSTEM_MEMORY_AVAILABLE
SYSTEM_NETWORK_BYTES_IN SYSTEM_NETWORK_BYTES_OUT SWAP_USAGE_USED SWAP_USAGE_FREE DISK_PARTITION_SPACE_FREE
DISK_PARTITION_SPACE_USED DISK_PARTITION_SPACE_PERCENT_FREE DISK_PARTITION_SPACE_PERCENT_USED
DISK_PARTITION_IOPS_READ DISK_PARTITION_IOPS_WRITE DISK_PARTITION_IOPS_TOTAL DISK_PARTITION_LATENCY_READ
DISK_PARTITION_LATENCY_WRITE DISK_PARTITION_UTILIZATION QUERY_EXECUTOR_SCANNED
QUERY_EXECUTOR_SCANNED_OBJECTS QUERY_TARGETING_SCANNED_PER_RETURNED
QUERY_TARGETING_SCANNED_OBJECTS_PER_RETURNED PG_TRANSACTIONS_COMMITTED PG_TRANSACTIONS_ROLLED_BACK
PG_DEADLOCKS PG_CONFLICTS PG_CHECKSUM_FAILURES PG_TEMP_BYTES PG_CACHE_HIT_RATIO PG_ROWS_RETURNED
PG_ROWS_FETCHED PG_ROWS_INSERTED PG_ROWS_UPDATED PG_ROWS_DELETED PG_LONGEST_TRANSACTION
PG_IDLE_IN_TRANSACTION PG_LOCKS_WAITING PG_REPLICATION_LAG_TIME PG_REPLICATION_LAG_BYTES
PG_REPLICATION_SLOT_RETAINED_BYTES PG_XID_AGE PG_MXID_AGE PG_WAL_BYTES PG_CHECKPOINTS_TIMED
PG_CHECKPOINTS_REQUESTED PG_CHECKPOINT_WRITE_TIME PG_IO_READS PG_IO_WRITES PG_IO_FSYNCS PG_DEAD_ROWS
PG_ARCHIVE_FAILURES
"""

NUMBERS: Mapping[Metric, int] = {Metric(name): place for place, name in enumerate(_IN_ORDER.split(), 1)}
METRICS: Mapping[int, Metric] = {number: metric for metric, number in NUMBERS.items()}
_SECOND = timedelta(seconds=1)


class MeasuredAt(NamedTuple):
    """The time of a report and its number, which distinguishes reports of the same microsecond."""

    reported: datetime
    report: int

    @property
    def wire(self) -> str:
        """The form in signals."""
        return f"{self.reported.isoformat()} {self.report}"

    @classmethod
    def read(cls, wire: str) -> "MeasuredAt":
        """Parse the output of `wire`."""
        reported, report = wire.split(" ")
        return cls(datetime.fromisoformat(reported), int(report))


def rows_of(samples: Samples, reported: datetime) -> list[tuple[int, str]]:
    """For each moment, its age and the numbers at the positions of their metrics.

    The age is in whole seconds before `reported`. The numbers are the text of a PostgreSQL array. A metric
    with two values at the same moment makes another row.
    """
    rows: dict[tuple[datetime, int], dict[int, float]] = {}
    for metric, numbers in samples.items():
        place = NUMBERS[metric]
        times: dict[datetime, int] = {}
        for moment, number in numbers:
            time = times[moment] = times.get(moment, 0) + 1
            rows.setdefault((moment, time), {})[place] = number
    second = _cut(reported)
    return [((second - _cut(moment)) // _SECOND, _array(row)) for (moment, _), row in rows.items()]


def samples_of(reported: datetime, rows: Iterable[tuple[int, Sequence[float | None]]]) -> Samples:
    """What was reported at a time, of its rows as (age, numbers): each metric's samples, oldest first."""
    second = _cut(reported)
    found: dict[Metric, list[tuple[datetime, float]]] = {}
    for age, numbers in sorted(rows, key=lambda row: -row[0]):
        moment = second - age * _SECOND
        for place, number in enumerate(numbers, 1):
            if number is not None:
                found.setdefault(METRICS[place], []).append((moment, number))
    return found


def _array(row: dict[int, float]) -> str:
    numbers = (repr(row[place]) if place in row else "NULL" for place in range(1, max(row) + 1))
    return f"{{{','.join(numbers)}}}"


def _cut(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)
