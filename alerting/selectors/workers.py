"""Workers."""

from datetime import datetime, timedelta

from django.db.models import QuerySet

from alerting.models import WorkerHeartbeat

_SEEN_WITHIN = timedelta(minutes=1)


def workers_seen(now: datetime) -> QuerySet[WorkerHeartbeat]:
    """The workers seen in the last minute."""
    return WorkerHeartbeat.objects.filter(seen__gte=now - _SEEN_WITHIN)
