"""Sends the messages that wait for a destination now, because an operator knows that the receiver is back."""

from datetime import datetime

from django.db import transaction

from accesslist.services.locks import actor_lock_shared
from alerting.models import Destination, UnreachableHost
from alerting.services.notifications import notifications_retry_now
from events.choices import DiffType, Work
from events.diffs import diff
from events.services import event_record, wake_workers
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.principal import Actor
from opsapi.clock import wire_time


@transaction.atomic
def destination_send_now(*, destination_id: str, actor: Actor, now: datetime) -> None:
    """Make waiting messages due, and end the pauses of the destination and its host, and its pace.

    A destination that fails gets one message first, and the others when it accepts that message. Maintenance
    windows and acknowledgements still hold back notifications.

    Raises:
        ApiError: RESOURCE_NOT_FOUND, when it was forgotten meanwhile.
    """
    actor_lock_shared(actor)
    row = Destination.objects.select_for_update().filter(id=destination_id).first()
    row = get_or_404(row, ErrorCode.RESOURCE_NOT_FOUND, destination_id)
    before = {"nextTry": row.next_try and wire_time(row.next_try), "paceMs": row.pace_ms}
    row.next_try, row.paused_until, row.pace_ms = None, None, 0
    # A locked host is being tried at this moment.
    host = UnreachableHost.objects.select_for_update(skip_locked=True).filter(host=row.host).first()
    if host is not None:
        UnreachableHost.objects.filter(host=host.host).update(next_try=now)
        # This destination is the next to be tried on its host.
        row.tried = None
    row.save(update_fields=["next_try", "paused_until", "pace_ms", "tried"])
    notifications_retry_now(destination=row.id, now=now)
    event_record(
        event_type=EventType.NOTIFICATION_RESENT_AUDIT,
        actor=actor,
        now=now,
        group_id=row.group_id,
        # Of the closed set of diff types ALERT_CONFIG is the nearest.
        diffs=diff(DiffType.ALERT_CONFIG, row.id, old=before, new={"nextTry": wire_time(now), "paceMs": 0}),
    )
    wake_workers(Work.MESSAGES)
