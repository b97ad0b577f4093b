"""When those who should report are silent, and when nobody could (decisions 8 "derived signals"). Pure."""

from datetime import datetime, timedelta

SILENCE = timedelta(minutes=4)
"""Who was not heard for so long is silent."""
ABSENCE = timedelta(seconds=60)
"""Without a sweep for longer than this the platform was not running, and nobody could report."""


def silent_since(*, counting_since: datetime, now: datetime) -> datetime | None:
    """Who was heard last at this moment or before is silent now.

    None while the clocks, which started at `counting_since`, have not run that long: nobody is silent.
    """
    limit = now - SILENCE
    return limit if counting_since <= limit else None


def clocks_start(*, counting_since: datetime, swept: datetime | None, now: datetime) -> datetime:
    """When the clocks of silence started: as before, or now, when the last sweep is too long ago.

    Clocks that are yet to start do so at their time.
    """
    if swept is None or now - swept > ABSENCE:
        return max(counting_since, now)
    return counting_since
