"""A failover of the database under load, and the row that counts what came of it."""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import requests
from requests.auth import HTTPDigestAuth

from automation.reports.repeats import RepeatableReport
from opsapi.api.links import AGENTS
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.conftest import make_first_user
from tests.processes.load import MessageTally, MixedLoad
from tests.processes.networks import own_network
from tests.processes.patroni import Node, PatroniCluster, PromotionWatch, cluster
from tests.processes.platform import RunningPlatform
from tests.processes.scenario import RunningSite, Scenario
from tests.receivers import HttpReceiver, MailReceiver

LEASE = 20 if LONG else 10
"""Patroni's `ttl` in seconds. Its documentation asks for 20 or more; less saves time."""
RECOVERY_SECONDS = 180.0
_PAUSE = 0.1
_PROBES = 2
_ANSWER_SECONDS = 60


@dataclass(frozen=True)
class DatabaseRoute:
    """How the platform reaches the database: its name, how to open it, and the settings that it needs."""

    name: str
    open: Callable[[PatroniCluster], Any]
    environment: tuple[tuple[str, str], ...] = ()


LIST = DatabaseRoute("list of servers", lambda found: nullcontext(found.url))
PROXY = DatabaseRoute("haproxy", lambda found: found.proxied())
SESSIONS = DatabaseRoute(
    "pgbouncer, sessions",
    lambda found: found.pooled("session"),
    (("OPSAPI_DB_POOLER", "session"),),
)
TRANSACTIONS = DatabaseRoute(
    "pgbouncer, transactions",
    lambda found: found.pooled("transaction"),
    (("OPSAPI_DB_POOLER", "transaction"),),
)


@dataclass(frozen=True)
class Kind:
    """A failover: its name, how it begins, and how the old primary comes back."""

    name: str
    begin: Callable[[PatroniCluster, Node], object]
    repair: Callable[[Node], object] = lambda _: None


KILLED = Kind("primary killed", lambda _, node: node.machine.kill_all(), lambda node: node.start())
CUT_OFF = Kind(
    "primary cut off", lambda _, node: node.machine.pull_cable(), lambda node: node.machine.plug_cable()
)
SWITCHOVER = Kind("switchover", lambda found, node: found.switch_over(node))


@dataclass(frozen=True)
class FailoverRow:
    """The result of a failover. Times are in seconds."""

    kind: str
    route: str
    accepted: int
    lost: int
    tally: MessageTally
    promoted_after: float
    accepted_after: float
    failed: str
    replay: str
    """The answer to a request from before the failover, sent again with its used nonce."""

    def __str__(self) -> str:
        cells = (
            self.kind,
            self.route,
            f"{self.accepted:,}",
            self.lost,
            f"{self.tally.due:,}",
            self.tally.lost,
            self.tally.second_ids,
            f"{self.promoted_after:.1f} s",
            f"{self.accepted_after:.1f} s",
            self.failed,
        )
        return "| " + " | ".join(map(str, cells)) + " |"


HEAD = (
    "| failover | reached by | reports accepted | lost | messages due | lost | second id | promoted after |"
    " accepted after the promotion | requests that failed |\n|---|---|---|---|---|---|---|---|---|---|"
)


class ClusterPlatform(RunningPlatform):
    """A platform whose database is a cluster."""

    def __init__(self, directory: Path, found: PatroniCluster, **environment: str) -> None:
        super().__init__(directory, **environment)
        self._cluster = found

    def ask(self, statement: str) -> Any:
        """One value from the primary."""
        with self._cluster.wait_primary().connect("ops") as connection:
            row = connection.execute(statement).fetchone()
            return row[0] if row else None


class Probes:
    """Agents that report all the time: which reports were accepted, and when."""

    def __init__(self, scenario: Scenario, address: str) -> None:
        self._scenario, self._address = scenario, address
        self._ended = threading.Event()
        self.accepted: dict[UUID, float] = {}
        """The id under which the answer is stored → the time of `time.monotonic` at which it came."""
        self.requests: list[requests.PreparedRequest] = []
        """The first that was accepted, with its used nonce."""

    @contextmanager
    def running(self) -> Iterator["Probes"]:
        """Until the block ends."""
        threads = [threading.Thread(target=self._report, args=(number,)) for number in range(_PROBES)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def first_after(self, moment: float) -> float | None:
        """When the first report after the moment was accepted."""
        return min((at for at in list(self.accepted.values()) if at > moment), default=None)

    def replay(self) -> str:
        """What the platform answers when somebody sends the first accepted request again."""
        sent = self.requests[0]
        answer = requests.request(  # without the hooks of its session, which would try a new nonce
            str(sent.method),
            str(sent.url),
            data=sent.body,
            headers=dict(sent.headers),
            timeout=_ANSWER_SECONDS,
        )
        return f"{answer.status_code} {answer.headers.get('WWW-Authenticate', '').rpartition(' ')[2]}"

    def lost(self, found: PatroniCluster) -> int:
        """How many of the accepted reports the primary does not have."""
        with found.wait_primary().connect("ops") as connection:
            rows = connection.execute("SELECT id FROM automation_reportanswer").fetchall()
        return len(set(self.accepted) - {id_ for (id_,) in rows})

    def _report(self, number: int) -> None:
        agent, group = self._scenario.agent, self._scenario.group
        state = {"hostname": f"probe{number}.example.com", "port": 27017, "typeName": "STANDALONE"}
        host = {**state, "reachable": True}
        body = {"agentType": "MONITORING", "hostname": "agent1", "version": "1.0", "hosts": [host]}
        key_id = self._key_id()
        with requests.Session() as session:
            session.auth = HTTPDigestAuth(agent.public_key, agent.private_key)
            while not self._ended.wait(_PAUSE):
                key = str(uuid4())
                try:
                    answer = session.post(
                        f"{self._address}{AGENTS}/groups/{group}/reports",
                        json=body,
                        headers={"Idempotency-Key": key},
                        timeout=_ANSWER_SECONDS,
                    )
                except requests.RequestException:
                    continue
                if answer.status_code == 202:
                    stored = RepeatableReport.of(key, b"", group_id=group, caller_id=key_id)
                    self.accepted[stored.id] = time.monotonic()
                    if not self.requests:
                        self.requests.append(answer.request)

    def _key_id(self) -> str:
        public_key = self._scenario.agent.public_key
        statement = f"SELECT id FROM accesslist_apikey WHERE public_key = '{public_key}'"  # noqa: S608 - the test's own
        found: str = self._scenario.site.ask(statement)
        return found


def run_failover(kind: Kind, route: DatabaseRoute) -> FailoverRow:
    """Make it happen to a new cluster under load, and count."""
    with ExitStack() as stack:
        stack.enter_context(own_network())
        found = stack.enter_context(cluster(LEASE))
        load = stack.enter_context(_loaded(found, route))
        with load.running():
            load.wait_reports(5)
            with Probes(load.scenario, load.addresses[0]).running() as probes:
                eventually(lambda: len(probes.accepted) > _PROBES, message="reports are accepted")
                promoted_after, accepted_after = _fail_over(found, kind, probes)
                replay = probes.replay()
                load.wait_reports(5)
                if LONG:
                    load.wait_round(20)
        load.wait_notified(RECOVERY_SECONDS)
        return FailoverRow(
            kind.name,
            route.name,
            len(probes.accepted),
            probes.lost(found),
            load.tally(),
            promoted_after,
            accepted_after,
            load.failed,
            replay,
        )


def _fail_over(found: PatroniCluster, kind: Kind, probes: Probes) -> tuple[float, float]:
    """Seconds from the fault to the promotion, and from there to an accepted report."""
    old = found.wait_synchronous(standbys=1)
    with PromotionWatch(found, old).running() as watch:
        began = time.monotonic()
        kind.begin(found, old)
        promoted = eventually(lambda: watch.promoted, RECOVERY_SECONDS, message="a promotion")
    accepted = eventually(
        lambda: probes.first_after(promoted), RECOVERY_SECONDS, message="reports are accepted again"
    )
    if LONG:
        kind.repair(old)
        found.wait_synchronous(standbys=len(found.nodes) - 1)
    return promoted - began, accepted - promoted


@contextmanager
def _loaded(found: PatroniCluster, route: DatabaseRoute) -> Iterator[MixedLoad]:
    """A load on a platform that reaches the cluster by this route."""
    directory = Path(tempfile.mkdtemp(prefix="opsapi-platform-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory)
        mail_server = stack.enter_context(MailReceiver().running())
        receiver = stack.enter_context(HttpReceiver().running())
        platform = ClusterPlatform(
            directory,
            found,
            DATABASE_URL=stack.enter_context(route.open(found)),
            OPSAPI_OUTBOUND_ALLOW="127.0.0.0/8",
            OPSAPI_THREADS="8",
            EMAIL_URL=f"smtp://127.0.0.1:{mail_server.port}",
            **dict(route.environment),
        )
        stack.callback(platform.end)
        platform.start()
        try:
            yield MixedLoad(RunningSite(platform, mail_server, make_first_user(platform)), receiver)
        except BaseException:
            print(f"--- platform ---\n{platform.log[-6000:]}")  # noqa: T201 - pytest shows it with the failure
            raise
