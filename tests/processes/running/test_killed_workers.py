"""A worker killed at each step of a delivery: nothing is lost, a repeat has the same id (decisions 7).

The database or the receiver holds the worker at the step; then it gets SIGKILL, and another worker goes on.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler
from random import Random
from typing import Any

import orjson
import psycopg
import pytest

from alerting.reasons import AttemptFailure
from opsapi.embedded.layout import Layout
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.integration.embedded.sql import connect
from tests.processes.scenario import RunningSite, Scenario
from tests.processes.workers import WorkerProcess, WorkerStarter, worker_starter
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.processes

ROUNDS = 4 if LONG else 1
"""How often a worker is killed at each step: `make faults` kills 24 workers in all."""
SECONDS = 60.0
LONG_BEFORE_THE_LEASE_ENDS = 10.0
"""It lasts 30 s; without load the next worker has it within 2."""
_OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Workers:
    """Starts and kills a worker at a time. The worker of the platform is suspended."""

    def __init__(self, starter: WorkerStarter) -> None:
        self._starter = starter
        self.start()

    def start(self) -> None:
        """The next one."""
        self._present = self._starter.start()

    def kill(self) -> None:
        """Send SIGKILL, whatever the worker is doing."""
        self._present.kill()

    def freeze(self) -> WorkerProcess:
        """Suspend the present worker and start the next; the caller ends the suspended worker."""
        frozen = self._present
        frozen.send_signal(signal.SIGSTOP)
        self.start()
        return frozen

    def start_another(self) -> WorkerProcess:
        """Start the next one; the one before is the answer and works on until the caller ends it."""
        before = self._present
        self.start()
        self.wait_seen()
        return before

    def wait_seen(self) -> None:
        """Until the present one works."""
        self._present.wait_seen()

    def end(self) -> None:
        """The last one ends in peace."""
        self._present.end()


@pytest.fixture(scope="module")
def workers(site: RunningSite) -> Iterator[Workers]:
    """The workers that the tests kill."""
    eventually(site.is_idle)
    own = site.platform.child("run_worker")
    with _standing_still(site, own), worker_starter(site.platform) as starter:
        made = Workers(starter)
        yield made
        made.end()


@contextmanager
def _standing_still(site: RunningSite, pid: int) -> Iterator[None]:
    """The process is suspended and has nothing in progress."""

    def is_still() -> bool:
        os.kill(pid, signal.SIGSTOP)
        busy = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state LIKE 'idle in transaction%')"
        if not site.ask(busy):
            return True
        os.kill(pid, signal.SIGCONT)
        return False

    eventually(is_still, message="the platform's own worker stands still between two transactions")
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


# --- where it is held -----------------------------------------------------------------------------


class Hold:
    """Locks of a table that the worker will wait for, until they are released."""

    def __init__(self, site: RunningSite, receiver: HttpReceiver) -> None:
        self._site, self.receiver = site, receiver
        self._connection: psycopg.Connection[Any] = connect(Layout(site.platform.data_dir))
        self._connection.autocommit = False

    def lock(self, table: str, mode: str) -> None:
        """From now on whoever needs the table in another way waits."""
        self._connection.execute(f"LOCK TABLE {table} IN {mode} MODE")

    def is_waited_for(self, table: str, work: str) -> bool:
        """Whether somebody waits for the table while that work lies there."""
        waiting = f"SELECT FROM pg_locks WHERE NOT granted AND relation = '{table}'::regclass"
        return bool(self._site.ask(f"SELECT EXISTS ({waiting}) AND EXISTS ({work})"))

    def release(self) -> None:
        """Nobody waits any longer."""
        self._connection.rollback()

    def close(self) -> None:
        """Releases what is left."""
        self._connection.close()


_SIGNAL = "SELECT FROM events_signal"
_DUE = "SELECT FROM alerting_notification WHERE status = 'PENDING' AND due <= now()"
_CLAIMED = f"{_DUE} AND lease_token IS NOT NULL"


@dataclass(frozen=True)
class KillStep:
    """A step of a delivery: how a worker is held in it, and how often a webhook is sent then.

    `hold` answers how to see that the worker is there.
    """

    name: str
    hold: Callable[[Hold], Callable[[], bool]]
    sent: int


def _waiting_for(table: str, mode: str, work: str, hold: Hold) -> Callable[[], bool]:
    hold.lock(table, mode)
    return partial(hold.is_waited_for, table, work)


def _recording(hold: Hold) -> Callable[[], bool]:
    """The receiver has the message, and the transaction that writes the outcome has not ended yet."""
    is_there = _waiting_for("alerting_notificationattempt", "SHARE", _CLAIMED, hold)
    return lambda: bool(hold.receiver.requests) and is_there()


def _while_sending(hold: Hold) -> Callable[[], bool]:
    """The receiver has the request and does not answer."""
    holding = threading.Event()

    def behave(handler: BaseHTTPRequestHandler) -> None:
        holding.set()
        hold.receiver.stopped.wait(SECONDS)

    hold.receiver.behave(behave)
    return holding.is_set


def _once_answered(hold: Hold) -> Callable[[], bool]:
    """The receiver has answered; recording begins with the alert."""

    def behave(handler: BaseHTTPRequestHandler) -> None:
        hold.receiver.answer(200)
        hold.lock("alerting_alert", "EXCLUSIVE")
        handler.wfile.write(_OK)

    hold.receiver.behave(behave)
    return partial(hold.is_waited_for, "alerting_alert", _CLAIMED)


STEPS = [
    KillStep("evaluating", partial(_waiting_for, "alerting_alert", "SHARE", _SIGNAL), 1),
    KillStep("claiming", partial(_waiting_for, "alerting_unreachablehost", "ACCESS EXCLUSIVE", _DUE), 1),
    KillStep("claimed", partial(_waiting_for, "alerting_maintenancewindow", "ACCESS EXCLUSIVE", _CLAIMED), 1),
    KillStep("sending", _while_sending, 2),
    KillStep("answered", _once_answered, 2),
    KillStep("recording", _recording, 2),
]


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_worker_killed_at_a_step_loses_nothing_and_repeats_under_the_same_id(
    site: RunningSite, workers: Workers, scenario: Scenario, step: KillStep, number: int
) -> None:
    with closing(Hold(site, scenario.receiver)) as hold:
        is_there = step.hold(hold)
        scenario.report(reachable=False)
        eventually(is_there, SECONDS, message=f"a worker is {step.name}")
        workers.kill()
        scenario.receiver.answer(200)
        hold.release()
    workers.start()
    _eventually_notified(site, scenario, "alert.open", "OPEN")
    assert len(scenario.webhooks("alert.open")) == step.sent
    (alert,) = scenario.alerts()
    assert alert["status"] == "OPEN"
    assert scenario.log().count("HOST_DOWN of alert") == 1

    scenario.report(reachable=True)
    _eventually_notified(site, scenario, "alert.close", "CLOSED")
    assert len(scenario.webhooks("alert.close")) == 1
    assert [alert["status"] for alert in scenario.alerts()] == ["CLOSED"]
    assert _log_of(scenario, alert["id"]) == {
        "alert.open": ["DELIVERED"] * 2,
        "alert.close": ["DELIVERED"] * 2,
    }


@pytest.mark.parametrize("beyond", [False, True], ids=["in-its-project", "passing-it-on"])
def test_an_event_of_an_organization_is_notified_once_whatever_worker_is_killed(
    site: RunningSite, workers: Workers, scenario: Scenario, beyond: bool
) -> None:
    added = {"eventTypeName": "ORG_API_KEY_ADDED"}
    scenario.configure(added)
    if beyond:
        scope = {"forAllGroups": False, "groupIds": [scenario.group]}
        scenario.owner.post(
            "/globalAlertConfigs", {**added, **scope, "notifications": scenario.notifications()}
        )
    eventually(site.is_idle, SECONDS)
    with closing(Hold(site, scenario.receiver)) as hold:
        hold.lock("alerting_notification", "SHARE")
        scenario.owner.post(f"/orgs/{scenario.org}/apiKeys", {"desc": "new", "roles": ["ORG_MEMBER"]})
        is_there = partial(hold.is_waited_for, "alerting_notification", _SIGNAL)
        eventually(is_there, SECONDS, message="a worker is about to write whom to tell")
        workers.kill()
        hold.release()
    workers.start()
    expected_messages = 1 + beyond
    eventually(
        lambda: len(scenario.webhooks("alert.inform")) >= expected_messages and site.is_idle(), SECONDS
    )
    assert len(scenario.webhooks("alert.inform")) == expected_messages


# --- an outage ------------------------------------------------------------------------------------

OUTAGES = 10 if LONG else 1
HOSTS, IN_A_REPORT = 30, 10
LONGEST_LIFE = 0.5
"""Seconds from when a worker is seen until it is killed; evaluating a report takes a tenth of that."""
GROUPED = {"eventTypeName": "HOST_DOWN", "grouping": "TOPOLOGY", "groupWaitSec": 1}


@pytest.mark.parametrize("number", range(OUTAGES))
def test_an_outage_is_one_message_and_one_end_whenever_workers_are_killed(
    site: RunningSite, workers: Workers, number: int
) -> None:
    draw = Random(number)
    with HttpReceiver().running() as receiver:
        scenario = Scenario(site, receiver, GROUPED)
        for part in _cluster(reachable=True):
            scenario.send(hosts=part)
        eventually(site.is_idle, SECONDS, message="the configuration knows the cluster")
        for kind, label, reachable in (("alert.open", "OPEN", False), ("alert.close", "CLOSED", True)):
            for part in _cluster(reachable=reachable):
                scenario.send(hosts=part)
                if draw.random() < 0.3:
                    _replace(workers, draw)
            for _ in range(draw.randint(1, 2)):
                _replace(workers, draw)
            _eventually_notified(site, scenario, kind, label)
        alerts = scenario.alerts()
        assert [alert["status"] for alert in alerts] == ["CLOSED"] * HOSTS
        said = [orjson.loads(request.body)["incident"] for request in receiver.requests]
        assert len({incident["id"] for incident in said}) == 1
        for alert in alerts:
            log = _log_of(scenario, alert["id"])
            assert log["alert.close"] == ["DELIVERED"] * 2
            assert set(log["alert.open"]) <= {"DELIVERED", "DROPPED"}
            assert len(log["alert.open"]) in {2, 4}, "the messages, and a line for each receiver"


def _cluster(*, reachable: bool) -> Iterator[list[dict[str, Any]]]:
    """The hosts of a cluster, in several reports."""
    for first in range(0, HOSTS, IN_A_REPORT):
        yield [
            {
                "hostname": f"db{number}.example.com",
                "port": 27017,
                "typeName": "REPLICA_SECONDARY",
                "reachable": reachable,
                "replicaSetName": f"rs{number // 3}",
                "clusterName": "orders",
            }
            for number in range(first, first + IN_A_REPORT)
        ]


def _replace(workers: Workers, draw: Random) -> None:
    """At a random moment of its work a worker gets SIGKILL, and the next begins."""
    workers.wait_seen()
    time.sleep(draw.uniform(0, LONGEST_LIFE))
    workers.kill()
    workers.start()


# --- what another worker takes up ---------------------------------------------------------------


@pytest.fixture
def held(scenario: Scenario) -> Iterator[Scenario]:
    """The receiver answers a webhook only when the test ends, and later webhooks immediately."""
    released = threading.Event()

    def hold(handler: BaseHTTPRequestHandler) -> None:
        scenario.receiver.answer(200)
        released.wait(SECONDS)
        handler.wfile.write(_OK)

    scenario.receiver.behave(hold)
    scenario.report(reachable=False)
    eventually(lambda: scenario.webhooks("alert.open"), SECONDS, message="a webhook is in hand")
    yield scenario
    released.set()


def test_what_a_killed_worker_had_in_hand_another_sends_long_before_the_lease_ends(
    site: RunningSite, workers: Workers, held: Scenario
) -> None:
    killed = workers.start_another()
    killed.kill()
    eventually(lambda: len(held.webhooks("alert.open")) == 2, LONG_BEFORE_THE_LEASE_ENDS)
    _eventually_notified(site, held, "alert.open", "OPEN")


def test_a_frozen_worker_keeps_its_messages_and_a_dead_worker_loses_them(
    site: RunningSite, workers: Workers, held: Scenario
) -> None:
    lease = _lease(site, held)
    frozen = workers.freeze()
    try:
        with HttpReceiver().running() as receiver:
            lost = Scenario(site, receiver)

            def say_nothing(handler: BaseHTTPRequestHandler) -> None:
                receiver.answer(200)
                receiver.stopped.wait(SECONDS)

            receiver.behave(say_nothing)
            lost.report(reachable=False)
            eventually(lambda: lost.webhooks("alert.open"), SECONDS)
            killed = workers.start_another()
            killed.kill()
            eventually(lambda: len(lost.webhooks("alert.open")) == 2, LONG_BEFORE_THE_LEASE_ENDS)
        assert _lease(site, held) == lease
        assert len(held.webhooks("alert.open")) == 1
    finally:
        frozen.kill()


def test_a_worker_ends_while_a_receiver_hangs_and_leaves_the_message_to_another(
    site: RunningSite, workers: Workers, held: Scenario
) -> None:
    workers.end()
    workers.start()
    _eventually_notified(site, held, "alert.open", "OPEN")
    (first,) = site.ask(
        "SELECT array_agg(DISTINCT tried.reason) FROM alerting_notificationattempt AS tried "  # noqa: S608 - as below
        "JOIN alerting_notification AS sent ON sent.id = tried.notification_id "
        f"WHERE tried.number = 1 AND sent.channel = 'WEBHOOK' AND sent.group_id = '{held.group}'"
    )
    assert first == AttemptFailure.NO_OUTCOME.value


def _lease(site: RunningSite, scenario: Scenario) -> object:
    """Of the webhook that is in progress."""
    return site.ask(
        "SELECT lease_token FROM alerting_notification WHERE channel = 'WEBHOOK' "  # noqa: S608 - the test's own
        f"AND lease_token IS NOT NULL AND group_id = '{scenario.group}'"
    )


def _eventually_notified(site: RunningSite, scenario: Scenario, kind: str, label: str) -> None:
    """Both receivers know, nothing more is to come, and however often it was sent it was one delivery."""

    eventually(lambda: scenario.is_notified(kind, label) and site.is_idle(), SECONDS, message=f"{kind} told")
    assert len({request.headers["X-Ops-Delivery"] for request in scenario.webhooks(kind)}) == 1
    assert len({mail.message["Message-ID"] for mail in scenario.mails(label)}) == 1


def _log_of(scenario: Scenario, alert_id: str) -> dict[str, list[str]]:
    """What the log says of the alert, but for repeats to come: kind → the states of its notifications."""
    found: dict[str, list[str]] = {}
    for entry in scenario.owner.get(f"{scenario.path}/alerts/{alert_id}/notifications")["results"]:
        if entry["kind"] != "alert.update":
            found.setdefault(entry["kind"], []).append(entry["status"])
    return found
