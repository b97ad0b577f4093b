"""What goes wrong with the embedded PostgreSQL, told in one line."""


class EmbeddedDatabaseError(Exception):
    """The embedded PostgreSQL cannot be run; the message is one line for the operator."""
