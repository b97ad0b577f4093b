"""The first and a deep page of a project's events, one request at a time."""

import time
from contextlib import closing

from tests.benchmarks.client import LoadConnection, UnexpectedAnswer
from tests.benchmarks.figures import Line, percentile
from tests.benchmarks.scene import BenchmarkScene
from tests.benchmarks.signer import Signer

ROW = "event list"
_PAGE = 100
_WARM_UP = 5
_REQUESTS_PER_ROUND = 20


def measure(scene: BenchmarkScene) -> list[Line]:
    """Both pages in turn; the first is what the deep one is compared with."""
    deep = scene.size.events // _PAGE
    signer = Signer(scene.address, scene.reader)
    first_times: list[float] = []
    deep_times: list[float] = []
    with closing(LoadConnection(scene.address)) as connection:
        for _ in range(_WARM_UP + scene.pace.rounds * _REQUESTS_PER_ROUND):
            first_times.append(_milliseconds(connection, signer, _target(scene, 1)))
            deep_times.append(_milliseconds(connection, signer, _target(scene, deep)))
    return [
        Line(
            ROW,
            f"page {deep:,} at {share:.0%}",
            "ms",
            percentile(deep_times[_WARM_UP:], share),
            percentile(first_times[_WARM_UP:], share),
            "page 1",
        )
        for share in (0.5, 0.95)
    ]


def _target(scene: BenchmarkScene, page: int) -> str:
    return f"/api/public/v1.0/groups/{scene.filled.group_id}/events?pageNum={page}&itemsPerPage={_PAGE}"


def _milliseconds(connection: LoadConnection, signer: Signer, target: str) -> float:
    signed = signer.signed("GET", target)
    answer = connection.exchange(signed)
    if answer.status != 200:
        raise UnexpectedAnswer(f"status {answer.status}: {answer.body[:300]!r}")
    return (time.monotonic() - connection.sent) * 1000
