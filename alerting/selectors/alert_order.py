"""The order of alerts in the console: unacknowledged alerts first, the newest first."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db.models import QuerySet

from alerting.choices import ACTIVE, AlertStatus
from alerting.models import Alert
from alerting.selectors.acknowledgements import acknowledged_at
from opsapi.first_rows import MOST_SHOWN, FirstRows, bounded_count

_ACTIVE = [status.value for status in ACTIVE]
_OVER = [alert_status.value for alert_status in AlertStatus if alert_status not in ACTIVE]


def first_active(alerts: QuerySet[Alert], *, now: datetime, most: int = MOST_SHOWN) -> list[Alert]:
    """The first of the alerts that are open or pending."""
    return list(_between(_by_urgency(alerts.filter(status__in=_ACTIVE), now), 0, most))


def active_first_rows(alerts: QuerySet[Alert], *, now: datetime) -> FirstRows[Alert]:
    """The first of the alerts that are open or pending, and how many there are."""
    found = first_active(alerts, now=now, most=MOST_SHOWN + 1)
    count = len(found) if len(found) <= MOST_SHOWN else bounded_count(alerts.filter(status__in=_ACTIVE))
    return FirstRows(found[:MOST_SHOWN], count)


def urgent_first(alerts: QuerySet[Alert], start: int, stop: int, *, now: datetime) -> list[Alert]:
    """The alerts from `start` up to `stop`: open and pending alerts, then ended alerts, newest first."""
    over = alerts.filter(status__in=_OVER).order_by("-created", "-id")
    active = alerts.filter(status__in=_ACTIVE)
    return list(_between((*_by_urgency(active, now), over), start, stop))


def _by_urgency(active: QuerySet[Alert], now: datetime) -> tuple[QuerySet[Alert], ...]:
    """Each in the order of an index: a single query for both would sort all active alerts."""
    newest = active.order_by("-created", "-id")
    return newest.exclude(acknowledged_at(now)), newest.filter(acknowledged_at(now))


def _between(parts: Iterable[QuerySet[Alert]], start: int, stop: int) -> Iterator[Alert]:
    """The rows from `start` up to `stop` of the parts in their order."""
    wanted = stop - start
    for part in parts:
        if not wanted:
            return
        found = list(part[start : start + wanted])
        yield from found
        wanted -= len(found)
        # Counted only where a part ends before the page begins, and no further than that.
        start = 0 if found or not start else start - part.order_by()[:start].count()
