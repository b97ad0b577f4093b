"""Where the console's sessions are kept: Django's table, asked only for keys that can be in it."""

import re

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore

_KEY = re.compile(r"[a-z0-9]{8,40}")


class SessionStore(DatabaseStore):
    """Django looks up whatever the cookie holds, and a NUL in it ends in an error of the database."""

    def _validate_session_key(self, key: str | None) -> bool:
        """Whether it has the form of one of ours."""
        return key is not None and _KEY.fullmatch(key) is not None

    def end(self) -> bool:
        """End the session, as `flush` does; whether it was this call that ended it, of those that race."""
        rows = self.model.objects.filter(session_key=self.session_key)
        ended: int = rows.delete()[0]
        self.flush()
        return bool(ended)
