"""From an agent's report to the webhook at its receiver, at a steady rate, nothing else running.

The limit is the same way without the platform: a row and a NOTIFY in one commit, a listener that takes
the row and POSTs it to the same receiver.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import orjson

from automation.metrics import Metric
from tests.benchmarks.bare_outbox import BareOutbox, subject
from tests.benchmarks.client import LoadConnection, UnexpectedAnswer
from tests.benchmarks.figures import Line, percentile
from tests.benchmarks.scene import BenchmarkScene
from tests.benchmarks.signer import Signer
from tests.eventually import eventually
from tests.receivers import HttpReceiver

ROW = "report to webhook"
AGAINST = "bare outbox"
DELIVERY_HEADER = "X-Ops-Delivery"
OPEN, CLOSE = "alert.open", "alert.close"
BUSY_LIMIT_MS = 2000.0
_WAIT_SECONDS = 60.0
_METRICS = [metric.value for metric in Metric][:20]


class Arrivals:
    """When each delivery came in, in seconds of a monotonic clock, and what it was."""

    def __init__(self, receiver: HttpReceiver) -> None:
        self._receiver = receiver
        self.times: dict[str, float] = {}
        receiver.requests.clear()
        receiver.behave(self._stamp)

    def by_subject(self) -> dict[tuple[str, str], float]:
        """(host, event) → the first arrival."""
        found: dict[tuple[str, str], float] = {}
        for received in list(self._receiver.requests):
            moment = self.times.get(received.headers[DELIVERY_HEADER])
            document = orjson.loads(received.body)
            if moment is not None:
                found.setdefault((document["hostnameAndPort"], received.headers["X-Ops-Event"]), moment)
        return found

    def _stamp(self, handler: BaseHTTPRequestHandler) -> None:
        self.times.setdefault(handler.headers[DELIVERY_HEADER], time.monotonic())
        handler.send_response(200)
        handler.send_header("Content-Length", "0")
        handler.end_headers()


def measure(scene: BenchmarkScene) -> list[Line]:
    """Reports without and with measurements, and the bare way in the same run."""
    with closing(BareOutbox(scene.platform.data_dir, scene.receiver.url())) as outbox:
        bare = _latencies(scene, outbox.send)
    with closing(BenchmarkAgent(scene)) as agent:
        agent.report_all()
        plain = _latencies(scene, agent.send)
        agent.metrics = _METRICS
        measured = _latencies(scene, agent.send)
        with _busy_processors():
            next_to_busy = _latencies(scene, agent.send)
    kinds = (("without measurements", plain), ("with 20 measurements", measured))
    lines = [
        Line(ROW, f"{kind}, at {share:.0%}", "ms", percentile(times, share), percentile(bare, share), AGAINST)
        for kind, times in kinds
        for share in (0.5, 0.95)
    ]
    what = "while other processes use all cores, at 95%"
    return [*lines, Line(ROW, what, "ms", percentile(next_to_busy, 0.95), BUSY_LIMIT_MS, "promise")]


@contextmanager
def _busy_processors() -> Iterator[None]:
    """As many other processes as there are cores never rest meanwhile."""
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


class BenchmarkAgent:
    """Reports one host at a time, down and then up."""

    def __init__(self, scene: BenchmarkScene) -> None:
        self._hosts = scene.pace.reports // 2
        self._target = f"/agents/v1.0/groups/{scene.filled.report_group_id}/reports"
        self._signer = Signer(scene.address, scene.agent)
        self._connection = LoadConnection(scene.address)
        self.metrics: list[str] = []

    def report_all(self) -> None:
        """The first report of every host: all are well."""
        self._post([self._host(number, reachable=True) for number in range(self._hosts)])

    def send(self, number: int, event: str) -> None:
        """What raises the event of this host's alert."""
        self._post([self._host(number, reachable=event == CLOSE)])

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _host(self, number: int, *, reachable: bool) -> dict[str, Any]:
        name, _, port = subject(number).partition(":")
        measurements = [{"metricName": metric, "number": number} for metric in self.metrics]
        shown = {"hostname": name, "port": int(port), "typeName": "STANDALONE", "reachable": reachable}
        return {**shown, "measurements": measurements} if measurements else shown

    def _post(self, hosts: list[dict[str, Any]]) -> None:
        report = {"agentType": "MONITORING", "hostname": "agent1", "version": "1.0", "hosts": hosts}
        answer = self._connection.exchange(self._signer.signed("POST", self._target, orjson.dumps(report)))
        if answer.status != 202:
            raise UnexpectedAnswer(f"status {answer.status}: {answer.body[:300]!r}")


def _latencies(scene: BenchmarkScene, send: Callable[[int, str], None]) -> list[float]:
    """Milliseconds from before a message is sent until it arrives: every host down, then every host up."""
    arrivals = Arrivals(scene.receiver)
    planned = [(number, event) for event in (OPEN, CLOSE) for number in range(scene.pace.reports // 2)]
    sent: dict[tuple[str, str], float] = {}
    begin = time.monotonic()
    for place, (number, event) in enumerate(planned):
        time.sleep(max(0.0, begin + place / scene.pace.reports_per_second - time.monotonic()))
        sent[subject(number), event] = time.monotonic()
        send(number, event)
    eventually(lambda: len(arrivals.times) >= len(planned), _WAIT_SECONDS, message="all webhooks")
    arrived = arrivals.by_subject()
    return [(arrived[key] - moment) * 1000 for key, moment in sent.items()]
