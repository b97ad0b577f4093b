"""The metrics that hosts report: the closed set, and a table of their properties. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from automation.metric_spec import (
    BOTH,
    GAUGE,
    MONGODB,
    POSTGRESQL,
    RATE,
    Engine,
    MetricKind,
    MetricSpec,
    MetricSubject,
)
from automation.units import Unit, family_of, units_of


class Metric(StrEnum):
    """All metrics; the values are the wire values.

    Stored readings identify a metric by its position in this class: append new metrics, and never move or
    remove one.

    Metrics of MongoDB and of machines have the names of MongoDB's own operations platform
    (https://www.mongodb.com/docs/ops-manager/current/reference/api/measures/measurement-types/). Metrics of
    PostgreSQL follow its statistics (https://www.postgresql.org/docs/current/monitoring-stats.html).
    """

    ASSERT_REGULAR = "ASSERT_REGULAR"
    ASSERT_WARNING = "ASSERT_WARNING"
    ASSERT_MSG = "ASSERT_MSG"
    ASSERT_USER = "ASSERT_USER"
    BACKGROUND_FLUSH_AVG = "BACKGROUND_FLUSH_AVG"
    CACHE_BYTES_READ_INTO = "CACHE_BYTES_READ_INTO"
    CACHE_BYTES_WRITTEN_FROM = "CACHE_BYTES_WRITTEN_FROM"
    CACHE_DIRTY_BYTES = "CACHE_DIRTY_BYTES"
    CACHE_USED_BYTES = "CACHE_USED_BYTES"
    CACHE_FILL_RATIO = "CACHE_FILL_RATIO"
    DIRTY_FILL_RATIO = "DIRTY_FILL_RATIO"
    TICKETS_AVAILABLE_READS = "TICKETS_AVAILABLE_READS"
    TICKETS_AVAILABLE_WRITES = "TICKETS_AVAILABLE_WRITES"
    CONNECTIONS = "CONNECTIONS"
    CONNECTIONS_PERCENT = "CONNECTIONS_PERCENT"
    CURSORS_TOTAL_OPEN = "CURSORS_TOTAL_OPEN"
    CURSORS_TOTAL_TIMED_OUT = "CURSORS_TOTAL_TIMED_OUT"
    EXTRA_INFO_PAGE_FAULTS = "EXTRA_INFO_PAGE_FAULTS"
    GLOBAL_LOCK_CURRENT_QUEUE_TOTAL = "GLOBAL_LOCK_CURRENT_QUEUE_TOTAL"
    GLOBAL_LOCK_CURRENT_QUEUE_READERS = "GLOBAL_LOCK_CURRENT_QUEUE_READERS"
    GLOBAL_LOCK_CURRENT_QUEUE_WRITERS = "GLOBAL_LOCK_CURRENT_QUEUE_WRITERS"
    INDEX_COUNTERS_BTREE_ACCESSES = "INDEX_COUNTERS_BTREE_ACCESSES"
    INDEX_COUNTERS_BTREE_HITS = "INDEX_COUNTERS_BTREE_HITS"
    INDEX_COUNTERS_BTREE_MISSES = "INDEX_COUNTERS_BTREE_MISSES"
    INDEX_COUNTERS_BTREE_MISS_RATIO = "INDEX_COUNTERS_BTREE_MISS_RATIO"
    JOURNALING_COMMITS_IN_WRITE_LOCK = "JOURNALING_COMMITS_IN_WRITE_LOCK"
    JOURNALING_MB = "JOURNALING_MB"
    JOURNALING_WRITE_DATA_FILES_MB = "JOURNALING_WRITE_DATA_FILES_MB"
    MEMORY_RESIDENT = "MEMORY_RESIDENT"
    MEMORY_VIRTUAL = "MEMORY_VIRTUAL"
    MEMORY_MAPPED = "MEMORY_MAPPED"
    COMPUTED_MEMORY = "COMPUTED_MEMORY"
    NETWORK_BYTES_IN = "NETWORK_BYTES_IN"
    NETWORK_BYTES_OUT = "NETWORK_BYTES_OUT"
    NETWORK_NUM_REQUESTS = "NETWORK_NUM_REQUESTS"
    OPLOG_SLAVE_LAG_MASTER_TIME = "OPLOG_SLAVE_LAG_MASTER_TIME"
    OPLOG_MASTER_TIME = "OPLOG_MASTER_TIME"
    OPLOG_MASTER_LAG_TIME_DIFF = "OPLOG_MASTER_LAG_TIME_DIFF"
    OPLOG_RATE_GB_PER_HOUR = "OPLOG_RATE_GB_PER_HOUR"
    DB_STORAGE_TOTAL = "DB_STORAGE_TOTAL"
    DB_DATA_SIZE_TOTAL = "DB_DATA_SIZE_TOTAL"
    DATABASE_DATA_SIZE = "DATABASE_DATA_SIZE"
    DATABASE_STORAGE_SIZE = "DATABASE_STORAGE_SIZE"
    DATABASE_INDEX_SIZE = "DATABASE_INDEX_SIZE"
    DATABASE_AVERAGE_OBJECT_SIZE = "DATABASE_AVERAGE_OBJECT_SIZE"
    DATABASE_OBJECT_COUNT = "DATABASE_OBJECT_COUNT"
    DATABASE_COLLECTION_COUNT = "DATABASE_COLLECTION_COUNT"
    DATABASE_INDEX_COUNT = "DATABASE_INDEX_COUNT"
    OPCOUNTER_CMD = "OPCOUNTER_CMD"
    OPCOUNTER_QUERY = "OPCOUNTER_QUERY"
    OPCOUNTER_UPDATE = "OPCOUNTER_UPDATE"
    OPCOUNTER_DELETE = "OPCOUNTER_DELETE"
    OPCOUNTER_GETMORE = "OPCOUNTER_GETMORE"
    OPCOUNTER_INSERT = "OPCOUNTER_INSERT"
    OPCOUNTER_REPL_CMD = "OPCOUNTER_REPL_CMD"
    OPCOUNTER_REPL_UPDATE = "OPCOUNTER_REPL_UPDATE"
    OPCOUNTER_REPL_DELETE = "OPCOUNTER_REPL_DELETE"
    OPCOUNTER_REPL_INSERT = "OPCOUNTER_REPL_INSERT"
    DOCUMENT_METRICS_RETURNED = "DOCUMENT_METRICS_RETURNED"
    DOCUMENT_METRICS_INSERTED = "DOCUMENT_METRICS_INSERTED"
    DOCUMENT_METRICS_UPDATED = "DOCUMENT_METRICS_UPDATED"
    DOCUMENT_METRICS_DELETED = "DOCUMENT_METRICS_DELETED"
    OPERATIONS_SCAN_AND_ORDER = "OPERATIONS_SCAN_AND_ORDER"
    OP_EXECUTION_TIME_READS = "OP_EXECUTION_TIME_READS"
    OP_EXECUTION_TIME_WRITES = "OP_EXECUTION_TIME_WRITES"
    OP_EXECUTION_TIME_COMMANDS = "OP_EXECUTION_TIME_COMMANDS"
    RESTARTS_IN_LAST_HOUR = "RESTARTS_IN_LAST_HOUR"
    SYSTEM_CPU_USER = "SYSTEM_CPU_USER"
    SYSTEM_CPU_KERNEL = "SYSTEM_CPU_KERNEL"
    SYSTEM_CPU_NICE = "SYSTEM_CPU_NICE"
    SYSTEM_CPU_IOWAIT = "SYSTEM_CPU_IOWAIT"
    SYSTEM_CPU_IRQ = "SYSTEM_CPU_IRQ"
    SYSTEM_CPU_SOFTIRQ = "SYSTEM_CPU_SOFTIRQ"
    SYSTEM_CPU_STEAL = "SYSTEM_CPU_STEAL"
    SYSTEM_CPU_GUEST = "SYSTEM_CPU_GUEST"
    SYSTEM_NORMALIZED_CPU_USER = "SYSTEM_NORMALIZED_CPU_USER"
    SYSTEM_NORMALIZED_CPU_KERNEL = "SYSTEM_NORMALIZED_CPU_KERNEL"
    SYSTEM_NORMALIZED_CPU_NICE = "SYSTEM_NORMALIZED_CPU_NICE"
    SYSTEM_NORMALIZED_CPU_IOWAIT = "SYSTEM_NORMALIZED_CPU_IOWAIT"
    SYSTEM_NORMALIZED_CPU_IRQ = "SYSTEM_NORMALIZED_CPU_IRQ"
    SYSTEM_NORMALIZED_CPU_SOFTIRQ = "SYSTEM_NORMALIZED_CPU_SOFTIRQ"
    SYSTEM_NORMALIZED_CPU_STEAL = "SYSTEM_NORMALIZED_CPU_STEAL"
    SYSTEM_NORMALIZED_CPU_GUEST = "SYSTEM_NORMALIZED_CPU_GUEST"
    SYSTEM_MEMORY_USED = "SYSTEM_MEMORY_USED"
    SYSTEM_MEMORY_FREE = "SYSTEM_MEMORY_FREE"
    SYSTEM_MEMORY_AVAILABLE = "SYSTEM_MEMORY_AVAILABLE"
    SYSTEM_NETWORK_BYTES_IN = "SYSTEM_NETWORK_BYTES_IN"
    SYSTEM_NETWORK_BYTES_OUT = "SYSTEM_NETWORK_BYTES_OUT"
    SWAP_USAGE_USED = "SWAP_USAGE_USED"
    SWAP_USAGE_FREE = "SWAP_USAGE_FREE"
    DISK_PARTITION_SPACE_FREE = "DISK_PARTITION_SPACE_FREE"
    DISK_PARTITION_SPACE_USED = "DISK_PARTITION_SPACE_USED"
    DISK_PARTITION_SPACE_PERCENT_FREE = "DISK_PARTITION_SPACE_PERCENT_FREE"
    DISK_PARTITION_SPACE_PERCENT_USED = "DISK_PARTITION_SPACE_PERCENT_USED"
    DISK_PARTITION_IOPS_READ = "DISK_PARTITION_IOPS_READ"
    DISK_PARTITION_IOPS_WRITE = "DISK_PARTITION_IOPS_WRITE"
    DISK_PARTITION_IOPS_TOTAL = "DISK_PARTITION_IOPS_TOTAL"
    DISK_PARTITION_LATENCY_READ = "DISK_PARTITION_LATENCY_READ"
    DISK_PARTITION_LATENCY_WRITE = "DISK_PARTITION_LATENCY_WRITE"
    DISK_PARTITION_UTILIZATION = "DISK_PARTITION_UTILIZATION"
    QUERY_EXECUTOR_SCANNED = "QUERY_EXECUTOR_SCANNED"
    QUERY_EXECUTOR_SCANNED_OBJECTS = "QUERY_EXECUTOR_SCANNED_OBJECTS"
    QUERY_TARGETING_SCANNED_PER_RETURNED = "QUERY_TARGETING_SCANNED_PER_RETURNED"
    QUERY_TARGETING_SCANNED_OBJECTS_PER_RETURNED = "QUERY_TARGETING_SCANNED_OBJECTS_PER_RETURNED"
    PG_TRANSACTIONS_COMMITTED = "PG_TRANSACTIONS_COMMITTED"
    PG_TRANSACTIONS_ROLLED_BACK = "PG_TRANSACTIONS_ROLLED_BACK"
    PG_DEADLOCKS = "PG_DEADLOCKS"
    PG_CONFLICTS = "PG_CONFLICTS"
    PG_CHECKSUM_FAILURES = "PG_CHECKSUM_FAILURES"
    PG_TEMP_BYTES = "PG_TEMP_BYTES"
    PG_CACHE_HIT_RATIO = "PG_CACHE_HIT_RATIO"
    PG_ROWS_RETURNED = "PG_ROWS_RETURNED"
    PG_ROWS_FETCHED = "PG_ROWS_FETCHED"
    PG_ROWS_INSERTED = "PG_ROWS_INSERTED"
    PG_ROWS_UPDATED = "PG_ROWS_UPDATED"
    PG_ROWS_DELETED = "PG_ROWS_DELETED"
    PG_LONGEST_TRANSACTION = "PG_LONGEST_TRANSACTION"
    PG_IDLE_IN_TRANSACTION = "PG_IDLE_IN_TRANSACTION"
    PG_LOCKS_WAITING = "PG_LOCKS_WAITING"
    PG_REPLICATION_LAG_TIME = "PG_REPLICATION_LAG_TIME"
    PG_REPLICATION_LAG_BYTES = "PG_REPLICATION_LAG_BYTES"
    PG_REPLICATION_SLOT_RETAINED_BYTES = "PG_REPLICATION_SLOT_RETAINED_BYTES"
    PG_XID_AGE = "PG_XID_AGE"
    PG_MXID_AGE = "PG_MXID_AGE"
    PG_WAL_BYTES = "PG_WAL_BYTES"
    PG_CHECKPOINTS_TIMED = "PG_CHECKPOINTS_TIMED"
    PG_CHECKPOINTS_REQUESTED = "PG_CHECKPOINTS_REQUESTED"
    PG_CHECKPOINT_WRITE_TIME = "PG_CHECKPOINT_WRITE_TIME"
    PG_IO_READS = "PG_IO_READS"
    PG_IO_WRITES = "PG_IO_WRITES"
    PG_IO_FSYNCS = "PG_IO_FSYNCS"
    PG_DEAD_ROWS = "PG_DEAD_ROWS"
    PG_ARCHIVE_FAILURES = "PG_ARCHIVE_FAILURES"

    @property
    def spec(self) -> MetricSpec:
        """Its row of the table."""
        return _SPECS[self]


Row = tuple[MetricKind, Unit, str, str]
"""Kind, base unit, words and meaning of a metric."""

# fmt: off
TABLE: Mapping[tuple[MetricSubject, tuple[Engine, ...]], Mapping[Metric, Row]] = {
    (MetricSubject.CONNECTIONS, BOTH): {
        Metric.CONNECTIONS: (GAUGE, Unit.RAW, "Connections", "Open connections of clients."),
        Metric.CONNECTIONS_PERCENT: (GAUGE, Unit.PERCENT, "Connections in use",
            "Open connections as a share of the connections that the server allows."),
    },
    (MetricSubject.CONNECTIONS, MONGODB): {
        Metric.CURSORS_TOTAL_OPEN: (GAUGE, Unit.RAW, "Open cursors",
            "Cursors that the server keeps open for clients."),
        Metric.CURSORS_TOTAL_TIMED_OUT: (RATE, Unit.RAW, "Timed-out cursors",
            "Cursors that the server closed because their clients did not use them."),
        Metric.NETWORK_BYTES_IN: (RATE, Unit.BYTES, "Network bytes in",
            "Data that the server received from clients and members."),
        Metric.NETWORK_BYTES_OUT: (RATE, Unit.BYTES, "Network bytes out",
            "Data that the server sent to clients and members."),
        Metric.NETWORK_NUM_REQUESTS: (RATE, Unit.RAW, "Network requests",
            "Requests that the server received."),
    },
    (MetricSubject.OPERATIONS, MONGODB): {
        Metric.ASSERT_REGULAR: (RATE, Unit.RAW, "Regular asserts", "Regular asserts that were raised."),
        Metric.ASSERT_WARNING: (RATE, Unit.RAW, "Warning asserts", "Warnings that were raised."),
        Metric.ASSERT_MSG: (RATE, Unit.RAW, "Message asserts",
            "Message asserts that were raised: internal errors with a text of their own."),
        Metric.ASSERT_USER: (RATE, Unit.RAW, "User asserts",
            "Errors that clients caused, such as duplicate keys."),
        Metric.OPCOUNTER_CMD: (RATE, Unit.RAW, "Commands", "Commands that ran."),
        Metric.OPCOUNTER_QUERY: (RATE, Unit.RAW, "Queries", "Queries that ran."),
        Metric.OPCOUNTER_UPDATE: (RATE, Unit.RAW, "Updates", "Updates that ran."),
        Metric.OPCOUNTER_DELETE: (RATE, Unit.RAW, "Deletes", "Deletes that ran."),
        Metric.OPCOUNTER_GETMORE: (RATE, Unit.RAW, "Get-mores", "Requests for the next results of a cursor."),
        Metric.OPCOUNTER_INSERT: (RATE, Unit.RAW, "Inserts", "Inserts that ran."),
        Metric.OPCOUNTER_REPL_CMD: (RATE, Unit.RAW, "Replicated commands",
            "Commands that a secondary applied from the oplog."),
        Metric.OPCOUNTER_REPL_UPDATE: (RATE, Unit.RAW, "Replicated updates",
            "Updates that a secondary applied from the oplog."),
        Metric.OPCOUNTER_REPL_DELETE: (RATE, Unit.RAW, "Replicated deletes",
            "Deletes that a secondary applied from the oplog."),
        Metric.OPCOUNTER_REPL_INSERT: (RATE, Unit.RAW, "Replicated inserts",
            "Inserts that a secondary applied from the oplog."),
        Metric.DOCUMENT_METRICS_RETURNED: (RATE, Unit.RAW, "Documents returned",
            "Documents that queries returned."),
        Metric.DOCUMENT_METRICS_INSERTED: (RATE, Unit.RAW, "Documents inserted",
            "Documents that were inserted."),
        Metric.DOCUMENT_METRICS_UPDATED: (RATE, Unit.RAW, "Documents updated",
            "Documents that were updated."),
        Metric.DOCUMENT_METRICS_DELETED: (RATE, Unit.RAW, "Documents deleted",
            "Documents that were deleted."),
        Metric.OPERATIONS_SCAN_AND_ORDER: (RATE, Unit.RAW, "Operations that scan and order",
            "Queries that sorted their results because no index had them in order."),
        Metric.OP_EXECUTION_TIME_READS: (GAUGE, Unit.MILLISECONDS, "Execution time of reads",
            "Mean time of a read."),
        Metric.OP_EXECUTION_TIME_WRITES: (GAUGE, Unit.MILLISECONDS, "Execution time of writes",
            "Mean time of a write."),
        Metric.OP_EXECUTION_TIME_COMMANDS: (GAUGE, Unit.MILLISECONDS, "Execution time of commands",
            "Mean time of a command."),
        Metric.QUERY_EXECUTOR_SCANNED: (RATE, Unit.RAW, "Index keys scanned by queries",
            "Index keys that queries looked at."),
        Metric.QUERY_EXECUTOR_SCANNED_OBJECTS: (RATE, Unit.RAW, "Documents scanned by queries",
            "Documents that queries looked at."),
        Metric.QUERY_TARGETING_SCANNED_PER_RETURNED: (GAUGE, Unit.RAW,
            "Index keys scanned per document returned",
            "Index keys that queries looked at for each document they returned."),
        Metric.QUERY_TARGETING_SCANNED_OBJECTS_PER_RETURNED: (GAUGE, Unit.RAW,
            "Documents scanned per document returned",
            "Documents that queries looked at for each document they returned; a value far above 1 means "
            "that an index is missing."),
    },
    (MetricSubject.TRANSACTIONS, POSTGRESQL): {
        Metric.PG_TRANSACTIONS_COMMITTED: (RATE, Unit.RAW, "Transactions committed",
            "Transactions that were committed."),
        Metric.PG_TRANSACTIONS_ROLLED_BACK: (RATE, Unit.RAW, "Transactions rolled back",
            "Transactions that were rolled back."),
        Metric.PG_CONFLICTS: (RATE, Unit.RAW, "Queries cancelled by recovery",
            "Queries of a standby that were cancelled because they conflicted with recovery."),
        Metric.PG_ROWS_RETURNED: (RATE, Unit.RAW, "Rows returned", "Rows that scans read."),
        Metric.PG_ROWS_FETCHED: (RATE, Unit.RAW, "Rows fetched", "Rows that scans of indexes fetched."),
        Metric.PG_ROWS_INSERTED: (RATE, Unit.RAW, "Rows inserted", "Rows that were inserted."),
        Metric.PG_ROWS_UPDATED: (RATE, Unit.RAW, "Rows updated", "Rows that were updated."),
        Metric.PG_ROWS_DELETED: (RATE, Unit.RAW, "Rows deleted", "Rows that were deleted."),
        Metric.PG_LONGEST_TRANSACTION: (GAUGE, Unit.SECONDS, "Longest transaction",
            "Age of the oldest transaction that is open."),
        Metric.PG_IDLE_IN_TRANSACTION: (GAUGE, Unit.RAW, "Connections idle in a transaction",
            "Connections whose transaction is open while nothing runs in it."),
        Metric.PG_XID_AGE: (GAUGE, Unit.RAW, "Transaction ID age",
            "Transaction IDs used since the oldest unfrozen one; close to 2^31 the server refuses writes."),
        Metric.PG_MXID_AGE: (GAUGE, Unit.RAW, "Multixact ID age",
            "Multixact IDs used since the oldest unfrozen one; close to 2^31 the server refuses writes."),
    },
    (MetricSubject.LOCKS, MONGODB): {
        Metric.TICKETS_AVAILABLE_READS: (GAUGE, Unit.RAW, "Read tickets available",
            "Reads that the storage engine can still admit; at 0, reads wait."),
        Metric.TICKETS_AVAILABLE_WRITES: (GAUGE, Unit.RAW, "Write tickets available",
            "Writes that the storage engine can still admit; at 0, writes wait."),
        Metric.GLOBAL_LOCK_CURRENT_QUEUE_TOTAL: (GAUGE, Unit.RAW, "Operations queued for a lock",
            "Operations that wait for a lock."),
        Metric.GLOBAL_LOCK_CURRENT_QUEUE_READERS: (GAUGE, Unit.RAW, "Reads queued for a lock",
            "Reads that wait for a lock."),
        Metric.GLOBAL_LOCK_CURRENT_QUEUE_WRITERS: (GAUGE, Unit.RAW, "Writes queued for a lock",
            "Writes that wait for a lock."),
    },
    (MetricSubject.LOCKS, POSTGRESQL): {
        Metric.PG_DEADLOCKS: (RATE, Unit.RAW, "Deadlocks",
            "Deadlocks that the server solved by ending a transaction."),
        Metric.PG_LOCKS_WAITING: (GAUGE, Unit.RAW, "Locks waited for",
            "Lock requests that are not granted yet."),
    },
    (MetricSubject.PROCESS, MONGODB): {
        Metric.CACHE_BYTES_READ_INTO: (RATE, Unit.BYTES, "Bytes read into cache",
            "Data read from disk into the cache of the storage engine."),
        Metric.CACHE_BYTES_WRITTEN_FROM: (RATE, Unit.BYTES, "Bytes written from cache",
            "Data written to disk from the cache of the storage engine."),
        Metric.CACHE_DIRTY_BYTES: (GAUGE, Unit.BYTES, "Dirty cache",
            "Data in the cache that is changed and not yet written to disk."),
        Metric.CACHE_USED_BYTES: (GAUGE, Unit.BYTES, "Used cache",
            "Data in the cache of the storage engine."),
        Metric.CACHE_FILL_RATIO: (GAUGE, Unit.PERCENT, "Cache in use",
            "Share of the configured cache that holds data."),
        Metric.DIRTY_FILL_RATIO: (GAUGE, Unit.PERCENT, "Dirty share of the cache",
            "Share of the configured cache that holds changed data not yet written to disk."),
        Metric.EXTRA_INFO_PAGE_FAULTS: (RATE, Unit.RAW, "Page faults", "Page faults of the server process."),
        Metric.MEMORY_RESIDENT: (GAUGE, Unit.BYTES, "Resident memory",
            "Memory of the machine that the server process holds."),
        Metric.MEMORY_VIRTUAL: (GAUGE, Unit.BYTES, "Virtual memory",
            "Addresses that the server process has reserved."),
        Metric.COMPUTED_MEMORY: (GAUGE, Unit.BYTES, "Computed memory",
            "Virtual memory without mapped data files."),
        Metric.RESTARTS_IN_LAST_HOUR: (GAUGE, Unit.RAW, "Restarts in the last hour",
            "How often the server process was started in the last hour."),
    },
    (MetricSubject.PROCESS, POSTGRESQL): {
        Metric.PG_CACHE_HIT_RATIO: (GAUGE, Unit.PERCENT, "Cache hit ratio",
            "Share of the pages read that were found in the shared buffers."),
    },
    (MetricSubject.REPLICATION, MONGODB): {
        Metric.OPLOG_SLAVE_LAG_MASTER_TIME: (GAUGE, Unit.SECONDS, "Replication lag",
            "How far a secondary is behind its primary."),
        Metric.OPLOG_MASTER_TIME: (GAUGE, Unit.SECONDS, "Replication oplog window",
            "Time from the oldest to the newest entry of the oplog. A member that is down for longer "
            "needs an initial sync."),
        Metric.OPLOG_MASTER_LAG_TIME_DIFF: (GAUGE, Unit.SECONDS, "Replication headroom",
            "Oplog window of the primary minus the lag of the secondary; at 0, the secondary needs an "
            "initial sync."),
        Metric.OPLOG_RATE_GB_PER_HOUR: (GAUGE, Unit.RAW, "Oplog gigabytes per hour",
            "Gigabytes of oplog that the primary writes in an hour."),
    },
    (MetricSubject.REPLICATION, POSTGRESQL): {
        Metric.PG_REPLICATION_LAG_TIME: (GAUGE, Unit.SECONDS, "Standby lag",
            "How far a standby is behind its primary in time."),
        Metric.PG_REPLICATION_LAG_BYTES: (GAUGE, Unit.BYTES, "Standby lag in bytes",
            "Write-ahead log of the primary that a standby has not replayed yet."),
        Metric.PG_REPLICATION_SLOT_RETAINED_BYTES: (GAUGE, Unit.BYTES, "Write-ahead log retained by a slot",
            "Write-ahead log that the server keeps for the replication slot that is furthest behind."),
    },
    (MetricSubject.DATABASES, BOTH): {
        Metric.DATABASE_STORAGE_SIZE: (GAUGE, Unit.BYTES, "Storage of a database",
            "Space that a database takes on disk; on MongoDB without its indexes."),
    },
    (MetricSubject.DATABASES, MONGODB): {
        Metric.DB_STORAGE_TOTAL: (GAUGE, Unit.BYTES, "Database storage",
            "Space that the collections of all databases take on disk."),
        Metric.DB_DATA_SIZE_TOTAL: (GAUGE, Unit.BYTES, "Database data size",
            "Size of the documents of all databases, before compression."),
        Metric.DATABASE_DATA_SIZE: (GAUGE, Unit.BYTES, "Data size of a database",
            "Size of the documents of a database, before compression."),
        Metric.DATABASE_INDEX_SIZE: (GAUGE, Unit.BYTES, "Index size of a database",
            "Space that the indexes of a database take on disk."),
        Metric.DATABASE_AVERAGE_OBJECT_SIZE: (GAUGE, Unit.BYTES, "Mean document size of a database",
            "Mean size of the documents of a database."),
        Metric.DATABASE_OBJECT_COUNT: (GAUGE, Unit.RAW, "Documents of a database",
            "How many documents a database has."),
        Metric.DATABASE_COLLECTION_COUNT: (GAUGE, Unit.RAW, "Collections of a database",
            "How many collections a database has."),
        Metric.DATABASE_INDEX_COUNT: (GAUGE, Unit.RAW, "Indexes of a database",
            "How many indexes a database has."),
    },
    (MetricSubject.DATABASES, POSTGRESQL): {
        Metric.PG_CHECKSUM_FAILURES: (RATE, Unit.RAW, "Checksum failures",
            "Pages read whose checksum was wrong: damaged data."),
        Metric.PG_TEMP_BYTES: (RATE, Unit.BYTES, "Temporary file bytes",
            "Data that queries wrote to temporary files because they ran out of memory."),
        Metric.PG_DEAD_ROWS: (GAUGE, Unit.RAW, "Dead rows",
            "Rows that were deleted or replaced and not yet vacuumed."),
    },
    (MetricSubject.LOG, POSTGRESQL): {
        Metric.PG_WAL_BYTES: (RATE, Unit.BYTES, "Write-ahead log written",
            "Write-ahead log that the server wrote; from version 14."),
        Metric.PG_CHECKPOINTS_TIMED: (RATE, Unit.RAW, "Checkpoints on time",
            "Checkpoints that started on schedule."),
        Metric.PG_CHECKPOINTS_REQUESTED: (RATE, Unit.RAW, "Checkpoints on request",
            "Checkpoints that started early, mostly because of a lot of write-ahead log."),
        Metric.PG_CHECKPOINT_WRITE_TIME: (RATE, Unit.MILLISECONDS, "Checkpoint write time",
            "Time that checkpoints spent on writing."),
        Metric.PG_IO_READS: (RATE, Unit.RAW, "I/O reads",
            "Reads that the server asked the operating system for; from version 16."),
        Metric.PG_IO_WRITES: (RATE, Unit.RAW, "I/O writes",
            "Writes that the server asked the operating system for; from version 16."),
        Metric.PG_IO_FSYNCS: (RATE, Unit.RAW, "I/O fsyncs",
            "Writes to disk that the server waited for; from version 16."),
        Metric.PG_ARCHIVE_FAILURES: (RATE, Unit.RAW, "Archive failures",
            "Files of the write-ahead log that could not be archived."),
    },
    (MetricSubject.CPU, BOTH): {
        Metric.SYSTEM_CPU_USER: (GAUGE, Unit.PERCENT, "CPU time: user",
            "Time spent on programs, added up over the processor's cores."),
        Metric.SYSTEM_CPU_KERNEL: (GAUGE, Unit.PERCENT, "CPU time: kernel",
            "Time spent on the kernel, added up over the processor's cores."),
        Metric.SYSTEM_CPU_NICE: (GAUGE, Unit.PERCENT, "CPU time: nice",
            "Time spent on programs of low priority, added up over the processor's cores."),
        Metric.SYSTEM_CPU_IOWAIT: (GAUGE, Unit.PERCENT, "CPU time: I/O wait",
            "Time idle while waiting for a disk, added up over the processor's cores."),
        Metric.SYSTEM_CPU_IRQ: (GAUGE, Unit.PERCENT, "CPU time: interrupt",
            "Time spent on interrupts, added up over the processor's cores."),
        Metric.SYSTEM_CPU_SOFTIRQ: (GAUGE, Unit.PERCENT, "CPU time: softirq",
            "Time spent on soft interrupts, added up over the processor's cores."),
        Metric.SYSTEM_CPU_STEAL: (GAUGE, Unit.PERCENT, "CPU time: steal",
            "Time used by other machines of the hypervisor, added up over the processor's cores."),
        Metric.SYSTEM_CPU_GUEST: (GAUGE, Unit.PERCENT, "CPU time: guest",
            "Time spent on virtual machines that it hosts, added up over the processor's cores."),
        Metric.SYSTEM_NORMALIZED_CPU_USER: (GAUGE, Unit.PERCENT, "Normalized CPU time: user",
            "Time spent on programs, as a mean of the processor's cores."),
        Metric.SYSTEM_NORMALIZED_CPU_KERNEL: (GAUGE, Unit.PERCENT, "Normalized CPU time: kernel",
            "Time spent on the kernel, as a mean of the processor's cores."),
        Metric.SYSTEM_NORMALIZED_CPU_NICE: (GAUGE, Unit.PERCENT, "Normalized CPU time: nice",
            "Time spent on programs of low priority, as a mean of the processor's cores."),
        Metric.SYSTEM_NORMALIZED_CPU_IOWAIT: (GAUGE, Unit.PERCENT, "Normalized CPU time: I/O wait",
            "Time idle while waiting for a disk, as a mean of the processor's cores."),
        Metric.SYSTEM_NORMALIZED_CPU_IRQ: (GAUGE, Unit.PERCENT, "Normalized CPU time: interrupt",
            "Time spent on interrupts, as a mean of the processor's cores."),
        Metric.SYSTEM_NORMALIZED_CPU_SOFTIRQ: (GAUGE, Unit.PERCENT, "Normalized CPU time: softirq",
            "Time spent on soft interrupts, as a mean of the processor's cores."),
        Metric.SYSTEM_NORMALIZED_CPU_STEAL: (GAUGE, Unit.PERCENT, "Normalized CPU time: steal",
            "Time used by other machines of the hypervisor, as a mean of the processor's cores."),
        Metric.SYSTEM_NORMALIZED_CPU_GUEST: (GAUGE, Unit.PERCENT, "Normalized CPU time: guest",
            "Time spent on virtual machines that it hosts, as a mean of the processor's cores."),
    },
    (MetricSubject.MACHINE, BOTH): {
        Metric.SYSTEM_MEMORY_USED: (GAUGE, Unit.BYTES, "Used system memory",
            "Memory of the machine that is not available to programs."),
        Metric.SYSTEM_MEMORY_FREE: (GAUGE, Unit.BYTES, "Free system memory",
            "Memory of the machine that nothing uses."),
        Metric.SYSTEM_MEMORY_AVAILABLE: (GAUGE, Unit.BYTES, "Available system memory",
            "Memory of the machine that programs can have without swapping."),
        Metric.SYSTEM_NETWORK_BYTES_IN: (RATE, Unit.BYTES, "System network bytes in",
            "Data that the machine received."),
        Metric.SYSTEM_NETWORK_BYTES_OUT: (RATE, Unit.BYTES, "System network bytes out",
            "Data that the machine sent."),
        Metric.SWAP_USAGE_USED: (GAUGE, Unit.BYTES, "Used swap space",
            "Swap space of the machine that is in use."),
        Metric.SWAP_USAGE_FREE: (GAUGE, Unit.BYTES, "Free swap space",
            "Swap space of the machine that is free."),
    },
    (MetricSubject.DISK, BOTH): {
        Metric.DISK_PARTITION_SPACE_FREE: (GAUGE, Unit.BYTES, "Free disk space",
            "Free space of the partition that holds the data."),
        Metric.DISK_PARTITION_SPACE_USED: (GAUGE, Unit.BYTES, "Used disk space",
            "Used space of the partition that holds the data."),
        Metric.DISK_PARTITION_SPACE_PERCENT_FREE: (GAUGE, Unit.PERCENT, "Free share of the disk",
            "Free share of the partition that holds the data."),
        Metric.DISK_PARTITION_SPACE_PERCENT_USED: (GAUGE, Unit.PERCENT, "Used share of the disk",
            "Used share of the partition that holds the data."),
        Metric.DISK_PARTITION_IOPS_READ: (RATE, Unit.RAW, "Disk reads",
            "Reads of the partition that holds the data."),
        Metric.DISK_PARTITION_IOPS_WRITE: (RATE, Unit.RAW, "Disk writes",
            "Writes to the partition that holds the data."),
        Metric.DISK_PARTITION_IOPS_TOTAL: (RATE, Unit.RAW, "Disk reads and writes",
            "Reads and writes of the partition that holds the data."),
        Metric.DISK_PARTITION_LATENCY_READ: (GAUGE, Unit.MILLISECONDS, "Disk read latency",
            "Mean time of a read of the partition that holds the data."),
        Metric.DISK_PARTITION_LATENCY_WRITE: (GAUGE, Unit.MILLISECONDS, "Disk write latency",
            "Mean time of a write to the partition that holds the data."),
        Metric.DISK_PARTITION_UTILIZATION: (GAUGE, Unit.PERCENT, "Disk utilization",
            "Share of the time in which the partition that holds the data was reading or writing."),
    },
    (MetricSubject.RETIRED, MONGODB): {
        Metric.BACKGROUND_FLUSH_AVG: (GAUGE, Unit.MILLISECONDS, "Background flush average",
            "Mean time of a flush to disk with the storage engine MMAPv1."),
        Metric.INDEX_COUNTERS_BTREE_ACCESSES: (RATE, Unit.RAW, "Index accesses",
            "Accesses to indexes; servers up to 2.4 count them."),
        Metric.INDEX_COUNTERS_BTREE_HITS: (RATE, Unit.RAW, "Index hits",
            "Accesses to indexes that found their page in memory; servers up to 2.4 count them."),
        Metric.INDEX_COUNTERS_BTREE_MISSES: (RATE, Unit.RAW, "Index misses",
            "Accesses to indexes that read their page from disk; servers up to 2.4 count them."),
        Metric.INDEX_COUNTERS_BTREE_MISS_RATIO: (GAUGE, Unit.RAW, "Index miss ratio",
            "Misses as a share of index accesses; servers up to 2.4 count them."),
        Metric.JOURNALING_COMMITS_IN_WRITE_LOCK: (GAUGE, Unit.RAW, "Journal commits in write lock",
            "Journal commits that held a write lock, with the storage engine MMAPv1."),
        Metric.JOURNALING_MB: (GAUGE, Unit.RAW, "Journal megabytes written",
            "Megabytes written to the journal between two commits, with the storage engine MMAPv1."),
        Metric.JOURNALING_WRITE_DATA_FILES_MB: (GAUGE, Unit.RAW, "Data file megabytes written by the journal",
            "Megabytes that the journal wrote to data files between two commits, with the storage engine "
            "MMAPv1."),
        Metric.MEMORY_MAPPED: (GAUGE, Unit.BYTES, "Mapped memory",
            "Data files that the storage engine MMAPv1 maps into memory."),
    },
}
# fmt: on
"""The rows of all metrics, by subject and engines."""

_SPECS: Mapping[Metric, MetricSpec] = {
    metric: MetricSpec(kind, subject, unit, engines, words, meaning)
    for (subject, engines), rows in TABLE.items()
    for metric, (kind, unit, words, meaning) in rows.items()
}
MEASURED_UNITS = tuple(
    unit for unit in Unit if any(unit in units_of(family_of(metric.spec.unit)) for metric in Metric)
)
"""All units of metric values."""


def base_unit(metric: Metric) -> Unit:
    """The unit of stored and shown values, and of reports without units."""
    return metric.spec.unit


def allowed_units(metric: Metric) -> tuple[Unit, ...]:
    """The units that reports and thresholds of this metric can use: the family of its base unit."""
    return units_of(family_of(base_unit(metric)))


def by_subject(metrics: Iterable[Metric]) -> Iterator[tuple[MetricSubject, Sequence[Metric]]]:
    """The metrics by subject, in the order of subjects."""
    given = list(metrics)
    for subject in MetricSubject:
        if found := [metric for metric in given if metric.spec.subject is subject]:
            yield subject, found
