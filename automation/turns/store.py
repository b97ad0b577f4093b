"""Reads the pause of a plan, and the progress of the processes with their plans."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from automation.desired_state.plan.reading import read_goal
from automation.desired_state.plan.reported import drawn_plan, reached_goal
from automation.desired_state.plan.values import AutomationGoal
from automation.desired_state.store import (
    ProcessState,
    document_at,
    fleet_reports,
    goal_document,
    process_status,
)
from automation.turns.models import PausedPlan
from automation.turns.rules import ShownPlan, shown_plans
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError

logger = logging.getLogger("opsapi.automation")

MOST_DOCUMENTS = 5
"""Of so many versions that processes have reached, the documents are read for their plans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationStatus:
    """The version and the pause of a plan, and each process with its plan.

    `plans`: by the name of the process; None if the document cannot be decrypted.
    """

    version: int
    pause: PausedPlan | None
    processes: list[ProcessState]
    plans: Mapping[str, ShownPlan] | None


def pause_of(group_id: str) -> PausedPlan | None:
    """Return the pause of the project's plan; None if the plan is not paused."""
    return PausedPlan.objects.filter(group_id=group_id).first()


def automation_status(group_id: str, now: datetime) -> AutomationStatus:
    """Return the progress of the processes of a project."""
    version, processes = process_status(group_id, now)
    pause = pause_of(group_id)
    try:
        plans = _plans(group_id, version, processes, pause, now)
    except ApiError as refusal:
        if refusal.code is not ErrorCode.SERVICE_UNAVAILABLE:
            raise
        plans = None
    return AutomationStatus(version=version, pause=pause, processes=processes, plans=plans)


def _plans(
    group_id: str, version: int, states: list[ProcessState], pause: PausedPlan | None, now: datetime
) -> Mapping[str, ShownPlan]:
    """The plans of replica sets and processes that have not reached the version.

    The document is not read if all processes have reached it.
    """
    reached = {state.name: state.goal_version for state in states}
    if all(number == version for number in reached.values()):
        return {}
    document = goal_document(group_id)
    goal = read_goal(document)
    behind = tuple(
        unit
        for unit in goal.units
        if any(reached.get(process.name, 0) != goal.number for process in unit.processes)
    )
    goal = replace(goal, units=behind)
    before = reached_goal(goal, {goal.number: goal, **_older(group_id, goal, reached)}, reached)
    drawn = drawn_plan(before, goal, fleet_reports(group_id, document), now)
    return shown_plans(goal, drawn, paused_since=pause.since if pause else None)


def _older(group_id: str, goal: AutomationGoal, reached: Mapping[str, int]) -> Mapping[int, AutomationGoal]:
    """The newest of the older documents that processes have reached."""
    names = {process.name for unit in goal.units for process in unit.processes}
    numbers = {number for name, number in reached.items() if name in names and 0 < number < goal.number}
    documents = {
        number: document_at(number, group_id=group_id)
        for number in sorted(numbers, reverse=True)[:MOST_DOCUMENTS]
    }
    return {number: read_goal(document) for number, document in documents.items() if document is not None}
