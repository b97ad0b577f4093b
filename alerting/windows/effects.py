"""The effect of a maintenance window as the console shows it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from alerting.budgets import Budget
from alerting.incidents.models import Alert
from alerting.windows.calendar import Calendar, window_calendar
from alerting.windows.loud_sets import loud_sets
from alerting.windows.previews import WindowPreview, uncompared_preview, window_preview
from alerting.windows.recurrence import Occurrence
from alerting.windows.rules import WindowRule
from automation.hosts.store import hosts_of
from automation.models import Host, ReplicaSet
from automation.quantities import counted_words
from opsapi.api.errors import ApiError
from opsapi.first_rows import MOST_SHOWN, FirstRows, more_words

_NEXT_DATES: Final = 4
"""The most occurrences that the console names."""
_SET_SECONDS: Final = 1.0
"""The time for comparing replica sets, after the preview."""


@dataclass(frozen=True, slots=True)
class WindowEffect:
    """A preview as the console shows it: four weeks, the first hosts and alerts as rows, and loud sets.

    `note` says why the preview is incomplete.
    """

    preview: WindowPreview
    calendar: Calendar
    hosts: Sequence[Host]
    alerts: Sequence[Alert]
    loud_sets: FirstRows[ReplicaSet]
    note: str = ""

    @property
    def next_dates(self) -> Sequence[tuple[str, Occurrence]]:
        """The next occurrences, with their local times in the zone of the calendar."""
        zone = ZoneInfo(self.calendar.zone)
        return [
            (_local_words(occurrence, zone), occurrence)
            for occurrence in self.preview.occurrences[:_NEXT_DATES]
        ]

    @property
    def more_hosts(self) -> str:
        """The text at the end of the hosts."""
        return more_words(self.preview.hosts.count - len(self.hosts))

    @property
    def more_alerts(self) -> str:
        """The text at the end of the alerts."""
        return more_words(self.preview.alerts.count - len(self.alerts))


def _local_words(occurrence: Occurrence, zone: ZoneInfo) -> str:
    """For example: Sun 2026-11-29 02:00 to 04:00."""
    start, end = occurrence.start.astimezone(zone), occurrence.end.astimezone(zone)
    until = f"{end:%H:%M}" if start.date() == end.date() else f"{end:%a %Y-%m-%d %H:%M}"
    return f"{start:%a %Y-%m-%d %H:%M} to {until}"


def window_effect(*, group_id: str, rule: WindowRule, now: datetime, zone: str) -> WindowEffect:
    """Return the effect of a window in a project for the console.

    `zone`: the time zone in which a window that does not recur is shown.

    When dry runs and other previews leave no room, no host and no alert is compared, and the note says so.
    """
    note = ""
    try:
        preview = window_preview(group_id=group_id, rule=rule, now=now)
    except ApiError as refusal:
        preview = uncompared_preview(rule, now)
        note = f"Hosts and alerts were not compared. {refusal.document()['detail']}"
    hosts = hosts_of(group_id).filter(id__in=preview.hosts.ids[:MOST_SHOWN])
    alerts = Alert.objects.filter(id__in=preview.alerts.ids[:MOST_SHOWN]).order_by("-created", "-id")
    calendar = window_calendar(rule, now, zone)
    budget = Budget(time.monotonic() + _SET_SECONDS, time.monotonic)
    loud = loud_sets(group_id, rule, preview.hosts.ids, budget)
    note = note or ("" if preview.is_complete and not loud.is_cut else _cut_words(preview))
    return WindowEffect(preview, calendar, list(hosts), list(alerts), loud.sets, note)


def _cut_words(preview: WindowPreview) -> str:
    parts = [
        counted_words(rows.compared, noun)
        for rows, noun in ((preview.hosts, "host"), (preview.alerts, "open alert"))
        if rows.compared is not None
    ]
    compared = f"compared {' and '.join(parts)}" if parts else "did not compare all replica sets"
    return f"The preview took too long. It {compared}, so the window can mute more than is shown."
