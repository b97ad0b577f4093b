"""Texts of the file system /proc as numbers (proc(5)). Pure.

The paths of numbers have the names of MongoDB's `systemMetrics`, which are read from the same files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from automation.agent.rates import Numbers

_CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
_CORE = re.compile(r"^cpu[0-9]+ ", re.MULTILINE)
_MEMORY = re.compile(r"^(MemTotal|MemFree|MemAvailable|SwapTotal|SwapFree): +([0-9]+) kB$", re.MULTILINE)
_OCTETS = re.compile(r"^(Ip6InOctets|Ip6OutOctets)\s+([0-9]+)$", re.MULTILINE)
_USER = re.compile(r"^Uid:\s+(?:[0-9]+\s+){3}([0-9]+)$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([0-7]{3})")

_CONNECTED = "01"
"""The state of a TCP connection that is open at both ends."""

IN, OUT = "netstat/IpExt:InOctets", "netstat/IpExt:OutOctets"


def read_cpu(stat: str, ticks: int) -> Numbers:
    """/proc/stat: milliseconds since the start by kind, and the number of cores. `ticks` are per second."""
    first = stat.split("\n", 1)[0].split()
    cores = len(_CORE.findall(stat))
    if first[:1] != ["cpu"] or not cores:
        return {}
    numbers = {f"cpu/{name}_ms": float(value) * 1000 / ticks for name, value in zip(_CPU, first[1:])}
    return {**numbers, "cpu/num_cpus": float(cores)}


def read_memory(meminfo: str) -> Numbers:
    """/proc/meminfo, in KiB; used memory is what programs cannot have."""
    numbers = {f"memory/{name}_kb": float(value) for name, value in _MEMORY.findall(meminfo)}
    for name, whole, free in (("USED", "MemTotal", "MemAvailable"), ("SWAP_USED", "SwapTotal", "SwapFree")):
        if f"memory/{whole}_kb" in numbers and f"memory/{free}_kb" in numbers:
            numbers[f"memory/{name}"] = numbers[f"memory/{whole}_kb"] - numbers[f"memory/{free}_kb"]
    return numbers


def read_load(loadavg: str) -> Numbers:
    """/proc/loadavg: the mean number of processes that ran or waited for a disk, over a minute."""
    mean = loadavg.split(" ", 1)[0]
    return {"load/1": float(mean)} if mean else {}


def read_network(netstat: str, snmp6: str) -> Numbers:
    """/proc/net/netstat and /proc/net/snmp6: bytes of IPv4 and IPv6, including the loopback interface."""
    lines = [line.split() for line in netstat.splitlines() if line.startswith("IpExt:")]
    if len(lines) != 2:  # a line of names, and a line of values
        return {}
    counters = dict(zip(*lines))
    newer = dict(_OCTETS.findall(snmp6))
    return {
        path: float(counters[name]) + float(newer.get(f"Ip6{name}", 0))
        for path, name in ((IN, "InOctets"), (OUT, "OutOctets"))
        if name in counters
    }


def read_disks(diskstats: str) -> Mapping[str, Numbers]:
    """/proc/diskstats: the counters of a disk or partition by device number, `8:1`."""
    disks: dict[str, Numbers] = {}
    for line in diskstats.splitlines():
        fields = line.split()
        if len(fields) < 14:  # Partitions of Linux before 2.6.25 have four fields
            continue
        reads, read_ms, writes, write_ms, busy_ms = (float(fields[place]) for place in (3, 6, 7, 10, 12))
        disks[f"{fields[0]}:{fields[1]}"] = {
            "disk/reads": reads,
            "disk/writes": writes,
            "disk/operations": reads + writes,
            "disk/read_time_ms": read_ms,
            "disk/write_time_ms": write_ms,
            "disk/io_time_ms": busy_ms,
        }
    return disks


@dataclass(frozen=True)
class Mount:
    """A line of mountinfo: the file system `device` (`8:1`), from its directory `root`, is at `point`."""

    device: str
    root: str
    point: str
    kind: str
    options: frozenset[str]

    @property
    def is_disk(self) -> bool:
        """Whether a block device holds it."""
        return not self.device.startswith("0:")


def read_mounts(mountinfo: str) -> Sequence[Mount]:
    """/proc/PID/mountinfo, in the order of mounting."""
    mounts: list[Mount] = []
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        if "-" not in fields[6:]:
            continue
        rest = fields[fields.index("-", 6) + 1 :]
        options = frozenset(rest[2].split(",")) if len(rest) > 2 else frozenset()
        mounts.append(Mount(fields[2], _plain(fields[3]), _plain(fields[4]), rest[0], options))
    return mounts


def mount_of(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """The mount that holds an absolute path without symbolic links: the longest prefix, mounted last."""
    holder: Mount | None = None
    for mount in mounts:
        if is_within(path, mount.point) and (holder is None or len(mount.point) >= len(holder.point)):
            holder = mount
    return holder


def is_within(path: str, directory: str) -> bool:
    """Whether an absolute path is the directory or in it."""
    return f"{path.rstrip('/')}/".startswith(f"{directory.rstrip('/')}/")


@dataclass(frozen=True)
class ServerProcess:
    """A process: its parent, its start in seconds since the start of the machine, and its title."""

    parent: int
    started: float
    title: str


def read_process(stat: str, cmdline: str, ticks: int) -> ServerProcess:
    """/proc/PID/stat and /proc/PID/cmdline. Raises ValueError: another format."""
    _, closed, rest = stat.rpartition(")")  # The name before it may contain blanks and brackets.
    fields = rest.split()
    if not closed or len(fields) < 20:  # The 22nd field is the start.
        raise ValueError("unexpected format")
    return ServerProcess(int(fields[1]), int(fields[19]) / ticks, cmdline.replace("\0", " ").strip())


@dataclass(frozen=True)
class Peer:
    """The address and port of the other end of a TCP connection."""

    address: IPv4Address | IPv6Address
    port: int

    def __str__(self) -> str:
        """`address port`."""
        return f"{self.address} {self.port}"


class PeerSocket(NamedTuple):
    """A socket: the user ID of its process, and its inode."""

    uid: int
    inode: str


def read_socket(table: str, peer: Peer) -> PeerSocket | None:
    """/proc/net/tcp or /proc/net/tcp6: the connected socket with this peer; None if there is none.

    In the table of version 6, an address of version 4 is mapped.
    """
    packed = peer.address.packed
    place = -1
    for form in [packed] if len(packed) == 16 else [packed, bytes(10) + b"\xff\xff" + packed]:
        words = (int.from_bytes(form[start : start + 4], sys.byteorder) for start in range(0, len(form), 4))
        address = "".join(f"{word:08X}" for word in words)
        place = max(place, table.find(f" {address}:{peer.port:04X} {_CONNECTED} "))
    if place < 0:
        return None
    fields = table[place:].split("\n", 1)[0].split()
    return PeerSocket(int(fields[5]), fields[7]) if len(fields) > 7 and fields[5].isdigit() else None


def read_user(status: str) -> int | None:
    """/proc/PID/status: the user ID for files and sockets; None in another format."""
    match = _USER.search(status)
    return int(match[1]) if match else None


def _plain(text: str) -> str:
    """A path without the octal escapes of blanks and backslashes."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)
