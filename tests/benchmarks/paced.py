"""240 messages to each of six receivers that take a limited number, all at once.

The limit is the ideal time: the time of a sender that knows the limit of the receiver. Half of the receivers
say in Retry-After when they take the next message.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from itertools import product

from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import BenchmarkScene
from tests.eventually import eventually
from tests.receivers import HttpReceiver
from tests.unit.alerting.paced_receivers import Bucket, FixedWindow, Limit, Window, ideal

ROW = "paced receivers"
MESSAGES = 240
_SECONDS = 600.0
_LIMITS: Mapping[str, Callable[[], Limit]] = {
    "2 a second": lambda: FixedWindow(2, 1),
    "120 in any minute": lambda: Window(120, 60),
    "bursts of 20, 2 a second": lambda: Bucket(20, 2),
}


class PacedReceiver:
    """Takes messages up to a limit, and answers 429 to the others."""

    def __init__(self, receiver: HttpReceiver, limit: Limit, *, retry_after: bool) -> None:
        self.url = receiver.url()
        self.accepted: list[float] = []
        self.refused = 0
        self._limit, self._retry_after = limit, retry_after
        self._lock = threading.Lock()
        self._began: float | None = None
        receiver.behave(self._answer)

    @property
    def seconds(self) -> float:
        """From the first request to the last accepted message."""
        return self.accepted[-1]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        with self._lock:
            moment = time.monotonic()
            self._began = self._began or moment
            now = moment - self._began
            status, asked = "200 OK", ""
            if self._limit.takes(now):
                self.accepted.append(now)
            else:
                self.refused += 1
                status = "429 Too Many Requests"
                asked = f"Retry-After: {math.ceil(self._limit.wait(now))}\r\n" if self._retry_after else ""
        handler.wfile.write(f"HTTP/1.1 {status}\r\n{asked}Content-Length: 0\r\n\r\n".encode())


def measure(scene: BenchmarkScene) -> list[Line]:
    """Seconds, and refused requests."""
    with ExitStack() as stack:
        paced = {
            f"{name}{', Retry-After' if retry_after else ''}": (
                PacedReceiver(
                    stack.enter_context(HttpReceiver(keeps_alive=True).running()),
                    limit(),
                    retry_after=retry_after,
                ),
                ideal(limit(), MESSAGES),
            )
            for (name, limit), retry_after in product(_LIMITS.items(), (False, True))
        }
        receivers = [receiver for receiver, _ in paced.values()]
        with held_worker(scene):
            urls = json.dumps([receiver.url for receiver in receivers])
            run_in_own_process(scene.platform, "due", urls, MESSAGES * len(receivers))
        eventually(
            lambda: all(len(receiver.accepted) >= MESSAGES for receiver in receivers),
            _SECONDS,
            message="all messages are accepted",
        )
    return [
        line
        for name, (receiver, least) in paced.items()
        for line in (
            Line(ROW, f"{MESSAGES} messages, {name}", "s", receiver.seconds, least, "ideal time"),
            Line(ROW, f"refused requests, {name}", "", receiver.refused, MESSAGES, "messages"),
        )
    ]
