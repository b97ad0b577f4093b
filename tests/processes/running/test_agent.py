"""The agent, real MongoDB servers and the real platform: from a server that dies to the notification."""

import json
import math
import signal
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from automation.measurements.rules import NUMBERS
from automation.metrics import Metric
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.plugin import SUMMARY
from tests.processes.agent import RunningAgent, running
from tests.processes.mongod import Mongod, RunningReplicaSet, replica_set
from tests.processes.scenario import RunningSite, Scenario
from tests.receivers import HttpReceiver

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

ROUNDS = 20 if LONG else 1
STOPPED_SECONDS = 3.0


@pytest.fixture(scope="module")
def members() -> Iterator[RunningReplicaSet]:
    """A replica set with a hidden member and an arbiter."""
    with replica_set() as made:
        yield made


class MongoWatch:
    """A project, an agent that watches the replica set, and a receiver that is notified of two alerts."""

    def __init__(
        self, site: RunningSite, receiver: HttpReceiver, members: RunningReplicaSet, directory: Path
    ) -> None:
        self.site, self.members, self.receiver = site, members, receiver
        self.scenario = Scenario(site, receiver)
        self.scenario.configure({"eventTypeName": "NO_PRIMARY"})
        agent = self.scenario.agent
        self.agent = RunningAgent(
            directory,
            URL=site.platform.base_url,
            GROUP_ID=self.scenario.group,
            PUBLIC_KEY=agent.public_key,
            PRIVATE_KEY=agent.private_key,
            MONGODB=members.seed,
            LABELS="env=production region=eu-west-1",
        )

    def hosts(self) -> dict[int, dict[str, Any]]:
        """The hosts of the project, by port."""
        found = self.scenario.owner.get(f"{self.scenario.path}/hosts")["results"]
        return {host["port"]: host for host in found}

    def wait_for_all(self) -> None:
        """Until the platform knows every member as it is."""
        primary = self.members.primary().port
        ports = {member.port for member in self.members.members}

        def are_known() -> bool:
            hosts = self.hosts()
            return hosts.keys() == ports and hosts[primary]["typeName"] == "REPLICA_PRIMARY"

        eventually(are_known, message="every member is reported")

    def wait_for_rounds(self, count: int) -> None:
        """Until the agent has gone round so often from now on."""
        before = len(self.agent.rounds())
        eventually(lambda: len(self.agent.rounds()) >= before + count, message=f"{count} rounds")

    def notified(self) -> Counter[tuple[str, str]]:
        """How often the receiver was notified of what."""
        return Counter(
            (request.headers["X-Ops-Event"], json.loads(request.body)["eventTypeName"])
            for request in self.receiver.requests
        )

    def wait_until_notified(self, times: int, kind: str, name: str) -> None:
        """Until the receiver was notified so often."""
        try:
            eventually(lambda: self.notified()[kind, name] >= times, message=f"{kind} {name}, {times} times")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.scenario.log()}\n{self.agent.log}") from None

    def sampled(self, member: Mongod) -> list[str]:
        """The times of all samples of a metric of this member that the platform has, in order."""
        host = self.hosts()[member.port]["id"]
        found: list[str] = self.site.ask(
            "SELECT array_agg(taken::text ORDER BY taken) FROM ("  # noqa: S608 - an id and a number
            "SELECT date_trunc('second', reported) - age * interval '1 second' AS taken "
            "FROM automation_reading AS reading JOIN automation_source AS source ON source.id = source_id "
            f"WHERE host_id = '{host}' AND numbers[{NUMBERS[Metric.CONNECTIONS]}] IS NOT NULL) AS samples"
        )
        return found


@pytest.fixture
def watch(
    site: RunningSite, receiver: HttpReceiver, members: RunningReplicaSet, tmp_path: Path
) -> Iterator[MongoWatch]:
    """An agent that is running, and has reported every member."""
    made = MongoWatch(site, receiver, members, tmp_path)
    with running(made.agent):
        made.wait_for_all()
        yield made


def _is_secondary(member: Mongod) -> bool:
    return bool(member.hello().get("secondary"))


def test_every_member_is_reported_with_its_type_and_measurements(
    watch: MongoWatch, members: RunningReplicaSet
) -> None:
    primary = members.primary()
    types = {port: host["typeName"] for port, host in watch.hosts().items()}
    assert types.pop(primary.port) == "REPLICA_PRIMARY"
    assert types.pop(members.arbiter.port) == "REPLICA_ARBITER"
    assert types[members.hidden.port] == "REPLICA_SECONDARY"
    assert set(types.values()) == {"REPLICA_SECONDARY"}

    def measured() -> dict[str, list[Any]]:
        host = watch.hosts()[primary.port]["id"]
        query = "granularity=PT1M&period=PT1H&m=CONNECTIONS&m=OPCOUNTER_CMD&m=DB_DATA_SIZE_TOTAL"
        answer = watch.scenario.owner.get(f"{watch.scenario.path}/hosts/{host}/measurements?{query}")
        return {
            measurement["name"]: [
                point["value"] for point in measurement["dataPoints"] if point["value"] is not None
            ]
            for measurement in answer["measurements"]
        }

    eventually(lambda: all(measured().values()), message="all three are measured")
    assert min(measured()["CONNECTIONS"]) >= 1
    host = watch.hosts()[primary.port]
    assert (host["version"], host["replicaSetName"]) == ("6.0.5", "rs0")
    assert host["labels"] == {"env": "production", "region": "eu-west-1"}
    databases = watch.scenario.owner.get(f"{watch.scenario.path}/hosts/{host['id']}/databases")["results"]
    assert "shop" in {database["databaseName"] for database in databases}


def test_a_primary_that_is_killed_is_notified_once_until_the_election_and_its_restart(
    watch: MongoWatch, record_property: Any
) -> None:
    delays = []
    for number in range(1, ROUNDS + 1):
        victim = watch.members.primary()
        victim.signal(signal.SIGKILL)
        killed = time.monotonic()
        try:
            watch.wait_until_notified(number, "alert.open", "HOST_DOWN")
            watch.wait_until_notified(number, "alert.open", "NO_PRIMARY")
            delays.append(time.monotonic() - killed)
            watch.members.primary()
            watch.wait_until_notified(number, "alert.close", "NO_PRIMARY")
        finally:
            victim.start()
        watch.wait_until_notified(number, "alert.close", "HOST_DOWN")
        eventually(partial(_is_secondary, victim), message="it is a secondary again")
    watch.wait_for_rounds(2)
    eventually(watch.site.is_idle)
    delays.sort()
    latest = delays[math.ceil(0.95 * ROUNDS) - 1]
    record_property(
        SUMMARY,
        f"a primary killed {ROUNDS} times: both alerts received within {latest:.1f} s in 95 % of rounds, "
        f"{delays[-1]:.1f} s in all; the agent looks every {watch.agent.interval} s",
    )
    both = ("HOST_DOWN", "NO_PRIMARY")
    assert watch.notified() == {
        (kind, name): ROUNDS for kind in ("alert.open", "alert.close") for name in both
    }


def test_a_member_that_is_stopped_for_three_seconds_is_no_alert(watch: MongoWatch) -> None:
    watch.wait_for_rounds(1)
    member = watch.members.hidden
    member.signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        eventually(lambda: time.monotonic() - began >= STOPPED_SECONDS, longest_pause=0.1)
    finally:
        member.signal(signal.SIGCONT)
    watch.wait_for_rounds(3)
    eventually(watch.site.is_idle)
    assert "HOST_DOWN" not in watch.scenario.log()
    assert watch.notified() == {}


def test_while_the_platform_is_away_nothing_is_lost_or_stored_twice(watch: MongoWatch) -> None:
    primary = watch.members.primary()
    watch.wait_for_rounds(2)
    watch.site.platform.stop()
    try:
        before = len(watch.agent.rounds())
        watch.wait_for_rounds(3)
        assert watch.agent.process is not None
        watch.agent.process.kill()
        watch.agent.process.wait()
        waiting = len(list(watch.agent.spool.glob("*.json")))
        assert waiting >= 3
    finally:
        watch.site.platform.start()
    # Not before: an agent that was refused for long waits longer before it tries again.
    watch.agent.start()
    watch.wait_for_rounds(1)
    eventually(lambda: watch.agent.rounds()[-1].endswith(" waiting=0"), message="all reports are sent")
    away = len(watch.agent.rounds()) - before
    found = watch.sampled(primary)
    assert len(found) == len(set(found))
    assert len(found) >= away
    assert not list(watch.agent.spool.glob("*.json"))
