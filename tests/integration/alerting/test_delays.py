"""How long a message waits while receivers of other projects are broken: a table (`make faults`).

The worker and the receivers run in the process of the test, so the figures are higher than in service.
"""

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler

import pytest
from pytest_django import Settings

from accesslist.models import Project
from alerting.engine.worker import Worker
from alerting.models import Notification
from tests.eventually import eventually
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.hostile.budget import LONG
from tests.integration.alerting.pipeline import evaluate
from tests.receivers import LOOPBACK, HttpReceiver

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not LONG, reason="takes minutes: make faults"),
]

PROJECTS = 10
SLOW_SECONDS = 12.0
SOON = 15.0
_ANSWER = b"HTTP/1.1 %d X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
Broken = Callable[[], AbstractContextManager[str]]
_table: dict[tuple[str, int], list[float]] = {}


@contextmanager
def hanging() -> Iterator[str]:
    """Takes connections and says nothing."""
    with socket.create_server(("", 0), backlog=4096) as listening:
        yield f"http://127.1.{{}}.{{}}:{listening.getsockname()[1]}/hook"


@contextmanager
def answering(status: int, seconds: float) -> Iterator[str]:
    """Answers after so many seconds."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)
        await asyncio.sleep(seconds)
        writer.write(_ANSWER % status)
        writer.close()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    starting = asyncio.start_server(answer, "", 0, family=socket.AF_INET, backlog=4096)
    server = asyncio.run_coroutine_threadsafe(starting, loop).result()
    yield f"http://127.1.{{}}.{{}}:{server.sockets[0].getsockname()[1]}/hook"

    async def end() -> None:
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run_coroutine_threadsafe(end(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@contextmanager
def unresolvable() -> Iterator[str]:
    """Has no address."""
    yield "http://host{}-{}.invalid/hook"


KINDS: dict[str, Broken] = {
    "hanging": hanging,
    "slow": lambda: answering(200, SLOW_SECONDS),
    "failing": lambda: answering(500, 0),
    "unresolvable": unresolvable,
}


@pytest.mark.parametrize("started", [False, True], ids=["warm", "just-started"])
@pytest.mark.parametrize("count", [0, 10, 100, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_how_long_a_message_waits_next_to_broken_receivers_of_others(
    kind: str, count: int, started: bool, project: Project, settings: Settings
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    arrived: list[float] = []

    def stamp(handler: BaseHTTPRequestHandler) -> None:
        arrived.append(time.monotonic())
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    worker = Worker("host:1")
    running = threading.Thread(target=worker.run)
    with ExitStack() as stack:
        receiver = stack.enter_context(HttpReceiver().running())
        receiver.behave(stamp)
        url = stack.enter_context(KINDS[kind]())
        others = _others(url, count)
        _notify(project, receiver.url())
        for a_project in others:
            ingest(a_project, host_report(reachable=False))
        evaluate()
        stack.callback(worker.stop)
        if not started:
            running.start()
            eventually(lambda: Notification.objects.filter(attempts__gt=0).count() >= min(count, 300))
        ingest(project, host_report(reachable=False))
        if started:
            evaluate()
        since = time.monotonic()
        if started:
            running.start()
        eventually(lambda: arrived, 60)
        # The broken receivers end first, or the worker would wait for them.
        stack.pop_all().close()
    running.join()
    _table.setdefault((kind, count), []).append(arrived[0] - since)
    assert arrived[0] - since < SOON


@pytest.fixture(scope="module", autouse=True)
def table(pytestconfig: pytest.Config) -> Iterator[None]:
    """Printed after the last."""
    yield
    lines = [f"{'':14}{'receivers':>10}{'warm':>8}{'started':>9}   (s)"]
    lines += [
        f"{kind:14}{count:>10}" + "".join(f"{seconds:>8.2f}" for seconds in delays)
        for (kind, count), delays in _table.items()
    ]
    with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        sys.stdout.write("\n" + "\n".join(lines) + "\n")


def _others(url: str, count: int) -> list[Project]:
    """Projects whose receivers are broken, each on a host of its own."""
    urls = [url.format(number // 250, number % 250 + 1) for number in range(count)]
    made = [ProjectFactory.create() for _ in range(min(PROJECTS, count))]
    for number, project in enumerate(made):
        _notify(project, *urls[number::PROJECTS])
    return made


def _notify(project: Project, *urls: str) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": url} for url in urls])
