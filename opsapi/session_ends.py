"""When sessions of the console can end."""

from datetime import datetime, timedelta

from django.conf import settings

from opsapi.clock import AHEAD


def latest_session_end(now: datetime) -> datetime:
    """Return the latest time at which a session can end; a session with a later end has ended.

    Such a session was written while a clock was wrong.
    """
    return now + timedelta(seconds=settings.SESSION_COOKIE_AGE) + AHEAD
