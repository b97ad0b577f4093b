"""The number of events per hour: the chart of the console's start page.

A day can have hundreds of thousands of events, and the page asks every ten seconds. Each process therefore
caches the counts: the current hour for some seconds, and the past hours as long as their number of events
stays the same. Late reports, the demonstration and retention change it. `EventCount` has the number of events
of the days, from which the current hour is subtracted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from django.core.cache import cache
from django.db.models import Count
from django.db.models.functions import TruncHour

from events.log.models import Event
from events.log.store import event_number, event_scope
from events.types import EVENT_TYPES, Category
from opsapi.api.principal import VisibleScope
from opsapi.clock import wire_time
from opsapi.console.admin_urls import list_url
from opsapi.console.widgets import Chart, ChartHour

HOURS = 24
"""Number of hours shown, including the current hour."""
_HOUR = timedelta(hours=1)
_RUNNING_REMEMBERED = timedelta(seconds=10)


class EventGroup(StrEnum):
    """Categories that share a colour in the chart."""

    FLEET = "Fleet"
    AGENTS = "Agents and automation"
    BACKUP = "Backup"
    ALERTING = "Alerting"
    ACCESS = "Access"


GROUPS: Mapping[Category, EventGroup] = {
    Category.HOST: EventGroup.FLEET,
    Category.REPLICA_SET: EventGroup.FLEET,
    Category.CLUSTER: EventGroup.FLEET,
    Category.BI_CONNECTOR: EventGroup.FLEET,
    Category.DATA_EXPLORER: EventGroup.FLEET,
    Category.AGENT: EventGroup.AGENTS,
    Category.AUTOMATION_CONFIG: EventGroup.AGENTS,
    Category.BACKUP: EventGroup.BACKUP,
    Category.ALERT: EventGroup.ALERTING,
    Category.ALERT_CONFIG: EventGroup.ALERTING,
    Category.MAINTENANCE_WINDOW: EventGroup.ALERTING,
    Category.INTEGRATION: EventGroup.ALERTING,
    Category.ORGANIZATION: EventGroup.ACCESS,
    Category.GROUP: EventGroup.ACCESS,
    Category.TEAM: EventGroup.ACCESS,
    Category.USER: EventGroup.ACCESS,
    Category.API_KEY: EventGroup.ACCESS,
    Category.ACCESS_LIST: EventGroup.ACCESS,
}

Counts = Mapping[tuple[datetime, EventGroup], int]


@dataclass(frozen=True, slots=True)
class EventHour:
    """The events of the hour that starts at `start`, for every group."""

    start: datetime
    counts: Mapping[EventGroup, int]


def event_hours(*, visible_scope: VisibleScope, now: datetime) -> list[EventHour]:
    """The last HOURS hours, oldest first, including the current hour. Counts are at most seconds old."""
    running = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    starts = [running - back * _HOUR for back in reversed(range(HOURS))]
    stretch = int(now.timestamp() // _RUNNING_REMEMBERED.total_seconds())
    key = f"events.log.panels:{_name(visible_scope)}:{stretch}"
    counts: Counts | None = cache.get(key)
    if counts is None:
        counts = _read(visible_scope, starts[0], running)
        cache.set(key, counts, timeout=_RUNNING_REMEMBERED.total_seconds())
    return [
        EventHour(start, {group: counts.get((start, group), 0) for group in EventGroup}) for start in starts
    ]


def _read(visible_scope: VisibleScope, first: datetime, running: datetime) -> Counts:
    """Count all hours from `first`; only the current hour if the number of past events stays the same."""
    key = f"events.log.panels:{_name(visible_scope)}:{running.timestamp():.0f}:past"
    number = event_number(visible_scope, since=first, until=running)
    cached: tuple[int, Counts] | None = cache.get(key)
    if cached is not None and cached[0] == number:
        return {**cached[1], **_counted(visible_scope, running, running + _HOUR)}
    counts = _counted(visible_scope, first, running + _HOUR)
    past = {place: count for place, count in counts.items() if place[0] < running}
    cache.set(key, (number, past), timeout=_HOUR.total_seconds())
    return counts


def _name(visible_scope: VisibleScope) -> str:
    if visible_scope.everything:
        return "all"
    ids = "|".join([*sorted(visible_scope.org_ids), "/", *sorted(visible_scope.group_ids)])
    return sha256(ids.encode()).hexdigest()


def _counted(visible_scope: VisibleScope, start: datetime, end: datetime) -> Counts:
    events = Event.objects.filter(event_scope(visible_scope), created__gte=start, created__lt=end)
    hours = events.order_by().values_list(TruncHour("created", tzinfo=UTC), "event_type")
    counts: Counter[tuple[datetime, EventGroup]] = Counter()
    for hour, event_type, count in hours.annotate(Count("id")):
        counts[hour, GROUPS[EVENT_TYPES[event_type].category]] += count
    return counts


def event_widgets(visible_scope: VisibleScope, now: datetime) -> Iterator[Chart]:
    """The events of the last 24 hours."""
    hours = event_hours(visible_scope=visible_scope, now=now)
    yield Chart(
        name="events",
        title="Events of the last 24 hours",
        series=[group.value for group in EventGroup],
        rows=[(_hour(hour.start), [hour.counts[group] for group in EventGroup]) for hour in hours],
        url=list_url(Event, last="day"),
        empty="No events in the last 24 hours.",
    )


def _hour(start: datetime) -> ChartHour:
    end = start + timedelta(hours=1) - timedelta(seconds=1)
    return ChartHour(start, list_url(Event, start=wire_time(start), end=wire_time(end)))
