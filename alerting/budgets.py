"""Bounds dry runs and previews of windows: in time, and in number for a web process and a project."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from threading import BoundedSemaphore
from typing import Any, Final

from django.conf import settings
from django.db import OperationalError, connection, transaction

from opsapi.api.errors import rate_limited
from opsapi.postgresql.faults import DatabaseFault, database_fault
from opsapi.sql import execute, fetch_rows

AT_ONCE_IN_PROJECT: Final = 2
_AT_ONCE_IN_PROCESS = max(1, settings.OPSAPI_THREADS // 4)
LOCK_CLASS = 0x6472  # "dr": distinguishes these advisory locks from others
_RETRY_SECONDS = 5

_slots = BoundedSemaphore(_AT_ONCE_IN_PROCESS)


class OutOfTimeError(Exception):
    """The time limit is over."""


@dataclass(slots=True)
class Budget:
    """A time limit for statements and steps: they end at a monotonic time."""

    ends: float
    clock: Callable[[], float]

    @property
    def left(self) -> float:
        return self.ends - self.clock()

    def check(self) -> None:
        """Raises OutOfTimeError when the time is over."""
        if self.left <= 0:
            raise OutOfTimeError

    @contextmanager
    def statement(self) -> Iterator[None]:
        """Run statements in a savepoint until the time is over. Raises OutOfTimeError."""
        self.check()
        try:
            with transaction.atomic(), connection.execute_wrapper(self._timed):
                yield
        except OperationalError as error:
            if database_fault(error) is DatabaseFault.TOO_SLOW:
                raise OutOfTimeError from None
            raise

    def _timed(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        """Run one of several statements with the time that is left."""
        self.check()
        execute(_SET_TIMEOUT, [str(max(1, int(self.left * 1000)))], False, context)
        return execute(sql, params, many, context)


_SET_TIMEOUT = "SELECT set_config('statement_timeout', %s, true)"


@contextmanager
def slot_of(group_id: str) -> Iterator[None]:
    """Hold a slot of the process and of the project, in a read-only transaction.

    Raises:
        ApiError: RATE_LIMITED, if no slot is free.
    """
    if not _slots.acquire(blocking=False):
        note = f"At most {_AT_ONCE_IN_PROCESS} dry runs and previews run in a web process at the same time."
        raise rate_limited(_RETRY_SECONDS, note=note)
    try:
        with transaction.atomic():
            [(before,)] = fetch_rows("SELECT current_setting('statement_timeout')")
            execute("SET TRANSACTION READ ONLY")
            if not any(_reserves(group_id, slot) for slot in range(AT_ONCE_IN_PROJECT)):
                note = (
                    f"At most {AT_ONCE_IN_PROJECT} dry runs and previews of a project run at the same time."
                )
                raise rate_limited(_RETRY_SECONDS, note=note)
            yield
            execute(_SET_TIMEOUT, [before])
    finally:
        _slots.release()


def _reserves(group_id: str, slot: int) -> bool:
    """Whether the slot of the project was free; it is held until the transaction ends."""
    statement = "SELECT pg_try_advisory_xact_lock(%s, hashtext(%s))"
    [(is_free,)] = fetch_rows(statement, [LOCK_CLASS, f"{group_id} {slot}"])
    return bool(is_free)


class CutReason(StrEnum):
    """Why an answer is incomplete."""

    TIME = "TIME"
