"""Counting attempts."""

from datetime import UTC, datetime, timedelta

import pytest

from accesslist.throttles import hit

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
WINDOW = timedelta(seconds=60)


def attempt(seconds: int = 0, bucket: str = "a", limit: int = 2) -> int | None:
    """One attempt, so many seconds after NOW."""
    return hit(bucket, limit=limit, window=WINDOW, now=NOW + timedelta(seconds=seconds))


def test_as_many_as_the_limit_pass_and_the_next_waits_for_the_window_to_end() -> None:
    assert [attempt(), attempt(10), attempt(20)] == [None, None, 40]


def test_the_window_ends_after_its_length() -> None:
    for _ in range(3):
        attempt()
    assert attempt(59) == 1
    assert attempt(60) is None


def test_buckets_do_not_count_for_each_other() -> None:
    assert [attempt(bucket=name, limit=1) for name in ("a", "b", "a")] == [None, None, 60]
