"""Planned is not an outage: alerts about the member that a plan changes notify nobody for its time."""

from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import open_tracked
from alerting.insight.alert_explanations import explain_alert
from alerting.insight.timeline import alert_timeline
from alerting.models import Alert, Notification
from alerting.reasons import NotificationReason
from automation.agents.changes import held_signals_release
from automation.choices import HostType
from automation.models import PlanTurn
from automation.plan.values import MoveKind
from automation.turns.changes import turn_ask, turn_report
from automation.turns.rules import TurnOutcome, TurnReport, TurnRequest
from opsapi import clock
from tests.each import each
from tests.factories.alerting import make_config
from tests.factories.automation import AGENT, host_report, ingest, publish
from tests.factories.documents import process
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

pytestmark = pytest.mark.django_db

NOW = clock.parse_time("2099-03-01T12:00:00Z")
MINUTE = timedelta(minutes=1)
PLANNED = NotificationReason.PLANNED.value
ALIAS = "orders.example.com"
NAMES = ("db0.example.com", "db1.example.com", "db2.example.com")
TYPES = (HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY, HostType.REPLICA_SECONDARY)


def report(
    project: Project,
    number: int,
    now: Any,
    *,
    behind: timedelta | None = None,
    waiting: int | None = None,
    **changes: Any,
) -> None:
    """A report of a member at a time, from an agent whose clock can be behind."""
    metrics = {"OPLOG_MASTER_TIME": 86_400.0} if number == 0 else {"OPLOG_SLAVE_LAG_MASTER_TIME": 1.0}
    values = {"type_name": TYPES[number], "replica_set_name": "rs", "uptime_seconds": 900, **metrics}
    sent = host_report(NAMES[number], **{**values, **changes})
    observed = None if behind is None else now - behind
    ingest(project, sent, agent=f"agent{number}", now=now, observed=observed, waiting=waiting)


@pytest.fixture
def fleet(project: Project) -> Project:
    """A replica set of three healthy members, with its document."""
    settings = {"net": {"port": 27017}, "replication": {"replSetName": "rs"}}
    processes = [
        process(name=f"p{number}", hostname=name, args2_6=settings) for number, name in enumerate(NAMES)
    ]
    publish(project, 0, processes=processes)
    for number in range(3):
        report(project, number, NOW)
    evaluate(NOW)
    return project


def take(project: Project, now: Any = NOW, *, minutes: int = 10) -> PlanTurn:
    """The turn to restart p1."""
    request = TurnRequest(
        hostname=NAMES[1],
        process="p1",
        move=MoveKind.RESTART,
        request_id=f"at {now}",
        length=minutes * MINUTE,
    )
    return turn_ask(group_id=project.id, request=request, actor=AGENT, now=now)


def give_back(turn: PlanTurn, now: Any, outcome: TurnOutcome = TurnOutcome.DONE) -> None:
    reason = None if outcome is TurnOutcome.DONE else "it did not come back"
    report_of = TurnReport(fence=turn.fence, outcome=outcome, reason=reason)
    turn_report(group_id=turn.group_id, turn_id=turn.id, report=report_of, actor=AGENT, now=now)


def fall(project: Project, number: int, now: Any) -> None:
    """A member goes down."""
    report(project, number, now, reachable=False)
    evaluate(now)


def reasons() -> set[str | None]:
    return set(Notification.objects.values_list("reason", flat=True))


def test_a_planned_restart_notifies_nobody_and_says_why(fleet: Project, outside: Outside) -> None:
    make_config(fleet)
    make_config(fleet, eventTypeName="HOST_RESTARTED")
    turn = take(fleet)
    fall(fleet, 1, NOW + MINUTE / 3)
    assert deliver_all(NOW + MINUTE / 3) == 0
    assert Alert.objects.get().status == "OPEN"
    assert reasons() == {PLANNED}
    give_back(turn, NOW + MINUTE / 3)
    report(fleet, 1, NOW + MINUTE, uptime_seconds=20)
    evaluate(NOW + MINUTE)
    deliver_all(NOW + MINUTE)
    assert Alert.objects.get().status == "CLOSED"
    assert deliver_all(NOW + 20 * MINUTE) == 0
    assert outside.sent == []
    assert reasons() == {PLANNED}


def test_a_member_with_an_alias_is_planned_at_both_of_its_hosts(fleet: Project, outside: Outside) -> None:
    settings = {"net": {"port": 27017}, "replication": {"replSetName": "rs"}}
    processes = [
        process(
            name=f"p{number}", hostname=name, args2_6=settings, **({"alias": ALIAS} if number == 1 else {})
        )
        for number, name in enumerate(NAMES)
    ]
    publish(fleet, 1, processes=processes)
    alias: dict[str, Any] = {"type_name": TYPES[1], "replica_set_name": "rs", "uptime_seconds": 900}
    ingest(fleet, host_report(ALIAS, **alias, OPLOG_SLAVE_LAG_MASTER_TIME=1.0), agent="other", now=NOW)
    evaluate(NOW)
    make_config(fleet)
    take(fleet)
    down = host_report(ALIAS, **{**alias, "reachable": False})
    ingest(fleet, down, agent="other", now=NOW + MINUTE / 3)
    fall(fleet, 1, NOW + MINUTE / 3)
    assert deliver_all(NOW + MINUTE / 3) == 0
    assert Alert.objects.count() == 2
    assert reasons() == {PLANNED}
    assert outside.sent == []
    for alert in Alert.objects.all():
        signal = explain_alert(alert, sees_config=True, now=NOW + MINUTE / 3).signal
        assert "made the move RESTART of p1" in (signal.reason or "")


def explained(now: Any) -> str:
    """Why the alert began, as the API explains it, when all messages were decided."""
    alert = Alert.objects.get()
    signal = explain_alert(alert, sees_config=True, now=now).signal
    assert [entry for entry in alert_timeline(alert, sees_config=True, now=now).entries if entry == signal]
    return signal.reason or ""


@each("outcome", [None, TurnOutcome.DONE, TurnOutcome.FAILED])
def test_an_alert_says_that_a_plan_did_it_also_after_its_messages_were_sent(
    fleet: Project, outside: Outside, outcome: TurnOutcome | None
) -> None:
    make_config(fleet)
    turn = take(fleet)
    fall(fleet, 1, NOW + MINUTE / 3)
    if outcome:
        give_back(turn, NOW + MINUTE / 3, outcome)
    evaluate(NOW + 20 * MINUTE)
    assert deliver_all(NOW + 20 * MINUTE) == 1
    words = (
        "The plan of the automation configuration made the move RESTART of p1 from 2099-03-01 12:00:00Z on"
    )
    assert explained(NOW + 20 * MINUTE).endswith(words)


def test_an_alert_that_began_outside_the_time_of_a_move_does_not_name_it(
    fleet: Project,
) -> None:
    make_config(fleet)
    give_back(take(fleet), NOW + MINUTE / 3, TurnOutcome.FAILED)
    fall(fleet, 1, NOW + MINUTE)
    assert "plan" not in explained(NOW + MINUTE)


def test_a_member_that_is_still_down_after_the_time_of_its_step_notifies(
    fleet: Project, outside: Outside
) -> None:
    make_config(fleet)
    take(fleet)
    fall(fleet, 1, NOW + MINUTE / 3)
    assert deliver_all(NOW + 9 * MINUTE) == 0
    assert deliver_all(NOW + 10 * MINUTE) == 1
    assert len(outside.sent) == 1


def test_a_failed_move_notifies_at_once(fleet: Project, outside: Outside) -> None:
    make_config(fleet)
    turn = take(fleet)
    fall(fleet, 1, NOW + MINUTE / 3)
    assert deliver_all(NOW + MINUTE / 3) == 0
    give_back(turn, NOW + MINUTE / 2 - timedelta(seconds=1), TurnOutcome.FAILED)
    evaluate(NOW + MINUTE / 2)
    assert deliver_all(NOW + MINUTE / 2) == 1


@each("case", ["another member", "before the turn", "after the turn", "not begun", "no primary"])
def test_whatever_the_plan_did_not_plan_notifies(fleet: Project, case: str, outside: Outside) -> None:
    no_primary = case == "no primary"
    make_config(fleet, eventTypeName="NO_PRIMARY" if no_primary else "HOST_DOWN")
    later = NOW + MINUTE / 3
    if case == "before the turn":
        fall(fleet, 1, NOW - MINUTE + MINUTE)
        PlanTurn.objects.all().delete()
        assert deliver_all(NOW) == 1
        return
    turn = take(fleet, minutes=10)
    if case == "not begun":
        give_back(turn, NOW + MINUTE / 4, TurnOutcome.NOT_BEGUN)
        fall(fleet, 1, later)
    elif case == "after the turn":
        give_back(turn, later)
        later = NOW + 6 * MINUTE
        fall(fleet, 1, later)
    elif no_primary:
        report(fleet, 0, later, type_name=HostType.REPLICA_SECONDARY)
        evaluate(later)
    else:
        fall(fleet, 2, later)
    assert deliver_all(later) == 1


@each("seconds", [5, 60, 3600])
def test_a_clock_that_is_behind_makes_a_planned_restart_no_outage(
    fleet: Project, outside: Outside, seconds: int
) -> None:
    behind = timedelta(seconds=seconds)
    make_config(fleet)
    make_config(fleet, eventTypeName="HOST_RESTARTED")
    began = NOW + 2 * behind
    later = began + MINUTE / 6
    for number in range(3):
        report(fleet, number, began, behind=behind if number == 1 else None)
    evaluate(began)
    turn = take(fleet, began)
    report(fleet, 1, later, behind=behind, reachable=False)
    evaluate(later)
    assert Alert.objects.get().created == later - behind
    assert deliver_all(later) == 0
    assert reasons() == {PLANNED}
    give_back(turn, later)
    report(fleet, 1, began + MINUTE, behind=behind, uptime_seconds=20)
    evaluate(began + MINUTE)
    deliver_all(began + MINUTE)
    deliver_all(began + 20 * MINUTE)
    assert outside.sent == []


def test_a_report_that_was_late_mutes_no_outage_before_the_turn(fleet: Project, outside: Outside) -> None:
    make_config(fleet)
    began = NOW + 3 * MINUTE
    take(fleet, began)
    report(fleet, 1, began + MINUTE, behind=2 * MINUTE, waiting=1, reachable=False)
    later = began + 3 * MINUTE
    held_signals_release(now=later)
    evaluate(later)
    open_tracked(now=later)
    assert deliver_all(later) == 1
