"""Two calls at once, one of them held after a statement of its own while the other one runs.

A call that is held keeps its transaction open: the other call waits for what it has locked, and what it has
read may be outdated when it goes on. Nothing here depends on luck: the same statement is the same moment.
"""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import or_
from threading import Event
from time import monotonic
from typing import Any, Generic, TypeVar

from django.apps import apps
from django.db import connection, models

from opsapi.sql import fetch_rows

T = TypeVar("T")
LOOK_EVERY = 0.002
LONGEST = 30.0
"""After so many seconds a call that neither ends nor waits for the other is a fault."""

_TABLE = re.compile(r"\b(?:accesslist|alerting|automation|events|integrations)_[a-z_]+")
_INSERTED = re.compile(r'INSERT INTO "?(\w+)')
_CHANGED = re.compile(r'UPDATE "?(\w+)')
_REMOVED = re.compile(r'DELETE FROM "?(\w+)')
_ADVISORY = re.compile(r"pg_(?:try_)?advisory_xact_lock(_shared)?\(")
_WAITS_FOR = "SELECT %s = ANY (pg_blocking_pids(%s))"
_OWN = frozenset({"accesslist_digestuse", "accesslist_ratewindow", "events_event"})
"""Tables in which no request looks at the rows of another one."""
_END_OF_AUTHENTICATION = "accesslist_digestuse"


@dataclass(frozen=True)
class Touched:
    """Tables and advisory locks, by what is done with them."""

    read: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()
    """Kept from being changed: parents of foreign keys, shared locks."""
    inserted: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    """Deleted, or locked so that it might be."""

    @classmethod
    def by(cls, sql: str, params: object) -> "Touched":
        """What a statement touches."""
        named = frozenset(_TABLE.findall(sql)) - _OWN
        words = (_INSERTED, _CHANGED, _REMOVED)
        inserted, changed, removed = (named & set(each.findall(sql)) for each in words)
        if "FOR UPDATE" in sql:
            removed |= named
        elif "FOR NO KEY UPDATE" in sql:
            changed |= named
        pinned = frozenset[str]().union(*(_parents()[table] for table in inserted | changed))
        if lock := _ADVISORY.search(sql):
            name = frozenset({f"advisory {params}"})
            pinned, removed = (pinned | name, removed) if lock[1] else (pinned, removed | name)
        return cls(named - inserted - changed - removed, pinned, inserted, changed, removed)

    def __or__(self, other: "Touched") -> "Touched":
        return Touched(
            self.read | other.read,
            self.pinned | other.pinned,
            self.inserted | other.inserted,
            self.changed | other.changed,
            self.removed | other.removed,
        )

    def meets(self, other: "Touched") -> bool:
        """Whether the order of the two can make a difference."""
        return bool(
            self._disturbs(other)
            | other._disturbs(self)
            | (self.inserted & other.inserted & _with_unique_columns())
        )

    def _disturbs(self, other: "Touched") -> frozenset[str]:
        there = other.read | other.inserted | other.changed | other.removed
        return (self.inserted & other.read) | (self.changed & there) | (self.removed & (there | other.pinned))


@dataclass(frozen=True)
class Statement:
    """A statement that a call executed."""

    sql: str
    touched: Touched
    in_transaction: bool


@dataclass
class Steps:
    """Notes the statements of a call, and holds the call after one of them until it may go on."""

    hold_after: int | None = None
    done: list[Statement] = field(default_factory=list)
    reached: Event = field(default_factory=Event)
    go_on: Event = field(default_factory=Event)

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        """Execute a statement: Django calls this for each one."""
        try:
            return execute(sql, params, many, context)
        finally:
            is_open = context["connection"].in_atomic_block
            self.done.append(Statement(str(sql), Touched.by(str(sql), params), is_open))
            if len(self.done) == self.hold_after:
                self.reached.set()
                assert self.go_on.wait(2 * LONGEST), "nobody let the held call go on"


@dataclass(frozen=True)
class Overlap(Generic[T]):
    """What two calls answered that overlapped, and how they did."""

    answers: tuple[T, T]
    held: bool
    """Whether the first call was inside a transaction when the second one ran."""
    waited: bool
    """Whether the second call waited for a lock of the first one."""


class Caller:
    """A thread with a database connection of its own, which it keeps."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self.backend: int = self._pool.submit(_backend).result()

    def begin(self, call: Callable[[], T], steps: Steps) -> Future[T]:
        """Begin the call."""

        def run() -> T:
            with connection.execute_wrapper(steps):
                return call()

        return self._pool.submit(run)

    def close(self) -> None:
        """End the thread and its connection."""
        self._pool.submit(_disconnect).result()
        self._pool.shutdown()


def one_after_the_other(
    callers: Sequence[Caller], calls: Sequence[Callable[[], T]]
) -> tuple[list[T], list[list[Statement]]]:
    """What the calls answer, each once the one before it has ended, and their statements."""
    answers, statements = [], []
    for caller, call in zip(callers, calls, strict=True):
        steps = Steps()
        answers.append(caller.begin(call, steps).result())
        statements.append(steps.done)
    return answers, statements


def overlapping(
    callers: tuple[Caller, Caller], calls: tuple[Callable[[], T], Callable[[], T]], hold_after: int
) -> Overlap[T]:
    """What the calls answer; the first is held after that statement until the second ends or waits for it."""
    (first_caller, second_caller), (first_call, second_call) = callers, calls
    steps, begun = Steps(hold_after), list[Future[T]]()
    first = first_caller.begin(first_call, steps)
    first.add_done_callback(lambda _: steps.reached.set())
    try:
        assert steps.reached.wait(LONGEST), "the first call does not get there"
        held = not first.done() and steps.done[-1].in_transaction
        second = second_caller.begin(second_call, Steps())
        begun.append(second)
        waited = not _ended(second, lambda: _waits(second_caller, first_caller))
    finally:
        steps.go_on.set()
        wait([first, *begun], LONGEST)
    return Overlap((first.result(0), second.result(0)), held, waited)


@dataclass(frozen=True)
class Moments:
    """After which statements of a call another one can make a difference: up to its commit, and then."""

    inside: Sequence[int]
    after: Sequence[int]


def moments(first: Sequence[Statement], second: Sequence[Statement]) -> Moments:
    """When the second call can make a difference to the first one.

    Between statements that do not meet it makes none: so there is one moment before each statement that does,
    and one before the commit. Authentication is left out: a caller
    whose key is revoked meanwhile is let in again.
    """
    commit = max((number for number, each in enumerate(first, 1) if each.in_transaction), default=0)
    touched = reduce(or_, (each.touched for each in second[_authenticated(second) :]), Touched())
    met = [
        number for number in range(_authenticated(first), len(first)) if first[number].touched.meets(touched)
    ]
    inside = {number for number in met if number < commit}
    return Moments(
        sorted(inside | {commit} if inside else inside), [moment for moment in met if moment >= commit]
    )


def _authenticated(statements: Sequence[Statement]) -> int:
    """How many statements there are until it is known who calls."""
    return max(
        (number for number, each in enumerate(statements, 1) if _END_OF_AUTHENTICATION in each.sql), default=0
    )


def _ended(call: Future[Any], give_up: Callable[[], bool]) -> bool:
    """Whether the call ended before it was given up."""
    end = monotonic() + LONGEST
    while monotonic() < end:
        try:
            call.exception(LOOK_EVERY)
        except TimeoutError:
            if give_up():
                return False
        else:
            return True
    raise AssertionError("the second call neither ends nor waits for the first one")


def _waits(waiting: Caller, holding: Caller) -> bool:
    [(waits,)] = fetch_rows(_WAITS_FOR, [holding.backend, waiting.backend])
    return bool(waits)


def _disconnect() -> None:
    connection.close()


def _backend() -> int:
    connection.ensure_connection()
    backend: int = connection.connection.info.backend_pid
    return backend


@cache
def _parents() -> dict[str, frozenset[str]]:
    """Table → the tables that its foreign keys point to."""
    return {
        model._meta.db_table: frozenset(
            each.related_model._meta.db_table
            for each in model._meta.get_fields()
            if isinstance(each, models.ForeignKey)
        )
        for model in apps.get_models(include_auto_created=True)
    }


@cache
def _with_unique_columns() -> frozenset[str]:
    """Tables in which two new rows can be in each other's way."""
    return frozenset(
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if model._meta.total_unique_constraints
        or model._meta.unique_together
        or any(isinstance(each, models.UniqueConstraint) for each in model._meta.constraints)
        or any(each.unique and not each.primary_key for each in model._meta.fields)
        or model._meta.pk.name != "id"
    )
