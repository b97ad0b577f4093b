"""Counting attempts in fixed windows, the same for all processes (decisions 3 "throttles")."""

from datetime import datetime, timedelta

from django.db import connection

_HIT = """
INSERT INTO accesslist_ratewindow (bucket, started, count) VALUES (%(bucket)s, %(now)s, 1)
ON CONFLICT (bucket) DO UPDATE SET
    started = CASE WHEN accesslist_ratewindow.started <= %(old)s THEN EXCLUDED.started
                   ELSE accesslist_ratewindow.started END,
    count = CASE WHEN accesslist_ratewindow.started <= %(old)s THEN 1
                 ELSE accesslist_ratewindow.count + 1 END
RETURNING started, count
"""


def hit(bucket: str, *, limit: int, window: timedelta, now: datetime) -> int | None:
    """Count one attempt; answers the whole seconds to wait when there were more than the limit."""
    with connection.cursor() as cursor:
        cursor.execute(_HIT, {"bucket": bucket[:200], "now": now, "old": now - window})
        started, count = cursor.fetchone()
    if count <= limit:
        return None
    wait: float = (started + window - now).total_seconds()
    return max(1, round(wait))
