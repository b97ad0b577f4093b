"""The duration of a console session: a maximum age, and a maximum time without use.

The row of the session has the time at which it ends; Django ignores it afterwards. Automatic refreshes of a
page (`X-Console-Refresh`) do not count as use.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse

from opsapi import clock

REFRESH_HEADER = "X-Console-Refresh"
STARTED = "started"
"""The time of the log-in, in seconds since 1970."""
WRITES_AT_MOST = 60
"""The maximum number of updates of a session's end during its idle time."""


def session_limits(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Extend each session that was used, unless the page only refreshed itself."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        session: SessionBase = request.session
        # Requests with keys have no session and must not get one.
        if session.accessed and SESSION_KEY in session and REFRESH_HEADER not in request.headers:
            _prolong(session, clock.now())
        return response

    return handle


def end_of(started: datetime, used: datetime) -> datetime:
    """Return the end of a session with this start and last use."""
    idle = timedelta(minutes=settings.OPSAPI_SESSION_IDLE_MINUTES)
    return min(started + timedelta(hours=settings.OPSAPI_SESSION_HOURS), used + idle)


def _prolong(session: SessionBase, now: datetime) -> None:
    """Update the end of the session. Each update writes the row, so most requests do not update it."""
    begins = STARTED not in session
    if begins:
        session[STARTED] = int(now.timestamp())
    ends = end_of(datetime.fromtimestamp(session[STARTED], UTC), now)
    step = timedelta(minutes=settings.OPSAPI_SESSION_IDLE_MINUTES) / WRITES_AT_MOST
    if begins or ends - session.get_expiry_date() >= step:
        session.set_expiry(ends)
