"""The embedded PostgreSQL: server programs from a wheel, supervised by the platform.

It is used if DATABASE_URL is not set, and by the tests. `layout` has the paths and is the only module that
the settings import. `server` starts and stops the server.
"""


class EmbeddedDatabaseError(Exception):
    """The embedded PostgreSQL cannot run. The message is one line for the operator."""
