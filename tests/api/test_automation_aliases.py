"""Processes with an alias, which connections prefer: their hosts are reported at the alias."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import AgentType, HostType
from automation.models import Host, PlanTurn
from tests.api.automation import path, published, publisher
from tests.api.test_automation_plan import TYPES, moves, plan
from tests.api.turns import DAY, LAG, OPLOG, agent, ask, asked, machine, replica_set, taken, why_not
from tests.client import ApiClient
from tests.factories.automation import host_report, ingest

__all__ = ["agent", "path", "publisher"]

pytestmark = pytest.mark.django_db


def aliased(number: int = 0, **fields: Any) -> dict[str, Any]:
    """A replica set whose processes have an alias."""
    sent = replica_set(number, **fields)
    for at, process in enumerate(sent["processes"]):
        process["alias"] = f"al{at}.example.com"
    return sent


def reported(project: Project, **changes: Any) -> None:
    """All members run, and are reported at their aliases."""
    for number, type_name in enumerate(TYPES):
        metrics = {OPLOG: DAY} if type_name is HostType.REPLICA_PRIMARY else {LAG: 1.0}
        values = {"type_name": type_name, "version": "7.0.2", "replica_set_name": "rs", **metrics, **changes}
        report = host_report(f"al{number}.example.com", **values)
        ingest(project, report, agent=f"agent{number}", agent_type=AgentType.MONITORING)


def test_a_publication_adds_one_host_for_a_process(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, aliased())
    assert sorted(Host.objects.values_list("hostname", flat=True)) == [f"al{n}.example.com" for n in range(3)]


def test_a_publication_adds_no_host_for_a_process_that_is_reported_at_its_hostname(
    publisher: ApiClient, path: str, project: Project
) -> None:
    ingest(project, *(host_report(machine(n), version="7.0.2") for n in range(3)))
    published(publisher, path, aliased())
    assert sorted(Host.objects.values_list("hostname", flat=True)) == [machine(n) for n in range(3)]


@pytest.mark.parametrize("has_hostnames", [False, True])
def test_a_member_gets_its_turn_for_the_host_at_its_alias(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project, has_hostnames: bool
) -> None:
    if has_hostnames:  # Of an earlier build.
        published(publisher, path, replica_set())
    published(publisher, path, aliased(int(has_hostnames)))
    reported(project)
    turn = taken(agent, project, asked(members=["p0", "p1", "p2"]))
    host = Host.objects.get(id=PlanTurn.objects.get(id=turn["id"]).host_id)
    assert host.hostname == "al1.example.com"
    assert why_not(ask(agent, project, asked(2, request_id="other"))) == "TURN"


def test_a_turn_needs_the_other_members_at_their_aliases(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, aliased())
    reported(project)
    down = host_report("al2.example.com", reachable=False)
    ingest(project, down, agent="agent2", agent_type=AgentType.MONITORING)
    assert why_not(ask(agent, project, asked())) == "MAJORITY"


def test_a_dry_run_knows_the_members_at_their_aliases(
    publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, aliased())
    reported(project)
    drawn = plan(publisher, path, aliased(1, lastRestart="2026-11-21T07:26:14Z"))
    assert [(name, kind) for name, kind, _ in moves(drawn)] == [
        ("p1", "RESTART"),
        ("p2", "RESTART"),
        ("p0", "STEP_DOWN"),
        ("p0", "RESTART"),
    ]
    assert (drawn["waits"], drawn["refused"]) == ([], [])
