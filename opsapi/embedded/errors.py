"""Errors of the embedded PostgreSQL, each in one line."""


class EmbeddedDatabaseError(Exception):
    """The embedded PostgreSQL cannot run; the message is one line for the operator."""
