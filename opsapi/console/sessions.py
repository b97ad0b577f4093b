"""Session storage: Django's table, without lost updates between parallel requests."""

import re
from copy import deepcopy
from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import transaction

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
