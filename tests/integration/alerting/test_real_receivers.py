"""Deliveries of a real worker to real receivers that are slow, hang, fail, lose answers and come back.

`SOON` allows for a busy machine: a message that is not sent soon takes minutes.
"""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler

import pytest
from django.db.models import QuerySet
from pytest_django import Settings

from accesslist.models import Project
from alerting.engine.choices import NotificationStatus
from alerting.engine.leases import absent_workers
from alerting.engine.worker import Worker
from alerting.models import Notification, NotificationAttempt
from events.choices import Work
from events.models import Signal
from events.outbox.changes import wake_workers
from integrations.choices import MessageKind
from opsapi import clock
from tests.eventually import eventually
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.hostile.budget import LONG
from tests.integration.alerting.pipeline import evaluate
from tests.processes.platform import free_port
from tests.receivers import LOOPBACK, HttpReceiver

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

SOON = 15.0
HANGING = 60
HOSTS = ("db1.example.com", "db2.example.com", "db3.example.com")
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def loopback(settings: Settings) -> None:
    """Receivers on this machine may be notified."""
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    """The receiver of the project that nothing is wrong with."""
    with HttpReceiver().running() as running:
        yield running


@pytest.fixture
def other(project: Project) -> Project:
    """Another project than the one whose receivers are broken."""
    made: Project = ProjectFactory.create()
    return made


@contextmanager
def working() -> Iterator[None]:
    """A worker works meanwhile."""
    worker = Worker("host:1")
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


@contextmanager
def hanging() -> Iterator[list[str]]:
    """Receivers on hosts of their own that take connections and say nothing, until the block ends."""
    with socket.create_server(("", 0), backlog=1024) as listening:
        port = listening.getsockname()[1]
        yield [f"http://127.0.1.{number}:{port}/hook" for number in range(1, HANGING + 1)]


def notify(project: Project, *urls: str) -> None:
    """The project has these webhooks notified of hosts that are down."""
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": url} for url in urls])
    evaluate()


def report(project: Project, *hosts: str, up: bool = False) -> None:
    """The hosts are down, or up."""
    ingest(project, *(host_report(host, reachable=up) for host in hosts))


def pending() -> QuerySet[Notification]:
    """What is still to be sent but reminders."""
    waiting = Notification.objects.filter(status=NotificationStatus.PENDING.value)
    return waiting.exclude(kind=MessageKind.UPDATE.value)


def is_evaluated() -> bool:
    """Whether no signal waits."""
    return not Signal.objects.exists()


def is_over() -> bool:
    """Whether nothing but reminders is still to be sent."""
    return is_evaluated() and not pending().exists()


def let_retries_come(count: int | None = None) -> None:
    """Time passes until so many of the retries are due, or all."""
    waiting = pending().filter(attempts__gt=0).order_by("created", "id")
    due = list(waiting.values_list("id", flat=True)[:count])
    Notification.objects.filter(id__in=due).update(due=clock.now())
    wake_workers(Work.MESSAGES)


def words(receiver: HttpReceiver, host: str = HOSTS[0]) -> list[str]:
    """What the receiver was notified of a host, in order."""
    about = [
        request
        for request in receiver.requests
        if json.loads(request.body)["hostnameAndPort"].startswith(host)
    ]
    return [request.headers["X-Ops-Event"].removeprefix("alert.") for request in about]


# --- order ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_down_up_down_within_a_moment_ends_with_down_at_a_slow_receiver(
    project: Project, other: Project, receiver: HttpReceiver
) -> None:
    answering = threading.Event()

    def answer_late(handler: BaseHTTPRequestHandler) -> None:
        answering.wait(SOON)
        handler.wfile.write(_OK)

    receiver.behave(answer_late)
    notify(project, receiver.url())
    with working(), HttpReceiver().running() as quick:
        notify(other, quick.url())
        report(project, HOSTS[0])
        eventually(lambda: receiver.requests)
        for up in (True, False):
            report(project, HOSTS[0], up=up)
            eventually(is_evaluated)
        # By then the worker has looked at all that came before.
        report(other, HOSTS[0])
        eventually(lambda: quick.requests)
        answering.set()
        eventually(is_over)
    assert words(receiver) == ["open", "close", "open"]


@pytest.mark.slow
def test_a_close_that_failed_once_comes_before_the_next_opening(
    project: Project, receiver: HttpReceiver
) -> None:
    notify(project, receiver.url())
    with working():
        report(project, HOSTS[0])
        eventually(is_over)
        receiver.answer(500)
        report(project, HOSTS[0], up=True)
        eventually(lambda: NotificationAttempt.objects.filter(status="retry").exists())
        receiver.answer(200)
        report(project, HOSTS[0])
        eventually(is_evaluated)
        let_retries_come()
        eventually(is_over)
    assert words(receiver) == ["open", "close", "close", "open"]


@pytest.mark.slow
def test_what_a_failing_receiver_missed_comes_in_order_as_soon_as_it_is_back(
    project: Project, receiver: HttpReceiver
) -> None:
    receiver.answer(503)
    notify(project, receiver.url())
    with working():
        be_down_while_away(project)
        receiver.answer(200)
        receiver.requests.clear()
        let_retries_come(1)
        eventually(is_over, SOON)
    assert [words(receiver, host) for host in HOSTS] == [["close", "open"], ["open"], ["open"]]


@pytest.mark.slow
def test_what_never_left_for_a_receiver_that_was_away_is_not_sent_when_it_is_back(project: Project) -> None:
    port = free_port()
    notify(project, f"http://127.0.0.1:{port}/hook")
    with working():
        be_down_while_away(project)
        with HttpReceiver(port=port).running() as receiver:
            let_retries_come(1)
            eventually(is_over, SOON)
            assert [words(receiver, host) for host in HOSTS] == [["open"]] * 3


def be_down_while_away(project: Project) -> None:
    """Hosts are down, and one flaps, while their receiver is away so long that retries wait for minutes."""
    report(project, *HOSTS)
    eventually(lambda: is_evaluated() and pending().filter(attempts__gt=0).count() == len(HOSTS))
    for up in (True, False):
        report(project, HOSTS[0], up=up)
        eventually(is_evaluated)
    eventually(lambda: not pending().exclude(lease_token=None).exists())
    pending().filter(attempts__gt=0).update(due=clock.now() + timedelta(minutes=10))


# --- perhaps received -----------------------------------------------------------------------------


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Break the connection off."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def fail(handler: BaseHTTPRequestHandler) -> None:
    """Answer 500."""
    handler.wfile.write(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")


def say_nothing(handler: BaseHTTPRequestHandler) -> None:
    """Until nobody waits any more."""
    handler.connection.recv(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "lose",
    [
        reset,
        fail,
        pytest.param(say_nothing, marks=pytest.mark.skipif(not LONG, reason="takes 15 s: make faults")),
    ],
)
def test_an_opening_whose_answer_was_lost_is_followed_by_the_close(
    project: Project, receiver: HttpReceiver, lose: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    receiver.behave(lose)
    notify(project, receiver.url())
    with working():
        report(project, HOSTS[0])
        eventually(lambda: NotificationAttempt.objects.filter(status="retry").exists())
        receiver.answer(200)
        report(project, HOSTS[0], up=True)
        eventually(is_evaluated)
        eventually(is_over)
    assert words(receiver) == ["open", "close"]


# --- a worker that ends ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_that_stops_is_present_until_its_last_delivery_ended(
    project: Project, receiver: HttpReceiver
) -> None:
    answering = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        answering.wait(SOON)
        handler.wfile.write(_OK)

    receiver.behave(answer)
    notify(project, receiver.url())
    worker = Worker("host:1")
    running = threading.Thread(target=worker.run)
    running.start()
    try:
        report(project, HOSTS[0])
        eventually(lambda: receiver.requests)
        worker.stop()
        others = {"evaluate", "listen", "take-over"}
        eventually(lambda: others.isdisjoint(thread.name for thread in threading.enumerate()))
        assert absent_workers() == set()
    finally:
        answering.set()
        worker.stop()
        running.join()
    assert NotificationAttempt.objects.get().status == "delivered"


# --- fair -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_new_receiver_is_notified_while_many_others_hang(
    project: Project, other: Project, receiver: HttpReceiver
) -> None:
    with working(), hanging() as urls:
        notify(project, *urls)
        notify(other, receiver.url())
        report(project, HOSTS[0])
        eventually(lambda: pending().filter(attempts__gt=0, lease_token__isnull=False).count() >= 3)
        report(other, HOSTS[0])
        eventually(lambda: receiver.requests, SOON)


@pytest.mark.slow
def test_so_it_is_right_after_the_start_of_a_worker_that_finds_much_to_do(
    project: Project, other: Project, receiver: HttpReceiver
) -> None:
    with ExitStack() as stack, hanging() as urls:
        notify(project, *urls)
        notify(other, receiver.url())
        for a_project in (project, other):
            report(a_project, *HOSTS)
            evaluate()
        stack.enter_context(working())
        eventually(lambda: receiver.requests, SOON)


@pytest.mark.slow
def test_receivers_that_answer_late_keep_no_other_project_waiting(
    project: Project, other: Project, receiver: HttpReceiver
) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(HttpReceiver().running()) for _ in range(8)]
        for slow_receiver in slow:
            slow_receiver.behave(partial(answer_late, slow_receiver))
        notify(project, *(receiver.url() for receiver in slow))
        notify(other, receiver.url())
        with working():
            report(project, *(f"db{number}.example.com" for number in range(30)))
            eventually(lambda: sum(len(receiver.requests) for receiver in slow) >= 3)
            report(other, HOSTS[0])
            eventually(lambda: receiver.requests, SOON)
            for slow_receiver in slow:
                slow_receiver.stopped.set()


def answer_late(receiver: HttpReceiver, handler: BaseHTTPRequestHandler) -> None:
    """After three seconds: a delivery that succeeded."""
    receiver.stopped.wait(3)
    handler.wfile.write(_OK)


@pytest.mark.slow
def test_a_path_that_fails_harms_no_other_project_on_the_same_host(
    project: Project, other: Project, receiver: HttpReceiver
) -> None:
    def fail_where_broken(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(_OK) if handler.path == "/works" else fail(handler)

    receiver.behave(fail_where_broken)
    notify(project, receiver.url("/broken"))
    notify(other, receiver.url("/works"))
    with working():
        report(project, *(f"db{number}.example.com" for number in range(60)))
        eventually(lambda: NotificationAttempt.objects.count() >= 5)
        report(other, HOSTS[0])
        eventually(lambda: any(request.path == "/works" for request in receiver.requests), SOON)
