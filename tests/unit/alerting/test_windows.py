"""Maintenance windows: whether a window is pending, active or over."""

from datetime import UTC, datetime, timedelta
from typing import Any

from alerting.windows.rules import WindowState, category_list, window_rule, window_state
from tests.each import each

START = datetime(2099, 11, 21, 22, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def at(minutes: int) -> datetime:
    """So many minutes after START."""
    return START + timedelta(minutes=minutes)


@each(
    ("now", "state"),
    [
        (START - SECOND, WindowState.PENDING),
        (START - timedelta(microseconds=1), WindowState.PENDING),
        (START, WindowState.ACTIVE),
        (at(60) - SECOND, WindowState.ACTIVE),
        (at(60) - timedelta(microseconds=1), WindowState.ACTIVE),
        (at(60), WindowState.EXPIRED),
        (at(60) + SECOND, WindowState.EXPIRED),
    ],
    ids=str,
)
def test_the_start_belongs_to_a_window_and_the_end_does_not(now: datetime, state: WindowState) -> None:
    assert window_state(START, at(60), now) is state


HOST_1 = {"fieldName": "HOSTNAME_AND_PORT", "operator": "EQUALS", "value": "db1:27017"}
SUNDAYS = {"rrule": "FREQ=WEEKLY;BYDAY=SU", "timeZone": "Europe/Berlin"}


@each(
    ("changes", "title"),
    [
        ({"description": "Kernel update"}, "Kernel update"),
        ({}, "Host and replica set alerts, 2099-11-21 22:00 to 23:00 UTC"),
        ({"end": at(180)}, "Host and replica set alerts, 2099-11-21 22:00 to 2099-11-22 01:00 UTC"),
        (
            {"categories": ["HOST"], "matchers": [HOST_1]},
            "Host alerts of selected targets, 2099-11-21 22:00 to 23:00 UTC",
        ),
        (
            {"categories": ["BI_CONNECTOR"], "recurrence": SUNDAYS},
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
        "categories": ["REPLICA_SET", "HOST"],
    }
    rule = window_rule(**{**window, **changes})
    assert (rule.title, rule.name) == (title, f"“{title}”")


def test_categories_are_in_words_and_in_their_usual_order() -> None:
    assert category_list(["REPLICA_SET", "GROUP", "HOST"]) == "Host, Project, Replica set"
