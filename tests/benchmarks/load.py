"""Full load from one thread: with several connections it waits for whichever answers first."""

import selectors
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from tests.benchmarks.client import TIMEOUT_SECONDS, Address, LoadConnection, UnexpectedAnswer


@dataclass(frozen=True, slots=True)
class Load:
    """What a time of full load gave: latencies in milliseconds, the client's own CPU in seconds."""

    seconds: float
    latencies: list[float]
    client_cpu: float

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.latencies) / self.seconds


def saturate(
    address: Address, requests: Iterator[bytes], *, connections: int, seconds: float, status: int = 200
) -> Load:
    """Ask on so many connections at once, each time as soon as the last answer is there.

    Raises UnexpectedAnswer on any other status.
    """
    latencies: list[float] = []
    with ExitStack() as ends, selectors.DefaultSelector() as selector:
        cpu, begin = time.process_time(), time.monotonic()
        for _ in range(connections):
            connection = LoadConnection(address)
            ends.callback(connection.close)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send(next(requests))
        waiting = connections
        while waiting:
            ready = selector.select(TIMEOUT_SECONDS)
            if not ready:
                raise UnexpectedAnswer(f"no answer within {TIMEOUT_SECONDS:g} s")
            for key, _ in ready:
                waiting -= _step(key.data, requests, latencies, begin + seconds, status)
        return Load(seconds, latencies, time.process_time() - cpu)


def _step(
    connection: LoadConnection, requests: Iterator[bytes], latencies: list[float], end: float, status: int
) -> bool:
    """Take what has come and ask again; answers whether this connection's time is over."""
    answer = connection.receive()
    if answer is None:
        return False
    if answer.status != status:
        raise UnexpectedAnswer(f"status {answer.status}: {answer.body[:300]!r}")
    now = time.monotonic()
    if now > end:
        return True
    latencies.append((now - connection.sent) * 1000)
    connection.send(next(requests))
    return False
