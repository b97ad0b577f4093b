"""Pauses and resumes the plan of a project. Pauses, and what they forbid, run one at a time in a project."""

from contextlib import AbstractContextManager
from datetime import datetime

from accesslist.changes import RecordedAct, acting
from accesslist.locks import scope_lock_shared
from automation.turns.models import PausedPlan
from automation.turns.store import pause_of
from events.choices import DiffType
from events.diffs import diff
from events.log.changes import NewEvent
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.roles import Scope
from opsapi.sql import execute

_LOCK_CLASS = 0x7475  # "tu": distinguishes these advisory locks from others


def turns_lock(here: Scope) -> None:
    """Let one transaction at a time decide about the turns and the pause of a project."""
    execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_CLASS, here.group_id])


def plan_pause(*, group_id: str, actor: Actor, now: datetime) -> PausedPlan:
    """Pause the plan of a project: agents get no turns. A paused plan stays as it is.

    Raises: ApiError: GROUP_NOT_FOUND, if the project was deleted meanwhile.
    """
    with _acting(group_id, actor, now) as act:
        pause = pause_of(group_id)
        if pause is None:
            pause = PausedPlan.objects.create(
                group_id=group_id,
                since=now,
                actor_kind=actor.kind.value,
                actor_id=actor.id,
                actor_name=actor.name,
            )
            act.record(_event(EventType.AUTOMATION_PLAN_PAUSED_AUDIT, act, is_paused=True))
        return pause


def plan_resume(*, group_id: str, actor: Actor, now: datetime) -> None:
    """Resume the plan of a project. Without a pause, nothing happens.

    Raises: ApiError: GROUP_NOT_FOUND, if the project was deleted meanwhile.
    """
    with _acting(group_id, actor, now) as act:
        paused, _ = PausedPlan.objects.filter(group_id=group_id).delete()
        if paused:
            act.record(_event(EventType.AUTOMATION_PLAN_RESUMED_AUDIT, act, is_paused=False))


def _acting(group_id: str, actor: Actor, now: datetime) -> AbstractContextManager[RecordedAct]:
    return acting(actor, now, here=Scope(group_id=group_id), locks=(scope_lock_shared, turns_lock))


def _event(event_type: EventType, act: RecordedAct, *, is_paused: bool) -> NewEvent:
    old, new = {"paused": not is_paused}, {"paused": is_paused}
    diffs = diff(DiffType.AUTOMATION_AGENT, act.here.group_id or "", old=old, new=new)
    return NewEvent(event_type=event_type, diffs=diffs)
