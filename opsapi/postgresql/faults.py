"""Why the database cannot be used right now, in words that name no host, no value and no secret."""

from enum import Enum

from django.db import DatabaseError, InterfaceError, OperationalError


class DatabaseFault(Enum):
    """Why the database does not answer; `words` is a short text, `sentence` is for callers of the API."""

    DISK_FULL = ("disk full", "the database's disk is full")
    TOO_MANY_CONNECTIONS = ("too many connections", "the database has too many connections")
    READ_ONLY = ("read-only", "the database is read-only")
    STARTING = ("starting", "the database is starting or stopping")
    TOO_SLOW = ("no answer in time", "the database did not answer in time")
    GAVE_WAY = ("gave way to another transaction", "another request blocked this one")
    UNREACHABLE = ("cannot be reached", "the database cannot be reached")

    def __init__(self, words: str, sentence: str) -> None:
        self.words = words
        self.sentence = sentence


GAVE_WAY_STATES = frozenset({"40001", "40P01"})
"""SQLSTATE: a transaction that could not be serialized, a deadlock."""
# SQLSTATE classes of faults that pass: connection, rollback, locks, resources, operator, system.
_PASSING_CLASSES = frozenset({"08", "40", "53", "55", "57", "58"})
_BY_SQLSTATE = {
    "53100": DatabaseFault.DISK_FULL,
    "53300": DatabaseFault.TOO_MANY_CONNECTIONS,
    "25006": DatabaseFault.READ_ONLY,
    "57P03": DatabaseFault.STARTING,
    "57014": DatabaseFault.TOO_SLOW,
    **dict.fromkeys(GAVE_WAY_STATES, DatabaseFault.GAVE_WAY),
}
# Of a connection that the server or a pooler refuses, libpq hands on the text alone.
_BY_TEXT = {
    "too many clients": DatabaseFault.TOO_MANY_CONNECTIONS,
    "too many connections": DatabaseFault.TOO_MANY_CONNECTIONS,
    "connection slots are reserved": DatabaseFault.TOO_MANY_CONNECTIONS,
    "no more connections allowed": DatabaseFault.TOO_MANY_CONNECTIONS,
    "the database system is": DatabaseFault.STARTING,
}


def database_fault(error: BaseException | None) -> DatabaseFault | None:
    """What an error of Django's says of the database, where the same may succeed later; else None."""
    known = _BY_SQLSTATE.get(getattr(getattr(error, "__cause__", None), "sqlstate", None) or "")
    if known or not isinstance(error, (OperationalError, InterfaceError)):
        return known
    text = str(error)
    return next((fault for part, fault in _BY_TEXT.items() if part in text), DatabaseFault.UNREACHABLE)


def passes(error: Exception) -> bool:
    """Whether it is a fault of the database that passes, such as a deadlock, and not of the statement."""
    if not isinstance(error, (DatabaseError, InterfaceError)):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    if state is None:
        return isinstance(error, (OperationalError, InterfaceError))
    return state[:2] in _PASSING_CLASSES
