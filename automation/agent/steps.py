"""Steps of `--check`, and the first steps of every connection."""

from __future__ import annotations

import socket
from collections.abc import Generator
from dataclasses import dataclass

CONNECT_SECONDS = 2.0
"""Seconds for a connection to a server, by a poll or by `--check`."""


@dataclass(frozen=True)
class CheckStep:
    """A step in one line. `fault` says what is wrong and what to do; it is empty if the step works."""

    tried: str
    fault: str = ""

    def __str__(self) -> str:
        """`ok` or `FAILED`, the step, and the fault."""
        line = f"FAILED  {self.tried}: {self.fault}" if self.fault else f"ok      {self.tried}"
        return line.replace("\n", " ")


def connection_steps(what: str, hostname: str, port: int) -> Generator[CheckStep, None, bool]:
    """Resolve a name and connect to each address. Returns whether any address accepts connections.

    A single address is enough: `localhost` often has two, and a server listens on one of them.
    """
    try:
        found = socket.getaddrinfo(hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "not a valid name"
        todo = "check the spelling, and DNS and /etc/hosts on this machine"
        yield CheckStep(f"{what}: name {hostname}", f"it does not resolve ({reason}): {todo}")
        return False
    addresses = list(dict.fromkeys(str(row[4][0]) for row in found))
    yield CheckStep(f"{what}: name {hostname} is {', '.join(addresses)}")
    refusals = {address: _refusal(address, port) for address in addresses}
    is_open = not all(refusals.values())
    for address, refusal in refusals.items():
        tried = f"{what}: port {port} of {address}"
        if not refusal:
            yield CheckStep(tried)
        elif is_open:
            yield CheckStep(f"{tried} accepts no connections ({refusal}), another address does")
        else:
            todo = "check that the server runs and listens on this address, and check firewalls"
            yield CheckStep(tried, f"accepts no connections ({refusal}): {todo}")
    return is_open


def _refusal(address: str, port: int) -> str:
    """Why the address accepts no connections; empty if it does."""
    try:
        socket.create_connection((address, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        return error.strerror or f"no answer in {CONNECT_SECONDS:.0f} s"
    return ""
