"""Deliveries of one worker and of four, and ten thousand due at once with one receiver in ten dead.

The limit is the same way without the platform: rows that are claimed, sent and deleted, by four
threads. The dead receiver is the worst there is: it takes connections and says nothing.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler

from opsapi.embedded.layout import Layout
from tests.benchmarks.cpu import cpu_seconds_by_kind
from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import BenchmarkScene
from tests.eventually import eventually
from tests.integration.embedded.sql import ask, run_sql
from tests.processes.platform import ROOT
from tests.receivers import HttpReceiver

ROW = "deliveries"
AGAINST = "bare claims"
LIVE = 9
"""Receivers; the tenth is dead where there is one."""
_WORKERS = 4
_THREADS = 4
_KINDS = ("worker", "PostgreSQL")
_PROMISED = 500
"""Notifications in a second of one processor."""
_SECONDS = 600.0
_FORGET = "UPDATE alerting_notification SET status = 'DROPPED' WHERE status = 'PENDING'"


class Received:
    """When each delivery first came in, at any of the receivers, in seconds of Unix time."""

    def __init__(self, receivers: Sequence[HttpReceiver]) -> None:
        self.times: dict[str, float] = {}
        self._receivers = receivers
        for receiver in receivers:
            receiver.behave(self._stamp)

    @property
    def urls(self) -> list[str]:
        """Where the receivers listen."""
        return [receiver.url() for receiver in self._receivers]

    def wait(self, count: int) -> None:
        """Until so many came in."""
        eventually(lambda: len(self.times) >= count, _SECONDS, message=f"{count} deliveries")

    def rate(self) -> float:
        """Deliveries per second, from the first to the last."""
        times = sorted(self.times.values())
        return (len(times) - 1) / (times[-1] - times[0])

    def forget(self) -> None:
        """Begin again."""
        self.times.clear()
        for receiver in self._receivers:
            receiver.requests.clear()

    def _stamp(self, handler: BaseHTTPRequestHandler) -> None:
        self.times.setdefault(handler.headers["X-Ops-Delivery"], time.time())
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def measure(scene: BenchmarkScene) -> list[Line]:
    """All of it; nothing of it is left to be sent."""
    with ExitStack() as stack:
        inboxes = Received(
            [stack.enter_context(HttpReceiver(keeps_alive=True).running()) for _ in range(LIVE)]
        )
        dead = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1024))
        bare = _bare_rate(scene, inboxes)
        before = cpu_seconds_by_kind(scene.platform.pid)
        rate = _rate(scene, inboxes)
        after = cpu_seconds_by_kind(scene.platform.pid)
        with _more_workers(scene, _WORKERS - 1):
            four = _rate(scene, inboxes)
        seconds = _one_in_ten_dead(scene, inboxes, f"http://127.0.0.1:{dead.getsockname()[1]}/")
        run_sql(Layout(scene.platform.data_dir), _FORGET)
    count = scene.pace.due
    spent = {kind: (after[kind] - before[kind]) / scene.pace.deliveries for kind in _KINDS}
    return [
        *(Line(ROW, f"CPU a notification: {kind}", "ms", spent[kind] * 1000) for kind in _KINDS),
        Line(
            ROW, "a CPU second, worker and PostgreSQL", "1/s", 1 / sum(spent.values()), _PROMISED, "promise"
        ),
        Line(ROW, "one worker", "1/s", rate, bare, AGAINST),
        Line(ROW, f"{_WORKERS} workers", "1/s", four, bare, AGAINST),
        Line(
            ROW,
            f"{count:,} due, 1 receiver in 10 dead: rest told",
            "s",
            seconds,
            count * 0.9 / rate,
            "none dead",
        ),
    ]


def _rate(scene: BenchmarkScene, inboxes: Received) -> float:
    """Of as many as are due at once, all receivers alive."""
    inboxes.forget()
    with held_worker(scene):
        _make_due(scene, inboxes.urls, scene.pace.deliveries)
    inboxes.wait(scene.pace.deliveries)
    return inboxes.rate()


def _one_in_ten_dead(scene: BenchmarkScene, inboxes: Received, dead: str) -> float:
    """Seconds from when all were due until nine tenths were notified."""
    inboxes.forget()
    due = _make_due(scene, [*inboxes.urls, dead], scene.pace.due)
    inboxes.wait(scene.pace.due * LIVE // (LIVE + 1))
    return max(inboxes.times.values()) - due


def _bare_rate(scene: BenchmarkScene, inboxes: Received) -> float:
    inboxes.forget()
    arguments = [str(scene.platform.data_dir), str(_THREADS), str(scene.pace.deliveries), *inboxes.urls]
    command = [sys.executable, "-m", "tests.benchmarks.bare_deliveries", *arguments]
    subprocess.run(command, env=scene.platform.environment, cwd=ROOT, check=True)
    return inboxes.rate()


def _make_due(scene: BenchmarkScene, urls: Sequence[str], count: int) -> float:
    return float(run_in_own_process(scene.platform, "due", json.dumps(urls), count))


@contextmanager
def _more_workers(scene: BenchmarkScene, count: int) -> Iterator[None]:
    """Run more workers next to the worker of the platform, as on other machines with the same database."""
    command = [sys.executable, str(ROOT / "manage.py"), "run_worker"]
    environment = scene.platform.environment
    with (scene.platform.directory / "more_workers.txt").open("wb") as log:
        started = [subprocess.Popen(command, env=environment, cwd=ROOT, stderr=log) for _ in range(count)]
    try:
        names = {f"{socket.gethostname()}:{process.pid}" for process in started}
        eventually(partial(_are_at_work, scene, names), _SECONDS, message="all workers are seen")
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(_SECONDS)


def _are_at_work(scene: BenchmarkScene, names: set[str]) -> bool:
    seen = ask(Layout(scene.platform.data_dir), "SELECT array_agg(name) FROM alerting_workerheartbeat")
    return names <= set(seen)
