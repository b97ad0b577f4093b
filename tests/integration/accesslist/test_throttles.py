"""Counting attempts."""

from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import RateWindow
from accesslist.throttles import give_back, hit, throttle
from opsapi.api.errors import ApiError
from tests.each import each
from tests.racing import at_once

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
WINDOW = timedelta(seconds=60)


def attempt(seconds: float = 0, bucket: str = "a", limit: int = 2) -> int | None:
    """One attempt, so many seconds after NOW."""
    return hit(bucket, limit=limit, window=WINDOW, now=NOW + timedelta(seconds=seconds)).wait


def test_as_many_as_the_limit_pass_and_the_next_waits_for_the_window_to_end() -> None:
    assert [attempt(), attempt(10), attempt(20)] == [None, None, 40]


def test_the_window_ends_after_its_length() -> None:
    for _ in range(3):
        attempt()
    assert attempt(59) == 1
    assert attempt(60) is None


def test_buckets_do_not_count_for_each_other() -> None:
    assert [attempt(bucket=name, limit=1) for name in ("a", "b", "a")] == [None, None, 60]


def test_a_caller_over_the_limit_is_not_counted_again() -> None:
    waits = [attempt() for _ in range(10)]
    assert waits == [None, None, *[60] * 8]
    assert RateWindow.objects.get().count == 3


@each(("seconds", "wait"), [(0, 60), (0.4, 60), (59, 1), (59.9, 1)])
def test_the_wait_is_never_too_short(seconds: float, wait: int) -> None:
    for _ in range(2):
        attempt()
    assert attempt(seconds) == wait


def test_a_throttle_refuses_with_the_time_to_wait() -> None:
    for _ in range(2):
        throttle("b", 2, NOW)
    with pytest.raises(ApiError) as refused:
        throttle("b", 2, NOW + timedelta(seconds=15))
    assert (refused.value.code, refused.value.parameters) == ("RATE_LIMITED", ["45"])
    assert refused.value.headers == {"Retry-After": "45"}


def test_a_limit_of_0_allows_everything() -> None:
    for _ in range(5):
        throttle("b", 0, NOW)
    assert not RateWindow.objects.exists()


@each(("attempts", "given_back", "left"), [(1, 1, 2), (2, 1, 1), (2, 2, 2), (5, 1, 1), (5, 2, 2), (1, 3, 2)])
def test_an_attempt_that_is_given_back_can_be_taken_again(attempts: int, given_back: int, left: int) -> None:
    for _ in range(attempts):
        attempt()
    for _ in range(given_back):
        give_back("a", started=NOW, limit=2)
    assert [attempt() for _ in range(3)] == [*[None] * left, *[60] * (3 - left)]


def test_an_attempt_is_not_given_back_to_another_window_or_bucket() -> None:
    attempt()
    attempt(60)
    for bucket, started in [("a", NOW), ("b", NOW + WINDOW)]:
        give_back(bucket, started=started, limit=2)
    assert RateWindow.objects.get().count == 1


@pytest.mark.django_db(transaction=True)
def test_attempts_can_be_given_back_concurrently(transactional_db: None) -> None:
    at_once(lambda _: attempt(limit=10))
    at_once(lambda _: give_back("a", started=NOW, limit=10))
    assert RateWindow.objects.get().count == 0


@pytest.mark.django_db(transaction=True)
def test_of_many_attempts_at_once_as_many_as_the_limit_pass(transactional_db: None) -> None:
    waits = at_once(lambda _: attempt(limit=4))
    assert waits.count(None) == 4
