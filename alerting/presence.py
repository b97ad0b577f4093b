"""Live workers: each holds a PostgreSQL advisory lock, which is released when its process ends."""

import secrets
import threading
from datetime import datetime

import psycopg
from django.conf import settings
from django.db import connection

from alerting.services.leases import PRESENCE_CLASS, absent_workers, leases_release

_CHECK_SECONDS = 0.25
"""Interval of connection checks."""
GONE_AFTER = 4
"""Number of consecutive half-second checks that must miss a worker before it counts as dead.

A live worker that lost its connection has its lock again by then.
"""
_OF_DJANGO = frozenset({"cursor_factory", "context", "prepare_threshold"})


class Presence:
    """The lock of a worker; its leases contain `key`."""

    def __init__(self) -> None:
        self.key = secrets.randbelow(2**31 - 1) + 1
        self._missed: dict[int, int] = {}

    def hold(self, stopping: threading.Event) -> None:
        """Hold the lock until `stopping` is set; take it again as soon as a lost database is back.

        PostgreSQL releases the lock when the process dies, because its connection ends. Behind a transaction
        pooler an open transaction keeps the connection.
        """
        while not stopping.is_set():
            try:
                self._hold_until_stopped(stopping)
            except psycopg.Error:
                # Other threads log that the database is down.
                stopping.wait(0.2)

    def take_over(self, *, now: datetime) -> int:
        """Release the leases of dead workers, and return how many.

        A worker counts as gone when GONE_AFTER checks in a row miss it: after the database was away, all
        workers are missed for a moment.
        """
        self._missed = {worker: self._missed.get(worker, 0) + 1 for worker in absent_workers() - {self.key}}
        gone = {worker for worker, times in self._missed.items() if times >= GONE_AFTER}
        return leases_release(now=now, absent=gone) if gone else 0

    def _hold_until_stopped(self, stopping: threading.Event) -> None:
        in_transaction = settings.OPSAPI_DB_POOLER == "transaction"
        lock = "pg_advisory_xact_lock" if in_transaction else "pg_advisory_lock"
        with own_connection(autocommit=not in_transaction) as held:
            held.execute(f"SELECT {lock}(%s, %s)", [PRESENCE_CLASS, self.key])
            while not stopping.wait(_CHECK_SECONDS):
                held.execute("SELECT 1")


def own_connection(*, autocommit: bool) -> "psycopg.Connection[tuple[object, ...]]":
    """Open a second connection to Django's database, without prepared statements because of poolers."""
    parameters = connection.get_connection_params()
    wanted = {name: value for name, value in parameters.items() if name not in _OF_DJANGO}
    named = {**wanted, "application_name": "opsapi worker"}
    return psycopg.connect(**named, autocommit=autocommit, prepare_threshold=None)
