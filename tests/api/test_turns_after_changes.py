"""Turns after a publication that plans processes together with others than before."""

from collections.abc import Callable
from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import HostType
from automation.models import PlanTurn
from tests.api.automation import path, published, publisher
from tests.api.test_automation_plan import SETTINGS
from tests.api.turns import agent, ask, asked, give, measured, replica_set, taken, why_not
from tests.client import ApiClient
from tests.each import each
from tests.factories.automation import host_report, ingest
from tests.factories.documents import document, process

__all__ = ["agent", "path", "publisher"]

pytestmark = pytest.mark.django_db

ALONE = {"net": {"port": 27017}, "storage": {"dbPath": "/data"}}
OTHER_SET = {**SETTINGS, "replication": {"replSetName": "other"}}
Change = Callable[[dict[str, Any]], Any]


def renamed_set(sent: dict[str, Any]) -> None:
    for changed in sent["processes"]:
        changed["args2_6"] = OTHER_SET
    sent["replicaSets"][0]["_id"] = "other"


def renamed_process(sent: dict[str, Any]) -> None:
    renamed_set(sent)
    sent["processes"][1]["name"] = sent["replicaSets"][0]["members"][1]["host"] = "p9"


def removed_process(sent: dict[str, Any]) -> None:
    renamed_set(sent)
    del sent["processes"][1], sent["replicaSets"][0]["members"][1]


def single_process(sent: dict[str, Any]) -> None:
    sent["processes"][2]["args2_6"] = ALONE
    del sent["replicaSets"][0]["members"][2]


def single_holder(sent: dict[str, Any]) -> None:
    sent["processes"][1]["args2_6"] = ALONE
    del sent["replicaSets"][0]["members"][1]


@each("change", [renamed_set, renamed_process, removed_process, single_process, single_holder])
def test_the_turn_of_a_member_stays_the_only_turn_of_its_set(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project, change: Change
) -> None:
    published(publisher, path, replica_set())
    measured(project)
    turn = taken(agent, project, asked(1))
    sent = replica_set(1)
    change(sent)
    published(publisher, path, sent)
    assert give(agent, project, turn).status_code == 200
    answer = ask(agent, project, asked(2, request_id="other"))
    assert (why_not(answer), "p1" in answer.json()["detail"]) == ("TURN", True)
    assert PlanTurn.objects.count() == 1


def test_a_single_server_that_holds_a_turn_holds_that_of_its_new_set(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    sent = replica_set()
    for single in sent["processes"]:
        single["args2_6"] = ALONE
    published(publisher, path, {**sent, "replicaSets": []})
    for number in range(3):
        ingest(project, host_report(f"db{number}.example.com", version="7.0.2"))
    turn = taken(agent, project, asked(1))
    published(publisher, path, replica_set(1))
    assert give(agent, project, turn).status_code == 200
    assert why_not(ask(agent, project, asked(2, "INITIATE", request_id="other"))) == "TURN"


def test_a_process_holds_its_turn_under_another_name(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    single = process(name="p1", hostname="db1.example.com", args2_6=ALONE)
    published(publisher, path, document(version=0, processes=[single]))
    ingest(project, host_report("db1.example.com", version="7.0.2"))
    turn = taken(agent, project, asked(1))
    published(publisher, path, document(version=1, processes=[{**single, "name": "p9"}]))
    assert give(agent, project, turn).status_code == 200
    assert why_not(ask(agent, project, asked(1, request_id="other", process="p9"))) == "TURN"


@pytest.mark.parametrize("order", [(0,), (0, 1), (1, 0), (1, 0, 2), (2, 1, 0)])
def test_routers_of_a_cluster_have_one_turn_in_any_order(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project, order: tuple[int, ...]
) -> None:
    fields = {"processType": "mongos", "cluster": "c", "args2_6": {"net": {"port": 27017}}}
    routers = [process(name=f"p{n}", hostname=f"db{n}.example.com", **fields) for n in range(3)]
    published(publisher, path, document(version=0, processes=routers[:2]))
    for number in range(3):
        ingest(project, host_report(f"db{number}.example.com", type_name=HostType.SHARD_MONGOS))
    turn = taken(agent, project, asked(0))
    sent = document(version=1, options={"downloadBase": "/else"}, processes=[routers[n] for n in order])
    published(publisher, path, sent)
    assert give(agent, project, turn).status_code == 200
    last = order[-1]
    assert why_not(ask(agent, project, asked(last, request_id="other"))) == "TURN"
    if last:
        assert give(agent, project, turn, outcome="DONE").status_code == 200
        assert taken(agent, project, asked(last, request_id="other"))["fence"] == 2


def test_a_step_down_does_not_continue_while_another_process_of_its_new_unit_changes(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    sent = replica_set()
    sent["processes"].append(process(name="p3", hostname="db3.example.com", args2_6=OTHER_SET))
    published(publisher, path, sent)
    measured(project)
    step_down = taken(agent, project, asked(0, "STEP_DOWN"))
    taken(agent, project, asked(3, "INITIATE", request_id="other"))
    sent["processes"][3]["args2_6"] = SETTINGS
    sent["replicaSets"][0]["members"].append({"_id": 3, "host": "p3"})
    published(publisher, path, {**sent, "version": 1})
    answer = ask(agent, project, asked(0, request_id="next", follows=step_down["id"]))
    assert why_not(answer) == "TURN"


def test_two_processes_with_one_address_have_one_turn(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    both = [process(name=f"p{n}", hostname="db1.example.com", args2_6=ALONE) for n in (1, 2)]
    published(publisher, path, document(version=0, processes=both[:1]))
    ingest(project, host_report("db1.example.com", version="7.0.2"))
    taken(agent, project, asked(1))
    published(publisher, path, document(version=1, processes=both))
    second = asked(1, request_id="other", process="p2")
    assert why_not(ask(agent, project, second)) == "TURN"
