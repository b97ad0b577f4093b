"""What a project or the installation remembers of its set-up: a tested channel, dismissed notices."""

from datetime import datetime

from django.db import transaction

from accesslist.changes import acting
from accesslist.locks import scope_lock_shared
from alerting.choices import SetupMarkName
from alerting.models import SetupMark
from events.log.changes import NewEvent
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.roles import Scope


@transaction.atomic
def channel_tested(*, group_id: str | None, actor: Actor, now: datetime) -> None:
    """Remember that a test message was delivered; the event of the test is recorded before it is sent.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime.
    """
    scope_lock_shared(Scope(group_id=group_id))
    _mark(SetupMarkName.CHANNEL_TESTED, group_id, actor, now)


def host_down_notice_dismiss(*, group_id: str, actor: Actor, now: datetime) -> None:
    """Hide for all users that no configuration alerts when a host of the project is down.

    A repeated call changes nothing.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime.
    """
    with acting(actor, now, here=Scope(group_id=group_id)) as act:
        if _mark(SetupMarkName.HOST_DOWN_NOTICE_DISMISSED, group_id, actor, now):
            act.record(NewEvent(event_type=EventType.HOST_DOWN_NOTICE_DISMISSED_AUDIT))


def checklist_dismiss(*, actor: Actor, now: datetime) -> None:
    """Hide the checklist of the set-up for all users. A repeated call changes nothing."""
    with acting(actor, now) as act:
        if _mark(SetupMarkName.CHECKLIST_DISMISSED, None, actor, now):
            act.record(NewEvent(event_type=EventType.CHECKLIST_DISMISSED_AUDIT))


def _mark(name: SetupMarkName, group_id: str | None, actor: Actor, now: datetime) -> bool:
    """Remember it once; return whether it is new."""
    _, is_new = SetupMark.objects.get_or_create(
        name=name.value, group_id=group_id, defaults={"created": now, "username": actor.name or ""}
    )
    return is_new
