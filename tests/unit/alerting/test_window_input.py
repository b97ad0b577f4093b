"""The inputs of a window's form: what they send, and what a stored window fills in."""

from datetime import UTC, datetime
from typing import Any

from alerting.configs.matchers import hosts_matcher
from alerting.windows.input import (
    Repeat,
    WindowPreset,
    matcher_lines,
    matchers_shown,
    preset_inputs,
    recurrence_shown,
    recurrence_typed,
    zone_for,
)
from opsapi.time_zones import in_zone, local_time
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
    assert recurrence_shown(None) == {"repeat": "ONCE"}


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
    assert local_time(datetime(2026, 7, 1, tzinfo=UTC), ZONE) == "2026-07-01 02:00"


@each(
    ("moment", "zone"),
    [
        (datetime(2026, 7, 1, tzinfo=UTC), ZONE),
        # 02:30 occurs twice: typed times mean the first.
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), ZONE),
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC), "UTC"),
    ],
)
def test_a_local_time_that_would_mean_another_time_is_shown_in_utc(moment: datetime, zone: str) -> None:
    assert zone_for([datetime(2026, 7, 1, tzinfo=UTC), moment], ZONE) == zone


@each(
    ("preset", "now", "start", "end"),
    [
        ("hour", "2026-11-25T12:34:56Z", "2026-11-25 13:34", "2026-11-25 14:34"),
        ("tonight", "2026-11-25T12:00:00Z", "2026-11-25 22:00", "2026-11-26 06:00"),
        ("tonight", "2026-11-25T22:30:00Z", "2026-11-25 23:30", "2026-11-26 06:00"),
        ("tonight", "2026-11-25T00:00:00Z", "2026-11-25 01:00", "2026-11-25 06:00"),
        ("sundays", "2026-11-25T12:00:00Z", "2026-11-29 02:00", "2026-11-29 04:00"),
        ("sundays", "2026-11-29T00:30:00Z", "2026-11-29 02:00", "2026-11-29 04:00"),
        ("sundays", "2026-11-29T01:30:00Z", "2026-12-06 02:00", "2026-12-06 04:00"),
    ],
)
def test_presets_are_in_local_time(preset: str, now: str, start: str, end: str) -> None:
    inputs = preset_inputs(WindowPreset(preset), datetime.fromisoformat(now), ZONE)
    assert (inputs["startDate"], inputs["endDate"], inputs["timeZone"]) == (start, end, ZONE)
    assert (inputs.get("repeat") == "WEEKLY") is (preset == "sundays")
