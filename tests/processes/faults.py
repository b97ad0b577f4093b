"""The faults of `make faults` that are injected under a mixed load: the rows of docs/reliability.md."""

import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from uuid import UUID

import psycopg

from automation.reports.repeats import RepeatableReport
from opsapi.embedded.layout import Layout
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.integration.embedded.sql import connect, run_sql
from tests.processes.agent import RunningAgent
from tests.processes.fault_runs import RECOVERY_SECONDS, SECONDS, Fault, FaultySite, Inject
from tests.processes.postgresql import separate_servers
from tests.processes.web_server import get

KILLS = int(os.environ.get("OPSAPI_TEST_KILLS", "1000")) if LONG else 4
SLOW_CLIENTS = 200
_GIGABYTE = 1 << 30
_END_ONE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE application_name = 'opsapi' ORDER BY random() LIMIT 1
"""


# --- processes ----------------------------------------------------------------------------------


def _kill_at_random(made: FaultySite) -> None:
    """Web, worker, PostgreSQL, and in the long run an agent, at random moments.

    The supervisor starts a process that dies often again after up to 30 s: then the others are killed. After
    ten kills the platform gets the time to be ready again, so that reports are accepted in between.
    """
    with ExitStack() as stack:
        replace = stack.enter_context(made.second_worker())
        agent = stack.enter_context(_killed_agent(made)) if LONG else None
        done = 0
        while done < KILLS:
            time.sleep(made.random.uniform(0, 2))
            role = made.random.choice(
                ("gunicorn worker", "gunicorn", "run_worker", "second", "postgres", "agent")
            )
            if role == "second":
                replace()
            elif role == "agent":
                if agent is None:
                    continue
                agent()
            elif not made.kill(role):
                continue
            done += 1
            if done % 10 == 0 or done == KILLS:
                made.wait_ready()


@contextmanager
def _killed_agent(made: FaultySite) -> Iterator[Callable[[], None]]:
    """An agent that watches two servers; the value kills it and starts it again.

    At the end, every report that lay on its disk at a kill has to be stored.
    """
    key, group = made.load.scenario.agent, made.load.scenario.group
    seen: set[str] = set()
    with separate_servers(18) as servers:
        directory = made.platform.directory / "agent"
        directory.mkdir()
        agent = RunningAgent(
            directory,
            URL=made.platform.base_url,
            GROUP_ID=group,
            PUBLIC_KEY=key.public_key,
            PRIVATE_KEY=key.private_key,
            POSTGRESQL=" ".join(server.uri() for server in servers),
            HOSTNAME="killed",
        )
        agent.start()
        eventually(agent.rounds, message="the agent reports")

        def replace() -> None:
            assert agent.process is not None
            agent.process.kill()
            agent.process.wait()
            seen.update(path.stem[-32:] for path in agent.spool.glob("*-*.json"))
            made.injected["agent"] += 1
            agent.start()

        try:
            yield replace
            eventually(
                lambda: not _unstored(made, seen), RECOVERY_SECONDS, message="the agent's reports are stored"
            )
        finally:
            agent.stop()
        made.injected["agent reports on disk at a kill, all stored"] = len(seen)


def _unstored(made: FaultySite, keys: set[str]) -> set[UUID]:
    scenario = made.load.scenario
    caller = made.site.ask(
        f"SELECT id FROM accesslist_apikey WHERE public_key = '{scenario.agent.public_key}'"  # noqa: S608 - ours
    )
    reports = (RepeatableReport.of(key, b"", group_id=scenario.group, caller_id=caller) for key in keys)
    stored = made.site.ask("SELECT array_agg(id) FROM automation_reportanswer")
    return {report.id for report in reports} - set(stored)


def _crash_one_of_two(made: FaultySite) -> None:
    """SIGSTOP keeps the supervisor from starting it again: one of two workers is away all the time."""
    with made.second_worker():
        os.kill(made.platform.pid, signal.SIGSTOP)
        made.kill("run_worker")
        time.sleep(SECONDS)
        os.kill(made.platform.pid, signal.SIGCONT)
        eventually(lambda: made.platform.find_child("run_worker"), message="the worker is back")


def _kill_one_of_two_repeatedly(made: FaultySite) -> None:
    with made.second_worker() as replace:
        for _ in range(6 if LONG else 1):
            replace()
            time.sleep(SECONDS / 3)


# --- PostgreSQL ---------------------------------------------------------------------------------


def _restart_database(made: FaultySite, times: int = 5) -> None:
    for _ in range(times if LONG else 1):
        os.kill(made.platform.child("postgres"), signal.SIGINT)
        made.injected["stops"] += 1
        time.sleep(SECONDS / 10)
        made.wait_ready()


def _restart_database_once(made: FaultySite) -> None:
    _restart_database(made, 1)


def _cut_connections(made: FaultySite) -> None:
    """Two a second."""
    for _ in range(round(SECONDS * 2)):
        run_sql(Layout(made.platform.data_dir), _END_ONE)
        made.injected["connections ended"] += 1
        time.sleep(0.5)


def _kill_and_cut(made: FaultySite) -> None:
    _kill_at_random(made)
    _cut_connections(made)


def _exhaust_connections(made: FaultySite) -> None:
    """Others hold every connection that is free, or becomes free."""
    held: list[psycopg.Connection[tuple[object, ...]]] = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with suppress(psycopg.OperationalError):
            while len(held) < 300:
                held.append(connect(Layout(made.platform.data_dir)))
        time.sleep(0.5)
    made.injected["connections held"] = len(held)
    for connection in held:
        connection.close()


def _fill_disk(made: FaultySite) -> None:
    assert made.disk is not None
    for _ in range(3 if LONG else 1):
        end = time.monotonic() + SECONDS / 3
        while time.monotonic() < end:
            made.disk.fill()  # a process that ended may have left space
            time.sleep(0.2)
        made.injected["times full"] += 1
        made.disk.free()
        made.wait_ready()


# --- receivers ----------------------------------------------------------------------------------


def _misbehaving(behave: Callable[[FaultySite, BaseHTTPRequestHandler], object]) -> Inject:
    """The receiver of webhooks does this for a while; the mail server answers as usual."""

    def inject(made: FaultySite) -> None:
        def counted(handler: BaseHTTPRequestHandler) -> None:
            made.injected["requests"] += 1
            behave(made, handler)

        made.receiver.behave(counted)
        time.sleep(SECONDS)
        made.receiver.behave(made.load.inbox.accept)

    return inject


def _hang(made: FaultySite, handler: BaseHTTPRequestHandler) -> None:
    made.receiver.stopped.wait(SECONDS)


def _reset(made: FaultySite, handler: BaseHTTPRequestHandler) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def _drip(made: FaultySite, handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not made.receiver.stopped.wait(0.1):
        handler.wfile.write(b"x")


def _redirect(made: FaultySite, handler: BaseHTTPRequestHandler) -> None:
    made.load.inbox.refused.add(handler.headers["X-Ops-Delivery"])
    target = made.receiver.url("/elsewhere").encode()
    handler.wfile.write(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + target + b"\r\n\r\n")


def _answer_a_gigabyte(made: FaultySite, handler: BaseHTTPRequestHandler) -> None:
    made.load.inbox.accepted.add(handler.headers["X-Ops-Delivery"])
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % _GIGABYTE)
    piece = bytes(1 << 20)
    for _ in range(_GIGABYTE >> 20):
        handler.wfile.write(piece)


# --- clients and clock --------------------------------------------------------------------------


def _slow_clients(made: FaultySite) -> None:
    """200 connections from another address send a byte of a request every second, and begin again."""
    ended = threading.Event()
    request = get("/api/public/v1.0")

    def drip() -> None:
        while not ended.is_set():
            with (
                suppress(OSError),
                socket.create_connection(("127.0.0.1", made.platform.port), 10, ("127.0.0.9", 0)) as slow,
            ):
                made.injected["connections"] += 1
                for byte in request:
                    if ended.wait(1):
                        return
                    slow.sendall(bytes([byte]))

    threads = [threading.Thread(target=drip) for _ in range(SLOW_CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS)
    ended.set()
    for thread in threads:
        thread.join()


def _step_clock(made: FaultySite) -> None:
    """An hour forward and back, then an hour back and forward; PostgreSQL keeps the real time."""
    assert made.clock is not None
    for seconds in (3600, 0, -3600, 0):
        made.clock.step(seconds)
        made.injected["steps of an hour"] += 1
        time.sleep(SECONDS / 4)


FAULTS = (
    Fault("`kill -9` at random moments", _kill_at_random),
    Fault("crash of one of two workers", _crash_one_of_two),
    Fault("repeated kills of one of two workers", _kill_one_of_two_repeatedly),
    Fault("PostgreSQL restarted", _restart_database_once),
    Fault("PostgreSQL's connections cut, two a second", _cut_connections),
    Fault("PostgreSQL's connections used by others", _exhaust_connections),
    Fault("PostgreSQL stopped and started, five times", _restart_database),
    Fault("disk full and freed", _fill_disk, small_disk=True),
    Fault("receiver hangs", _misbehaving(_hang)),
    Fault("receiver resets connections", _misbehaving(_reset)),
    Fault("receiver drips its answer", _misbehaving(_drip)),
    Fault("receiver redirects", _misbehaving(_redirect)),
    Fault("receiver answers 1 GB", _misbehaving(_answer_a_gigabyte)),
    Fault("200 slow clients", _slow_clients),
    Fault("clock of web processes and worker stepped", _step_clock, stepped_clock=True),
)
SHORT = Fault("`kill -9` at random moments, then PostgreSQL's connections cut", _kill_and_cut)
"""The row of `make test-slow`."""
