"""Deletes events, alerts and failed signals that are older than their retention."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from alerting.choices import NotificationStatus
from alerting.models import Alert, Notification, NotificationAttempt
from automation.reports import OLDEST
from events.models import Event, Signal
from opsapi.batches import ROWS_AT_ONCE, delete_batch
from opsapi.ids import first_id

FAILED_SIGNALS_KEPT = timedelta(days=7)
"""Long enough to see in the console which signals failed."""
_PENDING = NotificationStatus.PENDING.value


def events_trim(*, now: datetime) -> bool:
    """Delete one batch of the events older than OPSAPI_EVENT_RETENTION_DAYS, the oldest first.

    Events with pending notifications stay. Return whether there were any.
    """
    kept = settings.OPSAPI_EVENT_RETENTION_DAYS
    if not kept:
        return False
    old = Event.objects.filter(created__lt=_evaluated_until(now - timedelta(days=kept)))
    pending = Notification.objects.filter(event_id=OuterRef("id"), status=_PENDING)
    return delete_batch(old.filter(~Exists(pending)), ROWS_AT_ONCE, first=("created", "id")) > 0


def alerts_trim(*, now: datetime) -> bool:
    """Delete one batch of the data of alerts that ended OPSAPI_ALERT_RETENTION_DAYS ago.

    Also of one-shot notifications of that age: attempts first, then notifications, then alerts. Alerts with
    pending notifications stay. Return whether there was anything.
    """
    kept = settings.OPSAPI_ALERT_RETENTION_DAYS
    if not kept:
        return False
    limit = now - timedelta(days=kept)
    return _ended_trim(limit) or _one_shots_trim(limit)


def failed_signals_trim(*, now: datetime) -> bool:
    """Delete one batch of the signals that failed a week ago. Return whether there were any."""
    failed = Signal.objects.filter(failed__lt=now - FAILED_SIGNALS_KEPT)
    return delete_batch(failed, ROWS_AT_ONCE, first=("failed",)) > 0


def _evaluated_until(limit: datetime) -> datetime:
    """The limit, or the earlier time of the oldest waiting signal: its events may have to be notified."""
    waiting = Signal.objects.filter(failed=None).order_by("id").values_list("created", flat=True).first()
    # Later signals can be of earlier events, by as much as reports may be late.
    return limit if waiting is None else min(limit, waiting - OLDEST)


def _ended_trim(limit: datetime) -> bool:
    pending = Notification.objects.filter(alert_id=OuterRef("id"), status=_PENDING)
    ended = Alert.objects.filter(~Exists(pending), resolved__lt=limit).order_by("resolved")
    alerts = list(ended.values_list("id", flat=True)[:ROWS_AT_ONCE])
    if not alerts:
        return False
    if not _log_trim(Notification.objects.filter(alert__in=alerts)):
        delete_batch(Alert.objects.filter(id__in=alerts), ROWS_AT_ONCE)
    return True


def _one_shots_trim(limit: datetime) -> bool:
    # The id of an event contains its time, and these rows are found by it.
    finished = Notification.objects.filter(event_id__lt=first_id(limit)).exclude(status=_PENDING)
    chosen = list(finished.order_by("event_id").values_list("id", flat=True)[:ROWS_AT_ONCE])
    return bool(chosen) and _log_trim(Notification.objects.filter(id__in=chosen))


def _log_trim(notifications: QuerySet[Notification]) -> bool:
    """Delete one batch of their attempts, or of the notifications if no attempts are left."""
    attempts = NotificationAttempt.objects.filter(notification__in=notifications.values("id"))
    return bool(delete_batch(attempts, ROWS_AT_ONCE) or delete_batch(notifications, ROWS_AT_ONCE))
