"""The life of turns, with the clock passed in: a rolling restart, and an agent that dies."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import HostType
from automation.models import PlanTurn
from automation.plan.values import MoveKind
from automation.turns.changes import plan_pause, plan_resume, turn_ask, turn_report
from automation.turns.rules import TurnOutcome, TurnReport, TurnRequest
from automation.turns.store import automation_status
from events.models import Event
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from tests.factories.automation import AGENT, host_report, ingest, publish
from tests.factories.documents import process

pytestmark = pytest.mark.django_db

NOW = clock.parse_time("2099-03-01T12:00:00Z")
SECOND = timedelta(seconds=1)
NAMES = ("db0.example.com", "db1.example.com", "db2.example.com")


class RestartedSet:
    """A replica set with its document; `primary` is the number of the primary."""

    def __init__(self, project: Project) -> None:
        self.project, self.primary, self.now = project, 0, NOW
        settings = {"net": {"port": 27017}, "replication": {"replSetName": "rs"}}
        processes = [
            process(name=f"p{number}", hostname=name, args2_6=settings) for number, name in enumerate(NAMES)
        ]
        publish(project, 0, processes=processes)
        self.pass_time(0)

    def pass_time(self, seconds: int, *, down: frozenset[int] = frozenset()) -> None:
        """All members are reported after this time."""
        self.now += seconds * SECOND
        for number, name in enumerate(NAMES):
            is_primary = number == self.primary
            type_name = HostType.REPLICA_PRIMARY if is_primary else HostType.REPLICA_SECONDARY
            metrics = {"OPLOG_MASTER_TIME": 86_400.0} if is_primary else {"OPLOG_SLAVE_LAG_MASTER_TIME": 1.0}
            values: dict[str, Any] = {"type_name": type_name, "replica_set_name": "rs", **metrics}
            reported = host_report(name, reachable=number not in down, **values)
            ingest(self.project, reported, agent=f"agent{number}", now=self.now)

    def ask(
        self, number: int, move: MoveKind = MoveKind.RESTART, *, follows: PlanTurn | None = None
    ) -> PlanTurn:
        request = TurnRequest(
            hostname=NAMES[number],
            process=f"p{number}",
            move=move,
            request_id=f"{number} {move} {self.now}",
            length=120 * SECOND,
            follows=follows.id if follows else None,
        )
        return turn_ask(group_id=self.project.id, request=request, actor=AGENT, now=self.now)

    def report(
        self, turn: PlanTurn, outcome: TurnOutcome | None = None, reason: str | None = None
    ) -> PlanTurn:
        sent = TurnReport(fence=turn.fence, outcome=outcome, reason=reason)
        return turn_report(group_id=self.project.id, turn_id=turn.id, report=sent, actor=AGENT, now=self.now)


def refused(call: Callable[[], Any]) -> str:
    """The code of a refusal, or the reason why there is no turn."""
    with pytest.raises(ApiError) as raised:
        call()
    parameters = raised.value.parameters
    return parameters[2] if raised.value.code.value == "AUTOMATION_TURN_REFUSED" else raised.value.code.value


def test_a_set_restarts_member_by_member(project: Project) -> None:
    plan = RestartedSet(project)
    fences = []
    for number in (1, 2):
        turn = plan.ask(number)
        assert refused(lambda: plan.ask(0, MoveKind.STEP_DOWN)) == "TURN"
        plan.pass_time(25, down=frozenset({number}))
        plan.report(turn)
        plan.pass_time(20)
        plan.report(turn, TurnOutcome.DONE)
        fences.append(turn.fence)
    assert refused(lambda: plan.ask(0)) == "MEMBER_PRIMARY"
    down = plan.ask(0, MoveKind.STEP_DOWN)
    plan.primary = 1
    plan.pass_time(5)
    plan.report(down, TurnOutcome.DONE)
    last = plan.ask(0)
    assert [*fences, down.fence, last.fence] == [1, 2, 3, 4]
    assert set(PlanTurn.objects.exclude(id=last.id).values_list("state", flat=True)) == {"DONE"}


def test_the_restart_of_a_former_primary_follows_its_step_down_before_the_platform_has_heard_of_it(
    project: Project,
) -> None:
    plan = RestartedSet(project)
    down = plan.ask(0, MoveKind.STEP_DOWN)
    plan.now += SECOND
    plan_pause(group_id=project.id, actor=SYSTEM, now=plan.now)
    turn = plan.ask(0, follows=down)
    assert plan.ask(0, follows=down) == turn
    assert (turn.fence, turn.state, turn.granted) == (2, "HELD", plan.now)
    ended = PlanTurn.objects.get(id=down.id)
    assert (ended.state, ended.ended) == ("DONE", plan.now)
    types = Event.objects.filter(group_id=project.id, event_type__startswith="AUTOMATION_MOVE_")
    assert list(types.order_by("id").values_list("event_type", flat=True)) == [
        "AUTOMATION_MOVE_BEGUN_AUDIT",
        "AUTOMATION_MOVE_ENDED_AUDIT",
        "AUTOMATION_MOVE_BEGUN_AUDIT",
    ]
    # An agent that did not get the answer gives the step-down back.
    assert plan.report(down, TurnOutcome.DONE).state == "DONE"
    assert plan.report(turn, TurnOutcome.DONE).state == "DONE"
    plan.now += SECOND
    assert refused(lambda: plan.ask(1)) == "PAUSED"


def test_nothing_else_follows_a_step_down(project: Project) -> None:
    plan = RestartedSet(project)
    other = plan.ask(1)
    plan.now += SECOND
    assert refused(lambda: plan.ask(1, follows=other)) == "INVALID_ATTRIBUTE"
    plan.report(other, TurnOutcome.DONE)
    down = plan.ask(0, MoveKind.STEP_DOWN)
    plan.now += SECOND
    for number, move in ((1, MoveKind.RESTART), (0, MoveKind.STEP_DOWN), (0, MoveKind.CHANGE_MEMBER)):
        assert refused(partial(plan.ask, number, move, follows=down)) == "INVALID_ATTRIBUTE"
    plan.now += 30 * SECOND
    assert refused(lambda: plan.ask(0, follows=down)) == "AUTOMATION_TURN_OVER"


def test_nothing_follows_a_step_down_after_another_member_stopped_the_plan(project: Project) -> None:
    plan = RestartedSet(project)
    down = plan.ask(0, MoveKind.STEP_DOWN)
    failed = TurnRequest(
        hostname=NAMES[1],
        process="p1",
        move=MoveKind.SET_PARAMETER,
        request_id="failed",
        length=SECOND,
        failure="it has another value",
    )
    turn_ask(group_id=project.id, request=failed, actor=AGENT, now=plan.now)
    assert refused(lambda: plan.ask(0, follows=down)) == "STOPPED"
    assert plan.report(down, TurnOutcome.DONE).state == "DONE"


def test_an_agent_that_dies_leaves_the_turn_and_its_member_blocks_the_next(project: Project) -> None:
    plan = RestartedSet(project)
    lost = plan.ask(1)
    plan.pass_time(29, down=frozenset({1}))
    assert refused(lambda: plan.ask(2)) == "TURN"
    plan.pass_time(1, down=frozenset({1}))
    assert refused(lambda: plan.report(lost)) == "AUTOMATION_TURN_OVER"
    assert refused(lambda: plan.ask(2)) == "MAJORITY"
    plan.pass_time(10)
    turn = plan.ask(2)
    assert (turn.fence, PlanTurn.objects.get(id=lost.id).state) == (2, "EXPIRED")
    assert refused(lambda: plan.report(lost, TurnOutcome.DONE)) == "AUTOMATION_TURN_OVER"


def test_a_failure_after_the_turn_expired_stops_the_plan_until_somebody_resumes_it(project: Project) -> None:
    plan = RestartedSet(project)
    turn = plan.ask(1)
    plan.pass_time(40)
    assert plan.report(turn, TurnOutcome.FAILED, "no disk").state == "FAILED"
    assert refused(lambda: plan.ask(2)) == "STOPPED"
    plan_pause(group_id=project.id, actor=SYSTEM, now=plan.now)
    assert refused(lambda: plan.ask(2)) == "PAUSED"
    plan_resume(group_id=project.id, actor=SYSTEM, now=plan.now)
    assert plan.ask(2).fence == 2
    status = automation_status(project.id, plan.now)
    assert status.plans is not None
    assert [move.state.value for move in status.plans["p1"].moves] == ["FAILED"]
    assert [move.state.value for move in status.plans["p2"].moves][:1] == ["RUNNING"]


def test_the_time_of_a_lost_turn_does_not_depend_on_who_asks(project: Project) -> None:
    plan = RestartedSet(project)
    turn = plan.ask(1)
    plan.pass_time(3600)
    plan.ask(2)
    row = PlanTurn.objects.get(id=turn.id)
    began: datetime = row.granted
    assert row.ended == began + 30 * SECOND
