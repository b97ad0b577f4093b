"""A database server that may run on the agent's machine: whether it does, and the samples of the machine.

A server is on this machine only if there is evidence that cannot come from another machine or another
container. Otherwise nothing is measured, and the reason is said.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, NamedTuple, TypeVar

from automation.agent.engine import Sample
from automation.agent.faults import log_unexpected
from automation.agent.machine.cgroup import MACHINE as WHOLE
from automation.agent.machine.cgroup import ControlGroup, GroupNumbers, cpu_of, groups_of, memory_of
from automation.agent.machine.metrics import DATA, INODES, LOG, MACHINE, OTHERS, space
from automation.agent.machine.proc import (
    Mount,
    Peer,
    PeerSocket,
    is_within,
    mount_of,
    read_mounts,
    read_process,
    read_user,
)
from automation.agent.machine.reader import LocalMachine, MachineReading
from automation.agent.rates import Numbers, NumbersAt, RateRow, Why, values_of

log = logging.getLogger("opsapi.agent")

MOST_DIFFERENCE = 10.0
"""Seconds between the start of a process by the server and by /proc: the answer of the server takes time."""

LOCATE_EVERY = 600.0
"""Seconds after which the directories are asked again: tablespaces come and go."""

ASK_AGAIN = 60.0
"""Seconds after which a server that did not describe itself is asked again."""

_PARTITIONS = ("/boot", "/efi", "/snap")
"""Mount points of block devices that hold no data of servers."""
_WITHOUT_DEVICE = frozenset(
    {"btrfs", "zfs", "nfs", "nfs4", "cifs", "overlay", "ceph", "glusterfs", "bcachefs"}
)
"""File systems that can hold data, and whose device number is not that of a block device."""


LONGEST_CALL = 5.0
"""Seconds for the file systems of a server."""

_HANGS = "a file system of the server does not answer"
_Answer = TypeVar("_Answer")


class NotHere(Exception):  # noqa: N818 - what is said
    """Why a server, or a directory of it, cannot be measured here."""


@dataclass(frozen=True)
class ServerClaim:
    """A server's description of the process that answers, and of its directories.

    The title of the process begins with `program`, after its directory, and contains `client`, the agent.
    `peer` is the agent's end of the connection as the server sees it, if the title does not name it; then
    `pid` is None if the server does not say it. `age` is in seconds. `parent` is None if the connection does
    not show it. `data` is None if the server hides its directory.
    """

    program: str
    pid: int | None
    client: str
    age: float
    parent: int | None
    data: str | None
    log: str | None
    others: Sequence[str] = ()
    peer: Peer | None = None


class AnsweringProcess(NamedTuple):
    """The process that answers, as /proc shows it."""

    pid: int
    client: str
    started: float


@dataclass(frozen=True)
class DataDirectory:
    """A directory: a path on its file system for statvfs, and the device number of the file system."""

    path: str
    device: str


@dataclass(frozen=True)
class LocatedServer:
    """A server on this machine. `unknown` says which directories are not measured, and why."""

    proof: AnsweringProcess
    group: ControlGroup
    data: DataDirectory | None
    log: DataDirectory | None
    others: Sequence[DataDirectory]
    unknown: Sequence[str] = ()


class HangingCalls:
    """Calls that can hang without end, such as statvfs(2) on a network file system. Not thread-safe.

    They run in a thread of their own, so that the server is polled meanwhile. While a call hangs, no other
    call starts.
    """

    def __init__(self, seconds: float = LONGEST_CALL) -> None:
        self.seconds = seconds
        self._thread: threading.Thread | None = None

    @property
    def hang(self) -> bool:
        """Whether a call has not ended."""
        return self._thread is not None and self._thread.is_alive()

    def answer(self, call: Callable[[], _Answer]) -> _Answer:
        """The answer of the call, or its exception. Raises NotHere: there is none in time."""
        if self.hang:
            raise NotHere(_HANGS)
        answers: list[_Answer] = []
        errors: list[Exception] = []

        def ask() -> None:
            try:
                answers.append(call())
            except Exception as error:  # noqa: BLE001 - raised again below
                errors.append(error)

        self._thread = threading.Thread(target=ask, name="file systems", daemon=True)
        self._thread.start()
        self._thread.join(self.seconds)
        if answers:
            return answers[0]
        raise errors[0] if errors else NotHere(_HANGS)


class ServerMachine:
    """The machine of a server. One thread at a time measures; any thread can read `missing` and `note`."""

    def __init__(
        self,
        machine: LocalMachine,
        about: object,
        calls: HangingCalls | None = None,
        *,
        rows: Sequence[RateRow] = MACHINE,
        what: str = "the machine",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`about` is the server in the log and `what` its machine, `rows` are its metrics.

        `clock` returns monotonic seconds.
        """
        self._calls, self._rows, self._clock = calls or HangingCalls(), rows, clock
        self.missing: Mapping[str, Why] = {row.metric: Why.ABSENT for row in rows}
        self.note = "is not measured yet"
        self._machine, self._about, self._what = machine, about, what
        self._found: LocatedServer | None = None
        self._has_hung = False
        self._last: MachineReading | None = None
        self._before: NumbersAt | None = None
        self._session: object = None
        self._due = 0.0

    def measure(
        self, session: object, claim: Callable[[], ServerClaim], lost: type[Exception]
    ) -> Sequence[Sample]:
        """The samples of the machine of the server of a session; none of another machine.

        `claim` asks the server and may raise NotHere. It is asked with each new session, and from time to
        time. An error of the type `lost` is raised again: the session ended.
        """
        try:
            if session is not self._session or self._clock() >= self._due or self.must_be_located:
                try:
                    claimed = claim()
                except NotHere as reason:
                    self.leave(str(reason))
                    self._due = self._clock() + ASK_AGAIN
                else:
                    self.locate(claimed)
                    self._due = self._clock() + LOCATE_EVERY
                self._session = session
            return self.samples()
        except lost:
            self.leave("the session ended", Why.FAILED)
            self._session = None
            raise
        except Exception as error:  # noqa: BLE001 - an error in our code must not take the server's metrics
            log_unexpected(self._about, error)
            self.leave(type(error).__name__, Why.FAILED)
            self._session = None
            return ()

    def locate(self, claim: ServerClaim) -> None:
        """Find out whether the server runs on this machine."""
        try:
            before = self._found.proof if self._found else None
            self._found = self._calls.answer(lambda: find(claim, self._machine, before))
        except NotHere as reason:
            self.leave(str(reason), Why.FAILED if self._calls.hang else Why.ABSENT)
            return
        reading = self._machine.reading(self._last)
        memory, cpu = self._limits(self._found, reading)
        limits = {"memory": memory.place, "processor": cpu.place}
        notes = [f"{what} within the limit of {place}" for what, place in limits.items() if place]
        notes += [f"without /proc/{name}, which cannot be read" for name in reading.unread]
        self._say("; ".join(["is measured", *notes, *self._found.unknown]))

    @property
    def must_be_located(self) -> bool:
        """Whether a call hung: when it has ended, the server can be measured again."""
        return self._found is None and self._has_hung

    def leave(self, reason: str, why: Why = Why.ABSENT) -> None:
        """Measure no machine, until the server is located."""
        self._found = self._last = self._before = None
        self._has_hung = self._calls.hang
        self.missing = {row.metric: why for row in self._rows}
        self._say(f"is not measured: {reason}")

    def samples(self) -> Sequence[Sample]:
        """The samples of the machine; none if the server runs elsewhere."""
        server = self._found
        if server is None:
            return ()
        try:
            spaces = self._calls.answer(lambda: _spaces(server))
        except NotHere as reason:
            self.leave(str(reason), Why.FAILED)
            return ()
        reading = self._last = self._machine.reading(self._last)
        numbers, process = self._numbers(server, reading, spaces)
        now = NumbersAt(numbers, process, reading.seconds)
        values, self.missing = values_of(self._rows, self._before, now)
        self._before = now
        return [Sample(metric, number, reading.taken) for metric, number in values.items()]

    def _numbers(
        self, server: LocatedServer, reading: MachineReading, spaces: Numbers
    ) -> tuple[Numbers, object]:
        """All numbers, and the groups and the disk whose counters they are."""
        memory, cpu = self._limits(server, reading)
        numbers = dict(reading.numbers)
        if memory is not WHOLE:
            numbers = {path: value for path, value in numbers.items() if not path.startswith("memory/")}
            numbers.update(memory.numbers or {})
        if cpu is not WHOLE:
            numbers = {
                path: value for path, value in numbers.items() if not path.startswith(("cpu/", "load/"))
            }
            numbers.update(cpu.numbers or {})
        device = server.data.device if server.data else ""
        numbers.update(reading.disks.get(device, {}))
        numbers.update(spaces)
        return numbers, (memory.place, cpu.place, device)

    def _limits(self, server: LocatedServer, reading: MachineReading) -> tuple[GroupNumbers, GroupNumbers]:
        """Memory and processor of the groups that may have less than the machine."""
        read, ticks = self._machine.read, self._machine.ticks
        return (
            memory_of(server.group, reading.numbers, read),
            cpu_of(server.group, reading.numbers, read, ticks),
        )

    def _say(self, note: str) -> None:
        if note != self.note:
            self.note = note
            log.info("%s: %s %s", self._about, self._what, note)


def find(claim: ServerClaim, machine: LocalMachine, before: AnsweringProcess | None = None) -> LocatedServer:
    """The server on this machine. Raises NotHere.

    `before` is the proof of the last time.

    The process that answers must exist here with the start and the program that the server says, and with
    our connection: in its title, or as a socket of its user. Another machine or container has another
    process of this number, and other sockets. It must see the same root directory:
    otherwise it is in a container, and its directories are other directories.
    """
    if not sys.platform.startswith("linux"):
        raise NotHere("the agent measures only machines with Linux")
    proof = _proof(claim, machine, before)
    try:
        ours, theirs = (read_mounts(machine.read(f"{pid}/mountinfo")) for pid in ("self", proof.pid))
        group = groups_of(machine.read(f"{proof.pid}/cgroup"), ours)
    except (OSError, ValueError) as error:
        raise NotHere(f"/proc does not show its file systems and groups ({_text(error)})") from None
    if _root(ours) != _root(theirs):
        raise NotHere("the server runs on this machine in a container, and the agent runs outside of it")
    unknown = [] if claim.data else ["without disks: the server does not say where its data directory is"]
    data, written = (
        next(_places([path] if path else (), ours, theirs, unknown), None) for path in (claim.data, claim.log)
    )
    others = list(_places(claim.others, ours, theirs, unknown))
    # The fullest tablespace is known only if all are.
    are_known = len(others) == len(claim.others)
    systems = list({place.device: place for place in others}.values()) if are_known else []
    return LocatedServer(proof, group, data, written, systems, unknown)


def place_of(
    path: str,
    ours: Sequence[Mount],
    theirs: Sequence[Mount],
    closed_above: Callable[[str], str | None] | None = None,
) -> DataDirectory:
    """The file system of a directory of the server. Raises NotHere.

    `ours` and `theirs` are the mounts that the agent and the server see. `closed_above` is `first_closed`.
    """
    real = os.path.realpath(path)
    closed = (closed_above or first_closed)(real)
    mine, its = mount_of(real, ours), mount_of(real, theirs)
    if mine is None or its is None or (mine.device, mine.root) != (its.device, its.root):
        raise NotHere(f"the agent does not see the file system of {path}: its service hides it")
    if closed is None:
        _check_device(real, mine)
        return DataDirectory(real, mine.device)
    # In a closed directory, a symbolic link could lead to another disk. A mount point is no link.
    if mine.point != real and _disks(ours) != {mine.device}:
        raise NotHere(
            f"the user of the agent may not search {closed}, so {real} could be a link to another disk"
        )
    return DataDirectory(mine.point, mine.device)


def first_closed(path: str) -> str | None:
    """The first directory above `path` that the agent may not search; None if it may search all.

    Raises NotHere: there is no such path.
    """
    parts = path.strip("/").split("/")
    for count in range(1, len(parts) + 1):
        try:
            os.lstat("/" + "/".join(parts[:count]))
        except PermissionError:
            return "/" + "/".join(parts[: count - 1])
        except OSError as error:
            raise NotHere(f"{path} is not on this machine ({_text(error)})") from None
    return None


def _proof(claim: ServerClaim, machine: LocalMachine, before: AnsweringProcess | None) -> AnsweringProcess:
    """The process that answers. Raises NotHere."""
    ours: PeerSocket | None = None
    if claim.peer is not None:
        try:
            ours = machine.socket_of(claim.peer)
        except OSError as error:
            raise NotHere(f"/proc does not show the connections ({_text(error)})") from None
        if ours is None:
            raise NotHere(_ELSEWHERE)
    if claim.pid is not None:
        return _process(claim, claim.pid, ours, machine, before)
    processes = []
    for pid in machine.processes():
        with suppress(NotHere):
            processes.append(_process(claim, pid, ours, machine, before))
    if len(processes) > 1 and ours is not None:
        processes = [process for process in processes if _is_open(process, ours, machine)]
    if len(processes) != 1:
        raise NotHere(_SEVERAL if processes else f"{_ELSEWHERE}, or /proc hides it")
    return processes[0]


def _is_open(process: AnsweringProcess, ours: PeerSocket, machine: LocalMachine) -> bool:
    """Whether the process may have the socket: the sockets of other users' processes are hidden."""
    try:
        return machine.has_open(process.pid, ours.inode)
    except OSError:
        return True


def _process(
    claim: ServerClaim,
    pid: int,
    ours: PeerSocket | None,
    machine: LocalMachine,
    before: AnsweringProcess | None,
) -> AnsweringProcess:
    """The process of this number, if it is the claimed process. Raises NotHere."""
    try:
        process = read_process(machine.read(f"{pid}/stat"), machine.read(f"{pid}/cmdline"), machine.ticks)
        user = read_user(machine.read(f"{pid}/status")) if ours else None
    except PermissionError:
        raise NotHere(_HIDDEN) from None
    except (OSError, ValueError):
        try:
            machine.read("1/stat")
        except OSError:
            raise NotHere(_HIDDEN) from None
        raise NotHere(f"{_ELSEWHERE}, or /proc hides it") from None
    is_it = re.match(rf"(\S*/)?{claim.program}\b", process.title) is not None
    is_it = is_it and claim.client in process.title and claim.parent in {None, process.parent}
    is_it = is_it and (ours is None or ours.uid == user)
    proof = AnsweringProcess(pid, claim.client or str(claim.peer), process.started)
    # When the clock is set, the age that the server says changes, and the process is the same.
    difference = abs(machine.since_start() - process.started - claim.age)
    if not is_it or (difference > MOST_DIFFERENCE and proof != before):
        raise NotHere(_ELSEWHERE)
    return proof


_ELSEWHERE = "the server runs on another machine or in a container"
_SEVERAL = "several servers of this machine, which started at the same time, could be the server"
_HIDDEN = (
    "it is unknown whether the server runs on this machine, because /proc hides the processes of other users:"
    " for a systemd service, set ProtectProc=default and ProcSubset=all"
)


def _places(
    paths: Sequence[str], ours: Sequence[Mount], theirs: Sequence[Mount], unknown: list[str]
) -> Iterator[DataDirectory]:
    for path in paths:
        try:
            yield place_of(path, ours, theirs)
        except NotHere as reason:
            unknown.append(f"without the disk of {path}: {reason}")


def _check_device(path: str, mount: Mount) -> None:
    """Whether the path is on the device; file systems without a block device have numbers of their own."""
    try:
        number = Path(path).stat().st_dev
    except OSError as error:
        raise NotHere(f"{path} cannot be read ({_text(error)})") from None
    if mount.is_disk and f"{os.major(number)}:{os.minor(number)}" != mount.device:
        raise NotHere(f"{path} is on another file system than its mount point")


def _root(mounts: Sequence[Mount]) -> tuple[str, str] | None:
    root = mount_of("/", mounts)
    return None if root is None else (root.device, root.root)


def _disks(mounts: Sequence[Mount]) -> frozenset[str]:
    """The file systems with a block device on which data can be."""
    return frozenset(
        mount.device
        for mount in mounts
        if (mount.is_disk or mount.kind in _WITHOUT_DEVICE)
        and mount.kind != "squashfs"
        and not any(is_within(mount.point, place) for place in _PARTITIONS)
    )


def _spaces(server: LocatedServer) -> Numbers:
    """The space of the directories; of the tablespaces, the space of the fullest file system."""
    numbers = dict(_space(DATA, server.data) if server.data else {})
    numbers.update(_space(LOG, server.log) if server.log else {})
    spaces = [_space(OTHERS, place) for place in server.others]
    if spaces and all(spaces):
        numbers.update(max(spaces, key=lambda room: room[f"{OTHERS}/PERCENT_USED"]))
    return numbers


def _space(section: str, place: DataDirectory) -> Numbers:
    try:
        room = os.statvfs(place.path)
    except OSError:  # The directory was removed or hidden since.
        return {}
    numbers = dict(
        space(
            section,
            free=float(room.f_bavail * room.f_frsize),
            used=float((room.f_blocks - room.f_bfree) * room.f_frsize),
        )
    )
    if section == DATA and room.f_files:
        used = room.f_files - room.f_ffree
        numbers[f"{INODES}/PERCENT_USED"] = used / max(1, used + room.f_favail) * 100
    return numbers


def _text(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
