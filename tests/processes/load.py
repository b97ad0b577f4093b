"""A mixed load on a platform: reports, reads, writes and pages, and two receivers that count what is due."""

import re
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from itertools import count, cycle
from typing import Any
from uuid import uuid4

import orjson
import requests

from opsapi import clock
from opsapi.api.links import AGENTS, PUBLIC
from opsapi.clock import wire_time
from tests.eventually import DEADLINE, eventually
from tests.processes.conftest import log_in_console
from tests.processes.scenario import RunningSite, Scenario
from tests.receivers import HttpReceiver, MailReceiver

OPEN, CLOSE = "alert.open", "alert.close"
CHANNELS = ("WEBHOOK", "EMAIL")
PAUSE = 0.25
"""Seconds between two things that a thread does."""
REPORT_SECONDS = 1200.0
"""Longer than any fault."""
_NAME = re.compile(r"db\d+\.example\.com")
_OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Inbox:
    """The messages that the receivers got: channel, kind and host → alert → delivery ids."""

    def __init__(self, receiver: HttpReceiver, mail_server: MailReceiver) -> None:
        self._receiver, self._mail_server = receiver, mail_server
        self._read = Counter[str]()
        self._lock = threading.Lock()
        self.ids = defaultdict[tuple[str, str, str], defaultdict[str, set[str]]](lambda: defaultdict(set))
        self.accepted: set[str] = set()
        self.refused: set[str] = set()

    def accept(self, handler: BaseHTTPRequestHandler) -> None:
        """The receiver of webhooks takes a message: the others in its list never got a success."""
        self.accepted.add(handler.headers["X-Ops-Delivery"])
        handler.wfile.write(_OK)

    def read(self) -> None:
        """Count the messages that came since the last time."""
        with self._lock:
            for request in self._receiver.requests[self._read["WEBHOOK"] :]:
                self._read["WEBHOOK"] += 1
                document = orjson.loads(request.body)
                host = document.get("hostnameAndPort", "").partition(":")[0]
                key = ("WEBHOOK", request.headers["X-Ops-Event"], host)
                self.ids[key][document["id"]].add(request.headers["X-Ops-Delivery"])
            for mail in self._mail_server.mails[self._read["EMAIL"] :]:
                self._read["EMAIL"] += 1
                named = _NAME.search(mail.message["Subject"])
                key = ("EMAIL", mail.message["X-Ops-Event"], named[0] if named else "")
                self.ids[key][mail.message["References"]].add(mail.message["Message-ID"])
                self.accepted.add(mail.message["Message-ID"])

    def delivered(self, channel: str, kind: str, host: str) -> int:
        """The alerts of which the receiver accepted this kind of message."""
        return self._count(channel, kind, host, self.accepted)

    def settled(self, channel: str, kind: str, host: str) -> int:
        """The same, with messages of this kind that the receiver refused for good."""
        return self._count(channel, kind, host, self.accepted | self.refused)

    def _count(self, channel: str, kind: str, host: str, done: set[str]) -> int:
        with self._lock:
            return sum(bool(ids & done) for ids in self.ids[channel, kind, host].values())


@dataclass
class LoadedHost:
    """A host that goes down and comes up again, and how many messages of a kind each receiver is due."""

    name: str
    due: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class MessageTally:
    """Messages that were due, delivered, refused for good or lost, and ids beyond the first of a message."""

    due: int
    delivered: int
    refused: int
    lost: int
    second_ids: int


class MixedLoad:
    """Its hosts go down and come up, each time when everybody was notified of the last change.

    So each report makes one message due at each of the two receivers, and no message is outdated. A report
    is repeated with its `Idempotency-Key` until it is accepted, as the agent does.
    """

    def __init__(
        self, site: RunningSite, receiver: HttpReceiver, *, hosts: int = 40, pause: float = PAUSE
    ) -> None:
        """`pause` in seconds, between two reports and between two writes of a thread."""
        self._pause = pause
        self.inbox = Inbox(receiver, site.mail_server)
        receiver.behave(self.inbox.accept)
        self.scenario = Scenario(site, receiver)
        self.addresses = [site.platform.base_url]
        """The web processes in turn. A request that one of the others loses goes to one of these."""
        self.failures: list[str] = []
        self.hosts = [LoadedHost(f"db{number}.example.com") for number in range(hosts)]
        self._waiting = deque(self.hosts)
        self._turn = count()
        self._ended = threading.Event()
        self._clients: list[Future[None]] = []
        self._pages = self._asked(log_in_console(site.platform))
        self._looks = self._writes = 0

    @property
    def failed(self) -> str:
        """How many requests failed, by their status."""
        found = Counter(failure.rpartition(" -> ")[2] for failure in self.failures)
        return ", ".join(f"{times} {status}" for status, times in found.most_common()) or "0"

    @contextmanager
    def running(self) -> Iterator[ExitStack]:
        """Until the block ends or its value is closed; then each report that was begun is accepted."""
        works = (self._report, self._report, self._look, self._write)
        with ExitStack() as stack:
            threads = stack.enter_context(ThreadPoolExecutor(len(works)))
            self._clients = [threads.submit(work) for work in works]
            stack.callback(self._ended.set)
            yield stack
        for client in self._clients:
            client.result()

    def is_notified(self, host: LoadedHost) -> bool:
        """Whether both receivers accepted all messages about the host."""
        self.inbox.read()
        return all(
            self.inbox.settled(channel, kind, host.name) >= due
            for channel in CHANNELS
            for kind, due in list(host.due.items())
        )

    def wait_notified(self, deadline: float = DEADLINE) -> None:
        """Until all messages that are due now have been accepted."""
        eventually(lambda: all(map(self.is_notified, self.hosts)), deadline, message="everybody is notified")

    def wait_reports(self, more: int) -> None:
        """Until so many more reports were accepted."""
        wanted = self.reports + more
        eventually(lambda: self.reports >= wanted, message=f"{wanted} reports")

    def wait_round(self, reports: int) -> None:
        """Until so many more reports were accepted, and every other request was sent once more."""
        # Requests that were sent already do not count.
        looks, writes = self._looks + 1 + len(self._pages), self._writes + 2
        self.wait_reports(reports)
        eventually(lambda: self._looks >= looks and self._writes >= writes, message="a round")

    @property
    def reports(self) -> int:
        """How many were accepted. Raises the error of a client that failed."""
        for client in self._clients:
            if client.done():
                client.result()
        return sum(host.due.total() for host in self.hosts)

    def tally(self) -> MessageTally:
        """The result until now."""
        self.inbox.read()
        keys = [
            (host.due[kind], (channel, kind, host.name))
            for host in self.hosts
            for kind in (OPEN, CLOSE)
            for channel in CHANNELS
        ]
        due = sum(due for due, _ in keys)
        delivered = sum(min(due, self.inbox.delivered(*key)) for due, key in keys)
        settled = sum(min(due, self.inbox.settled(*key)) for due, key in keys)
        found = [(due, self.inbox.ids[key]) for due, key in keys]
        second_ids = sum(
            max(0, len(alerts) - due) + sum(len(ids) - 1 for ids in alerts.values()) for due, alerts in found
        )
        return MessageTally(due, delivered, settled - delivered, due - settled, second_ids)

    def _report(self) -> None:
        while not self._ended.wait(self._pause):
            host = self._waiting.popleft()
            if self.is_notified(host):
                self._report_change(host)
            self._waiting.append(host)

    def _report_change(self, host: LoadedHost) -> None:
        goes_down = host.due[OPEN] == host.due[CLOSE]
        state = {
            "hostname": host.name,
            "port": 27017,
            "typeName": "REPLICA_PRIMARY",
            "reachable": not goes_down,
        }
        state["measurements"] = [{"metricName": "CONNECTIONS", "number": 17}]
        body = {"agentType": "MONITORING", "hostname": "agent1", "version": "1.0", "hosts": [state]}
        more = {"json": body, "auth": self.scenario.agent.auth, "headers": {"Idempotency-Key": str(uuid4())}}
        path = f"{AGENTS}/groups/{self.scenario.group}/reports"
        eventually(lambda: self.ask("POST", path, **more), REPORT_SECONDS, message="a report is accepted")
        host.due[OPEN if goes_down else CLOSE] += 1

    def _asked(self, cookies: dict[str, str]) -> dict[str, dict[str, Any]]:
        """The pages and lists that somebody looks at, and with which credentials."""
        project = PUBLIC + self.scenario.path
        key = {"auth": self.scenario.owner.auth}
        session: dict[str, Any] = {"cookies": cookies, "allow_redirects": False}
        return {
            **{f"{project}/{what}": key for what in ("alerts", "hosts", "events", "alertConfigs", "agents")},
            **{f"/admin/{page}": session for page in ("", "alerting/alert/", "automation/host/")},
            f"/prometheus/v1.0/groups/{self.scenario.group}/discovery": key,
            "/metrics": {},
        }

    def _look(self) -> None:
        for path, more in cycle(self._pages.items()):
            if self._ended.wait(PAUSE):
                return
            self.ask("GET", path, **more)
            self._looks += 1

    def _write(self) -> None:
        project, key = PUBLIC + self.scenario.path, {"auth": self.scenario.owner.auth}
        config = {"eventTypeName": "HOST_DOWN", "notifications": self.scenario.notifications()}
        start = clock.now() + timedelta(days=1)
        window = {"startDate": wire_time(start), "endDate": wire_time(start + timedelta(hours=1))}
        window["alertTypeNames"] = ["CLUSTER"]  # type: ignore[assignment]  # a document of mixed values
        while not self._ended.wait(self._pause):
            for kind, body in (
                ("alertConfigs", {**config, "enabled": False}),
                ("maintenanceWindows", window),
            ):
                made = self.ask("POST", f"{project}/{kind}", json=body, **key)
                if made is not None:
                    path = f"{project}/{kind}/{made.json()['id']}"
                    self.ask("PATCH", path, json=body, **key)
                    self.ask("DELETE", path, **key)
            self._writes += 1

    def ask(self, method: str, path: str, **more: Any) -> requests.Response | None:
        """The answer; None if it is no success, which is counted."""
        while True:
            address = self.addresses[next(self._turn) % len(self.addresses)]
            try:
                answer = requests.request(method, address + path, timeout=60, **more)
            except requests.RequestException as error:
                if address not in self.addresses:
                    continue  # its process has ended: as nginx does, take another
                self.failures.append(f"{method} {path} {error!r} -> no answer")
                return None
            if 200 <= answer.status_code <= 299:
                return answer
            self.failures.append(f"{method} {path} {answer.text[:300]} -> {answer.status_code}")
            return None
