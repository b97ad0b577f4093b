"""Maintenance windows: whether a window is pending, active or expired, and its title."""

from datetime import UTC, datetime, timedelta
from typing import Any

from alerting.windows.resource import WindowDocument
from alerting.windows.rules import (
    MUTING_FIELDS,
    WindowRule,
    WindowState,
    category_list,
    rule_of_values,
    window_rule,
)
from tests.each import each

START = datetime(2099, 11, 21, 22, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def at(minutes: int) -> datetime:
    """So many minutes after START."""
    return START + timedelta(minutes=minutes)


@each(
    ("now", "state"),
    [
        (START - SECOND, (WindowState.PENDING, START)),
        (START - timedelta(microseconds=1), (WindowState.PENDING, START)),
        (START, (WindowState.ACTIVE, at(60))),
        (at(60) - SECOND, (WindowState.ACTIVE, at(60))),
        (at(60) - timedelta(microseconds=1), (WindowState.ACTIVE, at(60))),
        (at(60), (WindowState.EXPIRED, None)),
        (at(60) + SECOND, (WindowState.EXPIRED, None)),
    ],
    ids=str,
)
def test_the_start_belongs_to_a_window_and_the_end_does_not(
    now: datetime, state: tuple[WindowState, datetime | None]
) -> None:
    rule = window_rule(start=START, end=at(60), alert_types=["HOST"])
    assert rule.timed_state(now) == state
    assert rule.state(now) is state[0]


def test_a_recurring_window_is_pending_between_its_occurrences() -> None:
    daily = {"rrule": "FREQ=DAILY;COUNT=2", "timeZone": "UTC"}
    rule = window_rule(start=START, end=at(60), alert_types=["HOST"], recurrence=daily)
    day = 24 * 60
    assert rule.timed_state(at(60)) == (WindowState.PENDING, at(day))
    assert rule.timed_state(at(day)) == (WindowState.ACTIVE, at(day + 60))
    assert rule.timed_state(at(day + 60)) == (WindowState.EXPIRED, None)


HOST_1 = {"fieldName": "HOSTNAME_AND_PORT", "operator": "EQUALS", "value": "db1:27017"}
SUNDAYS = {"rrule": "FREQ=WEEKLY;BYDAY=SU", "timeZone": "Europe/Berlin"}


@each(
    ("changes", "title"),
    [
        ({"description": "Kernel update"}, "Kernel update"),
        ({}, "Host and replica set alerts, 2099-11-21 22:00 to 23:00 UTC"),
        ({"end": at(180)}, "Host and replica set alerts, 2099-11-21 22:00 to 2099-11-22 01:00 UTC"),
        (
            {"alert_types": ["HOST"], "matchers": [HOST_1]},
            "Host alerts of selected targets, 2099-11-21 22:00 to 23:00 UTC",
        ),
        (
            {"alert_types": ["BI_CONNECTOR"], "recurrence": SUNDAYS},
            "BI connector alerts, every week on Sunday, Europe/Berlin",
        ),
    ],
)
def test_a_window_is_called_by_its_description_or_by_what_it_mutes_and_when(
    changes: dict[str, Any], title: str
) -> None:
    window = {
        "id": "a" * 24,
        "start": START,
        "end": at(60),
        "recurrence": None,
        "matchers": None,
        "alert_types": ["REPLICA_SET", "HOST"],
    }
    rule = window_rule(**{**window, **changes})
    assert (rule.title, rule.name) == (title, f"“{title}”")


def test_a_document_without_optional_fields_mutes_once_and_all_targets() -> None:
    values = {"start": START, "end": at(60), "alert_types": ["HOST"], "description": "new disks"}
    assert rule_of_values(values) == WindowRule(
        id="", start=START, end=at(60), alert_types=["HOST"], recurrence=None, matchers=[]
    )


def test_each_field_of_the_api_except_the_description_decides_what_is_muted() -> None:
    written = {field.source or name for name, field in WindowDocument().fields.items() if not field.read_only}
    assert written - {"description"} == set(MUTING_FIELDS)


def test_categories_are_in_words_and_in_their_usual_order() -> None:
    assert category_list(["REPLICA_SET", "GROUP", "HOST"]) == "Host, Project, Replica set"
