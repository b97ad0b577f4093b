"""Acknowledging an alert, and removing the acknowledgement."""

from datetime import datetime

from django.db import transaction

from accesslist.services.locks import actor_lock_shared, scopes_lock_shared
from alerting.choices import ACTIVE
from alerting.models import Alert
from alerting.rules.acknowledgements import Acknowledgement, acknowledged
from alerting.selectors.acknowledgements import alert_acknowledgement
from alerting.services.alerts import alert_facts
from alerting.services.notifications import schedule_acknowledged
from events.choices import DiffType
from events.diffs import diff
from events.services import event_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, get_or_404
from opsapi.api.principal import Actor
from opsapi.clock import wire_time


@transaction.atomic
def alert_acknowledge(
    *, alert_id: str, group_id: str, until: datetime, comment: str | None, actor: Actor, now: datetime
) -> None:
    """Acknowledge an alert until a time; a time in the past removes the acknowledgement.

    Raises:
        ApiError: INVALID_ALERT_STATUS, when the alert is over; ALERT_NOT_FOUND, when it is gone.
    """
    actor_lock_shared(actor)
    # Ending the alert takes this lock too: the acknowledgement comes before the end, or is refused.
    alert = Alert.objects.select_for_update().filter(id=alert_id, group_id=group_id).first()
    # The project is locked after the alert, as in its deletion.
    is_there = group_id in scopes_lock_shared(groups=[group_id]).orgs_of_groups
    alert = get_or_404(alert if is_there else None, ErrorCode.ALERT_NOT_FOUND, alert_id, group_id)
    _refuse_when_over(alert)
    before = alert_acknowledgement(alert, now)
    after = acknowledged(before, until=until, comment=comment, username=actor.name, now=now)
    if after == before:
        return
    _keep(alert, after, now)
    _record(alert, before, after, actor, now)
    schedule_acknowledged(alert=alert, now=now)


def _refuse_when_over(alert: Alert) -> None:
    if alert.status not in ACTIVE:
        message = f"the alert is {alert.status}, so it cannot be acknowledged"
        allowed = [status.value for status in ACTIVE]
        raise ApiError.of_fields([BadField("status", ErrorCode.INVALID_ALERT_STATUS, message, allowed)])


def _keep(alert: Alert, after: Acknowledgement | None, now: datetime) -> None:
    alert.acknowledged_until = after.until if after else None
    alert.acknowledgement_comment = after.comment if after else None
    alert.acknowledging_username = after.username if after else None
    alert.updated = now
    alert.save(
        update_fields=["acknowledged_until", "acknowledgement_comment", "acknowledging_username", "updated"]
    )


def _record(
    alert: Alert,
    before: Acknowledgement | None,
    after: Acknowledgement | None,
    actor: Actor,
    now: datetime,
) -> None:
    event_record(
        event_type=EventType.ALERT_ACKNOWLEDGED_AUDIT if after else EventType.ALERT_UNACKNOWLEDGED_AUDIT,
        actor=actor,
        now=now,
        group_id=alert.group_id,
        alert_id=alert.id,
        facts=alert_facts(alert),
        # ALERT_CONFIG is the most similar of the closed set of diff types.
        diffs=diff(DiffType.ALERT_CONFIG, alert.id, old=_shown(before), new=_shown(after)),
    )


def _shown(acknowledgement: Acknowledgement | None) -> dict[str, str | None]:
    """The fields of the acknowledgement as in the alert's document."""
    if acknowledgement is None:
        return {}
    return {
        "acknowledgedUntil": wire_time(acknowledgement.until),
        "acknowledgementComment": acknowledgement.comment,
        "acknowledgingUsername": acknowledgement.username,
    }
