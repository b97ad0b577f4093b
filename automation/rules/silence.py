"""When agents and hosts are silent, and when the platform itself was away. Pure."""

from datetime import datetime, timedelta

SILENCE = timedelta(minutes=4)
"""Who was not heard for so long is silent."""
ABSENCE = timedelta(seconds=60)
"""Without a sweep for longer than this the platform was not running, and nobody could report."""


def heard_limit(now: datetime) -> datetime:
    """A last report at this moment or before is too old to say how something is now."""
    return now - SILENCE


def unheard_for(last_report: datetime | None, now: datetime) -> timedelta | None:
    """How long nothing has been heard of a host, if that is longer than an agent may be silent.

    None while its last report counts, and when there was none yet. Only pages ask: alerts follow from what
    a sweep marks.
    """
    if last_report is None or last_report > heard_limit(now):
        return None
    return now - last_report


def silent_since(*, counting_since: datetime, now: datetime) -> datetime | None:
    """Who was heard last at this moment or before is silent now.

    None while the clocks, which started at `counting_since`, have not run that long: nobody is silent.
    """
    limit = heard_limit(now)
    return limit if counting_since <= limit else None


def clocks_start(*, counting_since: datetime, swept: datetime | None, now: datetime) -> datetime:
    """When the clocks of silence started: as before, or now, when the last sweep is too long ago.

    Clocks that are yet to start do so at their time.
    """
    if swept is None or now - swept > ABSENCE:
        return max(counting_since, now)
    return counting_since
