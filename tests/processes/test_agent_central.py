"""An agent whose own settings name only the platform, a real platform, and real PostgreSQL servers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.processes.agent import RunningAgent, running
from tests.processes.conftest import ProcessCaller, make_first_user
from tests.processes.platform import RunningPlatform, prepared_installation
from tests.processes.postgresql import PASSWORD, DebianServer, separate_servers

pytestmark = pytest.mark.processes

_OFTEN = (
    "from automation.agent import central; central.ASK_AGAIN = central.TRY_AGAIN = 0.1; "
    "from automation.agent.__main__ import main; raise SystemExit(main())"
)
"""The agent as installed, except that it asks for settings before each round."""


@pytest.fixture(scope="module")
def databases() -> Iterator[tuple[DebianServer, DebianServer]]:
    """Two servers."""
    with separate_servers(18) as made:
        yield made


@pytest.fixture
def site() -> Iterator[RunningPlatform]:
    """A started platform."""
    with prepared_installation() as made:
        made.start()
        yield made
        made.stop()


def watched(owner: ProcessCaller, group: str) -> set[int]:
    """The ports of the hosts that an agent measures."""
    hosts = owner.get(f"/groups/{group}/hosts")["results"]
    return {host["port"] for host in hosts if host["typeName"] != "NO_DATA"}


def test_an_agent_watches_what_the_platform_says_and_goes_on_without_the_platform(
    site: RunningPlatform, databases: tuple[DebianServer, DebianServer], tmp_path: Path
) -> None:
    first, second = databases
    owner = make_first_user(site)
    group = owner.post("/groups", {"name": "payments"})["id"]
    key = owner.post(f"/groups/{group}/apiKeys", {"desc": "agent", "roles": ["GROUP_AGENT"]})
    where = f"/groups/{group}/agents/settings"
    wrong = "postgresql://u:x@127.0.0.1:1/postgres?sslmode=no-such-mode&no-such-option=1"
    agent = RunningAgent(
        tmp_path,
        ("-c", _OFTEN),
        URL=site.base_url,
        GROUP_ID=group,
        PUBLIC_KEY=key["publicKey"],
        PRIVATE_KEY=key["privateKey"],
        INTERVAL="2",
    )
    with running(agent):
        eventually(lambda: "nothing to watch" in agent.log)
        shown = owner.put(where, {"postgresql": [wrong, first.uri()]})
        assert PASSWORD not in str(shown)
        eventually(lambda: watched(owner, group) == {first.port})
        owner.put(where, {**shown, "postgresql": [*shown["postgresql"], second.uri()]})
        eventually(lambda: watched(owner, group) == {first.port, second.port})
    assert "connection URI 1 " in agent.log
    site.stop()
    seen = len(agent.rounds())
    with running(agent):
        eventually(lambda: [line for line in agent.rounds()[seen:] if " hosts=2 reachable=2 " in line])
    assert PASSWORD not in agent.log
    site.start()
