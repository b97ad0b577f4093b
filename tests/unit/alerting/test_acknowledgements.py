"""Whether an alert is acknowledged, and what a request to acknowledge it changes."""

from datetime import UTC, datetime, timedelta

from alerting.incidents.rules import Acknowledgement, AcknowledgementPreset, acknowledged, in_force, until_of
from tests.each import each

NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
LATER = NOW + timedelta(hours=1)
ADAS = Acknowledgement(LATER, "on it", "ada")


@each(
    ("until", "counts"),
    [
        (NOW - SECOND, False),
        (NOW, False),
        (NOW + timedelta(microseconds=1), True),
        (NOW + SECOND, True),
    ],
    ids=str,
)
def test_it_counts_until_its_time_has_come(until: datetime, counts: bool) -> None:
    stored = Acknowledgement(until, None, "ada")
    assert in_force(stored, NOW) == (stored if counts else None)


def test_what_nobody_acknowledged_is_not() -> None:
    assert in_force(None, NOW) is None


@each(
    ("current", "until", "comment", "after"),
    [
        (None, LATER, "on it", Acknowledgement(LATER, "on it", "grace")),
        (None, LATER, None, Acknowledgement(LATER, None, "grace")),
        (None, NOW + SECOND, None, Acknowledgement(NOW + SECOND, None, "grace")),
        (None, NOW, "on it", None),
        (None, NOW - SECOND, None, None),
        (ADAS, NOW + SECOND, None, Acknowledgement(NOW + SECOND, "on it", "grace")),
        (ADAS, LATER + SECOND, "later", Acknowledgement(LATER + SECOND, "later", "grace")),
        (ADAS, LATER, "later", Acknowledgement(LATER, "later", "grace")),
        (ADAS, LATER, "on it", ADAS),
        (ADAS, LATER, None, ADAS),
        (ADAS, NOW, None, None),
        (ADAS, NOW - SECOND, "on it", None),
    ],
    ids=str,
)
def test_a_request_gives_changes_keeps_or_takes_it_back(
    current: Acknowledgement | None, until: datetime, comment: str | None, after: Acknowledgement | None
) -> None:
    assert acknowledged(current, until=until, comment=comment, username="grace", now=NOW) == after


@each(
    ("preset", "now", "until"),
    [
        (AcknowledgementPreset.HOUR, NOW, NOW + timedelta(hours=1)),
        (AcknowledgementPreset.HOUR, NOW + timedelta(microseconds=5), NOW + timedelta(hours=1)),
        (AcknowledgementPreset.FOUR_HOURS, NOW, NOW + timedelta(hours=4)),
        (AcknowledgementPreset.TOMORROW, NOW, datetime(2099, 11, 22, 9, 0, tzinfo=UTC)),
        (
            AcknowledgementPreset.TOMORROW,
            datetime(2099, 12, 31, 23, 59, 59, tzinfo=UTC),
            datetime(2100, 1, 1, 9, 0, tzinfo=UTC),
        ),
        (AcknowledgementPreset.OWN, NOW, None),
    ],
    ids=str,
)
def test_a_preset_is_a_time(preset: AcknowledgementPreset, now: datetime, until: datetime | None) -> None:
    assert until_of(preset, now, "UTC") == until


def test_tomorrow_is_the_morning_in_the_zone_of_the_operator() -> None:
    now = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)  # the 29th in Berlin; the clock is set forward
    until = until_of(AcknowledgementPreset.TOMORROW, now, "Europe/Berlin")
    assert until == datetime(2026, 3, 30, 7, tzinfo=UTC)
