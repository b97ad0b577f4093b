"""Writes to the event log, always in the transaction of the caller."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from events.choices import SignalKind
from events.facts import EventFacts
from events.log.models import Event
from events.outbox.changes import marked, needs_transaction, signals_insert
from events.outbox.models import Signal
from events.types import EVENT_TYPES, EventType
from opsapi.api.principal import Actor, ActorKind
from opsapi.batches import ROWS_AT_ONCE, batches
from opsapi.sql import execute, fetch_rows, insert_from_arrays
from opsapi.wire_json import JsonObject, write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to record; see `event_record`. `held_by`, `agent_id`: see `signals_record`."""

    event_type: EventType
    alert_id: str | None = None
    facts: EventFacts | None = None
    diffs: Sequence[Mapping[str, Any]] = ()
    happened: datetime | None = None
    signals: bool = True
    signal_facts: Mapping[str, Any] | None = None
    held_by: str | None = None
    agent_id: str | None = None

    def is_signal(self, group_id: str | None) -> bool:
        """Whether alerting must evaluate it. Without a project, nothing opens or closes."""
        spec = EVENT_TYPES[self.event_type]
        concerned = spec.one_shot or (group_id is not None and (spec.alertable or spec.closes))
        return self.signals and self.alert_id is None and concerned


def event_record(
    *,
    event_type: EventType,
    actor: Actor,
    now: datetime,
    group_id: str | None = None,
    org_id: str | None = None,
    alert_id: str | None = None,
    facts: EventFacts | None = None,
    diffs: Sequence[Mapping[str, Any]] = (),
    happened: datetime | None = None,
    signals: bool = True,
    signal_facts: Mapping[str, Any] | None = None,
) -> Event:
    """Record an event that happened now or at `happened`. No other code writes events.

    An event that is notified, or can open or close an alert, also becomes a signal. An event about an alert
    does not; neither does an event with `signals=False`, because another signal contains the new state.
    `signal_facts` are facts that alerting needs in addition to the facts of the event, under their wire
    names. Call it in the transaction of the change.
    """
    needs_transaction()
    about = NewEvent(
        event_type=event_type,
        alert_id=alert_id,
        facts=facts,
        diffs=diffs,
        happened=happened,
        signals=signals,
        signal_facts=signal_facts,
    )
    event = _event(about, actor, now, group_id, org_id)
    event.save(force_insert=True)
    if about.is_signal(group_id):
        signals_insert([_signal(about, event, now)])
    return event


def events_record(
    *,
    events: Iterable[NewEvent],
    actor: Actor,
    now: datetime,
    group_id: str | None = None,
    org_id: str | None = None,
) -> None:
    """As `event_record`, for many events of the same scope, with as many statements as for a single event."""
    _record([(about, _event(about, actor, now, group_id, org_id)) for about in events], now)


def groups_events_record(*, events: Iterable[tuple[str, NewEvent]], actor: Actor, now: datetime) -> None:
    """As `events_record`, for many pairs of a project and an event."""
    _record([(about, _event(about, actor, now, group_id)) for group_id, about in events], now)


def _record(recorded: Sequence[tuple[NewEvent, Event]], now: datetime) -> None:
    needs_transaction()
    signals = [_signal(about, event, now) for about, event in recorded if about.is_signal(event.group_id)]
    _insert_events(event for _, event in recorded)
    signals_insert(signals)


_MERGE_LOCK = 0x6F705F6576636E74  # "op_evcnt"
_MERGE_COUNTS = """
WITH alone AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(%(lock)s) AS granted
), chosen AS (
    SELECT scope, event_type, day FROM events_eventcount, alone
     WHERE granted AND NOT merged ORDER BY id LIMIT %(limit)s
), taken AS (
    DELETE FROM events_eventcount
     WHERE (scope, event_type, day) IN (SELECT scope, event_type, day FROM chosen)
    RETURNING *
), merged AS (
    INSERT INTO events_eventcount (scope, event_type, day, number, merged)
    SELECT scope, event_type, day, sum(number), true FROM taken
     GROUP BY scope, event_type, day HAVING sum(number) <> 0
)
SELECT count(*) FROM taken WHERE NOT merged
"""


def event_counts_merge() -> bool:
    """Merge a batch of changes of the number of events, unless another worker does.

    Return whether there may be more.
    """
    [(merged,)] = fetch_rows(_MERGE_COUNTS, {"lock": _MERGE_LOCK, "limit": ROWS_AT_ONCE})
    return bool(merged >= ROWS_AT_ONCE)


# Written with every report, so written as SQL: the ORM takes longer to build it than PostgreSQL to run it.
_INSERT_EVENTS = insert_from_arrays(
    "events_event",
    {
        "id": "text",
        "created": "timestamptz",
        "event_type": "text",
        "group_id": "text",
        "org_id": "text",
        "alert_id": "text",
        "details": "jsonb",
        "diffs": "jsonb",
        "raw": "jsonb",
    },
)


def _insert_events(events: Iterable[Event]) -> None:
    for batch in batches(events):
        columns: JsonObject = {
            name: [getattr(event, name) for event in batch]
            for name in ("id", "created", "event_type", "group_id", "org_id", "alert_id")
        }
        for name in ("details", "diffs", "raw"):
            columns[name] = [write_json(getattr(event, name)).decode() for event in batch]
        execute(_INSERT_EVENTS, columns)


def _event(
    about: NewEvent, actor: Actor, now: datetime, group_id: str | None = None, org_id: str | None = None
) -> Event:
    known = _known(about)
    category = EVENT_TYPES[about.event_type].category
    return Event(
        # Whole seconds, as in the API; within a second, the IDs decide the order.
        created=(about.happened or now).replace(microsecond=0),
        event_type=about.event_type.value,
        group_id=group_id,
        org_id=org_id,
        alert_id=about.alert_id,
        diffs=list(about.diffs),
        details={**_acting(actor), **known},
        raw={"category": category.value, "actor": actor.kind.value, **known},
    )


def _signal(about: NewEvent, event: Event, now: datetime) -> Signal:
    named = {"eventId": event.id, "eventTypeName": about.event_type.value}
    payload = {**(about.signal_facts or {}), **_known(about), **named}
    if event.group_id is None and event.org_id is not None:
        payload["orgId"] = event.org_id
    # A reported end can end an alert about any target.
    agent_id = None if EVENT_TYPES[about.event_type].closes else about.agent_id
    # The clock of a reporter may be fast; alerts do not start in the future.
    earlier = about.happened if about.happened and about.happened < now else None
    return Signal(
        created=now,
        group_id=event.group_id,
        kind=SignalKind.EVENT.value,
        payload=marked(payload, about.held_by, agent_id),
        observed=earlier or (now if about.held_by else None),
        held_by=about.held_by,
        agent_id=about.held_by or agent_id,
    )


def _known(about: NewEvent) -> JsonObject:
    return (about.facts or EventFacts()).document()


def _acting(actor: Actor) -> JsonObject:
    """The fields that name who acted: a key or a user, never both."""
    if actor.kind is ActorKind.SYSTEM:
        return {}
    names = ("userId", "username") if actor.kind is ActorKind.USER else ("apiKeyId", "publicKey")
    acting: JsonObject = dict(zip(names, (actor.id, actor.name), strict=True))
    acting["isGlobalAdmin"] = actor.is_global_admin
    if actor.remote_address:
        acting["remoteAddress"] = actor.remote_address
    return acting
