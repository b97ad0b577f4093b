"""Turns of agents: granted, refused, renewed, and given back."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from alerting.models import Alert
from automation.choices import AgentType, HostType
from automation.models import PlanTurn, WaitingMove
from automation.turns.changes import plans_sweep
from events.models import Event
from opsapi import clock
from opsapi.api import bodies as read_bodies
from opsapi.api.links import AGENTS
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.automation import path, published, publisher, refusal
from tests.api.test_automation_plan import report
from tests.api.turns import (
    LAG,
    agent,
    ask,
    asked,
    give,
    machine,
    measured,
    replica_set,
    taken,
    why_not,
)
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.alerting import make_alert, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import evaluate

__all__ = ["agent", "path", "publisher"]

pytestmark = pytest.mark.django_db

UNKNOWN_ID = "0" * 24


@pytest.fixture
def ready(publisher: ApiClient, path: str, project: Project) -> Project:
    """A replica set whose members are healthy, and a document that wants a restart of each."""
    published(publisher, path, replica_set())
    measured(project)
    return project


def events(project: Project, name: str) -> list[Any]:
    return list(Event.objects.filter(group_id=project.id, event_type=name).order_by("id"))


def test_requests_that_read_large_documents_wait_for_room(
    agent: ApiClient, publisher: ApiClient, ready: Project, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = {
        "turn": lambda: ask(agent, ready, asked()),
        "document of a machine": lambda: agent.request(
            "GET", f"/groups/{ready.id}/automation?hostname={machine(1)}", base=AGENTS
        ),
        "restore": lambda: publisher.post(f"{path}/revisions/1/restore", None),
    }
    monkeypatch.setattr(read_bodies, "LARGE_BODY", 1_000)
    with read_bodies.LARGE_BODIES.taking(1024**3):
        refused = {name: request().json()["errorCode"] for name, request in requests.items()}
    assert set(refused.values()) == {"RATE_LIMITED"}
    assert {name: request().status_code for name, request in requests.items()} == {
        "turn": 201,
        "document of a machine": 200,
        "restore": 200,
    }


def test_a_turn_is_granted_for_half_a_minute(agent: ApiClient, ready: Project) -> None:
    turn = taken(agent, ready, asked(seconds=120, step="stop"))
    row = PlanTurn.objects.get()
    assert row.expires - row.granted == timedelta(seconds=30)
    assert row.until - row.granted == timedelta(seconds=120)
    named = {
        name: turn[name] for name in ("id", "fence", "process", "replicaSetName", "move", "state", "step")
    }
    assert named == {
        "id": row.id,
        "fence": 1,
        "process": "p1",
        "replicaSetName": "rs",
        "move": "RESTART",
        "state": "HELD",
        "step": "stop",
    }
    (event,) = events(ready, "AUTOMATION_MOVE_BEGUN_AUDIT")
    assert event.details["hostname"] == machine(1)
    assert {param["param"]: param["new"] for param in event.diffs[0]["params"]} == {
        "move": "RESTART",
        "fence": "1",
        "state": "HELD",
        "step": "stop",
    }


def test_a_lost_answer_asked_again_gives_the_same_turn(agent: ApiClient, ready: Project) -> None:
    first = taken(agent, ready, asked())
    assert taken(agent, ready, asked()) == first
    assert len(events(ready, "AUTOMATION_MOVE_BEGUN_AUDIT")) == 1


def test_only_one_agent_holds_the_turn_of_a_set(agent: ApiClient, ready: Project) -> None:
    turn = taken(agent, ready, asked())
    answer = ask(agent, ready, asked(2, request_id="other"))
    assert why_not(answer) == "TURN"
    assert "p1" in answer.json()["detail"]
    # Two agents on one machine ask for the same process and move.
    assert why_not(ask(agent, ready, asked(request_id="another"))) == "TURN"
    assert give(agent, ready, turn, outcome="DONE").status_code == 200
    assert taken(agent, ready, asked(2, request_id="other"))["fence"] == 2


def test_an_expired_turn_is_free_and_cannot_be_renewed(agent: ApiClient, ready: Project) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        turn = taken(agent, ready, asked())
        traveller.shift(20)
        assert give(agent, ready, turn, step="wait").json()["step"] == "wait"
        traveller.shift(29)
        assert give(agent, ready, turn).status_code == 200
        traveller.shift(30)
        late = give(agent, ready, turn)
        assert refusal(late)[:2] == (409, "AUTOMATION_TURN_OVER")
        assert refusal(give(agent, ready, turn, outcome="DONE"))[:2] == (409, "AUTOMATION_TURN_OVER")
        assert refusal(ask(agent, ready, asked()))[:2] == (409, "AUTOMATION_TURN_OVER")
        measured(ready)
        assert taken(agent, ready, asked(2, request_id="other"))["fence"] == 2
        assert refusal(give(agent, ready, turn))[:2] == (409, "AUTOMATION_TURN_OVER")
    assert list(PlanTurn.objects.order_by("fence").values_list("state", flat=True)) == ["EXPIRED", "HELD"]


def test_a_turn_given_back_again_with_the_same_outcome_stays(agent: ApiClient, ready: Project) -> None:
    turn = taken(agent, ready, asked())
    done = give(agent, ready, turn, outcome="DONE")
    assert (done.status_code, done.json()["state"]) == (200, "DONE")
    assert give(agent, ready, turn, outcome="DONE").json() == done.json()
    assert len(events(ready, "AUTOMATION_MOVE_ENDED_AUDIT")) == 1
    other = give(agent, ready, turn, outcome="FAILED", reason="no disk")
    assert refusal(other)[:2] == (409, "AUTOMATION_TURN_OVER")
    assert refusal(give(agent, ready, turn))[:2] == (409, "AUTOMATION_TURN_OVER")


def test_a_failure_says_why_without_secrets(agent: ApiClient, ready: Project) -> None:
    turn = taken(agent, ready, asked())
    why = "cannot read https://ada:s3cret@example.com/x"
    failed = give(agent, ready, turn, outcome="FAILED", reason=why, step="download").json()
    assert (failed["state"], failed["step"]) == ("FAILED", "download")
    assert failed["reason"] == "cannot read https://******@example.com/x"


def test_a_pause_refuses_new_turns_and_keeps_the_turn_that_is_held(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    turn = taken(agent, ready, asked())
    since = publisher.request("POST", f"{path}/pause").json()["pausedSince"]
    assert give(agent, ready, turn).status_code == 200
    assert taken(agent, ready, asked())["id"] == turn["id"]
    assert give(agent, ready, turn, outcome="DONE").status_code == 200
    answer = ask(agent, ready, asked(2, request_id="other"))
    assert why_not(answer) == "PAUSED"
    assert answer.json()["parameters"][3] == since
    publisher.request("POST", f"{path}/resume")
    resumed = taken(agent, ready, asked(2, request_id="other"))
    assert give(agent, ready, resumed).status_code == 200


REFUSED: Mapping[str, tuple[Any, int, str, dict[str, Any]]] = {
    "MEMBER_PRIMARY": (asked(0), 1, "RESTART", {}),
    "LAG": (asked(), 1, "RESTART", {"lag": 11.0}),
    "LAG_UNKNOWN": (asked(), 1, "RESTART", {"lag": None}),
    "OPLOG_SHORT": (asked(), 1, "RESTART", {"oplog": 3599.0}),
    "OPLOG_UNKNOWN": (asked(), 1, "RESTART", {"oplog": None}),
    "MAJORITY": (asked(), 1, "RESTART", {"p2": {"reachable": False}}),
}


@each("reason", list(REFUSED))
def test_a_guard_refuses_the_turn(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project, reason: str
) -> None:
    body, _, _, changes = REFUSED[reason]
    published(publisher, path, replica_set())
    measured(project, **changes)
    assert why_not(ask(agent, project, body)) == reason
    assert not PlanTurn.objects.exists()


def test_a_primary_steps_down_with_a_turn(agent: ApiClient, ready: Project) -> None:
    assert taken(agent, ready, asked(0, "STEP_DOWN"))["move"] == "STEP_DOWN"


def test_a_member_that_no_agent_reports_is_not_known(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    assert why_not(ask(agent, project, asked())) == "SET_UNKNOWN"


def test_a_host_that_left_the_replica_set_is_no_member_if_the_agent_names_the_members(
    agent: ApiClient, ready: Project
) -> None:
    left = host_report("gone.example.com", type_name=HostType.RECOVERING, replica_set_name="rs")
    ingest(ready, left, agent="agent9", agent_type=AgentType.MONITORING)
    assert why_not(ask(agent, ready, asked())) == "MAJORITY"
    members = ["p0", "p1", "p2"]
    with_it = asked(members=[*members, "gone.example.com:27017"])
    assert why_not(ask(agent, ready, with_it)) == "MAJORITY"
    never_seen = asked(members=[*members, "other.example.com:27017"])
    assert why_not(ask(agent, ready, never_seen)) == "MEMBER_UNKNOWN"
    assert taken(agent, ready, asked(members=members))["move"] == "RESTART"


def test_an_old_report_says_nothing(agent: ApiClient, ready: Project) -> None:
    with time_machine.travel(clock.now() + timedelta(minutes=4), tick=False):
        assert why_not(ask(agent, ready, asked())) == "MEMBER_UNKNOWN"


def five_members(*delayed: int) -> dict[str, Any]:
    """A document of five members, of which p1 is disabled and some are delayed by an hour."""
    sent = replica_set()
    stated = sent["replicaSets"][0]["members"]
    for number in (3, 4):
        sent["processes"].append({**sent["processes"][0], "name": f"p{number}", "hostname": machine(number)})
        stated.append({"_id": number, "host": f"p{number}"})
    sent["processes"][1]["disabled"] = True
    for number in delayed:
        stated[number] |= {"priority": 0, "hidden": True, "secondaryDelaySecs": 3600}
    return sent


@each("row", [((), "RESYNC", None), ((3, 4), "RESYNC", "COPIES"), ((3, 4), "RESTART", None)])
def test_a_delayed_member_counts_as_no_copy(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project, row: tuple[Any, str, str | None]
) -> None:
    delayed, move, reason = row
    published(publisher, path, five_members(*delayed))
    measured(project, p1={"reachable": False})
    for number in (3, 4):
        values: dict[str, Any] = {"type_name": HostType.REPLICA_SECONDARY, "replica_set_name": "rs", LAG: 1.0}
        ingest(project, host_report(machine(number), **values), agent=f"agent{number}")
    answer = ask(agent, project, asked(2, move))
    assert (why_not(answer) if reason else answer.status_code) == (reason or 201)


def test_a_delayed_member_lags_by_no_more_than_its_delay(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    """Reports have its lag without the delay."""
    published(publisher, path, five_members(3))
    measured(project, p1={"reachable": False})
    for number, lag in ((3, 11.0), (4, 1.0)):
        values: dict[str, Any] = {"type_name": HostType.REPLICA_SECONDARY, "replica_set_name": "rs", LAG: lag}
        ingest(project, host_report(machine(number), **values), agent=f"agent{number}")
    assert why_not(ask(agent, project, asked(2))) == "LAG"


def test_an_open_alert_of_the_set_refuses_the_turn_unless_the_plan_caused_it(
    agent: ApiClient, ready: Project
) -> None:
    facts = {"replicaSetName": "rs"}
    alert = make_alert(ready, event_type="TOO_FEW_HEALTHY_MEMBERS", facts=facts)
    assert why_not(ask(agent, ready, asked())) == "ALERT"
    alert.delete()
    turn = taken(agent, ready, asked())
    make_alert(ready, event_type="TOO_FEW_HEALTHY_MEMBERS", facts=facts, created=clock.now())
    give(agent, ready, turn, outcome="DONE")
    assert taken(agent, ready, asked(2, request_id="other"))["fence"] == 2


MEMBERS = ["p0", "p1", "p2", "p3"]
OUT_OF_SYNC: dict[str, Any] = {"p2": {LAG: 3600.0}}
AWAY: dict[str, Any] = {"reachable": False}


@each(
    "row",
    [
        ("REMOVE_MEMBER", {}, False, None),
        ("REMOVE_MEMBER", {"oplog": 60.0}, False, None),
        ("REMOVE_MEMBER", OUT_OF_SYNC, False, "LAG"),
        ("REMOVE_MEMBER", {"lag": None}, False, "LAG_UNKNOWN"),
        ("REMOVE_MEMBER", {}, True, "ALERT"),
        ("REMOVE_MEMBER", {"p3": AWAY}, True, None),
        ("REMOVE_MEMBER", {"p3": {"type_name": HostType.RECOVERING}}, True, None),
        ("REMOVE_MEMBER", {"p3": {LAG: 3600.0}}, True, None),
        ("REMOVE_MEMBER", {"p3": None}, True, None),
        ("REMOVE_MEMBER", {"p2": AWAY, "p3": AWAY}, False, "MEMBER_AWAY"),
        ("CHANGE_MEMBER", {}, False, None),
        ("CHANGE_MEMBER", OUT_OF_SYNC, False, "LAG"),
        ("CHANGE_MEMBER", {"oplog": 60.0}, False, "OPLOG_SHORT"),
        ("CHANGE_MEMBER", {}, True, "ALERT"),
        ("ADD_MEMBER", {**OUT_OF_SYNC, "oplog": 60.0}, True, None),
    ],
)
def test_the_guards_of_a_restart_keep_a_member_that_is_well(
    agent: ApiClient,
    publisher: ApiClient,
    path: str,
    project: Project,
    row: tuple[str, dict[str, Any], bool, str | None],
) -> None:
    """The document does not have p3, which is a member."""
    move, changes, has_alert, reason = row
    sent = replica_set()
    sent["processes"].append({**sent["processes"][0], "name": "p3", "hostname": machine(3)})
    published(publisher, path, sent)
    measured(project, **changes)
    own = changes.get("p3", {})
    if own is not None:
        lag = changes.get("lag", 1.0)
        measured_lag = {} if lag is None else {LAG: lag}
        values: dict[str, Any] = {"type_name": HostType.REPLICA_SECONDARY, "replica_set_name": "rs"}
        report_of = host_report(machine(3), **{"version": "7.0.2", **values, **measured_lag, **own})
        ingest(project, report_of, agent="agent3", agent_type=AgentType.MONITORING)
    if has_alert:
        make_alert(project, event_type="TOO_FEW_HEALTHY_MEMBERS", facts={"replicaSetName": "rs"})
    answer = ask(agent, project, asked(0, move, members=MEMBERS))
    assert (why_not(answer) if reason else answer.status_code) == (reason or 201), answer.content


@each(
    "row",
    [
        ("CHANGE_MEMBER", "p2", {"p2": AWAY}, None),
        ("CHANGE_MEMBER", "p2", OUT_OF_SYNC, None),
        ("CHANGE_MEMBER", "p1", OUT_OF_SYNC, "LAG"),
        ("CHANGE_MEMBER", "p1", {"p2": AWAY}, "MEMBER_AWAY"),
        ("CHANGE_MEMBER", "p2", {"oplog": 60.0}, "OPLOG_SHORT"),
        ("CHANGE_MEMBER", "nobody", OUT_OF_SYNC, "LAG"),
        ("REMOVE_MEMBER", "p2", {"p2": AWAY}, "MEMBER_AWAY"),
    ],
)
def test_the_guards_of_a_change_look_at_the_other_members(
    agent: ApiClient, ready: Project, row: tuple[str, str, dict[str, Any], str | None]
) -> None:
    move, member, changes, reason = row
    measured(ready, **changes)
    answer = ask(agent, ready, asked(0, move, members=MEMBERS[:3], member=member))
    assert (why_not(answer) if reason else answer.status_code) == (reason or 201), answer.content


@each("seconds", [5, 60])
def test_the_plan_causes_an_alert_also_if_the_clock_of_its_agent_is_behind(
    agent: ApiClient, ready: Project, seconds: int
) -> None:
    behind = timedelta(seconds=seconds)
    facts = {"replicaSetName": "rs"}
    with time_machine.travel(clock.now() + 2 * behind, tick=False) as traveller:
        turn = taken(agent, ready, asked())
        traveller.shift(2)
        measured(ready, behind=behind)
        make_alert(ready, event_type="TOO_FEW_HEALTHY_MEMBERS", facts=facts, created=clock.now() - behind)
        give(agent, ready, turn, outcome="DONE")
        assert taken(agent, ready, asked(2, request_id="other"))["fence"] == 2


@each("minutes", [-1, 11])
def test_a_clock_that_is_behind_hides_no_alert_outside_the_turn(
    agent: ApiClient, ready: Project, minutes: int
) -> None:
    behind, facts = timedelta(minutes=3), {"replicaSetName": "rs"}
    with time_machine.travel(clock.now() + 2 * behind, tick=False) as traveller:
        measured(ready, behind=behind)
        turn = taken(agent, ready, asked())
        began = clock.now() + timedelta(minutes=minutes)
        give(agent, ready, turn, outcome="DONE")
        traveller.shift(timedelta(minutes=12))
        measured(ready, behind=behind)
        make_alert(ready, event_type="TOO_FEW_HEALTHY_MEMBERS", facts=facts, created=began - behind)
        assert why_not(ask(agent, ready, asked(2, request_id="other"))) == "ALERT"


def test_the_refusal_names_a_clock_that_is_an_hour_behind(agent: ApiClient, ready: Project) -> None:
    with time_machine.travel(clock.now() + timedelta(hours=2), tick=False):
        measured(ready, behind=timedelta(hours=1))
        answer = ask(agent, ready, asked())
    assert why_not(answer) == "OBSERVED_EARLIER"
    assert "3600 s" in answer.json()["detail"]
    assert "clock" in answer.json()["detail"]


def test_the_refusal_says_since_when_and_half_an_hour_raises_an_alert(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    make_config(project, eventTypeName="AUTOMATION_PLAN_WAITING")
    published(publisher, path, replica_set())
    with time_machine.travel(clock.now(), tick=False) as traveller:
        measured(project, lag=None)
        first = ask(agent, project, asked())
        began = clock.wire_time(clock.now())
        for _ in range(4):
            traveller.shift(7 * 60)
            measured(project, lag=None)
            again = ask(agent, project, asked())
            assert again.json()["parameters"] == first.json()["parameters"]
            assert again.json()["parameters"][3] == began
        assert events(project, "AUTOMATION_PLAN_WAITING") == []
        for _ in range(2):
            traveller.shift(2 * 60)
            measured(project, lag=None)
            assert why_not(ask(agent, project, asked())) == "LAG_UNKNOWN"
        (event,) = events(project, "AUTOMATION_PLAN_WAITING")
        assert event.details["hostname"] == machine(1)
        evaluate()
        assert Alert.objects.get().status == "OPEN"
        (wait,) = publisher.get(f"/groups/{project.id}/automationStatus").json()["processes"][1]["plan"][
            "waits"
        ]
        assert (wait["reason"], wait["since"]) == ("LAG_UNKNOWN", began)
        measured(project)
        taken(agent, project, asked())
        assert len(events(project, "AUTOMATION_PLAN_CONTINUED")) == 1
        evaluate()
        assert Alert.objects.get().status == "CLOSED"
    assert not WaitingMove.objects.exists()


@pytest.mark.parametrize("waits", [None, "another member, p1, is not healthy: SYNCING"])
def test_the_time_in_which_another_member_is_changed_does_not_count_for_the_alert(
    agent: ApiClient, ready: Project, waits: str | None
) -> None:
    fields = {"waits": waits} if waits else {}
    with time_machine.travel(clock.now(), tick=False) as traveller:
        turn = taken(agent, ready, asked(1, "RESYNC", seconds=7200))
        PlanTurn.objects.update(expires=clock.now() + timedelta(hours=2))
        for _ in range(5):
            reason = why_not(ask(agent, ready, asked(2, request_id="other", **fields)))
            assert reason == ("AGENT_WAITS" if waits else "TURN")
            traveller.shift(9 * 60)
        assert give(agent, ready, turn, outcome="DONE").status_code == 200
        for minutes in (9, 9, 9):
            measured(ready, lag=None)
            assert why_not(ask(agent, ready, asked(2, request_id="other"))) == "LAG_UNKNOWN"
            traveller.shift(minutes * 60)
        measured(ready, lag=None)
        why_not(ask(agent, ready, asked(2, request_id="other")))
        assert events(ready, "AUTOMATION_PLAN_WAITING") == []
        traveller.shift(3 * 60)
        measured(ready, lag=None)
        why_not(ask(agent, ready, asked(2, request_id="other")))
        assert len(events(ready, "AUTOMATION_PLAN_WAITING")) == 1


def waits_of(publisher: ApiClient, project: Project, number: int) -> list[Any]:
    """Why the next move of a process waits, in order."""
    shown = publisher.get(f"/groups/{project.id}/automationStatus").json()["processes"][number]["plan"]
    return [(wait["reason"], wait.get("since")) for wait in shown["waits"]]


def test_the_status_says_who_holds_the_turn_as_long_as_somebody_does(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    report(ready)
    published(publisher, path, replica_set(1, lastRestart="2026-11-21T07:26:14Z"))
    measured(ready)
    turn = taken(agent, ready, asked())
    assert why_not(ask(agent, ready, asked(2, request_id="other"))) == "TURN"
    assert waits_of(publisher, ready, 2) == [("TURN", turn["granted"])]
    give(agent, ready, turn, outcome="DONE")
    assert "TURN" not in dict(waits_of(publisher, ready, 2))
    with time_machine.travel(clock.now() + timedelta(seconds=5), tick=False):
        later = taken(agent, ready, asked(0, "STEP_DOWN", request_id="third"))
        assert waits_of(publisher, ready, 2) == [("TURN", later["granted"])]
        shown = publisher.get(f"/groups/{ready.id}/automationStatus").json()["processes"][2]["plan"]["waits"]
        assert shown[0]["detail"].startswith("p0 is being changed")


@each("standing", ["PAUSED", "STOPPED"])
def test_the_status_says_first_what_stands_until_somebody_acts(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project, standing: str
) -> None:
    report(ready)
    published(publisher, path, replica_set(1, lastRestart="2026-11-21T07:26:14Z"))
    measured(ready)
    turn = taken(agent, ready, asked())
    assert why_not(ask(agent, ready, asked(2, request_id="other"))) == "TURN"
    if standing == "PAUSED":
        publisher.request("POST", f"{path}/pause")
        assert [reason for reason, _ in waits_of(publisher, ready, 2)] == ["PAUSED", "TURN"]
        give(agent, ready, turn, outcome="DONE")
    else:
        give(agent, ready, turn, outcome="FAILED", reason="no disk")
    assert waits_of(publisher, ready, 2)[0][0] == standing
    assert "TURN" not in dict(waits_of(publisher, ready, 2))
    assert why_not(ask(agent, ready, asked(2, request_id="again"))) == standing
    assert [reason for reason, _ in waits_of(publisher, ready, 2)] == [standing]


def turn_for_a_restart(agent: ApiClient, publisher: ApiClient, path: str, ready: Project) -> Any:
    """The turn of p1 for the restart that a new document wants."""
    report(ready)
    published(publisher, path, replica_set(1, lastRestart="2026-11-21T07:26:14Z"))
    measured(ready)
    return taken(agent, ready, asked())


def test_the_status_shows_running_and_ended_moves(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    turn = turn_for_a_restart(agent, publisher, path, ready)
    status = f"/groups/{ready.id}/automationStatus"
    (move,) = publisher.get(status).json()["processes"][1]["plan"]["moves"]
    assert (move["state"], move["started"], move["detail"]) == ("RUNNING", turn["granted"], "restarts")
    give(agent, ready, turn, outcome="DONE")
    done, planned = publisher.get(status).json()["processes"][1]["plan"]["moves"]
    assert (done["state"], "finished" in done, planned["state"]) == ("DONE", True, "PLANNED")


def test_a_move_that_an_agent_reported_as_running_is_lost_with_its_turn(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    def move() -> Any:
        """The move of p1 in the status."""
        (shown,) = publisher.get(f"/groups/{ready.id}/automationStatus").json()["processes"][1]["plan"][
            "moves"
        ]
        return shown

    with time_machine.travel(clock.now(), tick=False) as traveller:
        turn = turn_for_a_restart(agent, publisher, path, ready)
        plan = {"moves": [{"move": "RESTART", "state": "RUNNING", "started": turn["granted"]}]}
        process = {"name": "p1", "hostname": machine(1), "lastGoalVersionAchieved": 0, "plan": plan}
        agent.report(ready.id, bodies.report(agentType="AUTOMATION", processes=[process]))
        assert (move()["state"], "finished" in move()) == ("RUNNING", False)
        traveller.shift(timedelta(seconds=31))
        assert (move()["state"], move()["finished"]) == ("LOST", turn["expires"])


def test_a_move_that_did_not_begin_is_neither_done_nor_lost(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    turn = turn_for_a_restart(agent, publisher, path, ready)
    for _ in range(2):
        ended = give(agent, ready, turn, outcome="NOT_BEGUN", reason="p2 is down").json()
        assert (ended["state"], ended["reason"]) == ("EXPIRED", "p2 is down")
        assert ended["until"] == ended["ended"]
    (event,) = events(ready, "AUTOMATION_MOVE_ENDED_AUDIT")
    assert ("reason", "p2 is down") in {(p["param"], p["new"]) for p in event.diffs[0]["params"]}
    assert events(ready, "AUTOMATION_PLAN_STOPPED") == []
    (move,) = publisher.get(f"/groups/{ready.id}/automationStatus").json()["processes"][1]["plan"]["moves"]
    assert move["state"] == "PLANNED"
    assert taken(agent, ready, asked(2, request_id="other"))["fence"] == 2


def test_a_turn_that_expired_by_itself_did_not_fail_to_begin(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        turn = taken(agent, ready, asked())
        traveller.shift(30)
        for _ in range(2):
            late = give(agent, ready, turn, outcome="NOT_BEGUN", reason="p2 is down")
            assert refusal(late)[:2] == (409, "AUTOMATION_TURN_OVER")
            plans_sweep(clock=clock.now)
    assert PlanTurn.objects.get().reason is None


def test_a_refusal_says_each_reason_once(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    measured(project, lag=10.5)
    detail = ask(agent, project, asked()).json()["detail"]
    assert "the lag of p2 is 11 s, more than 10 s" in detail
    report_gone = host_report(machine(2), type_name=HostType.RECOVERING, replica_set_name="rs")
    ingest(project, report_gone, agent="agent2", agent_type=AgentType.MONITORING)
    unknown = asked(members=["p0", "p1", "p2", "x.example.com:1", "y.example.com:1"])
    detail = ask(agent, project, unknown).json()["detail"]
    sentence = "the state of another member, x.example.com:1, is not known"
    assert detail.count(sentence) == 1


FAULTS: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"process": "p9"}, "INVALID_ATTRIBUTE", "process"),
    ({"process": "p2"}, "INVALID_ATTRIBUTE", "process"),
    ({"hostname": "elsewhere.example.com"}, "INVALID_ATTRIBUTE", "process"),
    ({"hostname": "no host"}, "INVALID_ATTRIBUTE", "hostname"),
    ({"process": 1}, "INVALID_ATTRIBUTE", "process"),
    ({"move": "NAP"}, "INVALID_ENUM_VALUE", "move"),
    ({"move": "DOWNLOAD"}, "MISSING_ATTRIBUTE", "reason"),
    ({"reason": "why"}, "INVALID_ATTRIBUTE", "reason"),
    ({"move": "START", "reason": ""}, "INVALID_ATTRIBUTE", "reason"),
    ({"move": None}, "MISSING_ATTRIBUTE", "move"),
    ({"requestId": ""}, "INVALID_ATTRIBUTE", "requestId"),
    ({"seconds": 0}, "INVALID_ATTRIBUTE", "seconds"),
    ({"seconds": True}, "INVALID_ATTRIBUTE", "seconds"),
    ({"goalVersion": "1"}, "INVALID_ATTRIBUTE", "goalVersion"),
    ({"other": 1}, "INVALID_ATTRIBUTE", "other"),
)


@each("row", FAULTS, ids=str)
def test_a_wrong_request_names_the_field(
    agent: ApiClient, ready: Project, row: tuple[dict[str, Any], str, str]
) -> None:
    changes, code, field = row
    assert refusal(ask(agent, ready, asked(**changes))) == (400, code, [field])
    assert not PlanTurn.objects.exists()


def test_another_version_gets_no_turn(agent: ApiClient, ready: Project) -> None:
    answer = ask(agent, ready, asked(goalVersion=2))
    assert refusal(answer)[:2] == (409, "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION")
    assert taken(agent, ready, asked(goalVersion=1))["goalVersion"] == 1


def test_a_request_id_is_of_one_turn(agent: ApiClient, ready: Project) -> None:
    taken(agent, ready, asked())
    assert refusal(ask(agent, ready, asked(2))) == (400, "INVALID_ATTRIBUTE", ["requestId"])


def test_a_process_in_manual_mode_gets_no_turn(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set(manualMode=True))
    measured(project)
    assert refusal(ask(agent, project, asked())) == (400, "INVALID_ATTRIBUTE", ["process"])


REPORT_FAULTS: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"fence": None}, "MISSING_ATTRIBUTE", "fence"),
    ({"fence": "1"}, "INVALID_ATTRIBUTE", "fence"),
    ({"fence": 0}, "INVALID_ATTRIBUTE", "fence"),
    ({"outcome": "EXPIRED"}, "INVALID_ENUM_VALUE", "outcome"),
    ({"outcome": "FAILED"}, "MISSING_ATTRIBUTE", "reason"),
    ({"outcome": "NOT_BEGUN"}, "MISSING_ATTRIBUTE", "reason"),
    ({"outcome": "DONE", "reason": "why"}, "INVALID_ATTRIBUTE", "reason"),
    ({"reason": "why"}, "INVALID_ATTRIBUTE", "reason"),
    ({"state": "DONE"}, "INVALID_ATTRIBUTE", "state"),
)


@each("row", REPORT_FAULTS, ids=str)
def test_a_wrong_report_of_a_turn_names_the_field(
    agent: ApiClient, ready: Project, row: tuple[dict[str, Any], str, str]
) -> None:
    changes, code, field = row
    turn = taken(agent, ready, asked())
    assert refusal(give(agent, ready, turn, **changes)) == (400, code, [field])
    assert PlanTurn.objects.get().state == "HELD"


def test_another_fence_is_refused(agent: ApiClient, ready: Project) -> None:
    turn = taken(agent, ready, asked())
    assert refusal(give(agent, ready, turn, fence=2))[:2] == (409, "AUTOMATION_TURN_OVER")


def test_an_unknown_turn_is_not_found(agent: ApiClient, ready: Project) -> None:
    turn = taken(agent, ready, asked())
    assert refusal(give(agent, ready, {**turn, "id": UNKNOWN_ID}))[:2] == (404, "TURN_NOT_FOUND")
    assert refusal(give(agent, ready, {**turn, "id": "x"}))[:2] == (404, "INVALID_TURN_ID")
    other: Project = ProjectFactory.create()
    its_agent = ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=other.id)))
    assert refusal(give(its_agent, other, turn))[:2] == (404, "TURN_NOT_FOUND")


@pytest.mark.parametrize(
    "role", [Role.GROUP_READ_ONLY, Role.GROUP_MONITORING_ADMIN, Role.GROUP_AUTOMATION_ADMIN]
)
def test_only_agents_get_turns(agent: ApiClient, ready: Project, role: Role) -> None:
    turn = taken(agent, ready, asked())
    other = ApiClient(make_key(Grant(role, group_id=ready.id)))
    calls = [
        ask(other, ready, asked(2, request_id="other")),
        give(other, ready, turn),
        other.request("GET", f"/groups/{ready.id}/automation?hostname={machine(1)}", base=AGENTS),
    ]
    assert [refusal(answer)[:2] for answer in calls] == [(403, "USER_UNAUTHORIZED")] * 3
