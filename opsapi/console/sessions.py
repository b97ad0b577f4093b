"""Where the console's sessions are kept: Django's table, asked only for keys that can be in it."""

import re

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore

_KEY = re.compile(r"[a-z0-9]{8,40}")


class SessionStore(DatabaseStore):
    """Django looks up whatever the cookie holds, and a NUL in it ends in an error of the database."""

    def _validate_session_key(self, key: str | None) -> bool:
        """Whether it has the form of one of ours."""
        return key is not None and _KEY.fullmatch(key) is not None
