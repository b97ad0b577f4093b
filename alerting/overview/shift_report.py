"""The shift report: what happened since a time, and what the next shift takes over."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import F, Q, QuerySet

from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification
from alerting.engine.notification_log import of_own_configs
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.models import Alert
from alerting.incidents.presentation import alert_badge, severity_badge
from alerting.incidents.rule_words import rule_of, with_rules
from alerting.incidents.store import alert_acknowledgement, urgent_first
from alerting.windows.models import MaintenanceWindow
from alerting.windows.rules import WindowState, category_list
from alerting.windows.store import begun, muting_windows
from events.log.models import WHO, present
from events.log.store import event_scope
from events.models import Event
from events.wording import acting, sentence, target_words
from integrations.messages import printable
from opsapi.api.principal import VisibleScope
from opsapi.clock import age_words, time_words
from opsapi.console.admin_urls import page_url
from opsapi.console.widgets import Cell, number_of
from opsapi.first_rows import MOST_COUNTED, bounded_count, in_visible_scope, more_words

LONGEST: Final = timedelta(days=31)
_MOST: Final = 100
"""The most rows of a section."""
_LINE: Final = 300
"""The most characters of a row in a message."""
_WINDOWS_AHEAD: Final = timedelta(days=1)
"""Windows that end within this time are listed: alerts notify again afterwards."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report: the first rows, and the number of all, at most MOST_COUNTED + 1.

    `has_notes`: the last cell of a row is a note, which the page shows below the row.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    count: int
    empty: str
    has_notes: bool = False

    @property
    def columns(self) -> Sequence[str]:
        """The headers of the table on the page."""
        return self.headers[:-1] if self.has_notes else self.headers

    @property
    def number(self) -> str:
        """The count for display; above MOST_COUNTED it is not exact."""
        return number_of(self.count)

    @property
    def more(self) -> str:
        return self.more_than(len(self.rows))

    def more_than(self, first: int) -> str:
        """How many rows there are besides the first."""
        return more_words(self.count - first, at_least=self.count > MOST_COUNTED)

    def lines(self, most: int) -> list[str]:
        """At most the first `most` rows as texts, and how many more there are."""
        rows = [
            printable(" · ".join(cell.text for cell in row if cell.text), _LINE) for row in self.rows[:most]
        ]
        more = self.more_than(len(rows))
        return [*rows, *([more] if more else [])] or [self.empty]


@dataclass(frozen=True, slots=True)
class ShiftReport:
    """The sections of a report about the time from `since` to `until`."""

    since: datetime
    until: datetime
    sections: Sequence[ReportSection]

    @property
    def most_rows(self) -> int:
        """The rows of its longest section."""
        return max(len(section.rows) for section in self.sections)

    def lines(self, most: int) -> Mapping[str, Sequence[str]]:
        """The lines of each section, with at most `most` rows of a section."""
        return {f"{section.title} ({section.number})": section.lines(most) for section in self.sections}

    @property
    def title(self) -> str:
        return f"Shift report {time_words(self.since)} to {time_words(self.until)}"

    def markdown(self) -> str:
        """The report as Markdown, with its tables as lists, which chats show too."""
        lines = [f"# {self.title}"]
        for section in self.sections:
            lines += ["", f"## {section.title}: {section.number}", ""]
            lines += [f"- {_line(row)}" for row in section.rows] or [section.empty]
            if section.more:
                lines.append(f"- {section.more}")
        return "\n".join(lines) + "\n"


def _line(row: Sequence[Cell]) -> str:
    first, *others = (_escaped(cell.text) for cell in row if cell.text)
    return f"**{first}** · {' · '.join(others)}" if others else f"**{first}**"


_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|~"} | {"\n": " ", "\r": " "})


def _escaped(text: str) -> str:
    """The text without a meaning in Markdown: names come from agents and strangers."""
    return text.translate(_MARKS)


def shift_report(visible_scope: VisibleScope, *, since: datetime, until: datetime) -> ShiftReport:
    """Read the report for an operator with this visible scope."""
    return ShiftReport(since, until, list(_sections(visible_scope, since, until)))


def _sections(visible_scope: VisibleScope, since: datetime, until: datetime) -> Iterator[ReportSection]:
    alerts = in_visible_scope(Alert.objects.filter(group__deleted=None), visible_scope)
    alerts = with_rules(alerts.select_related("group"))
    open_now = alerts.filter(status=AlertStatus.OPEN.value)
    has_opened = Q(status=AlertStatus.OPEN.value) | Q(resolved__gte=F("opens"))
    opened = alerts.filter(has_opened, opens__range=(since, until)).order_by("-opens", "-id")
    ended = alerts.filter(resolved__gte=F("opens"), resolved__range=(since, until))
    closed = ended.order_by("-resolved", "-id")
    urgent = urgent_first(open_now, 0, _MOST, now=until)
    yield _alerts("Still open", urgent, bounded_count(open_now), visible_scope, until)
    yield _alerts("Opened", opened[:_MOST], bounded_count(opened), visible_scope, until)
    yield _alerts("Closed", closed[:_MOST], bounded_count(closed), visible_scope, until)
    yield _windows(visible_scope, until)
    yield _changes(visible_scope, since, until)
    yield _failures(visible_scope, since, until)


def _alerts(
    title: str,
    rows: Sequence[Alert] | QuerySet[Alert],
    count: int,
    visible_scope: VisibleScope,
    now: datetime,
) -> ReportSection:
    alerts = list(rows)
    active = {status.value for status in ACTIVE}
    muted = muting_windows([alert for alert in alerts if alert.status in active], now=now)
    return ReportSection(
        title,
        ["Alert", "Severity", "Target", "Project", "State", "Since", "Lasted", "Acknowledged"],
        [_alert(row, rule_of(row, visible_scope), muted.is_muted(row.id), now) for row in alerts],
        count,
        "No alerts.",
        has_notes=True,
    )


def _alert(alert: Alert, words: str, is_muted: bool | None, now: datetime) -> Sequence[Cell]:
    state, tone = alert_badge(alert, now, is_muted=is_muted)
    severity, severity_tone = severity_badge(alert)
    acknowledgement = alert_acknowledgement(alert, now)
    by = acknowledgement.username or "" if acknowledgement else ""
    comment = f": {acknowledgement.comment}" if acknowledgement and acknowledgement.comment else ""
    return [
        Cell(words, page_url(alert)),
        Cell(severity, tone=severity_tone),
        Cell(target_words(alert.facts)),
        Cell(alert.group.name),
        Cell(state, tone=tone),
        Cell(time_words(alert.created)),
        Cell(age_words((alert.resolved or now) - alert.created)),
        Cell(f"by {by}{comment}" if acknowledgement else ""),
    ]


def _windows(visible_scope: VisibleScope, now: datetime) -> ReportSection:
    """The active windows that end soon, by their end."""
    in_scope = in_visible_scope(
        MaintenanceWindow.objects.filter(begun(now), group__deleted=None), visible_scope
    )
    windows = list(in_scope.select_related("group").order_by("end", "id")[: MOST_COUNTED + 1])
    states = ((window, window.rule.timed_state(now)) for window in windows)
    ends = [
        (until, window)
        for window, (state, until) in states
        if state is WindowState.ACTIVE and until and until <= now + _WINDOWS_AHEAD
    ]
    ends.sort(key=lambda pair: (pair[0], pair[1].id))
    return ReportSection(
        "Quiet times that end within a day",
        ["Window", "Project", "Mutes", "Ends"],
        [
            [
                Cell(str(window), page_url(window)),
                Cell(window.group.name),
                Cell(category_list(window.alert_types)),
                Cell(f"{time_words(end)}, in {age_words(end - now)}"),
            ]
            for end, window in ends[:_MOST]
        ],
        # Further windows were not looked at.
        len(ends) if len(windows) <= MOST_COUNTED else MOST_COUNTED + 1,
        "No quiet time ends within a day.",
    )


def _changes(visible_scope: VisibleScope, since: datetime, until: datetime) -> ReportSection:
    """Changes by people and by API clients, the newest first."""
    events = Event.objects.filter(
        event_scope(visible_scope), present(WHO), created__range=(since, until), event_type__endswith="_AUDIT"
    )
    return ReportSection(
        "Changes by people and keys",
        ["Change", "By", "When"],
        [
            [
                Cell(sentence(event.event_type, event.details, None), page_url(event)),
                Cell(acting(event.details) or ""),
                Cell(time_words(event.created)),
            ]
            for event in events.order_by("-created", "-id")[:_MOST]
        ],
        bounded_count(events),
        "Nobody changed anything.",
    )


def _failures(visible_scope: VisibleScope, since: datetime, until: datetime) -> ReportSection:
    """Messages that failed for good, the newest first."""
    failed = in_visible_scope(
        Notification.objects.filter(
            status=NotificationStatus.FAILED.value, due__range=(since, until), group__deleted=None
        ),
        visible_scope,
    )
    rows = failed if visible_scope.everything else of_own_configs(failed)
    return ReportSection(
        "Failed deliveries",
        ["Recipient", "About", "Reason", "When"],
        [
            [
                Cell(notification.recipient or notification.type_name, page_url(notification)),
                Cell(str(notification.alert) if notification.alert else "an event"),
                Cell(notification.reason or ""),
                Cell(time_words(notification.due)),
            ]
            for notification in rows.select_related("alert").order_by("-due", "-id")[:_MOST]
        ],
        bounded_count(rows),
        "No delivery failed.",
    )
