"""Locks that separate evaluation and writes of configurations.

Each project has a lock: its signals are evaluated, and its configurations are written, one after the other.
Without the lock, a configuration could be deleted after it was read and before its alert opens, and the alert
would stay forever. For the same reason, all global configurations have one lock, which evaluations share and
writes take exclusively.

Code that needs both locks takes the project's lock first. Advisory locks end with their transaction, so a
crash leaves none behind.
"""

from opsapi.roles import Scope
from opsapi.sql import execute

_LOCK_CLASS = 0x6F70  # "op": keeps these apart from other advisory locks
_KEY = "%s, hashtext(%s)"
_GLOBAL_LOCK = 0x6F7073676C6F6263  # "opsglobc"


def try_lock(group_id: str) -> str:
    """Return SQL: whether the locks to evaluate a project were free, and are held now.

    `group_id` is an expression, and '' means signals without a project. The locks are not free while a
    write of a global configuration waits.
    """
    return f"""
CASE WHEN pg_try_advisory_xact_lock_shared({_GLOBAL_LOCK})
     THEN pg_try_advisory_xact_lock({_LOCK_CLASS}, hashtext({group_id})) ELSE false END
"""


def project_lock(group_id: str) -> None:
    """Wait for the project's lock and hold it until the transaction ends."""
    execute(f"SELECT pg_advisory_xact_lock({_KEY})", [_LOCK_CLASS, group_id])


def configs_lock(here: Scope) -> None:
    """Hold the project's lock, or without a project the lock of global configurations, exclusively."""
    if here.group_id is None:
        global_configs_lock()
    else:
        project_lock(here.group_id)


def global_configs_lock() -> None:
    """Wait until no other transaction reads or writes global configurations, and lock them exclusively.

    The lock ends with the transaction.
    """
    execute("SELECT pg_advisory_xact_lock(%s)", [_GLOBAL_LOCK])


def global_configs_share() -> None:
    """Wait until no transaction writes global configurations, and prevent such writes.

    The lock ends with the transaction.
    """
    execute("SELECT pg_advisory_xact_lock_shared(%s)", [_GLOBAL_LOCK])


def config_lock_shared(group_id: str | None) -> None:
    """Prevent writes of a project's configurations, or of global configurations for None.

    Waits for running writes. The lock ends with the transaction.
    """
    if group_id is None:
        global_configs_share()
    else:
        project_lock(group_id)
