"""A demonstration in an installation with a real agent, which is still watched."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import requests

from opsapi.embedded.layout import Layout
from tests.eventually import eventually
from tests.integration.embedded.sql import run_sql
from tests.processes.conftest import log_in_console
from tests.processes.scenario import RunningSite, Scenario, running_site
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.processes
DOWN = {"eventTypeName": "MONITORING_AGENT_DOWN"}
CLOCKS = "UPDATE automation_fleetwatch SET counting_since = now() - interval '9 min'"
DOWN_NOW = "SELECT array_agg(demonstration ORDER BY demonstration) FROM automation_agent WHERE down"
NO_REPORTS = "UPDATE automation_agent SET last_report = now() - interval '10 min'"


@pytest.fixture
def site() -> Iterator[RunningSite]:
    with running_site() as made:
        yield made


def test_an_agent_that_stops_is_noticed_despite_a_demonstration(site: RunningSite) -> None:
    with HttpReceiver().running() as receiver:
        scenario = Scenario(site, receiver, DOWN)
        scenario.owner.patch(f"/groups/{scenario.group}", {"name": "payments"})
        scenario.report(reachable=True)
        eventually(lambda: "notes" in _ready(site), message="a worker has swept")
        assert "detection" in _ready(site)["notes"]
        eventually(site.is_idle)

        filled, again = site.platform.manage("demo"), site.platform.manage("demo")
        assert (filled.returncode, "demo payments" in filled.stdout) == (0, True), filled.stderr
        assert (again.returncode, "nothing changed" in again.stdout) == (0, True), again.stderr
        assert site.ask("SELECT counting_since <= now() FROM automation_fleetwatch")
        scenario.report(reachable=True)
        _write(site, CLOCKS)  # The platform has run for long.
        eventually(lambda: _ready(site) == {"ok": True})
        assert _states(site) == {"reporting": 1, "demonstration": 5, "no report": 1}

        _write(site, NO_REPORTS)  # of all agents, also of the demonstration
        # The project has a configuration of its own for this event type.
        eventually(lambda: [alert["status"] for alert in scenario.alerts()] == ["OPEN"] * 2)
        eventually(lambda: scenario.is_notified("alert.open", "OPEN"))
        assert _states(site) == {"demonstration": 5, "no report": 2}
        assert site.ask(DOWN_NOW) == [False, True]
        eventually(lambda: _ready(site) == {"ok": True})


def _ready(site: RunningSite) -> dict[str, Any]:
    document: dict[str, Any] = site.platform.get("/health/ready").json()
    return document


def _write(site: RunningSite, statement: str) -> None:
    run_sql(Layout(site.platform.data_dir), statement)


def _states(site: RunningSite) -> Mapping[str, int]:
    """How many agents of each state the console lists. One agent of the demonstration is always down."""
    url = f"{site.platform.base_url}/admin/automation/agent/"
    page = requests.get(url, cookies=log_in_console(site.platform), timeout=60).text
    cells = re.findall(r'<td[^>]*class="[^"]*field-state.*?</td>', page, re.DOTALL)
    texts = [" ".join(re.sub("<[^>]*>", " ", cell).split()) for cell in cells]
    return Counter(text.lower().partition(" · ")[0] for text in texts)
