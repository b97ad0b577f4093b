"""The gaps that changes of the clock leave in a recurring window, and rules that users paste."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from alerting.windows.recurrence import Recurrence, clock_gaps, normal_rrule, normal_time_zone, parse_rrule

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 9, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("rule", "zone", "hours", "gaps"),
    [
        ("FREQ=DAILY", "Europe/Berlin", 24, [(datetime(2026, 10, 25, 22, tzinfo=UTC), 1)]),
        ("FREQ=WEEKLY", "Europe/Berlin", 7 * 24, [(datetime(2026, 10, 26, 22, tzinfo=UTC), 1)]),
        ("FREQ=DAILY", "Europe/Berlin", 23, []),
        ("FREQ=DAILY", "Europe/Berlin", 2, []),
        ("FREQ=DAILY", "UTC", 24, []),
        ("FREQ=DAILY", "Asia/Tokyo", 24, []),
        ("FREQ=DAILY;UNTIL=20261001", "Europe/Berlin", 24, []),
        ("FREQ=DAILY;INTERVAL=2", "Europe/Berlin", 24, []),
        ("FREQ=DAILY", "Australia/Lord_Howe", 24, [(datetime(2027, 4, 4, 13, tzinfo=UTC), 0.5)]),
    ],
)
def test_the_hour_of_a_longer_day_is_a_gap(
    rule: str, zone: str, hours: int, gaps: list[tuple[datetime, float]]
) -> None:
    start = datetime(2026, 9, 1, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    found = clock_gaps(start, start + timedelta(hours=hours), Recurrence(rule, zone), after=NOW)
    assert [(gap.start, (gap.end - gap.start) / timedelta(hours=1)) for gap in found] == gaps


@pytest.mark.parametrize(
    "text",
    [
        "FREQ=WEEKLY;BYDAY=SU",
        "RRULE:FREQ=WEEKLY;BYDAY=SU",
        "rrule:freq=weekly;byday=su",
        "FREQ=WEEKLY; BYDAY=SU;",
    ],
)
def test_a_pasted_rule_is_stored_in_its_normal_form(text: str) -> None:
    assert normal_rrule(text) == "FREQ=WEEKLY;BYDAY=SU"
    assert parse_rrule(normal_rrule(text)).frequency == "WEEKLY"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("europe/berlin", "Europe/Berlin"),
        (" Europe/Berlin ", "Europe/Berlin"),
        ("utc", "UTC"),
        ("Mars/Base", "Mars/Base"),
    ],
)
def test_the_name_of_a_time_zone_has_its_usual_case(text: str, name: str) -> None:
    assert normal_time_zone(text) == name
