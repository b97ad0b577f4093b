"""Corrects due times written before the clock stepped back, or by a machine whose clock is ahead."""

from datetime import datetime

from django.db.models import F, Q

from alerting.choices import NotificationStatus
from alerting.models import Notification


def notifications_bring_forward(*, now: datetime) -> int:
    """Make due what would otherwise wait until the clock is there again. Return the number of notifications.

    A notification that was due at once when it was written is due now. So is the retry of a first attempt in
    the future, whose hour of retries starts again. Reminders, delays and later retries keep their time.
    """
    at_once = Q(attempts=0, silenced_by=None, created__gt=now, due__lte=F("created"))
    retried = Q(attempts__gt=0, first_attempt__gt=now)
    waiting = Notification.objects.filter(
        status=NotificationStatus.PENDING.value, lease_token=None, due__gt=now
    )
    # Separate statements, because each has an index.
    return waiting.filter(at_once).update(due=now) + waiting.filter(retried).update(
        due=now, first_attempt=now
    )
