"""Machines of their own on this machine: network namespaces that a cable connects, which can be pulled out.

Everything is in a network of its own, so that no other program of the machine notices. It needs root.
"""

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from opsapi.embedded.owner import server_owner
from opsapi.libc import dying_with_parent
from tests.eventually import eventually, is_running

HERE = "10.77.0.254"
"""The address of the tests' own machine, for the others."""
_CLONE_NEWNET = 0x40000000
_NETWORK = Path("/proc/thread-self/ns/net")
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def own_network() -> Iterator[None]:
    """In the block, this thread, the threads that it starts and their processes use another network."""
    before = os.open(_NETWORK, os.O_RDONLY)
    try:
        _check(_libc.unshare(_CLONE_NEWNET))
        for words in (
            "link set lo up",
            "link add bridge type bridge",
            f"addr add {HERE}/24 dev bridge",
            "link set bridge up",
        ):
            _ip(words)
        yield
    finally:
        _check(_libc.setns(before, _CLONE_NEWNET))
        os.close(before)


class Machine:
    """A machine of this network: processes of its own and an address."""

    def __init__(self, number: int) -> None:
        """Between 1 and 253."""
        self.address = f"10.77.0.{number}"
        self._cable = f"cable{number}"
        self._started: list[subprocess.Popen[bytes]] = []
        # A network lives as long as a process in it.
        self._holder = subprocess.Popen(
            ["unshare", "--net", "sleep", "infinity"],
            preexec_fn=dying_with_parent(signal.SIGKILL),  # noqa: PLW1509 it calls nothing that takes a lock
        )
        eventually(lambda: self._network() not in {None, _NETWORK.readlink()}, message="a network")
        _ip(f"link add {self._cable} type veth peer name eth0 netns {self._holder.pid}")
        _ip(f"link set {self._cable} master bridge up")
        for words in ("link set lo up", f"addr add {self.address}/24 dev eth0", "link set eth0 up"):
            subprocess.run([*self._inside(), "ip", *words.split()], check=True)

    def start(self, command: Sequence[str], *, environment: Mapping[str, str], log: IO[bytes]) -> None:
        """Start a program as the user that runs the servers of the tests."""
        owner = server_owner()
        user = ["--setuid", str(owner.uid), "--setgid", str(owner.gid)] if owner.is_lent else []
        process = subprocess.Popen(
            [*self._inside(), *user, *command],
            cwd="/",
            env=dict(environment),
            stdout=log,
            stderr=log,
            preexec_fn=dying_with_parent(signal.SIGKILL),  # noqa: PLW1509 it calls nothing that takes a lock
        )
        self._started.append(process)

    def pull_cable(self) -> None:
        """From now on no packet gets through, without any sign."""
        _ip(f"link set {self._cable} down")

    def plug_cable(self) -> None:
        """Undo `pull_cable`."""
        _ip(f"link set {self._cable} up")

    def kill_all(self) -> None:
        """SIGKILL to all its programs at once, as when its power fails."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while self._started:
            self._started.pop().wait()
        eventually(lambda: not self.pids(), message="all processes end")

    def end(self) -> None:
        """Leave nothing behind."""
        self.kill_all()
        self._holder.kill()
        self._holder.wait()

    def pids(self) -> list[int]:
        """Its running programs."""
        network, found = self._network(), []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self._holder.pid:
                continue
            with suppress(OSError):  # it has ended
                if (entry / "ns/net").readlink() == network and is_running(int(entry.name)):
                    found.append(int(entry.name))
        return found

    def _network(self) -> Path | None:
        with suppress(OSError):
            return Path(f"/proc/{self._holder.pid}/ns/net").readlink()
        return None

    def _inside(self) -> list[str]:
        return ["nsenter", "--target", str(self._holder.pid), "--net"]


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True)


def _check(status: int) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
