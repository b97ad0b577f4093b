"""Why the database cannot be used right now, in words that name no host, no value and no secret."""

from enum import Enum

from django.db import InterfaceError, OperationalError


class DatabaseFault(Enum):
    """What keeps the database from answering; `words` stand alone, `sentence` is for callers of the API."""

    DISK_FULL = ("disk full", "the database's disk is full")
    TOO_MANY_CONNECTIONS = ("too many connections", "the database has too many connections")
    READ_ONLY = ("read-only", "the database is read-only")
    STARTING = ("starting", "the database is starting or stopping")
    TOO_SLOW = ("no answer in time", "the database did not answer in time")
    GAVE_WAY = ("gave way to another transaction", "another request was in the way")
    UNREACHABLE = ("cannot be reached", "the database cannot be reached")

    def __init__(self, words: str, sentence: str) -> None:
        self.words = words
        self.sentence = sentence


_BY_SQLSTATE = {
    "53100": DatabaseFault.DISK_FULL,
    "53300": DatabaseFault.TOO_MANY_CONNECTIONS,
    "25006": DatabaseFault.READ_ONLY,
    "57P03": DatabaseFault.STARTING,
    "57014": DatabaseFault.TOO_SLOW,
    # A transaction that could not be put in line with others, a deadlock.
    "40001": DatabaseFault.GAVE_WAY,
    "40P01": DatabaseFault.GAVE_WAY,
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
