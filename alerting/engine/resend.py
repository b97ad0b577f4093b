"""Sending on request: a failed notification again, and the messages that wait for a destination now."""

import math
from datetime import datetime

from django.db.models import QuerySet

from accesslist.changes import acting
from accesslist.locks import scopes_lock_shared
from alerting.configs.locks import config_lock_shared
from alerting.configs.models import NotificationSetting
from alerting.configs.store import credentials_gone, setting_of, stands_for_people
from alerting.destinations.models import Destination, UnreachableHost
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification
from alerting.engine.rules import unwanted_reason
from alerting.engine.schedule import notifications_drop, notifications_retry_now
from alerting.engine.store import due_notification_with_setting
from alerting.incidents.changes import alert_facts
from alerting.incidents.store import IncidentView, incident_views, members_lock
from alerting.reasons import NotificationReason
from events.choices import DiffType, Work
from events.diffs import diff
from events.facts import EventFacts
from events.log.changes import NewEvent
from events.outbox.changes import wake_workers
from events.types import EventType
from integrations.choices import FOLLOWING, OPEN_KINDS, MessageKind
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor
from opsapi.clock import wire_time
from opsapi.roles import Scope

_BEING_REPEATED = "a reminder for the same alert is being sent"


def notification_resend(*, notification: Notification, actor: Actor, now: datetime) -> None:
    """Make a failed notification due again, with the same delivery id and a new hour of retries.

    The reminder that was scheduled after the failure is dropped; the next follows after this delivery.

    Raises:
        ApiError: NOTIFICATION_CANNOT_BE_RESENT, when it did not fail, would be dropped at once, or
            has nothing left to be sent with;
            NOTIFICATION_NOT_FOUND, when it is gone.
    """
    with acting(actor, now, here=Scope(group_id=notification.group_id), locks=()) as act:
        if setting := setting_of(notification):
            # So that the setting is not removed meanwhile; before the alert, as in changes of configurations.
            config_lock_shared(setting.config.group_id)
        # Ending the alert and recording a delivery take this lock too.
        members, _ = members_lock([notification], wait=math.inf)
        incident = incident_views([notification], members).get(notification.incident_id or "")
        row = Notification.objects.select_for_update().filter(id=notification.id).first()
        # The project is locked after the alert, as in its deletion.
        groups = [notification.group_id] if notification.group_id else []
        is_there = len(scopes_lock_shared(groups=groups).orgs_of_groups) == len(groups)
        row = get_or_404(row if is_there else None, ErrorCode.NOTIFICATION_NOT_FOUND, notification.id)
        if reason := _why_not(row, incident, now):
            raise ApiError(ErrorCode.NOTIFICATION_CANNOT_BE_RESENT, row.id, reason)
        if row.kind in OPEN_KINDS:
            notifications_drop(rows=_repeats(row), reason=NotificationReason.SENT_AGAIN)
        # It is addressed again, unless the destination perhaps received it: that must stay known.
        destination = row.destination if row.kind in FOLLOWING or row.perhaps_received else ""
        Notification.objects.filter(id=row.id).update(
            status=NotificationStatus.PENDING.value,
            reason=None,
            due=now,
            first_attempt=None,
            destination=destination,
        )
        event = NewEvent(
            event_type=EventType.NOTIFICATION_RESENT_AUDIT,
            alert_id=row.alert_id,
            facts=alert_facts(incident.lead) if incident else EventFacts(),
            # ALERT_CONFIG is the most similar of the closed set of diff types.
            diffs=diff(DiffType.ALERT_CONFIG, row.id, old={"status": row.status}, new={"status": "PENDING"}),
        )
        act.record(event)
        wake_workers(Work.MESSAGES)


def _why_not(row: Notification, incident: IncidentView | None, now: datetime) -> str | None:
    if row.status != NotificationStatus.FAILED:
        return f"it is {row.status}"
    setting = setting_of(row)
    due = due_notification_with_setting(row, incident, setting)
    if reason := unwanted_reason(due, now) or _credentials_gone(row, setting):
        return reason.value
    being_repeated = row.kind in OPEN_KINDS and _repeats(row).exclude(lease_token=None).exists()
    return _BEING_REPEATED if being_repeated else None


def _credentials_gone(row: Notification, setting: NotificationSetting | None) -> NotificationReason | None:
    """Why there are no credentials; ends and acknowledgements use the configuration of their destination."""
    if row.kind not in FOLLOWING or not row.destination:
        return credentials_gone(row, setting)
    kept = Destination.objects.filter(id=row.destination, config__isnull=False)
    return None if kept.exists() else NotificationReason.SECRETS_GONE


def _repeats(row: Notification) -> QuerySet[Notification]:
    """The reminder that was scheduled after the failure; one-shot notifications have none."""
    repeats = Notification.objects.filter(
        alert__isnull=False,
        alert_id=row.alert_id,
        setting_id=row.setting_id,
        channel=row.channel,
        kind=MessageKind.UPDATE.value,
        status=NotificationStatus.PENDING.value,
    )
    # Only people have several addresses; otherwise it is the same receiver, even if its address was
    # corrected.
    one_of_many = row.channel is not None and stands_for_people(row)
    return repeats.filter(recipient=row.recipient) if one_of_many else repeats


def destination_send_now(*, destination_id: str, actor: Actor, now: datetime) -> None:
    """Make waiting messages due, and end the pauses of the destination and its host, and its pace.

    A destination that fails gets one message first, and the others when it accepts that message. Maintenance
    windows and acknowledgements still hold back notifications.

    Raises:
        ApiError: RESOURCE_NOT_FOUND, when it was deleted in the meantime.
    """
    with acting(actor, now) as act:
        row = Destination.objects.select_for_update().filter(id=destination_id).first()
        row = get_or_404(row, ErrorCode.RESOURCE_NOT_FOUND, destination_id)
        before = {"nextTry": row.next_try and wire_time(row.next_try), "paceMs": row.pace_ms}
        row.next_try, row.paused_until, row.pace_ms, row.refused_pace_ms, row.slowed = None, None, 0, 0, None
        # A locked host is being tried at this moment.
        host = UnreachableHost.objects.select_for_update(skip_locked=True).filter(host=row.host).first()
        if host is not None:
            UnreachableHost.objects.filter(host=host.host).update(next_try=now)
            # This destination is the next to be tried on its host.
            row.tried = None
        row.save(update_fields=["next_try", "paused_until", "pace_ms", "refused_pace_ms", "slowed", "tried"])
        notifications_retry_now(destination=row.id, now=now)
        # ALERT_CONFIG is the most similar of the closed set of diff types.
        after = {"nextTry": wire_time(now), "paceMs": 0}
        diffs = diff(DiffType.ALERT_CONFIG, row.id, old=before, new=after)
        act.record(
            NewEvent(event_type=EventType.NOTIFICATION_RESENT_AUDIT, diffs=diffs),
            here=Scope(group_id=row.group_id),
        )
        wake_workers(Work.MESSAGES)
