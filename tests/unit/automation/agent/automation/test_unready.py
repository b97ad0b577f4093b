"""Why a process that needs no move has not reached the version of the document yet."""

import pytest

from automation.agent.automation.progress import unready
from automation.plan.reasons import PlanReason
from automation.plan.values import GoalProcess, GoalUnit, MemberConfig, MemberState, ObservedProcess
from tests.each import each

SERVING = {MemberState.PRIMARY, MemberState.SECONDARY, MemberState.ARBITER}
PASSING = {MemberState.STARTING, MemberState.SYNCING, MemberState.RECOVERING, MemberState.ROLLBACK}
OUTSIDE = {MemberState.REMOVED, MemberState.UNINITIATED}
STATED, OTHERS, LEFT_OUT = (MemberConfig("p1"),), (MemberConfig("p0"),), None


def why(members: tuple[MemberConfig, ...] | None, state: MemberState | None) -> PlanReason | None:
    unit = GoalUnit((GoalProcess("p1", replica_set="rs"),), "rs", members)
    hold = unready(unit, "p1", ObservedProcess(is_running=True, state=state))
    return hold.reason if hold else None


@each("state", MemberState, ids=str)
def test_a_member_has_reached_the_version_only_when_it_serves(state: MemberState) -> None:
    for members in (STATED, LEFT_OUT):
        assert why(members, state) is (None if state in SERVING else PlanReason.MEMBER_BUSY)


@each("state", sorted(SERVING | PASSING | OUTSIDE), ids=str)
def test_a_process_that_is_no_member_does_not_have_to_serve(state: MemberState) -> None:
    assert why(OTHERS, state) is (PlanReason.MEMBER_BUSY if state in PASSING else None)


@pytest.mark.parametrize("state", [MemberState.STANDALONE, MemberState.ROUTER])
def test_a_process_without_a_replica_set_has_reached_the_version_when_it_runs(state: MemberState) -> None:
    assert unready(GoalUnit((GoalProcess("p1"),)), "p1", ObservedProcess(state=state)) is None


def test_an_unknown_state_is_not_reached() -> None:
    for members in (STATED, OTHERS, LEFT_OUT):
        assert why(members, None) is PlanReason.STATE_UNKNOWN
