"""The notifications after the platform stopped and the database of an agent went down meanwhile."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from opsapi.clock import parse_time
from tests.eventually import eventually
from tests.processes.agent import RunningAgent, running
from tests.processes.postgresql import DebianServer, single_server
from tests.processes.scenario import RunningSite, Scenario, running_site
from tests.receivers import HttpReceiver

pytestmark = [pytest.mark.processes, pytest.mark.postgresql]

ROUNDS = 3


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    """A started platform, which the tests stop and start."""
    with running_site() as made:
        yield made


@pytest.fixture
def server() -> Iterator[DebianServer]:
    """A PostgreSQL."""
    with single_server(15) as made:
        yield made


@pytest.mark.parametrize("is_up_again", [True, False], ids=["up-again", "still-down"])
def test_people_are_notified_only_of_what_holds_when_the_platform_is_back(
    site: RunningSite, server: DebianServer, tmp_path: Path, is_up_again: bool
) -> None:
    with HttpReceiver().running() as receiver:
        scenario = Scenario(site, receiver)
        agent = RunningAgent(
            tmp_path,
            URL=site.platform.base_url,
            GROUP_ID=scenario.group,
            PUBLIC_KEY=scenario.agent.public_key,
            PRIVATE_KEY=scenario.agent.private_key,
            POSTGRESQL=server.uri(),
            INTERVAL="2",
        )
        with running(agent):
            eventually(lambda: _reachable(scenario) is True, message="the first report")
            site.platform.stop()
            before = datetime.now(UTC)
            server.stop()
            eventually(lambda: _waiting(agent, reachable=False) >= ROUNDS)
            if is_up_again:
                server.start()
                eventually(lambda: _waiting(agent, reachable=True) >= ROUNDS)
            stopped = datetime.now(UTC)
            site.platform.start()
            eventually(lambda: not _spooled(agent), message="everything is sent")
            eventually(site.is_idle)
            if is_up_again:
                assert (_raised(scenario), receiver.requests) == ([], [])
            else:
                eventually(lambda: [alert["status"] for alert in _raised(scenario)] == ["OPEN"])
                [alert] = _raised(scenario)
                assert before - timedelta(seconds=1) <= parse_time(alert["created"]) <= stopped
                eventually(lambda: receiver.requests)
                assert [request.headers["X-Ops-Event"] for request in receiver.requests] == ["alert.open"]
                server.start()


def _raised(scenario: Scenario) -> list[dict[str, Any]]:
    return [alert for alert in scenario.alerts() if alert["alertConfigId"] == scenario.config]


def _reachable(scenario: Scenario) -> bool | None:
    hosts = scenario.owner.get(f"{scenario.path}/hosts")["results"]
    return hosts[0].get("reachable") if hosts else None


def _spooled(agent: RunningAgent) -> list[Path]:
    return sorted(agent.spool.glob("*.json"))


def _waiting(agent: RunningAgent, *, reachable: bool) -> int:
    """The number of waiting reports that say this of the server."""
    documents = [json.loads(path.read_bytes()) for path in _spooled(agent)]
    return sum(host["reachable"] is reachable for document in documents for host in document.get("hosts", ()))
