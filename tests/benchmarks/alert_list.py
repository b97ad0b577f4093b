"""The authenticated list of 100 alerts, at saturation, against the bare limit."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from statistics import median

from tests.benchmarks.client import Address, LoadConnection, UnexpectedAnswer, request
from tests.benchmarks.cpu import cpu_seconds
from tests.benchmarks.figures import Line, percentile
from tests.benchmarks.load import Load, saturate
from tests.benchmarks.scene import BenchmarkScene
from tests.benchmarks.signer import Signer

ROW = "alert list"
AGAINST = "bare function"
WARM_UP_SECONDS = 1.0


def measure(scene: BenchmarkScene) -> list[Line]:
    """Rounds of platform and limit in turn, so that both see the same machine; medians of the rounds."""
    target = f"/api/public/v1.0/groups/{scene.filled.group_id}/alerts?itemsPerPage=100"
    _check_bytes(scene, target)
    _platform_round(scene, target, WARM_UP_SECONDS)
    _bare_round(scene, target, WARM_UP_SECONDS)
    ours, bare = [], []
    for _ in range(scene.pace.rounds):
        ours.append(_platform_round(scene, target, scene.pace.seconds))
        bare.append(_bare_round(scene, target, scene.pace.seconds))
    return _lines(ours, bare)


@dataclass(frozen=True, slots=True)
class ListRound:
    """One round of load, and the CPU that web servers and database together spent on it, in seconds."""

    load: Load
    server_cpu: float

    def per_request(self, seconds: float) -> float:
        """Milliseconds per request."""
        return seconds * 1000 / len(self.load.latencies)


def _platform_round(scene: BenchmarkScene, target: str, seconds: float) -> ListRound:
    signed = Signer(scene.address, scene.reader).repeated(target)
    return _round(scene, scene.address, signed, seconds)


def _bare_round(scene: BenchmarkScene, target: str, seconds: float) -> ListRound:
    return _round(scene, scene.bare_address, itertools.repeat(_plain(scene, target)), seconds)


def _round(scene: BenchmarkScene, address: Address, requests: Iterator[bytes], seconds: float) -> ListRound:
    processes = (scene.platform.pid, scene.bare_pid)
    before = cpu_seconds(processes)
    load = saturate(address, requests, connections=scene.pace.connections, seconds=seconds)
    return ListRound(load, cpu_seconds(processes) - before)


def _plain(scene: BenchmarkScene, target: str) -> bytes:
    # The platform's host, so that the links are the same.
    return request("GET", target, f"{scene.address[0]}:{scene.address[1]}")


def _check_bytes(scene: BenchmarkScene, target: str) -> None:
    """A limit that answers something else is none: raises UnexpectedAnswer."""
    with closing(LoadConnection(scene.address)) as connection:
        ours = connection.exchange(Signer(scene.address, scene.reader).signed("GET", target))
    with closing(LoadConnection(scene.bare_address)) as connection:
        bare = connection.exchange(_plain(scene, target))
    if ours.body != bare.body:
        raise UnexpectedAnswer(f"platform and limit differ:\n{ours.body[:600]!r}\n{bare.body[:600]!r}")


def _lines(ours: list[ListRound], bare: list[ListRound]) -> list[Line]:
    figures: list[tuple[str, str, Callable[[ListRound], float]]] = [
        ("requests at saturation", "1/s", lambda round_: round_.load.rate),
        ("latency at 50%", "ms", lambda round_: percentile(round_.load.latencies, 0.5)),
        ("latency at 95%", "ms", lambda round_: percentile(round_.load.latencies, 0.95)),
        ("CPU of servers per request", "ms", lambda round_: round_.per_request(round_.server_cpu)),
        ("CPU of the client per request", "ms", lambda round_: round_.per_request(round_.load.client_cpu)),
    ]
    return [
        Line(ROW, what, unit, median(map(figure, ours)), median(map(figure, bare)), AGAINST)
        for what, unit, figure in figures
    ]
