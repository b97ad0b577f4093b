"""The event chart on the start page of the console."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from events.hours import EventGroup, event_hours
from events.models import Event
from opsapi.api.principal import VisibleScope
from opsapi.console.admin_urls import list_url
from opsapi.console.widgets import Cell, Chart


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


def _hour(start: datetime) -> Cell:
    end = start + timedelta(hours=1) - timedelta(seconds=1)
    moments = {"start": f"{start:%Y-%m-%dT%H:%M:%S}", "end": f"{end:%Y-%m-%dT%H:%M:%S}"}
    return Cell(f"{start:%H:%M}", list_url(Event, **moments))
