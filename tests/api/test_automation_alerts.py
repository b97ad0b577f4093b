"""How alerts about plans end, and how configurations that come later open them."""

from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from accesslist.projects.changes import project_delete
from alerting.engine.stored_times import times_repair
from alerting.engine.worker import Worker
from alerting.models import Alert, AlertConfig
from automation.agents.changes import heartbeats_sweep
from automation.choices import AgentType
from automation.hosts.changes import host_delete
from automation.models import FleetWatch, Host, PlanTurn, WaitingMove
from automation.turns.changes import REMEDY, plans_sweep
from automation.turns.rules import FORGOTTEN_AFTER
from events.models import Event
from integrations.choices import MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.clock import wire_time
from tests.api import bodies
from tests.api.automation import path, published, publisher, refusal
from tests.api.test_automation_plan import report
from tests.api.turns import agent, ask, asked, give, machine, measured, replica_set, taken, why_not
from tests.client import ApiClient
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.conftest import outside
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, statuses

__all__ = ["agent", "outside", "path", "publisher"]

pytestmark = pytest.mark.django_db

WAITING, STOPPED, CONTINUED = (f"AUTOMATION_PLAN_{name}" for name in ("WAITING", "STOPPED", "CONTINUED"))
SECOND, PATIENCE = timedelta(seconds=1), timedelta(minutes=30)


@pytest.fixture
def ready(publisher: ApiClient, path: str, project: Project) -> Project:
    """A replica set whose lag is not known. The clocks of timeouts started long ago."""
    published(publisher, path, replica_set())
    now = clock.now()
    FleetWatch.objects.create(counting_since=now - timedelta(days=1), swept=now)
    return project


def wait_long(agent: ApiClient, project: Project, traveller: Any) -> None:
    """The agent of p1 asks, also after PATIENCE, and does not get the turn."""
    measured(project, lag=None)
    assert why_not(ask(agent, project, asked())) == "LAG_UNKNOWN"
    for _ in range(4):
        traveller.shift(PATIENCE / 4)
        measured(project, lag=None)
        assert why_not(ask(agent, project, asked())) == "LAG_UNKNOWN"


def test_the_document_says_how_long_a_move_waits_before_it_raises_the_alert(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    stated = publisher.get(path).json()
    published(publisher, path, {**stated, "options": {**stated["options"], "patienceMin": 60}})
    with time_machine.travel(clock.now(), tick=False) as traveller:
        wait_long(agent, ready, traveller)
        assert not Event.objects.filter(event_type=WAITING).exists()
        wait_long(agent, ready, traveller)
        assert Event.objects.filter(event_type=WAITING).count() == 1


def fail(agent: ApiClient, project: Project) -> None:
    """The move of p1 fails, and the plan stops."""
    measured(project)
    turn = taken(agent, project, asked(step="stop"))
    assert give(agent, project, turn, outcome="FAILED", reason="no disk").status_code == 200


def continued(project: Project) -> int:
    return Event.objects.filter(group_id=project.id, event_type=CONTINUED, alert_id=None).count()


def after_evaluation(config: AlertConfig) -> list[str]:
    evaluate()
    return statuses(config)


def opened(config: AlertConfig) -> list[str]:
    """The hosts of the open alerts of a configuration."""
    evaluate()
    alerts = Alert.objects.filter(config_id=config.id, status="OPEN").order_by("id")
    return [alert.facts["hostname"] for alert in alerts]


def sweep() -> None:
    plans_sweep(clock=clock.now)


def test_an_alert_about_waiting_ends_if_the_agent_does_not_ask_again(
    agent: ApiClient, ready: Project
) -> None:
    config = make_config(ready, eventTypeName=WAITING)
    with time_machine.travel(clock.now(), tick=False) as traveller:
        wait_long(agent, ready, traveller)
        traveller.shift(FORGOTTEN_AFTER - SECOND)
        sweep()
        assert (after_evaluation(config), continued(ready)) == (["OPEN"], 0)
        traveller.shift(SECOND)
        for _ in range(2):
            sweep()
        assert (after_evaluation(config), continued(ready)) == (["CLOSED"], 1)
    assert not WaitingMove.objects.exists()


def test_a_turn_that_ended_while_the_clock_was_ahead_delays_no_alert(
    agent: ApiClient, ready: Project
) -> None:
    config = make_config(ready, eventTypeName=WAITING)
    measured(ready)
    give(agent, ready, taken(agent, ready, asked(2, request_id="other")), outcome="DONE")
    PlanTurn.objects.update(ended=clock.now() + timedelta(days=1))
    times_repair(clock=clock.now)
    with time_machine.travel(clock.now(), tick=False) as traveller:
        for _ in range(5):
            assert why_not(ask(agent, ready, asked(waits="the lag of p2 is 60 s"))) == "AGENT_WAITS"
            traveller.shift(PATIENCE / 4)
        assert opened(config) == [machine(1)]


def test_a_move_that_asked_while_the_clock_was_ahead_did_not_begin_to_wait_earlier(
    agent: ApiClient, ready: Project
) -> None:
    measured(ready)
    taken(agent, ready, asked(2, request_id="other"))
    assert why_not(ask(agent, ready, asked())) == "TURN"
    began = WaitingMove.objects.get().began
    WaitingMove.objects.update(asked=clock.now() + timedelta(days=1))
    assert why_not(ask(agent, ready, asked())) == "TURN"
    assert WaitingMove.objects.get().began == began


@pytest.mark.parametrize("move", ["RESTART", "REMOVE_MEMBER", "SET_USERS"])
def test_a_move_that_waits_for_a_guard_of_its_agent_raises_an_alert_too(
    agent: ApiClient, ready: Project, move: str
) -> None:
    config = make_config(ready, eventTypeName=WAITING)
    measured(ready)
    with time_machine.travel(clock.now(), tick=False) as traveller:
        for _ in range(5):
            answer = ask(agent, ready, asked(move=move, waits="the lag of p2 is 60 s, more than 10 s"))
            assert why_not(answer) == "AGENT_WAITS"
            traveller.shift(PATIENCE / 4)
        assert opened(config) == ["db1.example.com"]
    assert PlanTurn.objects.count() == 0


def test_the_status_does_not_repeat_why_an_agent_waits(
    publisher: ApiClient, agent: ApiClient, ready: Project
) -> None:
    measured(ready)
    ask(agent, ready, asked(waits="the lag of p2 is 60 s, more than 10 s"))
    status = publisher.request("GET", f"/groups/{ready.id}/automationStatus").json()
    assert "AGENT_WAITS" not in str(status)


def test_the_status_says_since_when_an_agent_waits(
    publisher: ApiClient, agent: ApiClient, path: str, ready: Project
) -> None:
    """The plan that the platform draws waits for the majority, too."""
    document = replica_set(1, lastRestart="2026-11-21T07:26:14Z")
    document["processes"][2]["manualMode"] = True
    published(publisher, path, document)
    wait = {"reason": "LAG", "detail": "the lag of p2 is 60 s, more than 10 s"}
    rows = [wait, {"reason": "MAJORITY", "detail": "only 1 of 3 voting members would be healthy"}]
    process = {"name": "p1", "hostname": machine(1), "lastGoalVersionAchieved": 1, "plan": {"waits": rows}}
    report(ready)
    ingest(ready, host_report(machine(2), reachable=False), agent_type=AgentType.AUTOMATION)
    with time_machine.travel(clock.now(), tick=False) as traveller:
        since = wire_time(clock.now())
        for _ in range(3):
            ask(agent, ready, asked(waits=wait["detail"]))
            traveller.shift(PATIENCE / 4)
            agent.report(ready.id, bodies.report(agentType="AUTOMATION", processes=[process]))
        status = publisher.request("GET", f"/groups/{ready.id}/automationStatus").json()
    waits = status["processes"][1]["plan"]["waits"]
    assert sorted((row["reason"], row["since"]) for row in waits) == [("LAG", since), ("MAJORITY", since)]


def explained(publisher: ApiClient, project: Project) -> str:
    """Why the open alert opened."""
    alert = Alert.objects.get(status="OPEN")
    answer = publisher.get(f"/groups/{project.id}/alerts/{alert.id}/explanation")
    assert answer.status_code == 200, answer.content
    detail: str = answer.json()["signal"]["detail"]
    return detail


@pytest.mark.parametrize("is_later", [False, True])
def test_the_alert_of_a_stopped_plan_says_step_reason_and_remedy(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project, outside: Outside, *, is_later: bool
) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        if not is_later:
            make_config(ready, eventTypeName=STOPPED)
        fail(agent, ready)
        if is_later:
            traveller.shift(timedelta(hours=2))
            make_config(ready, eventTypeName=STOPPED)
        evaluate()
        deliver_all(clock.now())
        assert explained(publisher, ready) == (
            "A move of db1.example.com:27017 failed, and the plan stopped. Move: RESTART. Step: stop. "
            f"Reason: no disk. What to do: {REMEDY}"
        )
        facts = {"Move": "RESTART", "Step": "stop", "Reason": "no disk", "What to do": REMEDY}
        (opened,) = (message for _, _, message in outside.sent)
        assert {label: opened.facts.get(label) for label in facts} == facts
        of_event = {"move": "RESTART", "step": "stop", "reason": "no disk", "remedy": REMEDY}
        assert opened.document["opening"] == of_event
        publisher.request("POST", f"{path}/resume")
        evaluate()
        deliver_all(clock.now())
        closed = outside.sent[-1][2]
        assert (closed.kind, closed.facts["Reason"]) == (MessageKind.CLOSE, "no disk")
        assert "What to do" not in closed.facts


def test_the_alert_of_a_plan_that_waits_says_for_what(
    agent: ApiClient, publisher: ApiClient, ready: Project, outside: Outside
) -> None:
    make_config(ready, eventTypeName=WAITING)
    with time_machine.travel(clock.now(), tick=False) as traveller:
        wait_long(agent, ready, traveller)
        evaluate()
        deliver_all(clock.now())
        assert "Move: RESTART. Reason: the lag of p2 is not known." in explained(publisher, ready)
    ((_, _, message),) = outside.sent
    assert message.facts["Reason"] == "the lag of p2 is not known"


def test_only_a_move_with_a_turn_waits(agent: ApiClient, ready: Project) -> None:
    answer = ask(agent, ready, asked(move="DOWNLOAD", reason="no disk", waits="for the disk"))
    assert refusal(answer) == (400, "INVALID_ATTRIBUTE", ["waits"])


def test_the_sweep_of_a_worker_ends_waits_and_shows_progress(agent: ApiClient, ready: Project) -> None:
    measured(ready, lag=None)
    ask(agent, ready, asked())
    before = clock.now() - FORGOTTEN_AFTER - SECOND
    WaitingMove.objects.update(asked=before)
    FleetWatch.objects.update(counting_since=before)
    worker = Worker("test")
    worker._sweep()
    assert not WaitingMove.objects.exists()
    assert dict(worker._progress.stamps())["sweep"] > 1


def test_a_wait_goes_on_while_the_platform_was_away(agent: ApiClient, ready: Project) -> None:
    measured(ready, lag=None)
    ask(agent, ready, asked())
    now: datetime = clock.now()
    WaitingMove.objects.update(asked=now - 2 * FORGOTTEN_AFTER)
    FleetWatch.objects.update(swept=now - 2 * FORGOTTEN_AFTER)
    heartbeats_sweep(clock=lambda: now)
    plans_sweep(clock=lambda: now + FORGOTTEN_AFTER - SECOND)
    assert WaitingMove.objects.count() == 1
    plans_sweep(clock=lambda: now + FORGOTTEN_AFTER)
    assert not WaitingMove.objects.exists()


def test_a_turn_that_nobody_renews_ends_without_another_request(agent: ApiClient, ready: Project) -> None:
    measured(ready)
    taken(agent, ready, asked())
    row = PlanTurn.objects.get()
    plans_sweep(clock=lambda: row.expires - SECOND)
    assert PlanTurn.objects.get().state == "HELD"
    plans_sweep(clock=lambda: row.expires)
    ended = PlanTurn.objects.get()
    assert (ended.state, ended.ended) == ("EXPIRED", row.expires)
    assert Event.objects.filter(event_type="AUTOMATION_MOVE_ENDED_AUDIT").count() == 1


def test_a_deleted_project_keeps_its_waits_for_the_purge(agent: ApiClient, ready: Project) -> None:
    measured(ready, lag=None)
    ask(agent, ready, asked())
    project_delete(group_id=ready.id, actor=SYSTEM, now=clock.now())
    later: datetime = clock.now() + FORGOTTEN_AFTER
    plans_sweep(clock=lambda: later)
    assert (WaitingMove.objects.count(), continued(ready)) == (1, 0)


@pytest.mark.parametrize("name", [WAITING, STOPPED])
def test_a_configuration_made_later_opens_its_alert(agent: ApiClient, ready: Project, name: str) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        if name == WAITING:
            wait_long(agent, ready, traveller)
        else:
            fail(agent, ready)
        # The reports of its hosts, which say nothing about plans, still wait for evaluation.
        measured(ready)
        config = make_config(ready, eventTypeName=name)
        assert opened(config) == [machine(1)]
        other = STOPPED if name == WAITING else WAITING
        assert opened(make_config(ready, eventTypeName=other)) == []


def test_the_end_of_a_wait_does_not_close_the_alert_about_a_stop(
    agent: ApiClient, publisher: ApiClient, path: str, ready: Project
) -> None:
    stop, wait = (make_config(ready, eventTypeName=name) for name in (STOPPED, WAITING))
    with time_machine.travel(clock.now(), tick=False) as traveller:
        fail(agent, ready)
        for _ in range(5):
            assert why_not(ask(agent, ready, asked(request_id="again"))) == "STOPPED"
            traveller.shift(PATIENCE / 4)
        assert (after_evaluation(stop), after_evaluation(wait)) == (["OPEN"], ["OPEN"])
        traveller.shift(FORGOTTEN_AFTER)
        sweep()
        assert (after_evaluation(stop), after_evaluation(wait)) == (["OPEN"], ["CLOSED"])
        publisher.request("POST", f"{path}/resume")
        assert after_evaluation(stop) == ["CLOSED"]


def test_a_process_whose_host_is_replaced_gets_an_alert_about_its_new_host(
    agent: ApiClient, ready: Project
) -> None:
    config = make_config(ready, eventTypeName=WAITING)
    with time_machine.travel(clock.now(), tick=False) as traveller:
        wait_long(agent, ready, traveller)
        assert opened(config) == [machine(1)]
        host = Host.objects.get(hostname=machine(1))
        host_delete(group_id=ready.id, host_id=host.id, actor=SYSTEM, now=clock.now())
        wait_long(agent, ready, traveller)
        assert opened(config) == [machine(1)]
        assert sorted(after_evaluation(config)) == ["CANCELLED", "OPEN"]
        assert WaitingMove.objects.get().host_id != host.id
