"""Workers and when they were last seen."""

from datetime import datetime, timedelta

from alerting.models import WorkerHeartbeat

_FORGOTTEN_AFTER = timedelta(days=1)


def worker_seen(*, name: str, now: datetime) -> None:
    """Record that a worker is alive, and delete workers that were not seen for a day."""
    WorkerHeartbeat.objects.update_or_create(name=name, defaults={"seen": now})
    WorkerHeartbeat.objects.filter(seen__lt=now - _FORGOTTEN_AFTER).delete()
