"""The actions on the plan of a project: pause and resume, on the page of its newest revision."""

from datetime import datetime
from typing import Final

from django.urls import reverse
from django.utils.http import urlencode

from automation.access import WRITE_CONFIG
from automation.desired_state.models import AutomationRevision
from automation.desired_state.store import goal_version
from automation.turns.changes import plan_pause, plan_resume
from automation.turns.store import pause_of, stops_of
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.project_choice import PARAMETER

SET_WIZARD: Final = "replica-set"
"""The name of the action that adds a replica set to the configuration of a project."""


def plan_url(group_id: str) -> str:
    """The page of the plan of a project."""
    return f"{reverse('automation_plan')}?{urlencode({PARAMETER: group_id})}"


def is_current(revision: AutomationRevision) -> bool:
    """Whether the revision is the automation configuration of its project now."""
    return goal_version(revision.group_id) == revision.number


def _can_pause(revision: AutomationRevision, _now: datetime) -> bool:
    return is_current(revision) and pause_of(revision.group_id) is None


def _can_resume(revision: AutomationRevision, _now: datetime) -> bool:
    has_reason = pause_of(revision.group_id) or stops_of(revision.group_id, revision.number)
    return bool(has_reason) and is_current(revision)


def _pause(call: ActionCall) -> ActionOutcome:
    group_id = call.row.group_id
    plan_pause(group_id=group_id, actor=call.actor, now=call.now)
    return ActionOutcome(message="The plan is paused: agents get no new turns.", url=plan_url(group_id))


def _resume(call: ActionCall) -> ActionOutcome:
    group_id = call.row.group_id
    plan_resume(group_id=group_id, actor=call.actor, now=call.now)
    return ActionOutcome(message="The plan goes on.", url=plan_url(group_id))


PAUSE = Action(
    label="Pause the plan",
    text="Agents get no new turns, so they disturb no further process. An agent that holds a turn finishes "
    "its move, and a server that is down starts again, unless the document disables it.",
    icon="front_hand",
    run=_pause,
    access=WRITE_CONFIG,
    offered=_can_pause,
)
RESUME = Action(
    label="Resume the plan",
    text="Agents get turns again, also for replica sets in which a move failed. Remove the cause of a failed "
    "move first.",
    icon="replay",
    primary=True,
    run=_resume,
    access=WRITE_CONFIG,
    offered=_can_resume,
)
