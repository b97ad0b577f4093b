"""A fleet of 1,000 hosts with 20 metrics each against 500 configurations.

The limits include no decisions: reports are compared with writing their bare rows, signals with rows that are
only claimed and deleted.
"""

import itertools
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import orjson

from automation.metrics import Metric
from tests.benchmarks.bare_rows import BareRows
from tests.benchmarks.client import LoadConnection, UnexpectedAnswer
from tests.benchmarks.cpu import cpu_seconds
from tests.benchmarks.figures import Line, percentile
from tests.benchmarks.load import saturate
from tests.benchmarks.memory import by_kind
from tests.benchmarks.scene import BenchmarkScene
from tests.benchmarks.signer import Signer
from tests.eventually import eventually

ROW = "fleet"
ACCEPTED = 202
REPORT_LIMIT_MS = 5.0
"""What a report of one host may take of the processor: two cores take 400 a second."""
HOSTS_PER_REPORT = 100
METRICS = [metric.value for metric in Metric][:20]
_DRAIN_SECONDS = 600.0
_WORKER = "worker"


def measure(scene: BenchmarkScene) -> list[Line]:
    """Everything of the fleet; memory last."""
    fleet = BenchmarkFleet(scene)
    with closing(BareRows(scene.platform.data_dir)) as bare:
        fleet.report_all()
        eventually(lambda: bare.waiting(fleet.group_id) == 0, _DRAIN_SECONDS, message="no signal waits")
        lines = [*_throughput(scene, fleet, bare), *_lag(scene, fleet, bare)]
        return [*lines, *_memory(scene, fleet, bare)]


class BenchmarkFleet:
    """A thousand hosts and the agent that reports them."""

    def __init__(self, scene: BenchmarkScene) -> None:
        self.group_id = scene.filled.fleet_group_id
        self._scene = scene
        self._target = f"/agents/v1.0/groups/{self.group_id}/reports"
        self._values = random.Random(1)

    def report_all(self) -> None:
        """A minute's worth: every host once, a hundred a report."""
        hosts = range(self._scene.size.fleet_hosts)
        with self.agent() as report:
            for first in hosts[::HOSTS_PER_REPORT]:
                report(hosts[first : first + HOSTS_PER_REPORT])

    @contextmanager
    def agent(self) -> Iterator[Callable[[Sequence[int]], None]]:
        """Reports the hosts of these numbers; for 300 s, as long as a nonce lives."""
        signer = self._signer()
        with closing(LoadConnection(self._scene.address)) as connection:

            def report(numbers: Sequence[int]) -> None:
                answer = connection.exchange(self._signed(signer, numbers))
                if answer.status != ACCEPTED:
                    raise UnexpectedAnswer(f"status {answer.status}: {answer.body[:300]!r}")

            yield report

    def requests(self, hosts: int = 1) -> Iterator[bytes]:
        """Reports of so many hosts each, the hosts in turn, for ever."""
        signer = self._signer()
        for first in itertools.cycle(range(0, self._scene.size.fleet_hosts, hosts)):
            yield self._signed(signer, range(first, first + hosts))

    def _signer(self) -> Signer:
        return Signer(self._scene.address, self._scene.fleet_agent)

    def _signed(self, signer: Signer, numbers: Sequence[int]) -> bytes:
        hosts = [self._host(number) for number in numbers]
        report = {"agentType": "MONITORING", "hostname": "agent1", "version": "1.0", "hosts": hosts}
        return signer.signed("POST", self._target, orjson.dumps(report))

    def _host(self, number: int) -> dict[str, Any]:
        measured = [{"metricName": name, "number": self._values.random()} for name in METRICS]
        return {
            "hostname": f"db{number:05}.example.com",
            "port": 27017,
            "typeName": "REPLICA_SECONDARY" if number % 3 else "REPLICA_PRIMARY",
            "replicaSetName": f"rs{number // 3}",
            "reachable": True,
            "uptimeSeconds": int(time.time()),
            "version": "7.0.1",
            "measurements": measured,
        }


def _throughput(scene: BenchmarkScene, fleet: BenchmarkFleet, bare: BareRows) -> list[Line]:
    """Reports first, the worker held: what it leaves waiting is then evaluated in one go."""
    with held_worker(scene):
        before = cpu_seconds([scene.platform.pid])
        load = saturate(
            scene.address,
            fleet.requests(),
            connections=scene.pace.connections,
            seconds=scene.pace.fleet_seconds,
            status=ACCEPTED,
        )
        cpu_ms = (cpu_seconds([scene.platform.pid]) - before) * 1000 / len(load.latencies)
        waiting, begin = bare.waiting(fleet.group_id), time.monotonic()
    eventually(lambda: bare.waiting(fleet.group_id) == 0, _DRAIN_SECONDS, message="all are evaluated")
    evaluated = waiting / (time.monotonic() - begin)
    return [
        Line(ROW, "reports accepted", "1/s", load.rate, bare.written_per_second(METRICS), "bare rows"),
        Line(ROW, "CPU a report of one host", "ms", cpu_ms, REPORT_LIMIT_MS, "promise"),
        Line(ROW, "signals evaluated by a worker", "1/s", evaluated, bare.taken_per_second(), "bare rows"),
    ]


def _lag(scene: BenchmarkScene, fleet: BenchmarkFleet, bare: BareRows) -> list[Line]:
    """At a thousand hosts a minute, one a report: from the answer to the end of its signal."""
    per_second = scene.size.fleet_hosts / 60
    lags: list[float] = []
    with fleet.agent() as report:
        begin = time.monotonic()
        for number in range(int(per_second * scene.pace.lag_seconds)):
            time.sleep(max(0.0, begin + number / per_second - time.monotonic()))
            report([number % scene.size.fleet_hosts])
            accepted = time.monotonic()
            while bare.waiting(fleet.group_id):
                pass
            lags.append((time.monotonic() - accepted) * 1000)
    return [Line(ROW, f"lag at {share:.0%}", "ms", percentile(lags, share)) for share in (0.5, 0.95)]


def _memory(scene: BenchmarkScene, fleet: BenchmarkFleet, bare: BareRows) -> list[Line]:
    """The worker's memory after so many minutes' worth of reports, as fast as they go."""
    before = by_kind(scene.platform.pid)[_WORKER]
    for _ in range(scene.pace.fleet_minutes):
        fleet.report_all()
    eventually(lambda: bare.waiting(fleet.group_id) == 0, _DRAIN_SECONDS, message="all are evaluated")
    after = by_kind(scene.platform.pid)[_WORKER]
    what = f"worker after {scene.pace.fleet_minutes} minutes' worth"
    return [Line(ROW, what, "MiB", after, before, "before")]


@contextmanager
def held_worker(scene: BenchmarkScene) -> Iterator[None]:
    """Suspend the worker of the platform."""
    worker = scene.platform.child("run_worker")
    os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(worker, signal.SIGCONT)
