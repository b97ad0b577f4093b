"""Dry runs and the status after a change of addresses, and after members were removed or replaced."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import AgentType, HostType
from automation.reports.rules import HostReport, ProcessReport
from tests.api.automation import path, published, publisher
from tests.api.test_automation_plan import moves, plan, reasons
from tests.client import ApiClient
from tests.each import each
from tests.factories.automation import host_report, ingest
from tests.factories.documents import document, process, version

__all__ = ["path", "publisher"]

pytestmark = pytest.mark.django_db


def host(number: int) -> str:
    """The host name of a member."""
    return f"db{number}.example.com"


def members(number: int, *names: str, hosts: Any = None, ports: Any = None) -> dict[str, Any]:
    """A document of members; rs_1 is on db1, unless `hosts` says otherwise."""
    listed = []
    for name in names:
        settings = {
            "net": {"port": (ports or {}).get(name, 27017)},
            "storage": {"dbPath": "/data"},
            "replication": {"replSetName": "rs"},
        }
        hostname = (hosts or {}).get(name, host(int(name[-1])))
        listed.append(process(name=name, hostname=hostname, args2_6=settings))
    stated = [{"_id": int(name[-1]), "host": name} for name in names]
    return document(
        version=number,
        databaseVersions=[version()],
        processes=listed,
        replicaSets=[{"_id": "rs", "members": stated}],
    )


def member_report(number: int, **changes: Any) -> HostReport:
    """The report of a member: that on db1 is the primary."""
    type_name = HostType.REPLICA_PRIMARY if number == 1 else HostType.REPLICA_SECONDARY
    values = {"type_name": type_name, "version": "7.0.2", "replica_set_name": "rs", **changes}
    return host_report(host(number), **values)


def reported(project: Project, *numbers: int) -> None:
    """These members run, and have reached the first document."""
    states = [ProcessReport(name=f"rs_{n}", hostname=host(n), goal_version=1) for n in numbers]
    ingest(project, *map(member_report, numbers), processes=states, agent_type=AgentType.AUTOMATION)


def of_members(drawn: Any) -> list[tuple[str, str]]:
    """The moves that add or remove members, and the address or name of each member."""
    rows = [(move["number"], move) for p in drawn["processes"] for move in p["moves"]]
    return [
        (move["move"], move["detail"].split()[1])
        for _, move in sorted(rows, key=lambda row: row[0])
        if move["move"] in CHANGES
    ]


CHANGES = ("ADD_MEMBER", "REMOVE_MEMBER")
FIVE = ("rs_1", "rs_2", "rs_3", "rs_4", "rs_5")


@each(
    "row",
    [
        (3, (1, 2), {("REMOVE_MEMBER", "rs_3")}),
        (5, (1, 2, 3), {("REMOVE_MEMBER", "rs_4"), ("REMOVE_MEMBER", "rs_5")}),
        (3, (1,), {("REMOVE_MEMBER", "rs_2"), ("REMOVE_MEMBER", "rs_3")}),
        (3, (1, 2, 4), {("ADD_MEMBER", "rs_4"), ("REMOVE_MEMBER", "rs_3")}),
    ],
)
def test_each_removed_member_is_removed_once(
    publisher: ApiClient, path: str, project: Project, row: tuple[int, tuple[int, ...], Any]
) -> None:
    count, kept, wanted = row
    published(publisher, path, members(0, *FIVE[:count]))
    reported(project, *range(1, count + 1))
    sent = members(1, *(f"rs_{number}" for number in kept))
    drawn = plan(publisher, path, sent)
    changed = of_members(drawn)
    assert (set(changed), len(changed)) == (wanted, len(wanted))
    assert (drawn["waits"], drawn["refused"]) == ([], [])
    published(publisher, path, sent)
    status = publisher.get(f"/groups/{project.id}/automationStatus").json()["processes"]
    kinds = [move["move"] for p in status for move in p.get("plan", {}).get("moves", ())]
    assert sorted(kind for kind in kinds if kind in CHANGES) == sorted(kind for kind, _ in wanted)
    assert all(p["plan"]["waits"] == [] for p in status if "plan" in p)


def test_a_member_on_another_machine_is_added_and_its_place_before_removed(
    publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, members(0, *FIVE[:3]))
    reported(project, 1, 2, 3)
    drawn = plan(publisher, path, members(1, *FIVE[:3], hosts={"rs_2": host(7)}))
    assert sorted(of_members(drawn)) == [("ADD_MEMBER", "rs_2"), ("REMOVE_MEMBER", f"{host(2)}:27017")]
    assert ("rs_2", "START", False) in moves(drawn)
    assert (drawn["waits"], drawn["refused"]) == ([], [])


def test_a_member_with_another_name_stays(publisher: ApiClient, path: str, project: Project) -> None:
    published(publisher, path, members(0, *FIVE[:3]))
    reported(project, 1, 2, 3)
    drawn = plan(publisher, path, members(1, "rs_1", "rs_2", "rs_9", hosts={"rs_9": host(3)}))
    assert of_members(drawn) == []
    assert drawn["waits"] == []


def test_the_port_of_a_running_member_does_not_change(
    publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, members(0, *FIVE[:3]))
    reported(project, 1, 2, 3)
    drawn = plan(publisher, path, members(1, *FIVE[:3], ports={"rs_2": 27018}))
    assert moves(drawn) == []
    (row,) = drawn["refused"]
    assert (row["reason"], row["process"], "net.port" in row["detail"]) == ("FIXED_SETTING", "rs_2", True)
    assert drawn["waits"] == []


@pytest.mark.parametrize("alias", [None, "al1.example.com"])
@pytest.mark.parametrize("reachable", [True, False])
def test_the_port_of_a_running_single_server_does_not_change(
    publisher: ApiClient, path: str, project: Project, reachable: bool, alias: str | None
) -> None:
    def single(number: int, port: int, **fields: Any) -> dict[str, Any]:
        settings = {"net": {"port": port}, "storage": {"dbPath": "/data"}}
        named = process(name="s", hostname=host(1), args2_6=settings, **fields)
        return document(version=number, processes=[named])

    named = {"alias": alias} if alias else {}
    published(publisher, path, single(0, 27017, **named))
    states = [ProcessReport(name="s", hostname=host(1), goal_version=1)]
    report = host_report(alias or host(1), version="7.0.2")
    ingest(project, report, processes=states, agent_type=AgentType.AUTOMATION)
    if not reachable:
        down = host_report(alias or host(1), reachable=False)
        ingest(project, down, agent_type=AgentType.AUTOMATION)
    drawn = plan(publisher, path, single(1, 27018))
    assert (moves(drawn), reasons(drawn["refused"])) == ([], {"FIXED_SETTING"})
    assert "net.port" in drawn["refused"][0]["detail"]
    published(publisher, path, single(1, 27018))
    (shown,) = publisher.get(f"/groups/{project.id}/automationStatus").json()["processes"]
    assert shown["plan"]["moves"] == []
    assert [row["reason"] for row in shown["plan"]["refused"]] == ["FIXED_SETTING"]
