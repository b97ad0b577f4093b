"""Counts attempts in fixed windows, shared by all processes."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F
from django.db.models.functions import Least

from accesslist.models import RateWindow
from opsapi.api.errors import rate_limited
from opsapi.clock import AHEAD
from opsapi.sql import first_row

RATE_WINDOW = timedelta(minutes=1)
"""The window of rate limits."""

# A window with a start in the future began while a clock was wrong: the next attempt starts a new window.
# For a caller above the limit the row is only read, so that fast attempts do not contend for it.
_HIT = """
WITH refused AS (
    SELECT started, count FROM accesslist_ratewindow
     WHERE bucket = %(bucket)s AND started > %(old)s AND started <= %(ahead)s AND count > %(limit)s
), counted AS (
    INSERT INTO accesslist_ratewindow AS known (bucket, started, count)
    SELECT %(bucket)s, %(now)s, 1 WHERE NOT EXISTS (SELECT 1 FROM refused)
    ON CONFLICT (bucket) DO UPDATE SET
        started = CASE WHEN known.started > %(old)s AND known.started <= %(ahead)s
                       THEN known.started ELSE EXCLUDED.started END,
        count = CASE WHEN known.started > %(old)s AND known.started <= %(ahead)s
                     THEN known.count + 1 ELSE 1 END
    RETURNING known.started, known.count
)
SELECT started, count FROM refused UNION ALL SELECT started, count FROM counted
"""


def throttle(bucket: str, limit: int, now: datetime, *, note: str = "") -> None:
    """Count one attempt of the bucket (at most 200 characters); a limit of 0 means no limit.

    `note`: a sentence of the refusal that names the limit. Outside of a transaction the count commits at
    once, so that a request that fails afterwards counts, too.

    Raises:
        ApiError: RATE_LIMITED with Retry-After, after `limit` attempts in RATE_WINDOW.
    """
    wait = hit(bucket, limit=limit, window=RATE_WINDOW, now=now).wait if limit else None
    if wait is not None:
        raise rate_limited(wait, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """The result of an attempt: the start of its window, and the seconds to wait if it was refused."""

    started: datetime
    wait: int | None = None


def hit(bucket: str, *, limit: int, window: timedelta, now: datetime) -> Hit:
    """Count one attempt; after `limit` attempts in the window, refuse without counting."""
    times = {"now": now, "old": now - window, "ahead": now + AHEAD}
    named = {"bucket": bucket[:200], "limit": limit, **times}
    started, count = first_row(_HIT, named)
    if count <= limit:
        return Hit(started=started)
    wait: float = (started + window - now).total_seconds()
    return Hit(started=started, wait=max(1, math.ceil(wait)))


def wait_of(bucket: str, *, limit: int, window: timedelta, now: datetime) -> int | None:
    """Return the seconds until `hit` admits the next attempt, without counting one; None if it does now."""
    running = RateWindow.objects.filter(started__gt=now - window, started__lte=now + AHEAD)
    row = running.filter(bucket=bucket[:200], count__gte=limit).first()
    return max(1, math.ceil((row.started + window - now).total_seconds())) if row else None


def give_back(bucket: str, *, started: datetime, limit: int) -> None:
    """Subtract an attempt that `hit` counted in the window with this start, if the window still runs."""
    counted = RateWindow.objects.filter(bucket=bucket[:200], started=started, count__gt=0)
    counted.update(count=Least(F("count"), limit) - 1)
