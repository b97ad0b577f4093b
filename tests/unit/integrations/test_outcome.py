"""When a failed delivery comes again."""

from datetime import UTC, datetime, timedelta

import pytest

from integrations.channels.outcome import next_attempt, parse_retry_after
from integrations.channels.stages import HTTP, row_of
from integrations.choices import DeliveryStatus
from opsapi.outbound.errors import Stage
from tests.each import each

FIRST = datetime(2026, 11, 21, 7, 0, 0, tzinfo=UTC)


def expected_status(status: int) -> DeliveryStatus:
    """The rule of retries, written out again."""
    if status in range(200, 300):
        return DeliveryStatus.DELIVERED
    return DeliveryStatus.RETRY if status in {408, 425, 429, *range(500, 600)} else DeliveryStatus.FAILED


@each("status", range(100, 600))
def test_it_judges_every_http_status(status: int) -> None:
    assert row_of(HTTP, Stage.STATUS, status).status is expected_status(status)


@each(
    ("status", "outcome"),
    [
        (199, DeliveryStatus.FAILED),
        (200, DeliveryStatus.DELIVERED),
        (299, DeliveryStatus.DELIVERED),
        (300, DeliveryStatus.FAILED),
        (302, DeliveryStatus.FAILED),
        (404, DeliveryStatus.FAILED),
        (408, DeliveryStatus.RETRY),
        (410, DeliveryStatus.FAILED),
        (425, DeliveryStatus.RETRY),
        (429, DeliveryStatus.RETRY),
        (499, DeliveryStatus.FAILED),
        (500, DeliveryStatus.RETRY),
        (599, DeliveryStatus.RETRY),
        (600, DeliveryStatus.FAILED),
    ],
)
def test_it_judges_the_boundaries(status: int, outcome: DeliveryStatus) -> None:
    assert row_of(HTTP, Stage.STATUS, status).status is outcome


@each(
    ("attempt", "failed_after", "retry_after", "jitter", "due_after"),
    [
        pytest.param(1, 0, None, 0.0, 5, id="first delay"),
        pytest.param(1, 0, None, -1.0, 4, id="20 % less"),
        pytest.param(1, 0, None, 1.0, 6, id="20 % more"),
        pytest.param(2, 5, None, 0.0, 15, id="doubled"),
        pytest.param(6, 155, None, 0.0, 315, id="160 s, the last below the limit"),
        pytest.param(7, 315, None, 0.0, 615, id="limit of 5 min"),
        pytest.param(7, 315, None, 1.0, 675, id="limit and 20 %"),
        pytest.param(5000, 315, None, 0.0, 615, id="very many attempts"),
        pytest.param(1, 0, 0, 0.0, 5, id="Retry-After shorter than the delay"),
        pytest.param(1, 0, 60, -1.0, 60, id="Retry-After is never undercut"),
        pytest.param(1, 0, 3600, 0.0, 3600, id="Retry-After of an hour"),
        pytest.param(1, 0, 86400, 0.0, 3600, id="Retry-After of a day"),
        pytest.param(1, 10, 3600, 0.0, 3600, id="last attempt at the end of the hour"),
        pytest.param(20, 3500, None, 0.0, 3600, id="delay cut at the end of the hour"),
        pytest.param(20, 3599, None, 0.0, 3600, id="just within the hour"),
        pytest.param(20, 3600, None, 0.0, None, id="the hour is over"),
        pytest.param(20, 3600, 5, 0.0, None, id="over, Retry-After or not"),
        pytest.param(2, 90000, None, 0.0, None, id="long over"),
    ],
)
def test_it_says_when_to_try_again(
    attempt: int, failed_after: int, retry_after: int | None, jitter: float, due_after: int | None
) -> None:
    due = next_attempt(attempt, FIRST, FIRST + timedelta(seconds=failed_after), retry_after, jitter)
    assert due == (None if due_after is None else FIRST + timedelta(seconds=due_after))


@each(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0),
        (" 120 ", 120),
        ("3600", 3600),
        ("3601", 3600),
        ("9" * 5000, 3600),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("soon", None),
        ("Sat, 21 Nov 2026 07:01:30 GMT", 90),
        ("Sat, 21 Nov 2026 07:01:30 -0000", 90),
        ("Sat, 21 Nov 2026 06:59:00 GMT", 0),
        ("Sun, 22 Nov 2026 07:00:00 GMT", 3600),
        ("Sat, 21 Nov 99999999999999 07:28:00 GMT", None),
        ("Sat, 21 Nov 2026 07:28:00 +99999999999999999999999", None),
    ],
)
def test_it_reads_retry_after(header: str | None, seconds: int | None) -> None:
    assert parse_retry_after(header, FIRST) == seconds
