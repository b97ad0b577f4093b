"""Two agents of one project, real PostgreSQL servers and the real platform: each host is watched by one."""

import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from automation.measurements.rules import NUMBERS
from automation.metrics import Metric
from tests.eventually import eventually
from tests.processes.agent import RunningAgent
from tests.processes.conftest import ProcessCaller
from tests.processes.postgresql import MONITOR, STRANGER, DebianServer, separate_servers

pytestmark = pytest.mark.processes

INTERVAL, LEASE = timedelta(seconds=2), timedelta(seconds=5)
ROLES = {"agent1": MONITOR, "agent2": STRANGER}
"""The roles show which agent measured: only the first agent may see the connections."""
PAUSE = 1.0
"""Seconds between two questions: an agent goes round every two."""

_SAMPLES = f"""
SELECT coalesce(jsonb_agg(jsonb_build_array(name, taken, by_first) ORDER BY taken), '[]')::text
  FROM (SELECT host.hostname || ':' || host.port AS name,
               date_trunc('second', reported) - age * interval '1 second' AS taken,
               numbers[{NUMBERS[Metric.CONNECTIONS]}] IS NOT NULL AS by_first
          FROM automation_reading AS reading
          JOIN automation_source AS source ON source.id = source_id AND database = ''
          JOIN automation_host AS host ON host.id = host_id
         WHERE numbers[{NUMBERS[Metric.PG_XID_AGE]}] IS NOT NULL AND host.group_id = '{{group}}') AS found
"""  # noqa: S608 - numbers of ours


class SharedSample(NamedTuple):
    """When something was measured, and by which agent."""

    taken: datetime
    agent: str


class SharingSite:
    """A platform and a project with two agents, which watch two servers by two names each."""

    def __init__(self, owner: ProcessCaller, watched: Sequence[DebianServer], directory: Path) -> None:
        """The agents are not started."""
        self._owner, platform = owner, owner.platform
        self._since = datetime.min.replace(tzinfo=UTC)
        self.group: str = owner.post("/groups", {"name": directory.name})["id"]
        key = owner.post(f"/groups/{self.group}/apiKeys", {"desc": "agents", "roles": ["GROUP_AGENT"]})
        caller = owner.with_key(key)
        self.addresses = {
            f"{name}:{server.port}" for server in watched for name in ("127.0.0.1", "localhost")
        }
        self.agents = {}
        for name, role in ROLES.items():
            (directory / name).mkdir()
            uris = [server.uri(role) for server in watched]
            self.agents[name] = RunningAgent(
                directory / name,
                URL=platform.base_url,
                GROUP_ID=self.group,
                PUBLIC_KEY=caller.public_key,
                PRIVATE_KEY=caller.private_key,
                POSTGRESQL=" ".join([*uris, *(uri.replace("@127.0.0.1:", "@localhost:") for uri in uris)]),
                HOSTNAME=name,
            )

    def begin(self) -> None:
        """Both agents run, share the hosts and have measured them; samples of before are forgotten."""
        for agent in self.agents.values():
            if agent.process is None or agent.process.poll() is not None:
                agent.start()
        self.wait_until_shared()
        self._since = datetime.now(UTC)
        self.wait_until_shared()

    def end(self) -> None:
        """Leave no agent running."""
        for agent in self.agents.values():
            if agent.process is not None and agent.process.poll() is None:
                agent.process.kill()
                agent.process.wait()

    def shown(self, name: str) -> Mapping[str, Any]:
        """An agent as the API shows it."""
        found: Mapping[str, Any] = self._owner.get(f"/groups/{self.group}/agents/MONITORING/{name}")
        return found

    def watched(self, name: str) -> set[str]:
        """The hosts that an agent watches; none before its first report."""
        known = self._owner.get(f"/groups/{self.group}/agents")["results"]
        shown = [self.shown(host["hostname"]) for host in known if host["hostname"] == name]
        return {host["hostnamePort"] for found in shown for host in found["hosts"]}

    def wait_until_shared(self) -> None:
        """Until each agent watches two hosts, and all are measured by who watches them."""
        self.wait(lambda: {len(self.watched(name)) for name in ROLES} == {2}, "the hosts are shared")
        for name in ROLES:
            self.wait_until_measured(name, self.watched(name))

    def wait_until_measured(self, name: str, hosts: set[str]) -> None:
        """Until this agent was the last to measure all of these hosts."""

        def is_measured() -> bool:
            found = self.samples()
            return all(host in found and found[host][-1].agent == name for host in hosts)

        self.wait(is_measured, f"{name} measures {sorted(hosts)}")

    def wait(self, condition: Callable[[], bool], message: str) -> None:
        """Until it holds; or else the logs of the agents say why."""
        try:
            eventually(condition, message=message, longest_pause=PAUSE)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.logs()}") from None

    def samples(self) -> dict[str, list[SharedSample]]:
        """What was measured since `begin`, by host, in order of time."""
        text = self._owner.platform.ask(_SAMPLES.format(group=self.group))
        found: dict[str, list[SharedSample]] = {}
        for host, taken, is_first in json.loads(text):
            sample = SharedSample(datetime.fromisoformat(taken), "agent1" if is_first else "agent2")
            if sample.taken > self._since:
                found.setdefault(host, []).append(sample)
        return found

    def turns(self) -> dict[str, list[str]]:
        """Which agents measured each host, one after another; where two measure at a time these are many."""
        return {
            host: [agent for agent, _ in groupby(samples, lambda sample: sample.agent)]
            for host, samples in self.samples().items()
        }

    def logs(self) -> str:
        """What both agents wrote."""
        return "\n".join(agent.log for agent in self.agents.values())


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[DebianServer, DebianServer]]:
    """The servers to watch."""
    with separate_servers(18) as made:
        yield made


@pytest.fixture(scope="module")
def agents(
    owner: ProcessCaller, pair: tuple[DebianServer, DebianServer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharingSite]:
    """The agents of all tests."""
    made = SharingSite(owner, pair, tmp_path_factory.mktemp("agents"))
    yield made
    made.end()


@pytest.fixture
def sharing(agents: SharingSite) -> SharingSite:
    """Both agents run and share the hosts."""
    agents.begin()
    return agents


def gaps(samples: Sequence[SharedSample]) -> list[timedelta]:
    """The times between samples."""
    return [later.taken - earlier.taken for earlier, later in pairwise(samples)]


def with_part_again(site: SharingSite, turns: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    """These turns, if the second agent measures all hosts and then the first agent its own hosts again."""
    part = site.watched("agent1")
    return {host: [*turns[host], "agent1"] if host in part else turns[host] for host in turns}


def test_when_an_agent_is_killed_the_other_takes_over_within_a_lease_and_no_host_is_watched_by_both(
    sharing: SharingSite,
) -> None:
    lost, kept = sharing.watched("agent1"), sharing.watched("agent2")
    assert lost | kept == sharing.addresses
    assert lost.isdisjoint(kept)
    victim = sharing.agents["agent1"].process
    assert victim is not None
    victim.kill()
    victim.wait()
    sharing.wait_until_measured("agent2", sharing.addresses)
    assert sharing.watched("agent2") == sharing.addresses
    found = sharing.samples()
    turns = sharing.turns()
    assert all(turns[host].count("agent1") == 1 for host in lost), turns
    assert all(turns[host].count("agent2") == 1 for host in kept), turns
    # Samples are of whole seconds. A busy machine delays rounds of the agent that lives as well.
    slack = max(gap for host in kept for gap in gaps(found[host])) + timedelta(seconds=1)
    assert all(gap <= LEASE + slack for host in lost for gap in gaps(found[host])), sharing.logs()


def test_an_agent_that_sleeps_past_its_lease_reports_nothing_of_hosts_that_another_has(
    sharing: SharingSite,
) -> None:
    sleeper = sharing.agents["agent1"].process
    assert sleeper is not None
    sleeper.send_signal(signal.SIGSTOP)
    try:
        sharing.wait_until_measured("agent2", sharing.addresses)
        before = sharing.turns()
    finally:
        sleeper.send_signal(signal.SIGCONT)
    sharing.wait_until_shared()
    assert sharing.turns() == with_part_again(sharing, before)


def test_an_agent_that_stops_gives_its_hosts_back_and_has_a_part_again_when_it_starts(
    sharing: SharingSite,
) -> None:
    stopped = sharing.agents["agent1"]
    assert stopped.stop() == 0
    assert sharing.watched("agent1") == set()  # at once: nobody waits for the end of its lease
    sharing.wait_until_measured("agent2", sharing.addresses)
    before = sharing.turns()
    stopped.start()
    sharing.wait_until_shared()
    assert sharing.turns() == with_part_again(sharing, before)
    assert not list(stopped.spool.glob("*.json"))


def test_an_agent_is_shown_with_what_its_role_may_not_see(sharing: SharingSite) -> None:
    def states_of(name: str) -> set[tuple[str, str, str | None]]:
        return {
            (metric["metricName"], metric["stateName"], metric.get("roleName"))
            for metric_set in sharing.shown(name)["metricSets"]
            for metric in metric_set["metrics"]
        }

    # With its next ask an agent says what became of the metrics of a round.
    sharing.wait(lambda: all(map(states_of, ROLES)), "both say what becomes of metrics")
    states = {name: states_of(name) for name in ROLES}
    assert ("CONNECTIONS", "REPORTED", None) in states["agent1"]
    assert ("CONNECTIONS", "REFUSED", "pg_monitor") in states["agent2"]
    assert ("PG_XID_AGE", "REPORTED", None) in states["agent2"]
    assert not any(state == "REFUSED" for _, state, _ in states["agent1"])
