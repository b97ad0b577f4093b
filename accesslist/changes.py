"""The scope of a change: its transaction, its locks in order, and its event.

    with changing(WINDOW, actor, now, here=here, row_id=window_id) as change:
        change.row.end = end
        change.row.save()

`Tracked` declares once how a resource is locked and recorded. A service that records other events uses
`acting`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from django.db import transaction
from django.db.models import Model

from accesslist.hooks import change_recorded
from accesslist.locks import (
    actor_lock_in_turn,
    actor_lock_shared,
    identities_lock_exclusive,
    scope_lock_shared,
)
from events.choices import DiffType
from events.diffs import Document, diff
from events.facts import EventFacts
from events.log.changes import NewEvent, events_record
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.roles import INSTALLATION, Scope

Row = TypeVar("Row", bound=Model)
Lock = Callable[[Scope], object]
"""Locks until the transaction ends; raises ApiError if the scope was deleted in the meantime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked(Generic[Row]):
    """A resource whose changes are recorded.

    After the lock of the actor, each change takes the `locks` in this order; a change that adds a row takes
    the locks `adding` too. `find` locks and returns the row with this ID in the scope, and raises ApiError if
    it was deleted in the meantime. `stored`: the document that diffs compare. `name`: the ID of a row in
    diffs.
    """

    diff_type: DiffType
    stored: Callable[[Row], Document]
    added: EventType
    changed: EventType
    deleted: EventType
    find: Callable[[Scope, str], Row]
    locks: Sequence[Lock] = ()
    adding: Sequence[Lock] = ()
    facts: Callable[[Row], EventFacts] = lambda _: EventFacts()
    signal_facts: Callable[[Row], Document | None] = lambda _: None
    name: Callable[[Row], str] = lambda row: str(row.pk)

    def event(
        self,
        row: Row,
        *,
        old: Document | None = None,
        new: Document | None = None,
        event_type: EventType | None = None,
    ) -> NewEvent:
        """Return the event of a row that is added (no `old`), changed or deleted (no `new`).

        `event_type`: instead of the declared type.
        """
        declared = self.added if old is None else self.deleted if new is None else self.changed
        return NewEvent(
            event_type=event_type or declared,
            facts=self.facts(row),
            diffs=diff(self.diff_type, self.name(row), old=old, new=new),
            signal_facts=self.signal_facts(row),
        )


@dataclass(slots=True, kw_only=True)
class RecordedAct:
    """A call of a service by `actor` at `now`, with its locks. `here`: the scope that records the events."""

    actor: Actor
    now: datetime
    here: Scope = INSTALLATION

    def record(self, *events: NewEvent, here: Scope | None = None) -> None:
        """Record the events, in the scope `here` if it is not the scope of the change."""
        here = here or self.here
        events_record(
            events=events, actor=self.actor, now=self.now, group_id=here.group_id, org_id=here.org_id
        )
        if here.group_id is not None:
            change_recorded.send(sender=type(self), group_id=here.group_id, events=events)

    def change(self, of: "Tracked[Row]", row: Row) -> "RecordedChange[Row]":
        """Begin the change of a row that is locked already; the caller records it."""
        change = RecordedChange(actor=self.actor, now=self.now, here=self.here, of=of)
        change.keep(row)
        return change


@dataclass(slots=True, kw_only=True)
class RecordedChange(RecordedAct, Generic[Row]):
    """A change of a row. `row`, and `old`, its document before the change, exist unless a row is added."""

    of: Tracked[Row]
    row: Row = field(init=False)
    old: Document = field(init=False)
    is_recorded: bool = field(default=True, init=False)

    def keep(self, row: Row) -> Row:
        """Change this row, whose document is compared with the document at the end."""
        self.row, self.old, self.is_recorded = row, self.of.stored(row), False
        return row

    def record_added(self, row: Row, *, event_type: EventType | None = None) -> Row:
        """Record that the row was added."""
        self.record(self.of.event(row, new=self.of.stored(row), event_type=event_type))
        return row

    def record_changed(
        self, *, new: Document | None = None, event_type: EventType | None = None, always: bool = False
    ) -> None:
        """Record how the row differs from `old`, which becomes its document now.

        Without a call, the change is recorded at the end of the block. `new`: the document of the row.
        `always`: also if the row does not differ.
        """
        new = self.of.stored(self.row) if new is None else new
        event = self.of.event(self.row, old=self.old, new=new, event_type=event_type)
        if always or event.diffs:
            self.record(event)
        self.old, self.is_recorded = new, True

    def record_deleted(self) -> None:
        """Record that the row is deleted; call it while the row has its ID."""
        self.record(self.of.event(self.row, old=self.old))
        self.is_recorded = True


@contextmanager
def acting(
    actor: Actor,
    now: datetime,
    *,
    here: Scope = INSTALLATION,
    locks: Iterable[Lock] = (scope_lock_shared,),
    ends: Iterable[str] | None = None,
) -> Iterator[RecordedAct]:
    """Begin a transaction; lock the actor, then the scope `here`, which by default is kept from deletion.

    `ends`: for a service that revokes something, or locks keys or users: the IDs of the keys and users whose
    transactions must end before, perhaps none. A queryset is evaluated after the actor is locked.

    Raises:
        ApiError: SERVICE_UNAVAILABLE, if a permission of the actor was revoked since; errors of the locks.
    """
    with transaction.atomic():
        if ends is None:
            actor_lock_shared(actor)
        else:
            actor_lock_in_turn(actor)
            if holders := list(ends):
                identities_lock_exclusive(holders)
        for lock in locks:
            lock(here)
        yield RecordedAct(actor=actor, now=now, here=here)


@contextmanager
def changing(
    of: Tracked[Row],
    actor: Actor,
    now: datetime,
    *,
    here: Scope = INSTALLATION,
    row_id: str | None = None,
    ends: Iterable[str] | None = None,
) -> Iterator[RecordedChange[Row]]:
    """As `acting`, with the locks of the resource: change the row `row_id`, or add a row.

    At the end of the block, the event of a changed row is recorded, if something changed.

    Raises:
        ApiError: as `acting`; the error of a row that was deleted in the meantime.
    """
    locks = (*of.locks, *of.adding) if row_id is None else of.locks
    with acting(actor, now, here=here, locks=locks, ends=ends):
        change = RecordedChange(actor=actor, now=now, here=here, of=of)
        if row_id is not None:
            change.keep(of.find(here, row_id))
        yield change
        if not change.is_recorded:
            change.record_changed()
