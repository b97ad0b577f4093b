"""The MongoDB metrics: a row per metric, with its sources in order of preference. Pure.

Sources are paths into the answers of the server, such as `serverStatus/connections/current`. Names in
capitals are computed from other numbers (`numbers`).
"""

from __future__ import annotations

from automation.agent.rates import RateKind, RateRow

MIB = 1_048_576.0


def _gauge(metric: str, *sources: str, scale: float = 1.0) -> RateRow:
    return RateRow(metric, RateKind.GAUGE, sources, None, scale)


def _rate(metric: str, *sources: str, scale: float = 1.0, by: str | None = None) -> RateRow:
    return RateRow(metric, RateKind.RATE, sources, by, scale)


def _rows(kind: RateKind, names: str, sources: str, parts: dict[str, str]) -> tuple[RateRow, ...]:
    """A row for each part. `{}` is replaced by the name of the part, and in the source by its place."""
    return tuple(RateRow(names.format(name), kind, (sources.format(place),)) for name, place in parts.items())


_CACHE = "serverStatus/wiredTiger/cache/"
_SAME = {"USER": "user", "NICE": "nice", "IOWAIT": "iowait", "IRQ": "irq", "SOFTIRQ": "softirq"}
_CPU = {**_SAME, "KERNEL": "system", "STEAL": "steal", "GUEST": "guest"}
_READ_WRITE = {"READ": "read", "WRITE": "write"}

SERVER = (
    *_rows(
        RateKind.RATE,
        "ASSERT_{}",
        "serverStatus/asserts/{}",
        {"REGULAR": "regular", "WARNING": "warning", "MSG": "msg", "USER": "user"},
    ),
    _rate("CACHE_BYTES_READ_INTO", _CACHE + "bytes read into cache"),
    _rate("CACHE_BYTES_WRITTEN_FROM", _CACHE + "bytes written from cache"),
    _gauge("CACHE_DIRTY_BYTES", _CACHE + "tracked dirty bytes in the cache"),
    _gauge("CACHE_USED_BYTES", _CACHE + "bytes currently in the cache"),
    RateRow(
        "CACHE_FILL_RATIO",
        RateKind.SHARE,
        (_CACHE + "bytes currently in the cache",),
        _CACHE + "maximum bytes configured",
    ),
    RateRow(
        "DIRTY_FILL_RATIO",
        RateKind.SHARE,
        (_CACHE + "tracked dirty bytes in the cache",),
        _CACHE + "maximum bytes configured",
    ),
    # Some versions from 7.0 on still have the older place, with less data.
    _gauge(
        "TICKETS_AVAILABLE_READS",
        "serverStatus/queues/execution/read/available",
        "serverStatus/wiredTiger/concurrentTransactions/read/available",
    ),
    _gauge(
        "TICKETS_AVAILABLE_WRITES",
        "serverStatus/queues/execution/write/available",
        "serverStatus/wiredTiger/concurrentTransactions/write/available",
    ),
    _gauge("CONNECTIONS", "serverStatus/connections/current"),
    RateRow(
        "CONNECTIONS_PERCENT",
        RateKind.SHARE,
        ("serverStatus/connections/current",),
        "serverStatus/connections/TOTAL",
    ),
    _gauge("CURSORS_TOTAL_OPEN", "serverStatus/metrics/cursor/open/total"),
    _rate("CURSORS_TOTAL_TIMED_OUT", "serverStatus/metrics/cursor/timedOut"),
    _rate("EXTRA_INFO_PAGE_FAULTS", "serverStatus/extra_info/page_faults"),
    *_rows(
        RateKind.GAUGE,
        "GLOBAL_LOCK_CURRENT_QUEUE_{}",
        "serverStatus/globalLock/currentQueue/{}",
        {"TOTAL": "total", "READERS": "readers", "WRITERS": "writers"},
    ),
    _gauge("MEMORY_RESIDENT", "serverStatus/mem/resident", scale=MIB),
    _gauge("MEMORY_VIRTUAL", "serverStatus/mem/virtual", scale=MIB),
    _gauge("MEMORY_MAPPED", "serverStatus/mem/mapped", scale=MIB),
    _gauge("COMPUTED_MEMORY", "serverStatus/mem/COMPUTED", scale=MIB),
    *_rows(
        RateKind.RATE,
        "NETWORK_{}",
        "serverStatus/network/{}",
        {"BYTES_IN": "bytesIn", "BYTES_OUT": "bytesOut", "NUM_REQUESTS": "numRequests"},
    ),
    _gauge("OPLOG_SLAVE_LAG_MASTER_TIME", "replSetGetStatus/LAG"),
    _gauge("OPLOG_MASTER_TIME", "oplog/WINDOW"),
    _gauge("OPLOG_MASTER_LAG_TIME_DIFF", "oplog/HEADROOM"),
    _gauge("OPLOG_RATE_GB_PER_HOUR", "oplog/GB_PER_HOUR"),
    *_rows(
        RateKind.RATE,
        "OPCOUNTER_{}",
        "serverStatus/opcounters/{}",
        {
            "CMD": "command",
            "QUERY": "query",
            "UPDATE": "update",
            "DELETE": "delete",
            "GETMORE": "getmore",
            "INSERT": "insert",
        },
    ),
    *_rows(
        RateKind.RATE,
        "OPCOUNTER_REPL_{}",
        "serverStatus/opcountersRepl/{}",
        {"CMD": "command", "UPDATE": "update", "DELETE": "delete", "INSERT": "insert"},
    ),
    *_rows(
        RateKind.RATE,
        "DOCUMENT_METRICS_{}",
        "serverStatus/metrics/document/{}",
        {"RETURNED": "returned", "INSERTED": "inserted", "UPDATED": "updated", "DELETED": "deleted"},
    ),
    _rate("OPERATIONS_SCAN_AND_ORDER", "serverStatus/metrics/operation/scanAndOrder"),
    # Microseconds to milliseconds.
    *(
        RateRow(
            f"OP_EXECUTION_TIME_{name}",
            RateKind.PER,
            (f"serverStatus/opLatencies/{place}/latency",),
            f"serverStatus/opLatencies/{place}/ops",
            0.001,
        )
        for name, place in (("READS", "reads"), ("WRITES", "writes"), ("COMMANDS", "commands"))
    ),
    _rate("QUERY_EXECUTOR_SCANNED", "serverStatus/metrics/queryExecutor/scanned"),
    _rate("QUERY_EXECUTOR_SCANNED_OBJECTS", "serverStatus/metrics/queryExecutor/scannedObjects"),
    *(
        RateRow(
            f"QUERY_TARGETING_{name}_PER_RETURNED",
            RateKind.PER,
            (f"serverStatus/metrics/queryExecutor/{place}",),
            "serverStatus/metrics/document/returned",
        )
        for name, place in (("SCANNED", "scanned"), ("SCANNED_OBJECTS", "scannedObjects"))
    ),
    _gauge("SYSTEM_MEMORY_FREE", "systemMetrics/memory/MemFree_kb", scale=1024),
    _gauge("SYSTEM_MEMORY_AVAILABLE", "systemMetrics/memory/MemAvailable_kb", scale=1024),
    _gauge("SYSTEM_MEMORY_USED", "systemMetrics/memory/USED", scale=1024),
    _gauge("SWAP_USAGE_FREE", "systemMetrics/memory/SwapFree_kb", scale=1024),
    _gauge("SWAP_USAGE_USED", "systemMetrics/memory/SWAP_USED", scale=1024),
    _rate("SYSTEM_NETWORK_BYTES_IN", "systemMetrics/netstat/IpExt:InOctets"),
    _rate("SYSTEM_NETWORK_BYTES_OUT", "systemMetrics/netstat/IpExt:OutOctets"),
    # Milliseconds in each second, as percent: of one processor, and of all of them.
    *(
        _rate(f"SYSTEM_CPU_{name}", f"systemMetrics/cpu/{place}_ms", scale=0.1)
        for name, place in _CPU.items()
    ),
    *(
        _rate(
            f"SYSTEM_NORMALIZED_CPU_{name}",
            f"systemMetrics/cpu/{place}_ms",
            by="systemMetrics/cpu/num_cpus",
            scale=0.1,
        )
        for name, place in _CPU.items()
    ),
    _gauge("DISK_PARTITION_SPACE_FREE", "systemMetrics/mounts/FREE", "dbStats/FREE"),
    _gauge("DISK_PARTITION_SPACE_USED", "systemMetrics/mounts/USED", "dbStats/USED"),
    _gauge("DISK_PARTITION_SPACE_PERCENT_FREE", "systemMetrics/mounts/PERCENT_FREE", "dbStats/PERCENT_FREE"),
    _gauge("DISK_PARTITION_SPACE_PERCENT_USED", "systemMetrics/mounts/PERCENT_USED", "dbStats/PERCENT_USED"),
    # The server does not say which disk holds the data: operations are of all disks, the utilization is of
    # the busiest disk.
    *_rows(
        RateKind.RATE,
        "DISK_PARTITION_IOPS_{}",
        "systemMetrics/DISKS/{}s",
        {**_READ_WRITE, "TOTAL": "operation"},
    ),
    *(
        RateRow(
            f"DISK_PARTITION_LATENCY_{name}",
            RateKind.PER,
            (f"systemMetrics/DISKS/{place}_time_ms",),
            f"systemMetrics/DISKS/{place}s",
        )
        for name, place in _READ_WRITE.items()
    ),
    RateRow("DISK_PARTITION_UTILIZATION", RateKind.BUSIEST, ("systemMetrics/disks/*/io_time_ms",), None, 0.1),
    _gauge("DB_DATA_SIZE_TOTAL", "dbStats/DATA_SIZE"),
    _gauge("DB_STORAGE_TOTAL", "dbStats/STORAGE_SIZE"),
)
"""The metrics of a server."""

OF_DATABASES = frozenset(
    row.metric for row in SERVER if any(path.startswith("dbStats/") for path in row.sources)
)
"""The metrics that need the sizes of databases, every ten minutes."""

DATABASE = (
    _gauge("DB_DATA_SIZE_TOTAL", "dbStats/dataSize"),
    _gauge("DB_STORAGE_TOTAL", "dbStats/storageSize"),
    _gauge("DATABASE_DATA_SIZE", "dbStats/dataSize"),
    _gauge("DATABASE_STORAGE_SIZE", "dbStats/storageSize"),
    _gauge("DATABASE_INDEX_SIZE", "dbStats/indexSize"),
    _gauge("DATABASE_AVERAGE_OBJECT_SIZE", "dbStats/avgObjSize"),
    _gauge("DATABASE_OBJECT_COUNT", "dbStats/objects"),
    _gauge("DATABASE_COLLECTION_COUNT", "dbStats/collections"),
    _gauge("DATABASE_INDEX_COUNT", "dbStats/indexes"),
)
"""The metrics of a database, every ten minutes."""

NEVER = {
    "BACKGROUND_FLUSH_AVG": "only with the storage engine MMAPv1, removed in 4.2",
    "INDEX_COUNTERS_BTREE_ACCESSES": "removed in 2.6",
    "INDEX_COUNTERS_BTREE_HITS": "removed in 2.6",
    "INDEX_COUNTERS_BTREE_MISSES": "removed in 2.6",
    "INDEX_COUNTERS_BTREE_MISS_RATIO": "removed in 2.6",
    "JOURNALING_COMMITS_IN_WRITE_LOCK": "only with the storage engine MMAPv1, removed in 4.2",
    "JOURNALING_MB": "only with the storage engine MMAPv1, removed in 4.2",
    "JOURNALING_WRITE_DATA_FILES_MB": "only with the storage engine MMAPv1, removed in 4.2",
    "RESTARTS_IN_LAST_HOUR": "the platform derives restarts from the uptime",
}
"""Platform metrics that no server supported by this agent has."""
