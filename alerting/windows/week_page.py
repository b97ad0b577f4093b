"""The Quiet times page: a week of all maintenance windows in reach, with a row for each window."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from alerting.access import WRITE
from alerting.windows.calendar import Week, WeekCell, week_of
from alerting.windows.extents import window_extents
from alerting.windows.input import PRESET_WORDS
from alerting.windows.models import MaintenanceWindow
from alerting.windows.muted_host_counts import MutedHosts, muted_hosts
from alerting.windows.presentation import STATE_LOOKS, StateLook
from alerting.windows.recurrence import Occurrence, recurrence_words
from alerting.windows.rules import MuteExtent, WindowState
from alerting.windows.store import unexpired
from automation.quantities import counted_words
from opsapi import clock
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import add_url, page_url
from opsapi.console.error_pages import MissingError
from opsapi.console.project_choice import chosen_project
from opsapi.first_rows import in_visible_scope
from opsapi.time_zones import TIME_ZONES, UTC_NAME

MOST_ROWS: Final = 50
MOST_READ: Final = 300
"""The most windows that are read, because a window that recurs may not occur in the week."""
_SECONDS: Final = 0.3
"""The time for comparing hosts with the matchers of the windows."""
_WEEK = timedelta(weeks=1)
_YEARS = range(1970, MAXYEAR - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekRow:
    """A window in a week, with its state now.

    `overlaps`: the number of other windows of its project at the same time.
    """

    window: MaintenanceWindow
    state: WindowState
    cells: Sequence[WeekCell]
    extent: MuteExtent
    hosts: MutedHosts | None
    overlaps: int

    @property
    def url(self) -> str:
        return page_url(self.window)

    @property
    def look(self) -> StateLook:
        return STATE_LOOKS[self.state]

    @property
    def notifies_of_sets(self) -> bool:
        """Whether it mutes hosts of replica sets whose own alerts still notify; not once it has expired."""
        has_loud_sets = self.hosts is not None and self.hosts.has_loud_sets
        return has_loud_sets and self.state is not WindowState.EXPIRED

    @property
    def hosts_words(self) -> str:
        if self.hosts is None:
            return "no alerts of hosts"
        return "hosts not counted" if self.hosts.count is None else counted_words(self.hosts.count, "host")

    @property
    def repeats(self) -> str:
        recurrence = self.window.rule.recurrence
        return recurrence_words(recurrence) if recurrence else ""


@require_safe
@never_cache
def quiet_times_page(request: HttpRequest) -> HttpResponse:
    """Show the week of `?week=`, a date in it, in the zone of `?zone=`."""
    operator, now = operator_of(request), clock.now()
    visible_scope, project = operator.visible_scope(), chosen_project(request)
    if project is not None:
        visible_scope = VisibleScope(group_ids=frozenset({project.pk}))
    zone = _zone(request, operator.time_zone)
    week = week_of(_day(request, zone, now), zone, now)
    rows, notes = _rows(visible_scope, week, now)
    may_write = operator.holds_somewhere(WRITE.roles)
    group = project.pk if project else ""
    context = {
        **admin.site.each_context(request),
        "title": "Quiet times",
        "week": week,
        "last_day": week.days[-1],
        "earlier": _url(week.monday - _WEEK, zone, operator.time_zone),
        "later": _url(week.monday + _WEEK, zone, operator.time_zone),
        "this_week": "" if week.today is not None else _url(None, zone, operator.time_zone),
        "zones": [
            (name, name == zone.key, _url(week.monday, ZoneInfo(name), operator.time_zone))
            for name in dict.fromkeys((operator.time_zone, zone.key, UTC_NAME))
        ],
        "rows": rows,
        "notes": notes,
        "new_url": add_url(MaintenanceWindow, group=group) if may_write else "",
        "presets": [
            (words, add_url(MaintenanceWindow, group=group, preset=preset.value))
            for preset, words in PRESET_WORDS.items()
        ],
    }
    return TemplateResponse(request, "console/quiet_times.html", context)


def _zone(request: HttpRequest, usual: str) -> ZoneInfo:
    name = request.GET.get("zone") or usual
    if name not in TIME_ZONES:
        raise MissingError("The zone must be a name of the IANA database, such as Europe/Berlin.")
    return ZoneInfo(name)


def _day(request: HttpRequest, zone: ZoneInfo, now: datetime) -> date:
    """The date of the URL, otherwise today."""
    text = request.GET.get("week")
    if not text:
        return now.astimezone(zone).date()
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if day.year not in _YEARS:
        raise MissingError("The week must be a date such as 2026-11-23.")
    return day


def _url(monday: date | None, zone: ZoneInfo, usual: str) -> str:
    """The same page with another week or zone; the usual values need no parameter."""
    query = {"week": monday.isoformat()} if monday else {}
    query |= {} if zone.key == usual else {"zone": zone.key}
    return f"?{urlencode(query)}"


def _rows(visible_scope: VisibleScope, week: Week, now: datetime) -> tuple[list[WeekRow], list[str]]:
    """The windows that occur in the week, by their first occurrence, and what is left out."""
    windows = MaintenanceWindow.objects.filter(
        unexpired(week.begins), Q(start__lt=week.ends), group__deleted=None
    )
    ordered = in_visible_scope(windows, visible_scope).select_related("group").order_by("-start", "id")
    read = list(ordered[: MOST_READ + 1])
    occurring = [(window, occurrences) for window in read if (occurrences := week.occurrences(window.rule))]
    occurring.sort(key=lambda pair: (pair[1][0].start, pair[0].id))
    first, left_out = occurring[:MOST_ROWS], len(occurring) - MOST_ROWS
    listed = [window for window, _ in first]
    extents, hosts = window_extents(listed), muted_hosts(listed, seconds=_SECONDS)
    rows = [
        WeekRow(
            window=window,
            state=window.rule.state(now),
            cells=week.cells(occurrences),
            extent=extents[window.id],
            hosts=hosts.get(window.id),
            overlaps=_overlaps(window, occurrences, first),
        )
        for window, occurrences in first
    ]
    notes = []
    if left_out > 0:
        notes.append(f"{counted_words(left_out, 'more window')} of this week: choose a project to see all.")
    if len(read) > MOST_READ:
        notes.append(f"Only the {MOST_READ} windows that started last were looked at.")
    return rows, notes


def _overlaps(
    window: MaintenanceWindow,
    occurrences: Sequence[Occurrence],
    others: Sequence[tuple[MaintenanceWindow, Sequence[Occurrence]]],
) -> int:
    """The number of other windows of the project that mute at the same time as this one."""
    return sum(
        other.id != window.id
        and other.group_id == window.group_id
        and any(
            mine.start < theirs.end and theirs.start < mine.end for mine in occurrences for theirs in of_other
        )
        for other, of_other in others
    )


_guarded: Callable[..., HttpResponse] = admin.site.admin_view(quiet_times_page)

urlpatterns: list[Any] = [path("", _guarded, name="quiet_times")]
