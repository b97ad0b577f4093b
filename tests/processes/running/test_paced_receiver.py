"""A receiver that takes bursts, then answers 429 with Retry-After until it has room again."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler

import pytest

from tests.eventually import eventually
from tests.processes.scenario import Scenario
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.processes

HOSTS = 30
BURST = 10
REFILL = 4.0
"""Messages a second."""


class BurstReceiver:
    """Keeps the accepted messages: the id of the delivery, the event and the alert."""

    def __init__(self, receiver: HttpReceiver) -> None:
        self._requests = receiver.requests
        self.accepted: list[tuple[str, str, str]] = []
        self.refused: list[str] = []
        self._room, self._seen = float(BURST), time.monotonic()
        self._lock = threading.Lock()

    def events(self, alert: str) -> list[str]:
        """The accepted events of an alert, in order."""
        return [event for _, event, of_alert in self.accepted if of_alert == alert]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Take the message, or ask for a pause."""
        delivery, event = handler.headers["X-Ops-Delivery"], handler.headers["X-Ops-Event"]
        with self._lock:
            now = time.monotonic()
            self._room, self._seen = min(BURST, self._room + (now - self._seen) * REFILL), now
            takes = self._room >= 1
            if takes:
                self._room -= 1
                body = next(
                    each.body for each in self._requests if each.headers["X-Ops-Delivery"] == delivery
                )
                self.accepted.append((delivery, event, json.loads(body)["id"]))
            else:
                self.refused.append(delivery)
        start = "200 OK\r\n" if takes else "429 Too Many Requests\r\nRetry-After: 1\r\n"
        handler.wfile.write(f"HTTP/1.1 {start}Connection: close\r\nContent-Length: 0\r\n\r\n".encode())


def test_a_receiver_of_bursts_takes_each_message_once_and_in_order(
    scenario: Scenario, receiver: HttpReceiver
) -> None:
    bursts = BurstReceiver(receiver)
    receiver.behave(bursts.answer)
    _report(scenario, reachable=False)
    eventually(lambda: len(bursts.accepted) >= HOSTS, 120, message="all openings")
    _report(scenario, reachable=True)
    eventually(lambda: len(bursts.accepted) >= 2 * HOSTS, 120, message="all ends")
    eventually(scenario.site.is_idle)

    deliveries = [delivery for delivery, _, _ in bursts.accepted]
    alerts = {alert for _, _, alert in bursts.accepted}
    assert len(set(deliveries)) == len(deliveries) == 2 * HOSTS
    assert len(alerts) == HOSTS
    assert all(bursts.events(alert) == ["alert.open", "alert.close"] for alert in alerts)
    assert bursts.refused
    assert len(bursts.refused) <= 2 * HOSTS
    assert set(bursts.refused) <= set(deliveries)


def _report(scenario: Scenario, *, reachable: bool) -> None:
    hosts = [
        {"hostname": f"db{number}", "port": 27017, "typeName": "REPLICA_PRIMARY", "reachable": reachable}
        for number in range(HOSTS)
    ]
    assert scenario.send(hosts=hosts)["hosts"] == HOSTS
