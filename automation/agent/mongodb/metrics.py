"""The MongoDB metrics: a row per metric with its sources, and their numbers in the answers of a server. Pure.

Sources are paths into the answers, such as `serverStatus/connections/current`, in order of preference. Names
in capitals are computed from other numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from automation.agent.machine.metrics import SERVERS, space, system_rows
from automation.agent.mongodb.raw import Names, RawDocument
from automation.agent.rates import Numbers, RateKind, RateRow, gauge, per, rate, share

MIB = 1_048_576.0
OPLOG_FULL = 0.8
"""From this share of its maximum size on, an oplog loses its oldest entries, in parts of up to a tenth."""
_GIB = 1024.0**3
_UNKNOWN_YEAR = 1970

_CACHE = "serverStatus/wiredTiger/cache/"
_CONFIGURED = _CACHE + "maximum bytes configured"
_USED, _DIRTY = _CACHE + "bytes currently in the cache", _CACHE + "tracked dirty bytes in the cache"
_OPERATIONS = {
    "CMD": "command",
    "QUERY": "query",
    "UPDATE": "update",
    "DELETE": "delete",
    "GETMORE": "getmore",
    "INSERT": "insert",
}
_QUERIES, _RETURNED = "serverStatus/metrics/queryExecutor/", "serverStatus/metrics/document/returned"

WINDOW = "oplog/WINDOW"
"""The oplog window of a primary in seconds; no number for other members, and while the oplog still grows."""

CERTIFICATE, SUPPORT = "certificate/DAYS", "version/SUPPORT_DAYS"
"""Values that no command reads: days until the server's certificate and the support of its version end."""

SUPPORT_ENDS = {
    "4.4": date(2024, 2, 29),
    "5.0": date(2024, 10, 31),
    "6.0": date(2025, 7, 31),
    "7.0": date(2027, 8, 31),
    "8.0": date(2029, 10, 31),
}
"""By release series, when the vendor ends support (https://www.mongodb.com/legal/support-policy/lifecycles)."""

SERVER = (
    *(
        rate(f"ASSERT_{name}", f"serverStatus/asserts/{name.lower()}")
        for name in ("REGULAR", "WARNING", "MSG", "USER")
    ),
    rate("CACHE_BYTES_READ_INTO", _CACHE + "bytes read into cache"),
    rate("CACHE_BYTES_WRITTEN_FROM", _CACHE + "bytes written from cache"),
    gauge("CACHE_DIRTY_BYTES", _DIRTY),
    gauge("CACHE_USED_BYTES", _USED),
    share("CACHE_FILL_RATIO", _USED, _CONFIGURED),
    share("DIRTY_FILL_RATIO", _DIRTY, _CONFIGURED),
    # Some versions from 7.0 on still have the older place, with less data.
    *(
        gauge(
            f"TICKETS_AVAILABLE_{name}S",
            f"serverStatus/queues/execution/{name.lower()}/available",
            f"serverStatus/wiredTiger/concurrentTransactions/{name.lower()}/available",
        )
        for name in ("READ", "WRITE")
    ),
    gauge("CONNECTIONS", "serverStatus/connections/current"),
    share("CONNECTIONS_PERCENT", "serverStatus/connections/current", "serverStatus/connections/TOTAL"),
    gauge("CURSORS_TOTAL_OPEN", "serverStatus/metrics/cursor/open/total"),
    rate("CURSORS_TOTAL_TIMED_OUT", "serverStatus/metrics/cursor/timedOut"),
    rate("EXTRA_INFO_PAGE_FAULTS", "serverStatus/extra_info/page_faults"),
    *(
        gauge(f"GLOBAL_LOCK_CURRENT_QUEUE_{name}", f"serverStatus/globalLock/currentQueue/{name.lower()}")
        for name in ("TOTAL", "READERS", "WRITERS")
    ),
    gauge("MEMORY_RESIDENT", "serverStatus/mem/resident", scale=MIB),
    gauge("MEMORY_VIRTUAL", "serverStatus/mem/virtual", scale=MIB),
    gauge("MEMORY_MAPPED", "serverStatus/mem/mapped", scale=MIB),
    gauge("COMPUTED_MEMORY", "serverStatus/mem/COMPUTED", scale=MIB),
    rate("NETWORK_BYTES_IN", "serverStatus/network/bytesIn"),
    rate("NETWORK_BYTES_OUT", "serverStatus/network/bytesOut"),
    rate("NETWORK_NUM_REQUESTS", "serverStatus/network/numRequests"),
    gauge("OPLOG_SLAVE_LAG_MASTER_TIME", "replSetGetStatus/LAG"),
    gauge("OPLOG_MASTER_TIME", WINDOW),
    gauge("OPLOG_MASTER_LAG_TIME_DIFF", "oplog/HEADROOM"),
    gauge("OPLOG_RATE_GB_PER_HOUR", "oplog/GB_PER_HOUR"),
    *(rate(f"OPCOUNTER_{name}", f"serverStatus/opcounters/{place}") for name, place in _OPERATIONS.items()),
    *(
        rate(f"OPCOUNTER_REPL_{name}", f"serverStatus/opcountersRepl/{_OPERATIONS[name]}")
        for name in ("CMD", "UPDATE", "DELETE", "INSERT")
    ),
    *(
        rate(f"DOCUMENT_METRICS_{name}", f"serverStatus/metrics/document/{name.lower()}")
        for name in ("RETURNED", "INSERTED", "UPDATED", "DELETED")
    ),
    rate("OPERATIONS_SCAN_AND_ORDER", "serverStatus/metrics/operation/scanAndOrder"),
    # Microseconds to milliseconds.
    *(
        per(f"OP_EXECUTION_TIME_{name.upper()}", f"{place}/latency", f"{place}/ops", scale=0.001)
        for name in ("reads", "writes", "commands")
        for place in [f"serverStatus/opLatencies/{name}"]
    ),
    rate("QUERY_EXECUTOR_SCANNED", _QUERIES + "scanned"),
    rate("QUERY_EXECUTOR_SCANNED_OBJECTS", _QUERIES + "scannedObjects"),
    per("QUERY_TARGETING_SCANNED_PER_RETURNED", _QUERIES + "scanned", _RETURNED),
    per("QUERY_TARGETING_SCANNED_OBJECTS_PER_RETURNED", _QUERIES + "scannedObjects", _RETURNED),
    *system_rows("systemMetrics/"),
    gauge("DISK_PARTITION_SPACE_FREE", "systemMetrics/mounts/FREE", "dbStats/FREE"),
    gauge("DISK_PARTITION_SPACE_USED", "systemMetrics/mounts/USED", "dbStats/USED"),
    gauge("DISK_PARTITION_SPACE_PERCENT_FREE", "systemMetrics/mounts/PERCENT_FREE", "dbStats/PERCENT_FREE"),
    gauge("DISK_PARTITION_SPACE_PERCENT_USED", "systemMetrics/mounts/PERCENT_USED", "dbStats/PERCENT_USED"),
    # The server does not say which disk holds the data: operations are of all disks, the utilization is of
    # the busiest disk.
    rate("DISK_PARTITION_IOPS_READ", "systemMetrics/DISKS/reads"),
    rate("DISK_PARTITION_IOPS_WRITE", "systemMetrics/DISKS/writes"),
    rate("DISK_PARTITION_IOPS_TOTAL", "systemMetrics/DISKS/operations"),
    per("DISK_PARTITION_LATENCY_READ", "systemMetrics/DISKS/read_time_ms", "systemMetrics/DISKS/reads"),
    per("DISK_PARTITION_LATENCY_WRITE", "systemMetrics/DISKS/write_time_ms", "systemMetrics/DISKS/writes"),
    RateRow("DISK_PARTITION_UTILIZATION", RateKind.BUSIEST, ("systemMetrics/disks/*/io_time_ms",), None, 0.1),
    gauge("DB_DATA_SIZE_TOTAL", "dbStats/DATA_SIZE"),
    gauge("DB_STORAGE_TOTAL", "dbStats/STORAGE_SIZE"),
    gauge("MONGO_DISK_SIZE_TOTAL", "dbStats/SIZE_ON_DISK"),
    gauge("MONGO_FSYNC_LOCKED", "currentOp/FSYNC_LOCKED"),
    # Microseconds in each second: as percent, and as milliseconds.
    rate("MONGO_FLOW_CONTROL_LAGGED", "serverStatus/flowControl/isLaggedTimeMicros", scale=0.0001),
    rate("MONGO_FLOW_CONTROL_WAIT", "serverStatus/flowControl/timeAcquiringMicros", scale=0.001),
    rate("MONGO_ELECTIONS", "serverStatus/ELECTIONS"),
    gauge("MONGO_MAJORITY_LAG", "replSetGetStatus/MAJORITY_LAG"),
    gauge("MONGO_MEMBERS_UNREACHABLE", "replSetGetStatus/UNREACHABLE"),
    gauge("SERVER_CERTIFICATE_DAYS", CERTIFICATE),
    gauge("SERVER_SUPPORT_DAYS", SUPPORT),
)
"""The metrics of a server."""

METRICS = frozenset(row.metric for row in (*SERVER, *SERVERS))
"""All metrics of a server, and of its machine."""

SUMS = frozenset({"DB_DATA_SIZE_TOTAL", "DB_STORAGE_TOTAL"})
"""The metrics that are sums over all databases."""

OF_DATABASES = frozenset(
    row.metric for row in SERVER if any(path.startswith("dbStats/") for path in row.sources)
)
"""The metrics that need the sizes of databases, every ten minutes."""

OF_AGENT = frozenset({"SERVER_CERTIFICATE_DAYS", "SERVER_SUPPORT_DAYS"})
"""The metrics that no command reads."""

DATABASE = (
    gauge("DB_DATA_SIZE_TOTAL", "dbStats/dataSize"),
    gauge("DB_STORAGE_TOTAL", "dbStats/storageSize"),
    gauge("DATABASE_DATA_SIZE", "dbStats/dataSize"),
    gauge("DATABASE_STORAGE_SIZE", "dbStats/storageSize"),
    gauge("DATABASE_INDEX_SIZE", "dbStats/indexSize"),
    gauge("DATABASE_AVERAGE_OBJECT_SIZE", "dbStats/avgObjSize"),
    gauge("DATABASE_OBJECT_COUNT", "dbStats/objects"),
    gauge("DATABASE_COLLECTION_COUNT", "dbStats/collections"),
    gauge("DATABASE_INDEX_COUNT", "dbStats/indexes"),
)
"""The metrics of a database, every ten minutes."""


@dataclass(frozen=True)
class Answers:
    """The answered sections of a server, by name.

    `refused` names the sections for which the user lacks a role. `db_path` is the data directory, if known.
    `delay` is the time in seconds by which the member is configured to lag behind. `primary_window` is the
    oplog window of the primary in seconds; None if it is unknown or still grows.
    """

    sections: Mapping[str, Mapping[str, Any]]
    refused: frozenset[str] = frozenset()
    db_path: str | None = None
    delay: float = 0.0
    primary_window: float | None = None


_CORES = tuple(
    f"systemMetrics/cpu/{name}"
    for name in ("num_logical_cores", "num_cpus", "num_cores_available_to_process")
)
"""The number of cores, from 7.0 on and before; the times are of all cores of the machine."""

_MEMORY = "systemMetrics/memory/"
_AVAILABLE = "serverStatus/connections/available"
_OPLOG_SIZE, _OPLOG_MOST = (
    (f"local.oplog.rs.stats/storageStats/{name}", f"local.oplog.rs.stats/{name}")
    for name in ("size", "maxSize")
)
"""The size of the oplog and its maximum; from 7.0 on the diagnostic data have them one level deeper."""
_OF_DERIVED = (
    *_CORES,
    *(f"{_MEMORY}{name}_kb" for name in ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree")),
    _AVAILABLE,
    *_OPLOG_SIZE,
    *_OPLOG_MOST,
)
"""The numbers that only other numbers are computed from."""


def _names() -> Names:
    """The names in all paths of the table, and of the numbers that others are computed from."""
    names: dict[bytes, Any] = {}
    of_table = {path for row in SERVER for path in (*row.sources, row.by) if path and "*" not in path}
    for path in of_table.union(_OF_DERIVED):
        *parts, number = path.encode().split(b"/")
        place = names
        for part in parts:
            place = place.setdefault(part, {})
        place[number] = path
    return names


_NAMES = _names()


def numbers_of(answers: Answers) -> Numbers:
    """Path → value, for every path of the table that the server answered."""
    numbers: dict[str, float] = {}
    _read(answers.sections, _NAMES, numbers)
    numbers.update(_derived(answers, numbers))
    return numbers


def _read(part: Mapping[str, Any], names: Names, numbers: dict[str, float]) -> None:
    """Add the named numbers of a part of an answer."""
    if isinstance(part, RawDocument):
        part.numbers(names, numbers)
        return
    for name, below in names.items():
        value = part.get(name.decode())
        if isinstance(below, str):
            number = _number(value)
            if number is not None:
                numbers[below] = number
        elif isinstance(value, Mapping):
            _read(value, below, numbers)


def days_of_support(version: str, today: date) -> int | None:
    """Days until the vendor no longer supports a version; None for an unknown version."""
    ends = SUPPORT_ENDS.get(".".join(version.split(".")[:2]))
    return (ends - today).days if ends else None


def restart_mark(answers: Answers) -> tuple[int | None, float | None]:
    """The process ID and the uptime in seconds, which identify a restart."""
    status = answers.sections.get("serverStatus", {})
    pid, uptime = _number(status.get("pid")), _number(status.get("uptimeMillis"))
    return (None if pid is None else int(pid)), (None if uptime is None else uptime / 1000)


def _derived(answers: Answers, numbers: Numbers) -> Numbers:
    sections = answers.sections
    machine = sections.get("systemMetrics", {})
    virtual = numbers.get("serverStatus/mem/virtual")
    derived: dict[str, float | None] = {
        "serverStatus/connections/TOTAL": _sum(
            numbers.get("serverStatus/connections/current"), numbers.get(_AVAILABLE)
        ),
        "serverStatus/mem/COMPUTED": _sum(virtual, -numbers.get("serverStatus/mem/mapped", 0.0)),
        "systemMetrics/cpu/num_cpus": _first(numbers, _CORES),
    }
    for name, whole, free in (("USED", "MemTotal", "MemAvailable"), ("SWAP_USED", "SwapTotal", "SwapFree")):
        derived[_MEMORY + name] = _less(
            numbers.get(f"{_MEMORY}{whole}_kb"), numbers.get(f"{_MEMORY}{free}_kb")
        )
    derived.update(_disks(machine.get("disks", {})))
    derived.update(_mount(machine.get("mounts", {}), answers.db_path))
    derived.update(_replication(answers, numbers))
    derived.update(_states(sections))
    return {path: value for path, value in derived.items() if value is not None}


def _disks(disks: Mapping[str, Mapping[str, Any]]) -> Mapping[str, float | None]:
    """The sums over all disks, and the busy time of each disk."""
    numbers: dict[str, float | None] = {
        f"systemMetrics/disks/{name}/io_time_ms": _number(disk.get("io_time_ms"))
        for name, disk in disks.items()
    }
    for field in ("reads", "writes", "read_time_ms", "write_time_ms"):
        values = [value for disk in disks.values() if (value := _number(disk.get(field))) is not None]
        numbers[f"systemMetrics/DISKS/{field}"] = sum(values) if values else None
    numbers["systemMetrics/DISKS/operations"] = _sum(
        numbers["systemMetrics/DISKS/reads"], numbers["systemMetrics/DISKS/writes"]
    )
    return numbers


def _mount(mounts: Mapping[str, Mapping[str, Any]], db_path: str | None) -> Mapping[str, float | None]:
    """The space on the file system of the data: the mount with the longest matching path."""
    if db_path is None or not db_path.startswith("/"):
        return {}
    path = db_path.rstrip("/") + "/"
    above = [name for name in mounts if path.startswith(name.rstrip("/") + "/")]
    if not above:
        return {}
    mount = mounts[max(above, key=len)]
    free, used = _number(mount.get("available")), _less(mount.get("capacity"), mount.get("free"))
    return space("systemMetrics/mounts", free=free, used=used)


def _replication(answers: Answers, numbers: Numbers) -> Mapping[str, float | None]:
    """Lag, oplog window and headroom in seconds, and the growth of the primary's oplog."""
    sections = answers.sections
    members = sections.get("replSetGetStatus", {}).get("members", ())
    is_primary = _is_primary(members)
    lag = _lag(members)
    span = oplog_span(sections.get("serverStatus", {}).get("oplog", {}))
    size, largest = _first(numbers, _OPLOG_SIZE), _first(numbers, _OPLOG_MOST)
    grows = size / span * 3600 / _GIB if is_primary and size is not None and span else None
    # Before the oplog is near its maximum size, its window is the age of the data, and nothing is lost.
    is_full = size is not None and largest and size >= OPLOG_FULL * largest
    others = [member for member in members if not member.get("self")]
    return {
        "replSetGetStatus/LAG": None if lag is None else max(0.0, lag - answers.delay),
        "replSetGetStatus/MAJORITY_LAG": _majority_lag(sections) if is_primary else None,
        "replSetGetStatus/UNREACHABLE": float(sum(member.get("health") == 0 for member in others))
        if members
        else None,
        WINDOW: span if is_primary and is_full else None,
        # A delayed member needs all entries since its own newest entry.
        "oplog/HEADROOM": _less(answers.primary_window, lag),
        "oplog/GB_PER_HOUR": grows,
    }


def _is_primary(members: Iterable[Mapping[str, Any]]) -> bool:
    return any(member.get("self") and member.get("stateStr") == "PRIMARY" for member in members)


def _majority_lag(sections: Mapping[str, Mapping[str, Any]]) -> float | None:
    """How far the writes that a majority has are behind the writes of the primary."""
    times = sections.get("replSetGetStatus", {}).get("optimes", {})
    committed, applied = (
        moment(times.get("lastCommittedWallTime")),
        moment(times.get("lastAppliedWallTime")),
    )
    if committed is None or applied is None:
        return None
    return max(0.0, (applied - committed).total_seconds())


def _states(sections: Mapping[str, Mapping[str, Any]]) -> Mapping[str, float | None]:
    """Whether writes are locked out, and how many elections the member has called."""
    elections = sections.get("serverStatus", {}).get("electionMetrics", {})
    called = [
        number
        for reason in elections.values()
        if isinstance(reason, Mapping) and (number := _number(reason.get("called"))) is not None
    ]
    operations = sections.get("currentOp")
    return {
        "serverStatus/ELECTIONS": sum(called) if called else None,
        "currentOp/FSYNC_LOCKED": None if operations is None else float(bool(operations.get("fsyncLock"))),
    }


def _lag(members: Sequence[Mapping[str, Any]]) -> float | None:
    """How far a secondary is behind the primary; None for other members, and without a primary."""
    own = [member for member in members if member.get("self") and member.get("stateStr") == "SECONDARY"]
    primaries = [member for member in members if member.get("stateStr") == "PRIMARY"]
    if not own or not primaries:
        return None
    behind, ahead = moment(own[0].get("optimeDate")), moment(primaries[0].get("optimeDate"))
    if behind is None or ahead is None:
        return None
    # Data about the primary is as old as its last heartbeat.
    return max(0.0, (ahead - behind).total_seconds())


def oplog_span(oplog: Mapping[str, Any]) -> float | None:
    first, last = oplog.get("earliestOptime"), oplog.get("latestOptime")
    started, ended = getattr(first, "time", 0), getattr(last, "time", 0)
    return float(max(0, ended - started)) if started and ended else None


def moment(value: object) -> datetime | None:
    """A time of a member; None if it is unknown. Servers write the beginning of 1970 for unknown times."""
    return value if isinstance(value, datetime) and value.year > _UNKNOWN_YEAR else None


def _first(numbers: Numbers, paths: Iterable[str]) -> float | None:
    """The number at the first path that has one."""
    return next((numbers[path] for path in paths if path in numbers), None)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _sum(*values: float | None) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) if len(there) == len(values) else None


def _less(total: object, part: object) -> float | None:
    first, second = _number(total), _number(part)
    return None if first is None or second is None else first - second
