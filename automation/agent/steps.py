"""Steps on the way to a report that `--check` tries, and those that every connection begins with."""

from __future__ import annotations

import socket
from collections.abc import Generator
from dataclasses import dataclass

CONNECT_SECONDS = 2.0
"""For a connection to a server, by a poll as by `--check`."""


@dataclass(frozen=True)
class Step:
    """What was tried, in a line. `fault` says what is wrong and what to do; it is empty when it works."""

    tried: str
    fault: str = ""

    def __str__(self) -> str:
        """`ok` or `FAILED`, what was tried, and what is wrong."""
        line = f"FAILED  {self.tried}: {self.fault}" if self.fault else f"ok      {self.tried}"
        return line.replace("\n", " ")


def reach(what: str, hostname: str, port: int) -> Generator[Step, None, bool]:
    """Look the name up and connect to each of its addresses; return whether one takes connections.

    Of several addresses one is enough: `localhost` is often two, of which a server listens on one.
    """
    try:
        found = socket.getaddrinfo(hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no name"
        todo = "check how it is written, and the DNS and /etc/hosts of this machine"
        yield Step(f"{what}: name {hostname}", f"it does not resolve ({reason}): {todo}")
        return False
    addresses = list(dict.fromkeys(str(row[4][0]) for row in found))
    yield Step(f"{what}: name {hostname} is {', '.join(addresses)}")
    refusals = {address: _refusal(address, port) for address in addresses}
    is_open = not all(refusals.values())
    for address, refusal in refusals.items():
        tried = f"{what}: port {port} of {address}"
        if not refusal:
            yield Step(tried)
        elif is_open:
            yield Step(f"{tried} takes no connections ({refusal}), another address does")
        else:
            todo = "check that it runs and listens there, and the firewalls on the way"
            yield Step(tried, f"it takes no connections ({refusal}): {todo}")
    return is_open


def _refusal(address: str, port: int) -> str:
    """Why it takes no connections; empty when it does."""
    try:
        socket.create_connection((address, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        return error.strerror or f"no answer in {CONNECT_SECONDS:.0f} s"
    return ""
