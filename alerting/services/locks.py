"""One lock per project: signals are evaluated, and configurations taken away, one after the other.

Without it a configuration could be deleted between being read and its alert being opened, and the
alert would stay for ever. Advisory locks end with their transaction, so a crash leaves none behind.
"""

from django.db import connection

_LOCK_CLASS = 0x6F70  # "op": keeps these apart from other advisory locks
_KEY = "%s, hashtext(%s)"


def project_lock(group_id: str) -> None:
    """Wait for the project's lock and hold it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock({_KEY})", [_LOCK_CLASS, group_id])


def project_try_lock(group_id: str) -> bool:
    """Take the project's lock if nobody holds it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_xact_lock({_KEY})", [_LOCK_CLASS, group_id])
        return bool(cursor.fetchone()[0])
