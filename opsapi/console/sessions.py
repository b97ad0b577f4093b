"""Sessions of the console: storage without lost updates, a maximum age, and a maximum time without use.

The row of a session has the time at which it ends; Django ignores it afterwards. Automatic refreshes of a
page (`X-Console-Refresh`) do not count as use.
"""

import math
import re
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from opsapi import clock
from opsapi.session_ends import latest_session_end

REFRESH_HEADER = "X-Console-Refresh"
STARTED = "started"
"""The time of the log-in, in seconds since 1970."""
WRITES_AT_MOST = 60
"""The maximum number of updates of a session's end during its idle time."""
_KEY = re.compile(r"[a-z0-9]{8,40}")
_ABSENT = object()


class SessionStore(DatabaseStore):
    """Django's session store without two faults.

    Django looks up any cookie value, and a NUL causes a database error. Django writes the session as it was
    when the request read it, so a slow request undoes the changes of a fast one.
    """

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key)
        self._known: dict[str, Any] = {}
        """The data of the row when this request last read or wrote it."""

    def _validate_session_key(self, key: str | None) -> bool:
        """Whether the key has the format of our session keys."""
        return key is not None and _KEY.fullmatch(key) is not None

    def end(self) -> bool:
        """End the session, as `flush` does. Returns whether this call ended it, if several race."""
        rows = self.model.objects.filter(session_key=self.session_key)
        ended: int = rows.delete()[0]
        self.flush()
        return bool(ended)

    def get_expiry_age(self, **given: Any) -> int:
        """Return the seconds until the session ends, by the clock that all processes follow."""
        age: int = super().get_expiry_age(**{"modification": clock.now(), **given})
        return age

    def get_expiry_date(self, **given: Any) -> datetime:
        """Return when the session ends, by the clock that all processes follow."""
        date: datetime = super().get_expiry_date(**{"modification": clock.now(), **given})
        return date

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        """Return the row of a session that has not ended, otherwise None.

        A session with an end after `latest_session_end` was written while a clock was wrong: it has ended.
        """
        now = clock.now()
        rows = self.model.objects.filter(expire_date__gt=now, expire_date__lte=latest_session_end(now))
        row: AbstractBaseSession | None = rows.filter(session_key=self.session_key).first()
        if row is None:
            self._session_key = None
        return row

    def load(self) -> dict[str, Any]:
        """The data of the row."""
        data: dict[str, Any] = super().load()
        self._known = deepcopy(data)
        return data

    def save(self, must_create: bool = False) -> None:
        """Write the changes of this request, and keep and read the changes of others."""
        with transaction.atomic():
            if not must_create and (row := self._locked()) is not None:
                self._take_over(row)
            super().save(must_create)
        self._known = deepcopy(dict(self.items()))

    def cycle_key(self) -> None:
        """Give the session a new key, with the changes that other requests saved."""
        with transaction.atomic():
            if self.keys():
                self.hold()
            super().cycle_key()

    def hold(self) -> None:
        """Lock the session until the transaction ends, and read its current data.

        Raises:
            SessionInterrupted: it has ended in the meantime; Django answers 400.
        """
        row = self._locked()
        if row is None:
            raise SessionInterrupted("Your session has ended. Log in again.")
        self._take_over(row)

    def _locked(self) -> AbstractBaseSession | None:
        return self.model.objects.select_for_update().filter(session_key=self.session_key).first()

    def _take_over(self, row: AbstractBaseSession) -> None:
        """Take the data of the row, with the changes of this request."""
        mine, stored = dict(self.items()), self.decode(row.session_data)
        kept = {name: value for name, value in stored.items() if name in mine or name not in self._known}
        changed = {name: value for name, value in mine.items() if self._known.get(name, _ABSENT) != value}
        self._known = deepcopy(stored)
        self._session_cache = kept | changed


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
    # A log-in in the future was noted while a clock was wrong.
    begins = session.get(STARTED, math.inf) > (now + clock.AHEAD).timestamp()
    if begins:
        session[STARTED] = int(now.timestamp())
    ends = end_of(datetime.fromtimestamp(session[STARTED], UTC), now)
    step = timedelta(minutes=settings.OPSAPI_SESSION_IDLE_MINUTES) / WRITES_AT_MOST
    if begins or ends - session.get_expiry_date() >= step:
        session.set_expiry(ends)
