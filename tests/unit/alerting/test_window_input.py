"""The inputs of a window's form: what they send, and what a stored window fills in."""

from datetime import UTC, datetime
from typing import Any

from alerting.configs.matchers import hosts_matcher
from alerting.windows.input import (
    Repeat,
    in_zone,
    local_time,
    matcher_lines,
    matchers_shown,
    recurrence_shown,
    recurrence_typed,
)
from tests.each import each

ZONE = "Europe/Berlin"
SET = {"fieldName": "REPLICA_SET_NAME", "operator": "EQUALS", "value": "orders of today"}


@each(
    ("repeat", "weekdays", "rule"),
    [
        (Repeat.DAILY, [], "FREQ=DAILY"),
        (Repeat.WEEKLY, [], "FREQ=WEEKLY"),
        (Repeat.WEEKLY, ["MO", "SU"], "FREQ=WEEKLY;BYDAY=MO,SU"),
        (Repeat.RULE, [], "FREQ=MONTHLY;BYDAY=-1SU"),
        (Repeat.RULE, [], "FREQ=WEEKLY;INTERVAL=2"),
    ],
)
def test_a_stored_recurrence_fills_in_the_inputs_that_send_it(
    repeat: Repeat, weekdays: list[str], rule: str
) -> None:
    stored = recurrence_typed(repeat.value, weekdays, rule, ZONE)
    assert stored == {"rrule": rule, "timeZone": ZONE}
    shown: dict[str, Any] = recurrence_shown(stored)
    assert shown["repeat"] == repeat.value
    typed = recurrence_typed(
        shown["repeat"], shown.get("weekdays", []), shown.get("rrule", ""), shown["timeZone"]
    )
    assert typed == stored


@each("repeat", ["", Repeat.ONCE.value])
def test_a_window_that_occurs_once_sends_no_recurrence(repeat: str) -> None:
    assert recurrence_typed(repeat, ["MO"], "FREQ=DAILY", ZONE) == {}
    assert recurrence_shown(None) == {"repeat": "ONCE", "timeZone": "UTC"}


@each("names", [["db1:27017"], ["db1:27017", "db2.example.com:27018"]])
def test_a_first_matcher_of_hosts_is_shown_as_lines(names: list[str]) -> None:
    shown = matchers_shown([hosts_matcher(names), SET])
    assert (shown["hosts"].splitlines(), shown["matchers"]) == (names, [SET])
    assert matcher_lines([hosts_matcher(names), SET]) == [*names, "REPLICA_SET_NAME EQUALS orders of today"]


@each(
    "stored",
    [
        [],
        [SET],
        [SET, hosts_matcher(["db1:27017"])],
        [hosts_matcher(["db1:27017", "db1:27017"])],
        [hosts_matcher([" db1:27017"])],
        [hosts_matcher(["db1:27017", ""])],
    ],
)
def test_matchers_that_lines_of_hosts_cannot_give_back_are_shown_as_they_are(
    stored: list[dict[str, str]],
) -> None:
    assert matchers_shown(stored) == {"hosts": "", "matchers": stored}


def test_times_are_sent_in_the_zone_of_the_window_and_shown_in_it() -> None:
    assert in_zone("2026-07-01T02:00:00", ZONE) == "2026-07-01T02:00:00+02:00"
    assert in_zone("2026-07-01T02:00:00Z", ZONE) == "2026-07-01T02:00:00Z"
    assert in_zone("soon", ZONE) == "soon"
    assert local_time(datetime(2026, 7, 1, tzinfo=UTC), ZONE) == "2026-07-01T02:00:00"
