"""Reasons why the database cannot be used right now. The texts contain no host, value or secret."""

from enum import Enum

from django.db import DatabaseError, InterfaceError, OperationalError


class DatabaseFault(Enum):
    """Why the database does not answer: `words` for logs, `sentence` for callers of the API."""

    DISK_FULL = ("disk full", "the database's disk is full")
    TOO_MANY_CONNECTIONS = ("too many connections", "the database has too many connections")
    READ_ONLY = ("read-only", "the database is read-only")
    STANDBY = ("read-only: it is a standby", "the database is read-only: it is a standby")
    STARTING = ("starting", "the database is starting or stopping")
    TOO_SLOW = ("no answer in time", "the database did not answer in time")
    GAVE_WAY = ("gave way to another transaction", "another request blocked this one")
    UNREACHABLE = ("cannot be reached", "the database cannot be reached")

    def __init__(self, words: str, sentence: str) -> None:
        self.words = words
        self.sentence = sentence


GAVE_WAY_STATES = frozenset({"40001", "40P01"})
"""SQLSTATE: a transaction that could not be serialized, a deadlock."""
_READ_ONLY_STATE = "25006"
# A standby refuses to read unlogged tables with a state that has other uses, too. The name of PostgreSQL's
# function, unlike the text, is not translated.
_UNLOGGED_ON_A_STANDBY = ("0A000", "get_relation_info")
# SQLSTATE classes of transient faults: connection, rollback, locks, resources, operator, system.
_TRANSIENT_CLASSES = frozenset({"08", "40", "53", "55", "57", "58"})
_BY_SQLSTATE = {
    "53100": DatabaseFault.DISK_FULL,
    "53300": DatabaseFault.TOO_MANY_CONNECTIONS,
    _READ_ONLY_STATE: DatabaseFault.READ_ONLY,
    "57P03": DatabaseFault.STARTING,
    "57014": DatabaseFault.TOO_SLOW,
    **dict.fromkeys(GAVE_WAY_STATES, DatabaseFault.GAVE_WAY),
}
# libpq reports only the text when a server or pooler refuses a connection.
_BY_TEXT = {
    "too many clients": DatabaseFault.TOO_MANY_CONNECTIONS,
    "too many connections": DatabaseFault.TOO_MANY_CONNECTIONS,
    "connection slots are reserved": DatabaseFault.TOO_MANY_CONNECTIONS,
    "no more connections allowed": DatabaseFault.TOO_MANY_CONNECTIONS,
    "the database system is": DatabaseFault.STARTING,
    # None of several servers accepts writes (`target_session_attrs`).
    "session is read-only": DatabaseFault.READ_ONLY,
    "server is in hot standby mode": DatabaseFault.STANDBY,
}


def database_fault(error: BaseException | None) -> DatabaseFault | None:
    """Return the fault of the database from an error of Django; None for other errors."""
    cause = getattr(error, "__cause__", None)
    known = _BY_SQLSTATE.get(getattr(cause, "sqlstate", None) or "")
    if _is_of_standby(cause):
        return DatabaseFault.STANDBY
    if known or not isinstance(error, (OperationalError, InterfaceError)):
        return known
    text = str(error)
    return next((fault for part, fault in _BY_TEXT.items() if part in text), DatabaseFault.UNREACHABLE)


def refuses_writes(error: BaseException) -> bool:
    """Whether psycopg's error says that the server is read-only now. Another server may accept writes."""
    return getattr(error, "sqlstate", None) == _READ_ONLY_STATE or _is_of_standby(error)


def _is_of_standby(error: BaseException | None) -> bool:
    diagnostic = getattr(error, "diag", None)
    origin = (getattr(error, "sqlstate", None), getattr(diagnostic, "source_function", None))
    return origin == _UNLOGGED_ON_A_STANDBY


def is_transient(error: Exception) -> bool:
    """Whether the error is a transient fault of the database, such as a deadlock."""
    if not isinstance(error, (DatabaseError, InterfaceError)):
        return False
    cause = error.__cause__
    state = getattr(cause, "sqlstate", None)
    if cause is None or state is None:
        return isinstance(error, (OperationalError, InterfaceError))
    return refuses_writes(cause) or state[:2] in _TRANSIENT_CLASSES
