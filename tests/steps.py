"""The steps of a clock that tests try: both ways by a minute, an hour, a day and a year."""

from datetime import timedelta

_SIZES = (
    timedelta(minutes=1),
    timedelta(hours=1),
    timedelta(days=1),
    timedelta(days=365),
)
STEPS = tuple(sign * size for size in _SIZES for sign in (1, -1))
