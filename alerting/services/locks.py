"""Locks that keep evaluating and the writing of configurations apart.

One per project: its signals are evaluated, and its configurations taken away, one after the other.
Without it a configuration could be deleted between being read and its alert being opened, and the alert
would stay for ever. One for all global configurations, which every evaluation shares and a write has
alone, for the same reason.

Who waits for both waits for the project's first. Advisory locks end with their transaction, so a crash leaves
none behind.
"""

from django.db import connection

_LOCK_CLASS = 0x6F70  # "op": keeps these apart from other advisory locks
_KEY = "%s, hashtext(%s)"
_GLOBAL_LOCK = 0x6F7073676C6F6263  # "opsglobc"

TRY_EVALUATION = f"""
CASE WHEN pg_try_advisory_xact_lock_shared({_GLOBAL_LOCK})
     THEN pg_try_advisory_xact_lock({_LOCK_CLASS}, hashtext(group_id)) ELSE false END
"""
"""SQL: whether the locks of an evaluation of `group_id`, or of no project for '', were free and are held now.

They are not free while somebody waits to write a global configuration.
"""


def project_lock(group_id: str) -> None:
    """Wait for the project's lock and hold it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock({_KEY})", [_LOCK_CLASS, group_id])


def global_configs_lock() -> None:
    """Wait until nobody reads or writes global configurations, and keep it so until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_GLOBAL_LOCK])


def global_configs_share() -> None:
    """Wait until nobody writes global configurations, and keep it so until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [_GLOBAL_LOCK])


def config_lock_shared(group_id: str | None) -> None:
    """Keep others from writing a project's configurations, or global ones for None; wait while others do.

    The transaction holds the lock until it ends.
    """
    if group_id is None:
        global_configs_share()
    else:
        project_lock(group_id)
