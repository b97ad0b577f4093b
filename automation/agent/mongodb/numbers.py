"""Extracts the numbers of the metric table from the answers of a server. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from automation.agent.mongodb.metrics import SERVER
from automation.agent.rates import Numbers

_GIB = 1024.0**3


@dataclass(frozen=True)
class Answers:
    """The answered sections of a server, by name.

    `refused` names the sections for which the user lacks a role. `db_path` is the data directory, if known.
    """

    sections: Mapping[str, Mapping[str, Any]]
    refused: frozenset[str] = frozenset()
    db_path: str | None = None


_PATHS = frozenset(path for row in SERVER for path in (*row.sources, row.by) if path and "*" not in path)


def numbers_of(answers: Answers) -> Numbers:
    """Path → value, for every path of the table that the server answered."""
    found = dict(_derived(answers))
    for path in _PATHS - found.keys():
        value = _at(answers.sections, path)
        if value is not None:
            found[path] = value
    return found


def restart_mark(answers: Answers) -> tuple[int | None, float | None]:
    """The process ID and the uptime in seconds, which identify a restart."""
    status = answers.sections.get("serverStatus", {})
    pid, uptime = _number(status.get("pid")), _number(status.get("uptimeMillis"))
    return (None if pid is None else int(pid)), (None if uptime is None else uptime / 1000)


def _derived(answers: Answers) -> Numbers:
    sections = answers.sections
    found: dict[str, float | None] = {
        "serverStatus/connections/TOTAL": _sum(
            _at(sections, "serverStatus/connections/current"),
            _at(sections, "serverStatus/connections/available"),
        ),
        "serverStatus/mem/COMPUTED": _sum(
            _at(sections, "serverStatus/mem/virtual"), -(_at(sections, "serverStatus/mem/mapped") or 0.0)
        ),
    }
    memory = sections.get("systemMetrics", {}).get("memory", {})
    found["systemMetrics/memory/USED"] = _less(memory.get("MemTotal_kb"), memory.get("MemAvailable_kb"))
    found["systemMetrics/memory/SWAP_USED"] = _less(memory.get("SwapTotal_kb"), memory.get("SwapFree_kb"))
    found.update(_disks(sections.get("systemMetrics", {}).get("disks", {})))
    found.update(_mount(sections.get("systemMetrics", {}).get("mounts", {}), answers.db_path))
    found.update(_replication(sections))
    return {path: value for path, value in found.items() if value is not None}


def _disks(disks: Mapping[str, Mapping[str, Any]]) -> Mapping[str, float | None]:
    """The sums over all disks, and the busy time of each disk."""
    found: dict[str, float | None] = {
        f"systemMetrics/disks/{name}/io_time_ms": _number(disk.get("io_time_ms"))
        for name, disk in disks.items()
    }
    for field in ("reads", "writes", "read_time_ms", "write_time_ms"):
        values = [value for disk in disks.values() if (value := _number(disk.get(field))) is not None]
        found[f"systemMetrics/DISKS/{field}"] = sum(values) if values else None
    found["systemMetrics/DISKS/operations"] = _sum(
        found["systemMetrics/DISKS/reads"], found["systemMetrics/DISKS/writes"]
    )
    return found


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


def space(section: str, *, free: float | None, used: float | None) -> Mapping[str, float | None]:
    """Space as in df(1): percentages relate to used space and space available to the server."""
    if free is None or used is None or free + used <= 0:
        return {}
    percent = used / (free + used) * 100
    return {
        f"{section}/FREE": free,
        f"{section}/USED": used,
        f"{section}/PERCENT_USED": percent,
        f"{section}/PERCENT_FREE": 100 - percent,
    }


def _replication(sections: Mapping[str, Mapping[str, Any]]) -> Mapping[str, float | None]:
    """Lag, oplog window and headroom in seconds, and the growth of the primary's oplog."""
    members = sections.get("replSetGetStatus", {}).get("members", ())
    window = _window(sections.get("serverStatus", {}).get("oplog", {}))
    lag = _lag(members)
    size = _number(sections.get("local.oplog.rs.stats", {}).get("size"))
    is_primary = any(member.get("self") and member.get("stateStr") == "PRIMARY" for member in members)
    grows = size / window * 3600 / _GIB if is_primary and size is not None and window else None
    return {
        "replSetGetStatus/LAG": lag,
        "oplog/WINDOW": window,
        "oplog/HEADROOM": _less(window, lag),
        "oplog/GB_PER_HOUR": grows,
    }


def _lag(members: Sequence[Mapping[str, Any]]) -> float | None:
    """How far a secondary is behind the primary; None for other members, and without a primary."""
    own = [member for member in members if member.get("self") and member.get("stateStr") == "SECONDARY"]
    primaries = [member for member in members if member.get("stateStr") == "PRIMARY"]
    if not own or not primaries:
        return None
    behind, ahead = own[0].get("optimeDate"), primaries[0].get("optimeDate")
    if not isinstance(behind, datetime) or not isinstance(ahead, datetime):
        return None
    # Data about the primary is as old as its last heartbeat.
    return max(0.0, (ahead - behind).total_seconds())


def _window(oplog: Mapping[str, Any]) -> float | None:
    first, last = oplog.get("earliestOptime"), oplog.get("latestOptime")
    started, ended = getattr(first, "time", None), getattr(last, "time", None)
    return None if started is None or ended is None else float(max(0, ended - started))


def _at(sections: Mapping[str, Any], path: str) -> float | None:
    place: Any = sections
    for name in path.split("/"):
        if not isinstance(place, Mapping) or name not in place:
            return None
        place = place[name]
    return _number(place)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _sum(*values: float | None) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) if len(there) == len(values) else None


def _less(total: object, part: object) -> float | None:
    first, second = _number(total), _number(part)
    return None if first is None or second is None else first - second
