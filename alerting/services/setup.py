"""What a project or the installation remembers of its set-up: a tested channel, dismissed notices."""

from datetime import datetime

from django.db import transaction

from accesslist.services.locks import actor_lock_shared, project_lock_shared
from alerting.choices import SetupMarkName
from alerting.models import SetupMark
from events.services import event_record
from events.types import EventType
from opsapi.api.principal import Actor


@transaction.atomic
def channel_tested(*, group_id: str | None, actor: Actor, now: datetime) -> None:
    """Remember that a test message was delivered; the event of the test is recorded before it is sent.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime.
    """
    if group_id is not None:
        project_lock_shared(group_id=group_id)
    _mark(SetupMarkName.CHANNEL_TESTED, group_id, actor, now)


@transaction.atomic
def host_down_notice_dismiss(*, group_id: str, actor: Actor, now: datetime) -> None:
    """Hide for all users that no configuration alerts when a host of the project is down.

    A repeated call changes nothing.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime.
    """
    actor_lock_shared(actor)
    project_lock_shared(group_id=group_id)
    if _mark(SetupMarkName.HOST_DOWN_NOTICE_DISMISSED, group_id, actor, now):
        event_record(
            event_type=EventType.HOST_DOWN_NOTICE_DISMISSED_AUDIT, actor=actor, now=now, group_id=group_id
        )


@transaction.atomic
def checklist_dismiss(*, actor: Actor, now: datetime) -> None:
    """Hide the checklist of the set-up for all users. A repeated call changes nothing."""
    actor_lock_shared(actor)
    if _mark(SetupMarkName.CHECKLIST_DISMISSED, None, actor, now):
        event_record(event_type=EventType.CHECKLIST_DISMISSED_AUDIT, actor=actor, now=now)


def _mark(name: SetupMarkName, group_id: str | None, actor: Actor, now: datetime) -> bool:
    """Remember it once; return whether it is new."""
    _, is_new = SetupMark.objects.get_or_create(
        name=name.value, group_id=group_id, defaults={"created": now, "username": actor.name or ""}
    )
    return is_new
