"""The entries of an alert's timeline."""

from datetime import UTC, datetime, timedelta

from alerting.configs.matchers import MatchSubject
from alerting.insight.timeline_entries import (
    FIRST_ENTRIES,
    AcknowledgementChange,
    TimelineEntry,
    TimelineEntryKind,
    cut,
    in_order,
    lapses,
    settled_at,
    window_entries,
)
from alerting.reasons import NotificationReason
from alerting.windows.rules import WindowRule, active_rules, muting_rule
from tests.each import each

NOW = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def _moment(at: datetime, kind: TimelineEntryKind) -> TimelineEntry:
    return TimelineEntry(at=at, kind=kind, text="")


def test_what_happened_at_once_is_in_the_order_of_cause_and_effect() -> None:
    later = _moment(NOW + SECOND, TimelineEntryKind.BEGAN)
    notified, opened, began = (
        _moment(NOW, kind)
        for kind in (TimelineEntryKind.NOTIFIED, TimelineEntryKind.OPENED, TimelineEntryKind.BEGAN)
    )
    assert in_order([later, notified, opened, began]) == (began, opened, notified, later)


@each(("number", "left_out"), [(0, 0), (150, 0), (151, 1), (1000, 850)])
def test_a_long_timeline_keeps_its_beginning_and_its_end(number: int, left_out: int) -> None:
    entries = [_moment(NOW + place * SECOND, TimelineEntryKind.NOTIFIED) for place in range(number)]
    notified, missing = cut(entries)
    assert (len(notified) + missing, missing) == (number, left_out)
    assert list(notified[:FIRST_ENTRIES]) == entries[:FIRST_ENTRIES]
    assert list(notified[-100:]) == entries[-100:]


@each(
    ("following", "end", "lapsed"),
    [
        (None, NOW + HOUR, []),
        (None, NOW + HOUR + SECOND, [NOW + HOUR]),
        (AcknowledgementChange(at=NOW + HOUR, until=None), NOW + 9 * HOUR, []),
        (AcknowledgementChange(at=NOW + HOUR + SECOND, until=NOW + 8 * HOUR), NOW + 2 * HOUR, [NOW + HOUR]),
        (AcknowledgementChange(at=NOW + SECOND, until=NOW + 2 * HOUR), NOW + 3 * HOUR, [NOW + 2 * HOUR]),
    ],
    ids=["at its end", "a second later", "taken back in time", "again too late", "made longer"],
)
def test_an_acknowledgement_lapses_unless_it_was_changed_before(
    following: AcknowledgementChange | None, end: datetime, lapsed: list[datetime]
) -> None:
    first = AcknowledgementChange(at=NOW, until=NOW + HOUR)
    acknowledgings = [first, following] if following else [first]
    assert [lapse.at for lapse in lapses(acknowledgings, end)] == lapsed


def test_nothing_lapses_where_nothing_was_acknowledged() -> None:
    assert list(lapses([], NOW)) == []


@each(
    ("start", "end", "seen"),
    [
        (NOW - HOUR, NOW, []),
        (NOW - HOUR, NOW + SECOND, [NOW, NOW + SECOND]),
        (NOW + SECOND, NOW + HOUR, [NOW + SECOND, NOW + HOUR]),
        (NOW + HOUR, NOW + 2 * HOUR, [NOW + HOUR]),
        (NOW + HOUR + SECOND, NOW + 2 * HOUR, []),
    ],
    ids=["over before", "into it", "within", "beyond its end", "after"],
)
def test_a_window_is_shown_for_its_overlap_with_the_alert(
    start: datetime, end: datetime, seen: list[datetime]
) -> None:
    window = WindowRule(id="a" * 24, alert_types=["HOST"], start=start, end=end)
    assert [entry.at for entry in window_entries([window], since=NOW, until=NOW + HOUR)] == seen


def test_a_window_is_called_by_its_description() -> None:
    named = WindowRule(id="a", alert_types=["HOST"], start=NOW, end=NOW + HOUR, description="new disks")
    assert "“new disks”" in next(window_entries([named], since=NOW, until=NOW)).text


@each(
    ("entry", "held_by"),
    [(NOW - SECOND, None), (NOW, "long"), (NOW + HOUR, "long"), (NOW + 2 * HOUR, None)],
)
def test_the_window_that_ends_last_holds_back(entry: datetime, held_by: str | None) -> None:
    rules = [
        WindowRule(id="long", alert_types=["HOST"], start=NOW, end=NOW + 2 * HOUR),
        WindowRule(id="short", alert_types=["HOST"], start=NOW, end=NOW + HOUR),
    ]
    active = muting_rule(active_rules(rules, entry), MatchSubject())
    assert (active.rule.id if active else None) == held_by


@each(
    ("due", "reason", "resolved", "at"),
    [
        (NOW + HOUR, NotificationReason.ALERT_OVER.value, NOW + SECOND, NOW + SECOND),
        (NOW + SECOND, NotificationReason.ALERT_OVER.value, NOW + HOUR, NOW + HOUR),
        (NOW + SECOND, NotificationReason.ALERT_OVER.value, NOW - HOUR, NOW),
        (NOW + HOUR, NotificationReason.JUST_NOTIFIED.value, NOW + SECOND, NOW + HOUR),
        (NOW + 9 * HOUR, NotificationReason.JUST_NOTIFIED.value, None, NOW + 2 * HOUR),
        (NOW - HOUR, None, None, NOW),
    ],
    ids=[
        "when the alert ended",
        "whatever was due",
        "not before it was made either",
        "when it was due",
        "not in the future",
        "not before it was made",
    ],
)
def test_the_end_of_a_notification_without_attempts_is_estimated(
    due: datetime, reason: str | None, resolved: datetime | None, at: datetime
) -> None:
    assert settled_at(due=due, created=NOW, reason=reason, resolved=resolved, now=NOW + 2 * HOUR) == at
