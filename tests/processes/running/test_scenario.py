"""From a report to its notifications, with real processes: undisturbed, and killed half-way."""

import hashlib
import hmac
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.eventually import DEADLINE, eventually, is_running
from tests.hostile.budget import LONG
from tests.processes.platform import RunningPlatform, descendants
from tests.processes.scenario import HOST, SECRET, RunningSite, Scenario
from tests.receivers import HttpReceiver, ReceivedRequest

pytestmark = pytest.mark.processes

FLEET = ["NEW_AGENT", "NEW_HOST", "HOST_DOWN", "HOST_UP"]
ALERT = ["HOST_DOWN of alert", "HOST_UP of alert"]


def test_a_host_that_goes_down_and_comes_up_is_notified_signed_and_logged(scenario: Scenario) -> None:
    scenario.report(reachable=False)
    eventually(lambda: scenario.is_notified("alert.open", "OPEN"))
    (alert,) = scenario.alerts()
    assert (alert["status"], alert["hostnameAndPort"]) == ("OPEN", HOST)
    _assert_notified_once(scenario, "alert.open", "OPEN", alert)

    scenario.report(reachable=True)
    eventually(lambda: scenario.is_notified("alert.close", "CLOSED"))
    (closed,) = scenario.alerts()
    assert (closed["id"], closed["status"]) == (alert["id"], "CLOSED")
    _assert_notified_once(scenario, "alert.close", "CLOSED", closed)
    assert len(scenario.receiver.requests) == 2


def test_every_step_is_in_the_log(site: RunningSite, scenario: Scenario) -> None:
    scenario.report(reachable=False)
    scenario.report(reachable=True)
    eventually(site.is_idle)
    defaults = ["ALERT_CONFIG_ADDED_AUDIT"] * 3
    setup = ["GROUP_CREATED", *defaults, "API_KEY_CREATED_AUDIT", "ALERT_CONFIG_ADDED_AUDIT"]
    assert [name for name in scenario.log() if name in setup] == setup
    assert [name for name in scenario.log() if name in FLEET] == FLEET
    assert sorted(name for name in scenario.log() if name in ALERT) == ALERT
    everywhere = scenario.owner.get("/globalEvents?eventType=USER_CREATED_AUDIT&itemsPerPage=500")["results"]
    assert [event["targetUsername"] for event in everywhere].count("ada@example.com") == 1


def _assert_notified_once(scenario: Scenario, kind: str, label: str, alert: dict[str, Any]) -> None:
    """One signed webhook and one mail, about this alert."""
    (webhook,) = scenario.webhooks(kind)
    _assert_signed(webhook)
    assert len(webhook.headers["X-Ops-Delivery"]) == 24
    document = json.loads(webhook.body)
    assert {name: document[name] for name in ("id", "status", "hostnameAndPort", "groupId")} == {
        name: alert[name] for name in ("id", "status", "hostnameAndPort", "groupId")
    }
    (mail,) = scenario.mails(label)
    assert HOST in mail.message["Subject"]


def _assert_signed(webhook: ReceivedRequest) -> None:
    """The signature is the receiver's own sum of time and body (decisions 7 "WEBHOOK")."""
    stamp, _, given = webhook.headers["X-Ops-Signature"].partition(",v1=")
    signed = stamp.removeprefix("t=").encode() + b"." + webhook.body
    assert given == hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()


# --- kill -9 --------------------------------------------------------------------------------------


def _web_and_worker(platform: RunningPlatform) -> list[int]:
    web = platform.child("gunicorn")
    return [platform.child("run_worker"), web, *descendants(web)]


def _everything_but_the_supervisor(platform: RunningPlatform) -> list[int]:
    return descendants(platform.pid)


def _everything(platform: RunningPlatform) -> list[int]:
    return [platform.pid, *descendants(platform.pid)]


VICTIMS = [_web_and_worker, _everything, _everything_but_the_supervisor]
"""All victims of both tests in `make faults`; otherwise the first of one test, the second of the other."""


@pytest.mark.parametrize("victims", VICTIMS if LONG else VICTIMS[:1])
def test_a_kill_while_a_webhook_is_sent_repeats_it_under_the_same_delivery_id(
    site: RunningSite, scenario: Scenario, victims: Callable[[RunningPlatform], list[int]]
) -> None:
    with _holding(scenario.receiver):
        scenario.report(reachable=False)
        eventually(lambda: scenario.webhooks("alert.open"), message="the webhook is on its way")
        _kill_and_bring_back(site, victims)
    _assert_it_ends_as_if_nothing_had_happened(site, scenario)
    assert len(scenario.webhooks("alert.open")) >= 2


@pytest.mark.parametrize("victims", VICTIMS if LONG else VICTIMS[1:2])
def test_a_kill_right_after_a_report_was_accepted_loses_nothing(
    site: RunningSite, scenario: Scenario, victims: Callable[[RunningPlatform], list[int]]
) -> None:
    scenario.report(reachable=False)
    _kill_and_bring_back(site, victims)
    _assert_it_ends_as_if_nothing_had_happened(site, scenario)


@contextmanager
def _holding(receiver: HttpReceiver) -> Iterator[None]:
    """Requests in the block are answered when the block ends; later requests are answered immediately."""
    released = threading.Event()

    def hold(handler: BaseHTTPRequestHandler) -> None:
        released.wait(DEADLINE)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")

    receiver.behave(hold)
    try:
        yield
    finally:
        receiver.answer(200)
        released.set()


def _kill_and_bring_back(site: RunningSite, victims: Callable[[RunningPlatform], list[int]]) -> None:
    """SIGKILL to all at once; the supervisor starts them again, or we start the supervisor again."""
    platform = site.platform
    killed = victims(platform)
    for pid in killed:
        # Children die with their parent, perhaps before their turn.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if platform.pid in killed:
        assert platform.process is not None
        platform.process.wait()
        platform.start()
    eventually(lambda: not any(map(is_running, killed)), message="the killed have ended")
    eventually(partial(_is_ready, platform), message="the platform is ready again")


def _is_ready(platform: RunningPlatform) -> bool:
    return platform.answers() and platform.get("/health/ready").status_code == 200


def _assert_it_ends_as_if_nothing_had_happened(site: RunningSite, scenario: Scenario) -> None:
    _eventually_notified(site, scenario, "alert.open", "OPEN")
    (alert,) = scenario.alerts()
    assert alert["status"] == "OPEN"
    scenario.report(reachable=True)
    _eventually_notified(site, scenario, "alert.close", "CLOSED")
    (closed,) = scenario.alerts()
    assert (closed["id"], closed["status"]) == (alert["id"], "CLOSED")
    assert [name for name in scenario.log() if name in FLEET] == FLEET
    assert [name for name in scenario.log() if name in ALERT] == ALERT


def _eventually_notified(site: RunningSite, scenario: Scenario, kind: str, label: str) -> None:
    """Both receivers know and nothing more is to come: however often, it was one delivery each."""

    def done() -> bool:
        return scenario.is_notified(kind, label) and site.is_idle()

    eventually(done, message=f"{kind} delivered")
    assert len({request.headers["X-Ops-Delivery"] for request in scenario.webhooks(kind)}) == 1
    assert len({mail.message["Message-ID"] for mail in scenario.mails(label)}) == 1
    for webhook in scenario.webhooks(kind):
        _assert_signed(webhook)
