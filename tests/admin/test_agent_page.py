"""An agent's page: the hosts it watches, and the metrics that it does not report."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from automation.models import Agent, Host
from opsapi.console.admin_urls import list_url, page_url
from tests.api import bodies
from tests.client import ApiClient

pytestmark = pytest.mark.django_db


def watches(agent: ApiClient, project: Project, *hosts: dict[str, Any], **asked: Any) -> Agent:
    """An agent that watches these hosts, all of which it reports but the last."""
    leases = {"intervalSeconds": 60, "hosts": list(hosts), **asked}
    reported = [bodies.host(hostname=host["hostname"], port=host["port"]) for host in hosts[:-1]]
    assert agent.report(project.id, bodies.report(*reported, leases=leases)).status_code == 202
    return Agent.objects.get()


def page(console: Client, agent: Agent) -> str:
    """What it shows."""
    return str(console.get(page_url(agent)).content.decode())


def host(number: int, **more: Any) -> dict[str, Any]:
    """A host to be shared."""
    return {"hostname": f"db{number}.example.com", "port": 5432, **more}


def test_it_shows_hosts_with_their_state_and_metrics_with_the_reason(
    console: Client, agent: ApiClient, project: Project
) -> None:
    sets = [
        {"reported": ["PG_WAL_BYTES"], "refused": ["CONNECTIONS"], "role": "pg_monitor"},
        {"failed": ["PG_XID_AGE"], "absent": ["PG_IO_READS"]},
    ]
    numbered = [host(number, metricSet=min(number, 1)) for number in range(4)]
    text = page(console, watches(agent, project, *numbered, metricSets=sets))
    for known in Host.objects.all():
        assert page_url(known) in text
    assert "not reported yet" in text
    for reported in ("refused: needs pg_monitor", "not in this version", "failed", "db0.example.com:5432"):
        assert reported in text
    missing = text.partition("Missing metrics")[2].partition("</table>")[0]
    assert missing.index("CONNECTIONS") < missing.index("PG_XID_AGE") < missing.index("PG_IO_READS")
    assert "PG_WAL_BYTES" not in missing
    assert "3 hosts" in missing


def test_it_says_why_the_agent_did_not_update_itself(
    console: Client, agent: ApiClient, project: Project
) -> None:
    said = bodies.report(leases={"intervalSeconds": 60}, updateProblem="the directory cannot be written")
    assert agent.report(project.id, said).status_code == 202
    shown = Agent.objects.get()
    assert "the directory cannot be written" in page(console, shown)
    assert "(not updated)" in console.get(list_url(Agent)).content.decode()


def test_it_says_so_when_an_agent_shares_no_hosts(
    console: Client, agent: ApiClient, project: Project
) -> None:
    agent.report(project.id, bodies.report(bodies.host()))
    text = page(console, Agent.objects.get())
    assert "has no host leases" in text
    assert "has not sent its metric coverage" in text


def test_it_says_so_when_every_metric_is_reported(
    console: Client, agent: ApiClient, project: Project
) -> None:
    shown = watches(agent, project, host(1, metricSet=0), metricSets=[{"reported": ["CONNECTIONS"]}])
    assert "reports all metrics" in page(console, shown)


def test_what_an_agent_says_is_shown_as_text(console: Client, agent: ApiClient, project: Project) -> None:
    evil = "<script>alert(1)</script>"
    sets = [{"refused": [evil], "role": evil}]
    text = page(console, watches(agent, project, host(1, metricSet=0), metricSets=sets))
    assert evil not in text
    assert "&lt;script&gt;" in text


def test_many_hosts_cost_no_more_queries_and_the_list_of_agents_asks_nothing_of_leases(
    console: Client, agent: ApiClient, project: Project
) -> None:
    counts = []
    for number in (3, 12, 40):  # the first page of a log-in asks more
        shown = watches(agent, project, *map(host, range(number)))
        with CaptureQueriesContext(connection) as queries:
            text = page(console, shown)
        counts.append(len(queries))
    assert counts[1] == counts[2]
    assert "30 more" in text
    with CaptureQueriesContext(connection) as queries:
        console.get("/admin/automation/agent/")
    assert not [query for query in queries if "lease" in query["sql"] or "watcher" in query["sql"]]
