"""The metrics that hosts report: the closed set with its properties. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from automation.units import Unit, family_of, units_of


class MetricKind(StrEnum):
    """How a number is obtained; the values are the wire values.

    A GAUGE is a level at a moment, or a share or mean since the previous sample. A RATE is the increase of a
    counter per second, which the reporter computes from two samples.
    """

    GAUGE = "GAUGE"
    RATE = "RATE"


GAUGE, RATE = MetricKind.GAUGE, MetricKind.RATE


class Engine(StrEnum):
    """Database engines that metrics are measured on; the values are the wire values."""

    MONGODB = "MONGODB"
    POSTGRESQL = "POSTGRESQL"


MONGODB = (Engine.MONGODB,)
POSTGRESQL = (Engine.POSTGRESQL,)
BOTH = (Engine.MONGODB, Engine.POSTGRESQL)


class MetricSubject(StrEnum):
    """The subject of a metric; metrics are listed by subject in this order. The values are for people."""

    CONNECTIONS = "Connections and network"
    OPERATIONS = "Operations"
    TRANSACTIONS = "Transactions and rows"
    LOCKS = "Locks and tickets"
    PROCESS = "Cache and memory of the server"
    REPLICATION = "Replication"
    DATABASES = "Databases"
    LOG = "Write-ahead log, checkpoints and I/O"
    CPU = "Processor of the machine"
    MACHINE = "Memory and network of the machine"
    DISK = "Disk of the data"
    RETIRED = "No longer measured"


@dataclass(frozen=True)
class MetricSpec:
    """The properties of a metric.

    `unit` is the unit of stored values and of reports without units; for a RATE it is per second. `words` is
    a name that can start a sentence: `Resident memory`. `meaning` is a sentence.
    """

    kind: MetricKind
    subject: MetricSubject
    unit: Unit
    engines: tuple[Engine, ...]
    words: str
    meaning: str

    @property
    def deprecated(self) -> bool:
        """Whether servers no longer measure it. Reports can still contain it."""
        return self.subject is MetricSubject.RETIRED


class Metric(StrEnum):
    """All metrics; the values are the wire values. A row has the fields of `MetricSpec`.

    Stored readings identify a metric by its position in this class: append new metrics, and never move or
    remove one.

    Metrics of MongoDB and of machines have the names of MongoDB's own operations platform
    (https://www.mongodb.com/docs/ops-manager/current/reference/api/measures/measurement-types/). Metrics of
    PostgreSQL follow its statistics (https://www.postgresql.org/docs/current/monitoring-stats.html).
    """

    spec: MetricSpec

    def __new__(cls, name: str, *row: Any) -> Self:
        """Returns the metric with the properties of its row."""
        metric = str.__new__(cls, name)
        metric._value_ = name
        metric.spec = MetricSpec(*row)
        return metric

    # fmt: off
    ASSERT_REGULAR = ("ASSERT_REGULAR", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Regular asserts", "Regular asserts that were raised.")
    ASSERT_WARNING = ("ASSERT_WARNING", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Warning asserts", "Warnings that were raised.")
    ASSERT_MSG = ("ASSERT_MSG", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Message asserts", "Message asserts that were raised: internal errors with a text of their own.")
    ASSERT_USER = ("ASSERT_USER", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "User asserts", "Errors that clients caused, such as duplicate keys.")
    BACKGROUND_FLUSH_AVG = ("BACKGROUND_FLUSH_AVG", GAUGE, MetricSubject.RETIRED, Unit.MILLISECONDS, MONGODB,
        "Background flush average", "Mean time of a flush to disk with the storage engine MMAPv1.")
    CACHE_BYTES_READ_INTO = ("CACHE_BYTES_READ_INTO", RATE, MetricSubject.PROCESS, Unit.BYTES, MONGODB,
        "Bytes read into cache", "Data read from disk into the cache of the storage engine.")
    CACHE_BYTES_WRITTEN_FROM = ("CACHE_BYTES_WRITTEN_FROM", RATE, MetricSubject.PROCESS, Unit.BYTES, MONGODB,
        "Bytes written from cache", "Data written to disk from the cache of the storage engine.")
    CACHE_DIRTY_BYTES = ("CACHE_DIRTY_BYTES", GAUGE, MetricSubject.PROCESS, Unit.BYTES, MONGODB,
        "Dirty cache", "Data in the cache that is changed and not yet written to disk.")
    CACHE_USED_BYTES = ("CACHE_USED_BYTES", GAUGE, MetricSubject.PROCESS, Unit.BYTES, MONGODB,
        "Used cache", "Data in the cache of the storage engine.")
    CACHE_FILL_RATIO = ("CACHE_FILL_RATIO", GAUGE, MetricSubject.PROCESS, Unit.PERCENT, MONGODB,
        "Cache in use", "Share of the configured cache that holds data.")
    DIRTY_FILL_RATIO = ("DIRTY_FILL_RATIO", GAUGE, MetricSubject.PROCESS, Unit.PERCENT, MONGODB,
        "Dirty share of the cache",
        "Share of the configured cache that holds changed data not yet written to disk.")
    TICKETS_AVAILABLE_READS = ("TICKETS_AVAILABLE_READS", GAUGE, MetricSubject.LOCKS, Unit.RAW, MONGODB,
        "Read tickets available", "Reads that the storage engine can still admit; at 0, reads wait.")
    TICKETS_AVAILABLE_WRITES = ("TICKETS_AVAILABLE_WRITES", GAUGE, MetricSubject.LOCKS, Unit.RAW, MONGODB,
        "Write tickets available", "Writes that the storage engine can still admit; at 0, writes wait.")
    CONNECTIONS = ("CONNECTIONS", GAUGE, MetricSubject.CONNECTIONS, Unit.RAW, BOTH,
        "Connections", "Open connections of clients.")
    CONNECTIONS_PERCENT = ("CONNECTIONS_PERCENT", GAUGE, MetricSubject.CONNECTIONS, Unit.PERCENT, BOTH,
        "Connections in use",
        "Open connections as a share of the connections that clients can have; on PostgreSQL without the "
        "reserved connections, so it can exceed 100.")
    CURSORS_TOTAL_OPEN = ("CURSORS_TOTAL_OPEN", GAUGE, MetricSubject.CONNECTIONS, Unit.RAW, MONGODB,
        "Open cursors", "Cursors that the server keeps open for clients.")
    CURSORS_TOTAL_TIMED_OUT = ("CURSORS_TOTAL_TIMED_OUT", RATE, MetricSubject.CONNECTIONS, Unit.RAW, MONGODB,
        "Timed-out cursors", "Cursors that the server closed because their clients did not use them.")
    EXTRA_INFO_PAGE_FAULTS = ("EXTRA_INFO_PAGE_FAULTS", RATE, MetricSubject.PROCESS, Unit.RAW, MONGODB,
        "Page faults", "Page faults of the server process.")
    GLOBAL_LOCK_CURRENT_QUEUE_TOTAL = ("GLOBAL_LOCK_CURRENT_QUEUE_TOTAL",
        GAUGE, MetricSubject.LOCKS, Unit.RAW, MONGODB, "Operations queued for a lock",
        "Operations that wait for a lock.")
    GLOBAL_LOCK_CURRENT_QUEUE_READERS = ("GLOBAL_LOCK_CURRENT_QUEUE_READERS",
        GAUGE, MetricSubject.LOCKS, Unit.RAW, MONGODB, "Reads queued for a lock",
        "Reads that wait for a lock.")
    GLOBAL_LOCK_CURRENT_QUEUE_WRITERS = ("GLOBAL_LOCK_CURRENT_QUEUE_WRITERS",
        GAUGE, MetricSubject.LOCKS, Unit.RAW, MONGODB, "Writes queued for a lock",
        "Writes that wait for a lock.")
    INDEX_COUNTERS_BTREE_ACCESSES = ("INDEX_COUNTERS_BTREE_ACCESSES",
        RATE, MetricSubject.RETIRED, Unit.RAW, MONGODB, "Index accesses",
        "Accesses to indexes; servers up to 2.4 count them.")
    INDEX_COUNTERS_BTREE_HITS = ("INDEX_COUNTERS_BTREE_HITS", RATE, MetricSubject.RETIRED, Unit.RAW, MONGODB,
        "Index hits", "Accesses to indexes that found their page in memory; servers up to 2.4 count them.")
    INDEX_COUNTERS_BTREE_MISSES = ("INDEX_COUNTERS_BTREE_MISSES",
        RATE, MetricSubject.RETIRED, Unit.RAW, MONGODB, "Index misses",
        "Accesses to indexes that read their page from disk; servers up to 2.4 count them.")
    INDEX_COUNTERS_BTREE_MISS_RATIO = ("INDEX_COUNTERS_BTREE_MISS_RATIO",
        GAUGE, MetricSubject.RETIRED, Unit.RAW, MONGODB, "Index miss ratio",
        "Misses as a share of index accesses; servers up to 2.4 count them.")
    JOURNALING_COMMITS_IN_WRITE_LOCK = ("JOURNALING_COMMITS_IN_WRITE_LOCK",
        GAUGE, MetricSubject.RETIRED, Unit.RAW, MONGODB, "Journal commits in write lock",
        "Journal commits that held a write lock, with the storage engine MMAPv1.")
    JOURNALING_MB = ("JOURNALING_MB", GAUGE, MetricSubject.RETIRED, Unit.RAW, MONGODB,
        "Journal megabytes written",
        "Megabytes written to the journal between two commits, with the storage engine MMAPv1.")
    JOURNALING_WRITE_DATA_FILES_MB = ("JOURNALING_WRITE_DATA_FILES_MB",
        GAUGE, MetricSubject.RETIRED, Unit.RAW, MONGODB, "Data file megabytes written by the journal",
        "Megabytes that the journal wrote to data files between two commits, with the storage engine MMAPv1.")
    MEMORY_RESIDENT = ("MEMORY_RESIDENT", GAUGE, MetricSubject.PROCESS, Unit.BYTES, MONGODB,
        "Resident memory", "Memory of the machine that the server process holds.")
    MEMORY_VIRTUAL = ("MEMORY_VIRTUAL", GAUGE, MetricSubject.PROCESS, Unit.BYTES, MONGODB,
        "Virtual memory", "Addresses that the server process has reserved.")
    MEMORY_MAPPED = ("MEMORY_MAPPED", GAUGE, MetricSubject.RETIRED, Unit.BYTES, MONGODB,
        "Mapped memory", "Data files that the storage engine MMAPv1 maps into memory.")
    COMPUTED_MEMORY = ("COMPUTED_MEMORY", GAUGE, MetricSubject.PROCESS, Unit.BYTES, MONGODB,
        "Computed memory", "Virtual memory without mapped data files.")
    NETWORK_BYTES_IN = ("NETWORK_BYTES_IN", RATE, MetricSubject.CONNECTIONS, Unit.BYTES, MONGODB,
        "Network bytes in", "Data that the server received from clients and members.")
    NETWORK_BYTES_OUT = ("NETWORK_BYTES_OUT", RATE, MetricSubject.CONNECTIONS, Unit.BYTES, MONGODB,
        "Network bytes out", "Data that the server sent to clients and members.")
    NETWORK_NUM_REQUESTS = ("NETWORK_NUM_REQUESTS", RATE, MetricSubject.CONNECTIONS, Unit.RAW, MONGODB,
        "Network requests", "Requests that the server received.")
    OPLOG_SLAVE_LAG_MASTER_TIME = ("OPLOG_SLAVE_LAG_MASTER_TIME",
        GAUGE, MetricSubject.REPLICATION, Unit.SECONDS, MONGODB, "Replication lag",
        "How far a secondary is behind its primary, without the delay that is configured for it.")
    OPLOG_MASTER_TIME = ("OPLOG_MASTER_TIME", GAUGE, MetricSubject.REPLICATION, Unit.SECONDS, MONGODB,
        "Replication oplog window",
        "Time from the oldest to the newest entry of the oplog of the primary. A member that is down for "
        "longer needs an initial sync. Reported once the oplog is near its maximum size; before, no entry is "
        "lost.")
    OPLOG_MASTER_LAG_TIME_DIFF = ("OPLOG_MASTER_LAG_TIME_DIFF",
        GAUGE, MetricSubject.REPLICATION, Unit.SECONDS, MONGODB, "Replication headroom",
        "Oplog window of the primary minus the whole lag of the secondary; at 0, the secondary needs an "
        "initial sync. Reported once the oplog of the primary is near its maximum size.")
    OPLOG_RATE_GB_PER_HOUR = ("OPLOG_RATE_GB_PER_HOUR", GAUGE, MetricSubject.REPLICATION, Unit.RAW, MONGODB,
        "Oplog gigabytes per hour", "Gigabytes of oplog that the primary writes in an hour.")
    DB_STORAGE_TOTAL = ("DB_STORAGE_TOTAL", GAUGE, MetricSubject.DATABASES, Unit.BYTES, MONGODB,
        "Database storage", "Space that the collections of all databases take on disk.")
    DB_DATA_SIZE_TOTAL = ("DB_DATA_SIZE_TOTAL", GAUGE, MetricSubject.DATABASES, Unit.BYTES, MONGODB,
        "Database data size", "Size of the documents of all databases, before compression.")
    DATABASE_DATA_SIZE = ("DATABASE_DATA_SIZE", GAUGE, MetricSubject.DATABASES, Unit.BYTES, MONGODB,
        "Data size of a database", "Size of the documents of a database, before compression.")
    DATABASE_STORAGE_SIZE = ("DATABASE_STORAGE_SIZE", GAUGE, MetricSubject.DATABASES, Unit.BYTES, BOTH,
        "Storage of a database", "Space that a database takes on disk; on MongoDB without its indexes.")
    DATABASE_INDEX_SIZE = ("DATABASE_INDEX_SIZE", GAUGE, MetricSubject.DATABASES, Unit.BYTES, MONGODB,
        "Index size of a database", "Space that the indexes of a database take on disk.")
    DATABASE_AVERAGE_OBJECT_SIZE = ("DATABASE_AVERAGE_OBJECT_SIZE",
        GAUGE, MetricSubject.DATABASES, Unit.BYTES, MONGODB, "Mean document size of a database",
        "Mean size of the documents of a database.")
    DATABASE_OBJECT_COUNT = ("DATABASE_OBJECT_COUNT", GAUGE, MetricSubject.DATABASES, Unit.RAW, MONGODB,
        "Documents of a database", "How many documents a database has.")
    DATABASE_COLLECTION_COUNT = ("DATABASE_COLLECTION_COUNT",
        GAUGE, MetricSubject.DATABASES, Unit.RAW, MONGODB, "Collections of a database",
        "How many collections a database has.")
    DATABASE_INDEX_COUNT = ("DATABASE_INDEX_COUNT", GAUGE, MetricSubject.DATABASES, Unit.RAW, MONGODB,
        "Indexes of a database", "How many indexes a database has.")
    OPCOUNTER_CMD = ("OPCOUNTER_CMD", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Commands", "Commands that ran.")
    OPCOUNTER_QUERY = ("OPCOUNTER_QUERY", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Queries", "Queries that ran.")
    OPCOUNTER_UPDATE = ("OPCOUNTER_UPDATE", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Updates", "Updates that ran.")
    OPCOUNTER_DELETE = ("OPCOUNTER_DELETE", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Deletes", "Deletes that ran.")
    OPCOUNTER_GETMORE = ("OPCOUNTER_GETMORE", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Get-mores", "Requests for the next results of a cursor.")
    OPCOUNTER_INSERT = ("OPCOUNTER_INSERT", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Inserts", "Inserts that ran.")
    OPCOUNTER_REPL_CMD = ("OPCOUNTER_REPL_CMD", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Replicated commands", "Commands that a secondary applied from the oplog.")
    OPCOUNTER_REPL_UPDATE = ("OPCOUNTER_REPL_UPDATE", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Replicated updates", "Updates that a secondary applied from the oplog.")
    OPCOUNTER_REPL_DELETE = ("OPCOUNTER_REPL_DELETE", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Replicated deletes", "Deletes that a secondary applied from the oplog.")
    OPCOUNTER_REPL_INSERT = ("OPCOUNTER_REPL_INSERT", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Replicated inserts", "Inserts that a secondary applied from the oplog.")
    DOCUMENT_METRICS_RETURNED = ("DOCUMENT_METRICS_RETURNED",
        RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB, "Documents returned",
        "Documents that queries returned.")
    DOCUMENT_METRICS_INSERTED = ("DOCUMENT_METRICS_INSERTED",
        RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB, "Documents inserted",
        "Documents that were inserted.")
    DOCUMENT_METRICS_UPDATED = ("DOCUMENT_METRICS_UPDATED", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Documents updated", "Documents that were updated.")
    DOCUMENT_METRICS_DELETED = ("DOCUMENT_METRICS_DELETED", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Documents deleted", "Documents that were deleted.")
    OPERATIONS_SCAN_AND_ORDER = ("OPERATIONS_SCAN_AND_ORDER",
        RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB, "Operations that scan and order",
        "Queries that sorted their results because no index had them in order.")
    OP_EXECUTION_TIME_READS = ("OP_EXECUTION_TIME_READS",
        GAUGE, MetricSubject.OPERATIONS, Unit.MILLISECONDS, MONGODB, "Execution time of reads",
        "Mean time of a read.")
    OP_EXECUTION_TIME_WRITES = ("OP_EXECUTION_TIME_WRITES",
        GAUGE, MetricSubject.OPERATIONS, Unit.MILLISECONDS, MONGODB, "Execution time of writes",
        "Mean time of a write.")
    OP_EXECUTION_TIME_COMMANDS = ("OP_EXECUTION_TIME_COMMANDS",
        GAUGE, MetricSubject.OPERATIONS, Unit.MILLISECONDS, MONGODB, "Execution time of commands",
        "Mean time of a command.")
    RESTARTS_IN_LAST_HOUR = ("RESTARTS_IN_LAST_HOUR", GAUGE, MetricSubject.PROCESS, Unit.RAW, MONGODB,
        "Restarts in the last hour", "How often the server process was started in the last hour.")
    SYSTEM_CPU_USER = ("SYSTEM_CPU_USER", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH,
        "CPU time: user", "Time spent on programs, added up over the processor's cores.")
    SYSTEM_CPU_KERNEL = ("SYSTEM_CPU_KERNEL", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH,
        "CPU time: kernel", "Time spent on the kernel, added up over the processor's cores.")
    SYSTEM_CPU_NICE = ("SYSTEM_CPU_NICE", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH,
        "CPU time: nice", "Time spent on programs of low priority, added up over the processor's cores.")
    SYSTEM_CPU_IOWAIT = ("SYSTEM_CPU_IOWAIT", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH,
        "CPU time: I/O wait", "Time idle while waiting for a disk, added up over the processor's cores.")
    SYSTEM_CPU_IRQ = ("SYSTEM_CPU_IRQ", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH,
        "CPU time: interrupt", "Time spent on interrupts, added up over the processor's cores.")
    SYSTEM_CPU_SOFTIRQ = ("SYSTEM_CPU_SOFTIRQ", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH,
        "CPU time: softirq", "Time spent on soft interrupts, added up over the processor's cores.")
    SYSTEM_CPU_STEAL = ("SYSTEM_CPU_STEAL", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH, "CPU time: steal",
        "Time used by other machines of the hypervisor, added up over the processor's cores.")
    SYSTEM_CPU_GUEST = ("SYSTEM_CPU_GUEST", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH, "CPU time: guest",
        "Time spent on virtual machines that it hosts, added up over the processor's cores.")
    SYSTEM_NORMALIZED_CPU_USER = ("SYSTEM_NORMALIZED_CPU_USER", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH,
        "Normalized CPU time: user", "Time spent on programs, as a mean of the processor's cores.")
    SYSTEM_NORMALIZED_CPU_KERNEL = ("SYSTEM_NORMALIZED_CPU_KERNEL",
        GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH, "Normalized CPU time: kernel",
        "Time spent on the kernel, as a mean of the processor's cores.")
    SYSTEM_NORMALIZED_CPU_NICE = ("SYSTEM_NORMALIZED_CPU_NICE", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH,
        "Normalized CPU time: nice",
        "Time spent on programs of low priority, as a mean of the processor's cores.")
    SYSTEM_NORMALIZED_CPU_IOWAIT = ("SYSTEM_NORMALIZED_CPU_IOWAIT",
        GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH, "Normalized CPU time: I/O wait",
        "Time idle while waiting for a disk, as a mean of the processor's cores.")
    SYSTEM_NORMALIZED_CPU_IRQ = ("SYSTEM_NORMALIZED_CPU_IRQ", GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH,
        "Normalized CPU time: interrupt", "Time spent on interrupts, as a mean of the processor's cores.")
    SYSTEM_NORMALIZED_CPU_SOFTIRQ = ("SYSTEM_NORMALIZED_CPU_SOFTIRQ",
        GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH, "Normalized CPU time: softirq",
        "Time spent on soft interrupts, as a mean of the processor's cores.")
    SYSTEM_NORMALIZED_CPU_STEAL = ("SYSTEM_NORMALIZED_CPU_STEAL",
        GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH, "Normalized CPU time: steal",
        "Time used by other machines of the hypervisor, as a mean of the processor's cores.")
    SYSTEM_NORMALIZED_CPU_GUEST = ("SYSTEM_NORMALIZED_CPU_GUEST",
        GAUGE, MetricSubject.CPU, Unit.PERCENT, BOTH, "Normalized CPU time: guest",
        "Time spent on virtual machines that it hosts, as a mean of the processor's cores.")
    SYSTEM_MEMORY_USED = ("SYSTEM_MEMORY_USED", GAUGE, MetricSubject.MACHINE, Unit.BYTES, BOTH,
        "Used system memory", "Memory of the machine that is not available to programs.")
    SYSTEM_MEMORY_FREE = ("SYSTEM_MEMORY_FREE", GAUGE, MetricSubject.MACHINE, Unit.BYTES, BOTH,
        "Free system memory", "Memory of the machine that nothing uses.")
    SYSTEM_MEMORY_AVAILABLE = ("SYSTEM_MEMORY_AVAILABLE", GAUGE, MetricSubject.MACHINE, Unit.BYTES, BOTH,
        "Available system memory", "Memory of the machine that programs can have without swapping.")
    SYSTEM_NETWORK_BYTES_IN = ("SYSTEM_NETWORK_BYTES_IN", RATE, MetricSubject.MACHINE, Unit.BYTES, BOTH,
        "System network bytes in", "Data that the machine received.")
    SYSTEM_NETWORK_BYTES_OUT = ("SYSTEM_NETWORK_BYTES_OUT", RATE, MetricSubject.MACHINE, Unit.BYTES, BOTH,
        "System network bytes out", "Data that the machine sent.")
    SWAP_USAGE_USED = ("SWAP_USAGE_USED", GAUGE, MetricSubject.MACHINE, Unit.BYTES, BOTH,
        "Used swap space", "Swap space of the machine that is in use.")
    SWAP_USAGE_FREE = ("SWAP_USAGE_FREE", GAUGE, MetricSubject.MACHINE, Unit.BYTES, BOTH,
        "Free swap space", "Swap space of the machine that is free.")
    DISK_PARTITION_SPACE_FREE = ("DISK_PARTITION_SPACE_FREE", GAUGE, MetricSubject.DISK, Unit.BYTES, BOTH,
        "Free disk space", "Free space of the partition that holds the data.")
    DISK_PARTITION_SPACE_USED = ("DISK_PARTITION_SPACE_USED", GAUGE, MetricSubject.DISK, Unit.BYTES, BOTH,
        "Used disk space", "Used space of the partition that holds the data.")
    DISK_PARTITION_SPACE_PERCENT_FREE = ("DISK_PARTITION_SPACE_PERCENT_FREE",
        GAUGE, MetricSubject.DISK, Unit.PERCENT, BOTH, "Free share of the disk",
        "Free share of the partition that holds the data.")
    DISK_PARTITION_SPACE_PERCENT_USED = ("DISK_PARTITION_SPACE_PERCENT_USED",
        GAUGE, MetricSubject.DISK, Unit.PERCENT, BOTH, "Used share of the disk",
        "Used share of the partition that holds the data.")
    DISK_PARTITION_IOPS_READ = ("DISK_PARTITION_IOPS_READ", RATE, MetricSubject.DISK, Unit.RAW, BOTH,
        "Disk reads", "Reads of the partition that holds the data.")
    DISK_PARTITION_IOPS_WRITE = ("DISK_PARTITION_IOPS_WRITE", RATE, MetricSubject.DISK, Unit.RAW, BOTH,
        "Disk writes", "Writes to the partition that holds the data.")
    DISK_PARTITION_IOPS_TOTAL = ("DISK_PARTITION_IOPS_TOTAL", RATE, MetricSubject.DISK, Unit.RAW, BOTH,
        "Disk reads and writes", "Reads and writes of the partition that holds the data.")
    DISK_PARTITION_LATENCY_READ = ("DISK_PARTITION_LATENCY_READ",
        GAUGE, MetricSubject.DISK, Unit.MILLISECONDS, BOTH, "Disk read latency",
        "Mean time of a read of the partition that holds the data.")
    DISK_PARTITION_LATENCY_WRITE = ("DISK_PARTITION_LATENCY_WRITE",
        GAUGE, MetricSubject.DISK, Unit.MILLISECONDS, BOTH, "Disk write latency",
        "Mean time of a write to the partition that holds the data.")
    DISK_PARTITION_UTILIZATION = ("DISK_PARTITION_UTILIZATION", GAUGE, MetricSubject.DISK, Unit.PERCENT, BOTH,
        "Disk utilization",
        "Share of the time in which the partition that holds the data was reading or writing.")
    QUERY_EXECUTOR_SCANNED = ("QUERY_EXECUTOR_SCANNED", RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB,
        "Index keys scanned by queries", "Index keys that queries looked at.")
    QUERY_EXECUTOR_SCANNED_OBJECTS = ("QUERY_EXECUTOR_SCANNED_OBJECTS",
        RATE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB, "Documents scanned by queries",
        "Documents that queries looked at.")
    QUERY_TARGETING_SCANNED_PER_RETURNED = ("QUERY_TARGETING_SCANNED_PER_RETURNED",
        GAUGE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB, "Index keys scanned per document returned",
        "Index keys that queries looked at for each document they returned.")
    QUERY_TARGETING_SCANNED_OBJECTS_PER_RETURNED = ("QUERY_TARGETING_SCANNED_OBJECTS_PER_RETURNED",
        GAUGE, MetricSubject.OPERATIONS, Unit.RAW, MONGODB, "Documents scanned per document returned",
        "Documents that queries looked at for each document they returned; a value far above 1 means that "
        "an index is missing.")
    PG_TRANSACTIONS_COMMITTED = ("PG_TRANSACTIONS_COMMITTED",
        RATE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL, "Transactions committed",
        "Transactions that were committed.")
    PG_TRANSACTIONS_ROLLED_BACK = ("PG_TRANSACTIONS_ROLLED_BACK",
        RATE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL, "Transactions rolled back",
        "Transactions that were rolled back.")
    PG_DEADLOCKS = ("PG_DEADLOCKS", RATE, MetricSubject.LOCKS, Unit.RAW, POSTGRESQL,
        "Deadlocks", "Deadlocks that the server solved by ending a transaction.")
    PG_CONFLICTS = ("PG_CONFLICTS", RATE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL,
        "Queries cancelled by recovery",
        "Queries of a standby that were cancelled because they conflicted with recovery.")
    PG_CHECKSUM_FAILURES = ("PG_CHECKSUM_FAILURES", RATE, MetricSubject.DATABASES, Unit.RAW, POSTGRESQL,
        "Checksum failures", "Pages read whose checksum was wrong: damaged data.")
    PG_TEMP_BYTES = ("PG_TEMP_BYTES", RATE, MetricSubject.DATABASES, Unit.BYTES, POSTGRESQL,
        "Temporary file bytes", "Data that queries wrote to temporary files because they ran out of memory.")
    PG_CACHE_HIT_RATIO = ("PG_CACHE_HIT_RATIO", GAUGE, MetricSubject.PROCESS, Unit.PERCENT, POSTGRESQL,
        "Cache hit ratio", "Share of the pages read that were found in the shared buffers.")
    PG_ROWS_RETURNED = ("PG_ROWS_RETURNED", RATE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL,
        "Rows returned", "Rows that scans read.")
    PG_ROWS_FETCHED = ("PG_ROWS_FETCHED", RATE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL,
        "Rows fetched", "Rows that scans of indexes fetched.")
    PG_ROWS_INSERTED = ("PG_ROWS_INSERTED", RATE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL,
        "Rows inserted", "Rows that were inserted.")
    PG_ROWS_UPDATED = ("PG_ROWS_UPDATED", RATE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL,
        "Rows updated", "Rows that were updated.")
    PG_ROWS_DELETED = ("PG_ROWS_DELETED", RATE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL,
        "Rows deleted", "Rows that were deleted.")
    PG_LONGEST_TRANSACTION = ("PG_LONGEST_TRANSACTION",
        GAUGE, MetricSubject.TRANSACTIONS, Unit.SECONDS, POSTGRESQL, "Longest transaction",
        "Age of the oldest transaction that is open.")
    PG_IDLE_IN_TRANSACTION = ("PG_IDLE_IN_TRANSACTION",
        GAUGE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL, "Connections idle in a transaction",
        "Connections whose transaction is open while nothing runs in it.")
    PG_LOCKS_WAITING = ("PG_LOCKS_WAITING", GAUGE, MetricSubject.LOCKS, Unit.RAW, POSTGRESQL,
        "Locks waited for", "Lock requests that are not granted yet.")
    PG_REPLICATION_LAG_TIME = ("PG_REPLICATION_LAG_TIME",
        GAUGE, MetricSubject.REPLICATION, Unit.SECONDS, POSTGRESQL, "Standby lag",
        "How far a standby is behind its primary in time.")
    PG_REPLICATION_LAG_BYTES = ("PG_REPLICATION_LAG_BYTES",
        GAUGE, MetricSubject.REPLICATION, Unit.BYTES, POSTGRESQL, "Standby lag in bytes",
        "Write-ahead log of the primary that a standby has not replayed yet.")
    PG_REPLICATION_SLOT_RETAINED_BYTES = ("PG_REPLICATION_SLOT_RETAINED_BYTES",
        GAUGE, MetricSubject.REPLICATION, Unit.BYTES, POSTGRESQL, "Write-ahead log retained by a slot",
        "Write-ahead log that the server keeps for the replication slot that is furthest behind.")
    PG_XID_AGE = ("PG_XID_AGE", GAUGE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL, "Transaction ID age",
        "Transaction IDs used since the oldest unfrozen ID; close to 2^31 the server refuses writes.")
    PG_MXID_AGE = ("PG_MXID_AGE", GAUGE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL, "Multixact ID age",
        "Multixact IDs used since the oldest unfrozen ID; close to 2^31 the server refuses writes.")
    PG_WAL_BYTES = ("PG_WAL_BYTES", RATE, MetricSubject.LOG, Unit.BYTES, POSTGRESQL,
        "Write-ahead log written", "Write-ahead log that the server wrote; from version 14.")
    PG_CHECKPOINTS_TIMED = ("PG_CHECKPOINTS_TIMED", RATE, MetricSubject.LOG, Unit.RAW, POSTGRESQL,
        "Checkpoints on time", "Checkpoints that started on schedule.")
    PG_CHECKPOINTS_REQUESTED = ("PG_CHECKPOINTS_REQUESTED", RATE, MetricSubject.LOG, Unit.RAW, POSTGRESQL,
        "Checkpoints on request",
        "Checkpoints that started early, mostly because of a lot of write-ahead log.")
    PG_CHECKPOINT_WRITE_TIME = ("PG_CHECKPOINT_WRITE_TIME",
        RATE, MetricSubject.LOG, Unit.MILLISECONDS, POSTGRESQL, "Checkpoint write time",
        "Time that checkpoints spent on writing.")
    PG_IO_READS = ("PG_IO_READS", RATE, MetricSubject.LOG, Unit.RAW, POSTGRESQL,
        "I/O reads", "Reads that the server asked the operating system for; from version 16.")
    PG_IO_WRITES = ("PG_IO_WRITES", RATE, MetricSubject.LOG, Unit.RAW, POSTGRESQL,
        "I/O writes", "Writes that the server asked the operating system for; from version 16.")
    PG_IO_FSYNCS = ("PG_IO_FSYNCS", RATE, MetricSubject.LOG, Unit.RAW, POSTGRESQL,
        "I/O fsyncs", "Writes to disk that the server waited for; from version 16.")
    PG_DEAD_ROWS = ("PG_DEAD_ROWS", GAUGE, MetricSubject.DATABASES, Unit.RAW, POSTGRESQL,
        "Dead rows", "Rows that were deleted or replaced and not yet vacuumed.")
    PG_ARCHIVE_FAILURES = ("PG_ARCHIVE_FAILURES", RATE, MetricSubject.LOG, Unit.RAW, POSTGRESQL,
        "Archive failures", "Files of the write-ahead log that could not be archived.")
    MONGO_DISK_SIZE_TOTAL = ("MONGO_DISK_SIZE_TOTAL", GAUGE, MetricSubject.DATABASES, Unit.BYTES, MONGODB,
        "Size of all databases on disk",
        "Space that the collections and indexes of all databases take on disk.")
    MONGO_FSYNC_LOCKED = ("MONGO_FSYNC_LOCKED", GAUGE, MetricSubject.LOCKS, Unit.RAW, MONGODB,
        "Writes blocked by fsyncLock", "Whether fsyncLock locks out all writes: 1 if it does, otherwise 0.")
    MONGO_FLOW_CONTROL_LAGGED = ("MONGO_FLOW_CONTROL_LAGGED",
        GAUGE, MetricSubject.REPLICATION, Unit.PERCENT, MONGODB, "Time under flow control",
        "Share of the time in which the primary slowed writes down because a majority lags behind.")
    MONGO_FLOW_CONTROL_WAIT = ("MONGO_FLOW_CONTROL_WAIT",
        RATE, MetricSubject.REPLICATION, Unit.MILLISECONDS, MONGODB, "Waits for flow control",
        "Time that writes waited because of flow control.")
    MONGO_ELECTIONS = ("MONGO_ELECTIONS", RATE, MetricSubject.REPLICATION, Unit.RAW, MONGODB,
        "Elections called", "Elections that the member called.")
    MONGO_MAJORITY_LAG = ("MONGO_MAJORITY_LAG", GAUGE, MetricSubject.REPLICATION, Unit.SECONDS, MONGODB,
        "Majority lag",
        "How far the writes that a majority of members has are behind the newest write of the primary.")
    MONGO_MEMBERS_UNREACHABLE = ("MONGO_MEMBERS_UNREACHABLE",
        GAUGE, MetricSubject.REPLICATION, Unit.RAW, MONGODB, "Unreachable members",
        "Members of the replica set that this member cannot reach.")
    SYSTEM_MEMORY_PERCENT_USED = ("SYSTEM_MEMORY_PERCENT_USED",
        GAUGE, MetricSubject.MACHINE, Unit.PERCENT, BOTH, "Used share of the system memory",
        "Share of the memory of the machine, or of its container's limit, that is not available to programs.")
    SYSTEM_LOAD_1 = ("SYSTEM_LOAD_1", GAUGE, MetricSubject.CPU, Unit.RAW, BOTH, "Load average",
        "Mean number of processes that ran, or waited for a processor or a disk, over a minute.")
    DISK_PARTITION_INODES_PERCENT_USED = ("DISK_PARTITION_INODES_PERCENT_USED",
        GAUGE, MetricSubject.DISK, Unit.PERCENT, BOTH, "Used share of the inodes",
        "Used share of the inodes of the partition that holds the data; at 100, no file can be created.")
    PG_WAL_DISK_FREE = ("PG_WAL_DISK_FREE", GAUGE, MetricSubject.DISK, Unit.BYTES, POSTGRESQL,
        "Free disk space of the write-ahead log",
        "Free space of the partition that holds the write-ahead log; at 0, the server stops.")
    PG_WAL_DISK_PERCENT_USED = ("PG_WAL_DISK_PERCENT_USED",
        GAUGE, MetricSubject.DISK, Unit.PERCENT, POSTGRESQL, "Used share of the disk of the write-ahead log",
        "Used share of the partition that holds the write-ahead log; at 100, the server stops.")
    PG_TABLESPACE_DISK_PERCENT_USED = ("PG_TABLESPACE_DISK_PERCENT_USED",
        GAUGE, MetricSubject.DISK, Unit.PERCENT, POSTGRESQL, "Used share of the fullest tablespace's disk",
        "Used share of the fullest partition that holds a tablespace outside of the data directory.")
    PG_REPLICATION_CONNECTED = ("PG_REPLICATION_CONNECTED",
        GAUGE, MetricSubject.REPLICATION, Unit.RAW, POSTGRESQL, "Standby connected",
        "Whether a standby receives write-ahead log from its primary: 1 or 0.")
    PG_STANDBYS_CONNECTED = ("PG_STANDBYS_CONNECTED",
        GAUGE, MetricSubject.REPLICATION, Unit.RAW, POSTGRESQL, "Standbys connected",
        "Standbys that receive write-ahead log from this primary.")
    PG_SYNC_STANDBYS_MISSING = ("PG_SYNC_STANDBYS_MISSING",
        GAUGE, MetricSubject.REPLICATION, Unit.RAW, POSTGRESQL, "Synchronous standbys missing",
        "Synchronous standbys that the primary needs and does not have; above 0, commits wait.")
    PG_SLOTS_LOST = ("PG_SLOTS_LOST",
        GAUGE, MetricSubject.REPLICATION, Unit.RAW, POSTGRESQL, "Replication slots lost",
        "Replication slots whose write-ahead log is removed; their standbys or subscribers cannot continue.")
    PG_SLOTS_INACTIVE = ("PG_SLOTS_INACTIVE",
        GAUGE, MetricSubject.REPLICATION, Unit.RAW, POSTGRESQL, "Replication slots inactive",
        "Replication slots of a primary that nothing uses; each keeps write-ahead log.")
    PG_SLOT_SAFE_WAL_BYTES = ("PG_SLOT_SAFE_WAL_BYTES",
        GAUGE, MetricSubject.REPLICATION, Unit.BYTES, POSTGRESQL, "Write-ahead log until a slot is lost",
        "Write-ahead log that the server can still write before the slot that is furthest behind is lost.")
    PG_SLOT_XMIN_AGE = ("PG_SLOT_XMIN_AGE",
        GAUGE, MetricSubject.REPLICATION, Unit.RAW, POSTGRESQL, "Transaction age of slots",
        "Transactions since the oldest transaction whose deleted rows a replication slot retains.")
    PG_ARCHIVE_WAITING = ("PG_ARCHIVE_WAITING",
        GAUGE, MetricSubject.LOG, Unit.RAW, POSTGRESQL, "Files waiting to be archived",
        "Files of the write-ahead log that are complete and not archived yet.")
    PG_ARCHIVE_AGE = ("PG_ARCHIVE_AGE",
        GAUGE, MetricSubject.LOG, Unit.SECONDS, POSTGRESQL, "Longest wait for the archive",
        "How long the oldest file of the write-ahead log has been waiting to be archived.")
    PG_LONGEST_LOCK_WAIT = ("PG_LONGEST_LOCK_WAIT",
        GAUGE, MetricSubject.LOCKS, Unit.SECONDS, POSTGRESQL, "Longest wait for a lock",
        "How long the session that has been blocked longest has been waiting for a lock.")
    PG_XMIN_AGE = ("PG_XMIN_AGE",
        GAUGE, MetricSubject.TRANSACTIONS, Unit.RAW, POSTGRESQL, "Age of the vacuum horizon",
        "Transactions since the oldest transaction whose deleted rows vacuum must keep, for a session, a "
        "prepared transaction or a replication slot.")
    PG_WAL_SIZE = ("PG_WAL_SIZE",
        GAUGE, MetricSubject.LOG, Unit.BYTES, POSTGRESQL, "Size of the write-ahead log",
        "Size of the files of the write-ahead log, including files that will be reused.")
    PG_CRASHED_IN_LAST_HOUR = ("PG_CRASHED_IN_LAST_HOUR",
        GAUGE, MetricSubject.PROCESS, Unit.RAW, POSTGRESQL, "Crashed in the last hour",
        "Whether the server restarted its processes after a crash in the last hour: 1 or 0.")
    PG_TABLES_NEED_VACUUM = ("PG_TABLES_NEED_VACUUM",
        GAUGE, MetricSubject.DATABASES, Unit.RAW, POSTGRESQL, "Tables that need vacuum",
        "Tables with more dead rows than the threshold of autovacuum.")
    SERVER_CERTIFICATE_DAYS = ("SERVER_CERTIFICATE_DAYS",
        GAUGE, MetricSubject.CONNECTIONS, Unit.DAYS, BOTH, "Days until the certificate expires",
        "Days until the TLS certificate of the server expires; negative afterwards.")
    SERVER_SUPPORT_DAYS = ("SERVER_SUPPORT_DAYS",
        GAUGE, MetricSubject.PROCESS, Unit.DAYS, BOTH, "Days until support ends",
        "Days until support for the version ends; negative afterwards.")
    BACKUP_AGE = ("BACKUP_AGE",
        GAUGE, MetricSubject.DATABASES, Unit.HOURS, BOTH, "Age of the newest backup",
        "Time since the backup job of the server last wrote its marker, a file that the agent watches.")
    BACKUP_UNKNOWN = ("BACKUP_UNKNOWN",
        GAUGE, MetricSubject.DATABASES, Unit.RAW, BOTH, "Age of the newest backup is unknown",
        "Is 1 if the agent cannot read the marker of the backup job, so that the age of the backup is "
        "unknown; otherwise 0.")
    # fmt: on


MEASURED_UNITS = tuple(
    unit for unit in Unit if any(unit in units_of(family_of(metric.spec.unit)) for metric in Metric)
)
"""All units of metric values."""


_OF_PAIRS = frozenset({Metric.PG_REPLICATION_LAG_TIME, Metric.PG_REPLICATION_LAG_BYTES})
"""Of a standby, how far it is behind; of a primary, how far its standbys are behind."""

OF_SECONDARIES = _OF_PAIRS | {
    Metric.OPLOG_SLAVE_LAG_MASTER_TIME,
    Metric.OPLOG_MASTER_LAG_TIME_DIFF,
    Metric.PG_REPLICATION_CONNECTED,
}
"""The metrics of a member that follows a primary, which no longer exist when it becomes a primary."""

OF_PRIMARIES = _OF_PAIRS | {
    Metric.OPLOG_MASTER_TIME,
    Metric.OPLOG_RATE_GB_PER_HOUR,
    Metric.MONGO_MAJORITY_LAG,
    Metric.PG_STANDBYS_CONNECTED,
    Metric.PG_SYNC_STANDBYS_MISSING,
    Metric.PG_SLOTS_INACTIVE,
    Metric.PG_ARCHIVE_WAITING,
    Metric.PG_ARCHIVE_AGE,
}
"""The metrics of a primary, which no longer exist, or mean something else, when it becomes a secondary."""


def base_unit(metric: Metric) -> Unit:
    """The unit of stored and shown values, and of reports without units."""
    return metric.spec.unit


def allowed_units(metric: Metric) -> tuple[Unit, ...]:
    """The units that reports and thresholds of this metric can use: the family of its base unit."""
    return units_of(family_of(base_unit(metric)))


def recorded_metric(name: str) -> str:
    """The words for a metric that an event names; the name, if another build recorded it."""
    return Metric(name).spec.words if name in set(Metric) else name


def metrics_with(word: str) -> list[str]:
    """The metrics whose name, in the API or in words, contains the word, in any case."""
    wanted = word.casefold()
    return [
        metric.value
        for metric in Metric
        if wanted in metric.value.casefold() or wanted in metric.spec.words.casefold()
    ]


def by_subject(metrics: Iterable[Metric]) -> Iterator[tuple[MetricSubject, Sequence[Metric]]]:
    """The metrics by subject, in the order of subjects."""
    given = list(metrics)
    for subject in MetricSubject:
        if subject_metrics := [metric for metric in given if metric.spec.subject is subject]:
            yield subject, subject_metrics
