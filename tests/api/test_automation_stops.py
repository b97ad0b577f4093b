"""A plan that stops itself: its event, its alert, and how it goes on."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import Alert
from events.models import Event
from opsapi.api.links import AGENTS
from tests.api.automation import path, published, publisher, refusal
from tests.api.turns import agent, ask, asked, give, machine, measured, replica_set, taken, why_not
from tests.client import ApiClient
from tests.each import each
from tests.factories.alerting import make_config
from tests.integration.alerting.pipeline import evaluate

__all__ = ["agent", "path", "publisher"]

pytestmark = pytest.mark.django_db

WHY = "p1 did not become a secondary within 600 s"


@pytest.fixture
def ready(publisher: ApiClient, path: str, project: Project) -> Project:
    """A replica set whose members are healthy."""
    published(publisher, path, replica_set())
    measured(project)
    return project


def fail(agent: ApiClient, project: Project) -> Any:
    """The turn of a move that failed."""
    turn = taken(agent, project, asked())
    answer = give(agent, project, turn, outcome="FAILED", reason=WHY, step="start")
    assert answer.status_code == 200, answer.content
    return answer.json()


def failed_without_turn(number: int = 1, move: str = "START", **fields: Any) -> Any:
    """The report of a move that takes no turn and failed."""
    return asked(number, move, reason=WHY, step="start", goalVersion=1, **fields)


def recorded(project: Project, name: str) -> list[Any]:
    return list(Event.objects.filter(group_id=project.id, event_type=name, alert_id=None).order_by("id"))


def alerts(project: Project) -> list[str]:
    evaluate()
    return list(Alert.objects.filter(group=project).order_by("id").values_list("status", flat=True))


def test_a_failed_move_stops_the_plan_of_its_set_and_no_other(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    sent = replica_set()
    alone = {**sent["processes"][0], "name": "alone", "hostname": "alone.example.com"}
    sent["processes"].append({**alone, "args2_6": {"net": {"port": 27017}}})
    published(publisher, path, sent)
    measured(project)
    turn = fail(agent, project)
    answer = ask(agent, project, asked(2, request_id="other"))
    assert why_not(answer) == "STOPPED"
    assert WHY in answer.json()["detail"]
    assert answer.json()["parameters"][3] == turn["ended"]
    other = {"hostname": "alone.example.com", "process": "alone", "requestId": "alone"}
    assert taken(agent, project, {**asked(), **other})["process"] == "alone"


def test_the_event_says_what_failed_and_what_to_do(agent: ApiClient, ready: Project) -> None:
    fail(agent, ready)
    (event,) = recorded(ready, "AUTOMATION_PLAN_STOPPED")
    assert (event.details["hostname"], event.details["replicaSetName"]) == (machine(1), "rs")
    facts = {param["param"]: param["new"] for param in event.diffs[0]["params"]}
    assert (facts["move"], facts["step"], facts["reason"]) == ("RESTART", "start", WHY)
    assert "automationConfig/resume" in facts["remedy"]


@each("move", ["DOWNLOAD", "WRITE_FILE", "START", "SET_PARAMETER"])
def test_a_move_without_a_turn_that_failed_stops_the_plan(
    agent: ApiClient, publisher: ApiClient, ready: Project, move: str
) -> None:
    make_config(ready, eventTypeName="AUTOMATION_PLAN_STOPPED")
    turn = taken(agent, ready, failed_without_turn(move=move))
    assert (turn["state"], turn["move"], turn["reason"], turn["fence"]) == ("FAILED", move, WHY, 1)
    assert turn["granted"] == turn["until"] == turn["ended"]
    assert why_not(ask(agent, ready, asked(2, request_id="other"))) == "STOPPED"
    (event,) = recorded(ready, "AUTOMATION_PLAN_STOPPED")
    facts = {param["param"]: param["new"] for param in event.diffs[0]["params"]}
    assert (facts["move"], facts["step"], facts["reason"]) == (move, "start", WHY)
    assert recorded(ready, "AUTOMATION_MOVE_BEGUN_AUDIT") == []
    assert len(recorded(ready, "AUTOMATION_MOVE_ENDED_AUDIT")) == 1
    assert alerts(ready) == ["OPEN"]
    shown = publisher.get(f"/groups/{ready.id}/automationStatus").json()["processes"]
    assert [{wait["reason"] for wait in process["plan"]["waits"]} for process in shown] == [{"STOPPED"}] * 3
    assert [(m["move"], m["state"], m["reason"]) for m in shown[1]["plan"]["moves"]] == [
        (move, "FAILED", WHY)
    ]


def test_a_failure_without_a_turn_is_recorded_once_whatever_holds_the_turn_back(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    held = taken(agent, ready, asked(2, request_id="other"))
    publisher.request("POST", f"{path}/pause")
    first = taken(agent, ready, failed_without_turn())
    assert taken(agent, ready, failed_without_turn()) == first
    assert len(recorded(ready, "AUTOMATION_PLAN_STOPPED")) == 1
    # The holder brings its member back.
    assert give(agent, ready, held).json()["state"] == "HELD"
    assert give(agent, ready, held, outcome="DONE").json()["state"] == "DONE"
    publisher.request("POST", f"{path}/resume")
    assert taken(agent, ready, asked(2, request_id="next"))["fence"] == 3


def test_a_failure_without_a_turn_under_an_older_version_stops_nothing(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    published(publisher, path, replica_set(1, numCores=4))
    answer = ask(agent, ready, failed_without_turn())
    assert refusal(answer)[:2] == (409, "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION")
    assert recorded(ready, "AUTOMATION_PLAN_STOPPED") == []


def test_a_reason_without_a_turn_has_no_secret(agent: ApiClient, ready: Project) -> None:
    sent = {
        **failed_without_turn(),
        "reason": "no answer from https://user:hidden@downloads.example.com/a.tgz",
    }
    assert "hidden" not in str(taken(agent, ready, sent))


@each("way", ["publish", "restore", "resume"])
def test_an_alert_opens_and_closes_when_the_plan_goes_on(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project, way: str
) -> None:
    published(publisher, path, replica_set())
    published(publisher, path, replica_set(1, numCores=4))
    measured(project)
    make_config(project, eventTypeName="AUTOMATION_PLAN_STOPPED")
    fail(agent, project)
    assert alerts(project) == ["OPEN"]
    calls = {
        "publish": lambda: publisher.put(path, replica_set(2)),
        "restore": lambda: publisher.request("POST", f"{path}/revisions/1/restore"),
        "resume": lambda: publisher.request("POST", f"{path}/resume"),
    }
    assert calls[way]().status_code == 200
    assert alerts(project) == ["CLOSED"]
    assert len(recorded(project, "AUTOMATION_PLAN_CONTINUED")) == 1
    assert taken(agent, project, asked(2, request_id="other"))["state"] == "HELD"


def test_a_resume_without_a_pause_is_recorded_if_the_plan_had_stopped(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    fail(agent, ready)
    for _ in range(2):
        publisher.request("POST", f"{path}/resume")
    (event,) = recorded(ready, "AUTOMATION_PLAN_RESUMED_AUDIT")
    stopped = {param["param"]: param.get("old") for param in event.diffs[0]["params"]}
    assert "p1" in stopped["stopped"]


def test_a_pause_does_not_clear_a_stop(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    fail(agent, ready)
    publisher.request("POST", f"{path}/pause")
    assert why_not(ask(agent, ready, asked(2, request_id="other"))) == "PAUSED"
    assert recorded(ready, "AUTOMATION_PLAN_CONTINUED") == []


def test_a_failure_under_an_older_version_stops_nothing(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    turn = taken(agent, ready, asked())
    published(publisher, path, replica_set(1, numCores=4))
    assert give(agent, ready, turn, outcome="FAILED", reason=WHY).json()["state"] == "FAILED"
    assert recorded(ready, "AUTOMATION_PLAN_STOPPED") == []
    assert taken(agent, ready, asked(2, request_id="other"))["goalVersion"] == 2


def test_agents_and_the_status_learn_of_the_stop(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    place = f"/groups/{ready.id}/automation?hostname={machine(2)}"
    tag = agent.request("GET", place, base=AGENTS).headers["ETag"]
    turn = fail(agent, ready)
    part = agent.request("GET", place, base=AGENTS, HTTP_IF_NONE_MATCH=tag).json()
    assert part["stopped"] == [
        {"process": "p1", "replicaSetName": "rs", "move": "RESTART", "reason": WHY, "since": turn["ended"]}
    ]
    shown = publisher.get(f"/groups/{ready.id}/automationStatus").json()["processes"]
    assert [{wait["reason"] for wait in process["plan"]["waits"]} for process in shown] == [{"STOPPED"}] * 3
    (move,) = shown[1]["plan"]["moves"]
    assert (move["state"], move["reason"], move["step"]) == ("FAILED", WHY, "start")


def test_a_dry_run_says_that_the_plan_stopped_unless_it_publishes_something(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    published(publisher, path, replica_set(1, lastRestart="2026-11-21T07:26:14Z"))
    fail(agent, ready)
    same = publisher.put(f"{path}?dryRun=true", publisher.get(path).json()).json()["plan"]
    stops = [wait for wait in same["waits"] if wait["reason"] == "STOPPED"]
    assert [(wait["process"], WHY in wait["detail"]) for wait in stops] == [("p1", True)]
    other = replica_set(2, lastRestart="2026-11-22T07:26:14Z")
    shown = publisher.put(f"{path}?dryRun=true", other).json()["plan"]
    assert "STOPPED" not in {wait["reason"] for wait in shown["waits"]}


def test_a_failure_given_back_again_stops_the_plan_once(agent: ApiClient, ready: Project) -> None:
    turn = fail(agent, ready)
    assert give(agent, ready, turn, outcome="FAILED", reason=WHY).json() == turn
    assert refusal(give(agent, ready, turn, outcome="DONE"))[:2] == (409, "AUTOMATION_TURN_OVER")
    assert len(recorded(ready, "AUTOMATION_PLAN_STOPPED")) == 1
