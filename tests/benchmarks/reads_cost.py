"""Reading a month of measurements, over HTTP: starts `fleet_days`. The worker is suspended."""

import time
from contextlib import closing
from statistics import median

from tests.benchmarks.client import LoadConnection, UnexpectedAnswer
from tests.benchmarks.cpu import cpu_seconds
from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import BenchmarkScene
from tests.benchmarks.signer import Signer

ROW = "reads"
_ROUNDS = 20
_FEWEST = 600
"""Of the points of an answer."""
_TARGETS = {
    "30 days, 1 metric, 3 hosts": (3, "period=P30D", 50.0),
    "30 days, 1 metric, 50 hosts": (50, "period=P30D", 200.0),
    "5 days, 1 metric, 50 hosts": (50, "period=P5D", 200.0),
    "30 days, sum of 50 hosts": (50, "period=P30D&aggregate=SUM", 200.0),
}
_GB = 1e9
_GOAL_GB = 1.5
_HOSTS = 1_000
_DAYS = {"PT5M": 90, "PT1H": 730}


def measure(scene: BenchmarkScene) -> list[Line]:
    """Milliseconds of a request, and the disk of rollups."""
    with held_worker(scene):
        found = run_in_own_process(scene.platform, "fleet_days", scene.filled.group_id)
        lines = []
        for what, (hosts, query, goal) in _TARGETS.items():
            elapsed, processor = _milliseconds(scene, found["hosts"][:hosts], query)
            lines.append(Line(ROW, what, "ms", elapsed, goal, "goal"))
            lines.append(Line(ROW, f"{what}, processor", "ms", processor, goal, "goal"))
    for tier, octets in found["bytes"].items():
        lines.append(Line(ROW, f"{tier}, a host and day of 20 metrics", "bytes", octets))
        lines.append(
            Line(ROW, f"{tier}, 100 hosts and a day, by the worker", "s", found["seconds"][tier] * 100)
        )
    disk = sum(octets * _HOSTS * _DAYS[tier] for tier, octets in found["bytes"].items()) / _GB
    lines.append(
        Line(ROW, "rollups of 1,000 hosts with 20 metrics", "GB", disk, _GOAL_GB, "goal, with the values")
    )
    return lines


def _milliseconds(scene: BenchmarkScene, host_ids: list[str], query: str) -> tuple[float, float]:
    """The median time of some rounds, and the mean processor time of platform and database."""
    hosts = "".join(f"&hostId={host_id}" for host_id in host_ids)
    target = f"/api/public/v1.0/groups/{scene.filled.group_id}/measurements?m=CONNECTIONS&{query}{hosts}"
    signer, taken = Signer(scene.address, scene.reader), []
    before = cpu_seconds([scene.platform.pid])
    with closing(LoadConnection(scene.address)) as connection:
        for _ in range(_ROUNDS):
            begin = time.monotonic()
            answer = connection.exchange(signer.signed("GET", target))
            taken.append((time.monotonic() - begin) * 1000)
            if answer.status != 200 or answer.body.count(b'"timestamp"') < _FEWEST:
                raise UnexpectedAnswer(f"{answer.status}: {answer.body[:600]!r}")
    processor = (cpu_seconds([scene.platform.pid]) - before) * 1000 / _ROUNDS
    return median(taken), processor
