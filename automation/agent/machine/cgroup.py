"""The limits of a process's control groups, versions 1 and 2 (cgroups(7)): in a container they are the whole.

Pure, except that `Read` reads a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Callable

from automation.agent.machine.proc import Mount, is_within
from automation.agent.rates import Numbers

Read = Callable[[str], str]
"""Reads a file; raises OSError."""

_CONTROLLERS = ("memory", "cpu", "cpuacct")


@dataclass(frozen=True)
class ControlGroup:
    """The directories of a process's groups by controller, from its own group outwards.

    `unified` has the controllers of version 2.
    """

    directories: Mapping[str, Sequence[str]]
    unified: frozenset[str]


@dataclass(frozen=True)
class GroupNumbers:
    """The numbers of the group with the smallest limit. Without `place`, the machine is the whole."""

    place: str | None = None
    numbers: Numbers | None = None


MACHINE = GroupNumbers()


def groups_of(cgroup: str, mounts: Sequence[Mount]) -> ControlGroup:
    """The groups in /proc/PID/cgroup, as far as they are visible here."""
    paths: dict[str, str] = {}
    for line in cgroup.splitlines():
        _, names, path = line.split(":", 2)
        paths.update(dict.fromkeys(names.split(","), path))
    directories: dict[str, Sequence[str]] = {}
    unified: set[str] = set()
    for controller in _CONTROLLERS:
        older = [mount for mount in mounts if mount.kind == "cgroup" and controller in mount.options]
        newer = [mount for mount in mounts if mount.kind == "cgroup2"]
        path = paths.get(controller if older else "", "")
        for mount in (older or newer)[:1]:
            # A group outside of the own name space of groups begins with `/..`.
            if path and not path.startswith("/..") and is_within(path, mount.root):
                directories[controller] = _outwards(mount.point, path[len(mount.root.rstrip("/")) :])
                unified |= set() if older else {controller}
    return ControlGroup(directories, frozenset(unified))


def memory_of(group: ControlGroup, machine: Numbers, read: Read) -> GroupNumbers:
    """Memory in KiB where a group may have less than the machine. Files in its cache are available to it."""
    is_new = "memory" in group.unified
    names = (
        ("memory.max", "memory.current", "inactive_file")
        if is_new
        else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    )
    limits = {
        limit: place
        for place in reversed(group.directories.get("memory", ()))
        if (limit := _number(read, f"{place}/{names[0]}")) is not None
    }
    limit = min(limits, default=None)
    if limit is None or limit / 1024 >= machine.get("memory/MemTotal_kb", 0.0):
        return MACHINE
    place = limits[limit]
    current = _number(read, f"{place}/{names[1]}")
    cached = _fields(read, f"{place}/memory.stat").get(names[2])
    if current is None or cached is None:
        return GroupNumbers(place, {})
    used = max(0.0, current - cached)
    numbers = {
        "memory/MemTotal_kb": limit / 1024,
        "memory/MemFree_kb": max(0.0, limit - current) / 1024,
        "memory/MemAvailable_kb": max(0.0, limit - used) / 1024,
        "memory/USED": used / 1024,
    }
    return GroupNumbers(place, {**numbers, **(_swap(place, machine, read) if is_new else {})})


def cpu_of(group: ControlGroup, machine: Numbers, read: Read, ticks: int) -> GroupNumbers:
    """Processor time in ms and processors where a group may have fewer than the machine."""
    is_new = "cpu" in group.unified
    limits = {
        cores: level
        for level, place in reversed(list(enumerate(group.directories.get("cpu", ()))))
        if (cores := (_new_cores if is_new else _old_cores)(read, place)) is not None
    }
    cores = min(limits, default=None)
    if cores is None or cores >= machine.get("cpu/num_cpus", 0.0):
        return MACHINE
    level = limits[cores]
    place = group.directories["cpu"][level]
    spent: Mapping[str, float] = {}
    if is_new:
        stat = _fields(read, f"{place}/cpu.stat")
        spent = {name: stat[f"{name}_usec"] / 1000 for name in ("user", "system") if f"{name}_usec" in stat}
    else:
        for counted in group.directories.get("cpuacct", ())[level : level + 1]:
            spent = {
                name: value * 1000 / ticks for name, value in _fields(read, f"{counted}/cpuacct.stat").items()
            }
    return GroupNumbers(
        place, {"cpu/num_cpus": cores, **{f"cpu/{name}_ms": value for name, value in spent.items()}}
    )


def _outwards(top: str, path: str) -> Sequence[str]:
    parts = [part for part in path.split("/") if part]
    return ["/".join([top, *parts[:count]]) for count in range(len(parts), -1, -1)]


def _swap(place: str, machine: Numbers, read: Read) -> Numbers:
    current, free = _number(read, f"{place}/memory.swap.current"), machine.get("memory/SwapFree_kb")
    if current is None or free is None:
        return {}
    limit = _number(read, f"{place}/memory.swap.max")
    left = free if limit is None else min(free, max(0.0, limit - current) / 1024)
    return {"memory/SWAP_USED": current / 1024, "memory/SwapFree_kb": left}


def _new_cores(read: Read, place: str) -> float | None:
    quota, _, period = _text(read, f"{place}/cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _old_cores(read: Read, place: str) -> float | None:
    quota, period = (_number(read, f"{place}/cpu.cfs_{name}_us") for name in ("quota", "period"))
    return quota / period if quota is not None and period and quota > 0 else None


def _number(read: Read, path: str) -> float | None:
    """The number in a file; None for `max`, -1 and if there is no file."""
    text = _text(read, path)
    return float(text) if text.isdigit() else None


def _fields(read: Read, path: str) -> Mapping[str, float]:
    return {name: float(value) for name, value in _pairs(_text(read, path)) if value.isdigit()}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        yield name, value


def _text(read: Read, path: str) -> str:
    try:
        return read(path).strip()
    except OSError:  # The controller is off, or the outermost group has no such file.
        return ""
