"""What housekeeping keeps (accesslist.digest.store)."""

from datetime import timedelta

import pytest

from accesslist.login.attempts import LOGIN_WINDOW
from accesslist.models import RateWindow
from accesslist.purge import expired_rows_purge
from accesslist.throttles import RATE_WINDOW
from opsapi import clock
from tests.each import each

LONGEST = timedelta(minutes=10)
INSTANT = timedelta(microseconds=1)


@pytest.mark.django_db
@each(
    ("age", "kept"),
    [
        (timedelta(0), True),
        (RATE_WINDOW + INSTANT, True),
        (LOGIN_WINDOW, True),
        (LOGIN_WINDOW + INSTANT, True),
        (LONGEST, True),
        (LONGEST + INSTANT, False),
    ],
    ids=str,
)
def test_a_rate_window_is_kept_until_it_is_certainly_over(age: timedelta, kept: bool) -> None:
    now = clock.now()
    RateWindow.objects.create(bucket="some", started=now - age, count=1)
    expired_rows_purge(now=now)
    assert RateWindow.objects.exists() is kept
