"""CPU time of a notification over HTTPS, of all processes of the platform, from report to receiver.

A hundred hosts go down and come back: in one report, as when a machine room fails, and in a report each.
"""

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import orjson

from tests.benchmarks.client import LoadConnection, UnexpectedAnswer
from tests.benchmarks.cpu import cpu_seconds
from tests.benchmarks.figures import Line
from tests.benchmarks.scene import BenchmarkScene
from tests.benchmarks.signer import Signer, SigningKey
from tests.eventually import eventually

ROW = "HTTPS"
LIMIT_MS = 6.0
_HOSTS = 100
_ROUNDS = 6
_WAIT_SECONDS = 120.0


def measure(scene: BenchmarkScene) -> list[Line]:
    """Milliseconds a notification next to the promised six."""
    return [
        Line(ROW, f"CPU a notification, {kind}", "ms", _cost(scene, per_report), LIMIT_MS, "promise")
        for kind, per_report in ((f"{_HOSTS} hosts a report", _HOSTS), ("one host a report", 1))
    ]


def _cost(scene: BenchmarkScene, per_report: int) -> float:
    target = f"/agents/v1.0/groups/{scene.filled.secure_group_id}/reports"
    signer = Signer(scene.address, SigningKey(*scene.filled.secure_agent))

    def report(*, reachable: bool) -> None:
        for first in range(0, _HOSTS, per_report):
            hosts = [_host(number, reachable=reachable) for number in range(first, first + per_report)]
            body = {"agentType": "MONITORING", "hostname": "agent1", "version": "1.0", "hosts": hosts}
            with closing(LoadConnection(scene.address)) as connection:  # the platform closes idle connections
                answer = connection.exchange(signer.signed("POST", target, orjson.dumps(body)))
            if answer.status != 202:
                raise UnexpectedAnswer(f"status {answer.status}: {answer.body[:300]!r}")

    received = scene.secure_receiver.requests

    def down_and_up() -> None:
        for reachable in (False, True):
            expected = len(received) + _HOSTS
            report(reachable=reachable)
            eventually(partial(_has, received, expected), _WAIT_SECONDS, message="all webhooks")

    report(reachable=True)
    down_and_up()  # connections, caches and plans are created
    before = cpu_seconds([scene.platform.pid])
    for _ in range(_ROUNDS):
        down_and_up()
    return (cpu_seconds([scene.platform.pid]) - before) * 1000 / (2 * _HOSTS * _ROUNDS)


def _has(received: Sequence[object], count: int) -> bool:
    return len(received) >= count


def _host(number: int, *, reachable: bool) -> dict[str, Any]:
    name = f"secure{number:03}.example.com"
    return {"hostname": name, "port": 27017, "typeName": "STANDALONE", "reachable": reachable}
