"""Reads the machine that the agent runs on, once for all servers of a round."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from automation.agent.machine.proc import (
    Peer,
    PeerSocket,
    read_cpu,
    read_disks,
    read_load,
    read_memory,
    read_network,
    read_socket,
)
from automation.agent.rates import Numbers

FRESH_SECONDS = 20.0
"""How old a reading may be that another server of the round uses."""

_READ_BYTES, _MOST_READS = 65_536, 256
"""Bytes of a read, and reads of a file; the statistics of 10,000 disks have 1 MB. /proc may return less."""

_MOST_READS_OF_SOCKETS = 4096
"""Reads of a table of sockets; a read returns about 27 sockets."""


@dataclass(frozen=True)
class MachineReading:
    """The numbers of the machine, and of each disk by device number. `seconds` are monotonic.

    `unread` names the files that could not be read.
    """

    numbers: Numbers
    disks: Mapping[str, Numbers]
    taken: datetime
    seconds: float
    unread: tuple[str, ...] = ()


class LocalMachine:
    """The machine. Thread-safe."""

    def __init__(self, proc: str = "/proc") -> None:
        self.ticks = os.sysconf("SC_CLK_TCK")
        self._proc = proc
        self._lock = threading.Lock()
        self._newest: MachineReading | None = None

    def read(self, path: str, most: int = _MOST_READS) -> str:
        """A file, in /proc if the path is relative, with at most this number of reads. Raises OSError."""
        name = path if path.startswith("/") else f"{self._proc}/{path}"
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)  # Half the time of a file object.
        try:
            parts: list[bytes] = []
            while len(parts) < most and (part := os.read(file, _READ_BYTES)):
                parts.append(part)
        finally:
            os.close(file)
        return b"".join(parts).decode("utf-8", "surrogateescape")

    def socket_of(self, peer: Peer) -> PeerSocket | None:
        """The connected TCP socket with this peer, in the network of the agent; None if there is none."""
        for name in ("net/tcp", "net/tcp6"):
            with suppress(FileNotFoundError):  # A machine without IPv6 has no such file.
                if peer_socket := read_socket(self.read(name, _MOST_READS_OF_SOCKETS), peer):
                    return peer_socket
        return None

    def processes(self) -> Sequence[int]:
        """The numbers of all processes that the agent sees. Raises OSError."""
        return [int(place.name) for place in Path(self._proc).iterdir() if place.name.isdigit()]

    def has_open(self, pid: int, inode: str) -> bool:
        """Whether a process has a socket open. Raises OSError: it is of another user."""
        for place in Path(f"{self._proc}/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # It was closed since.
                if os.fspath(place.readlink()) == f"socket:[{inode}]":
                    return True
        return False

    def since_start(self) -> float:
        """Seconds since the start of the machine, including the time that it slept."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def reading(self, last: MachineReading | None) -> MachineReading:
        """A reading that is newer than the caller's last: the newest if it is fresh, otherwise a new one."""
        with self._lock:
            newest = self._newest
            if newest is None or newest is last or time.monotonic() - newest.seconds > FRESH_SECONDS:
                newest = self._newest = self._read()
            return newest

    def _read(self) -> MachineReading:
        texts: dict[str, str] = {}
        unread: list[str] = []
        taken, seconds = datetime.now(timezone.utc), time.monotonic()
        for name in ("stat", "meminfo", "loadavg", "diskstats", "net/netstat", "net/snmp6"):
            try:
                texts[name] = self.read(name)
            except OSError:
                texts[name] = ""
                unread += [] if name == "net/snmp6" else [name]  # A machine without IPv6 has no such file.
        numbers = {
            **read_cpu(texts["stat"], self.ticks),
            **read_memory(texts["meminfo"]),
            **read_load(texts["loadavg"]),
            **read_network(texts["net/netstat"], texts["net/snmp6"]),
        }
        return MachineReading(numbers, read_disks(texts["diskstats"]), taken, seconds, tuple(unread))
