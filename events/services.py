"""Writes to the event log and the signal outbox, always in the transaction of the caller."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from events.choices import SignalKind, Work
from events.facts import EventFacts
from events.models import Event, Signal
from events.types import EVENT_TYPES, EventType
from opsapi.api.principal import Actor, ActorKind
from opsapi.batches import ROWS_AT_ONCE, batches
from opsapi.sql import execute, fetch_rows, insert_from_arrays
from opsapi.wire_json import JsonObject, write_json

WAKE_CHANNEL = "opsapi_work"


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
    _needs_transaction()
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
        _insert_signals([_signal(about, event, now)])
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
    _needs_transaction()
    signals = [_signal(about, event, now) for about, event in recorded if about.is_signal(event.group_id)]
    _insert_events(event for _, event in recorded)
    _insert_signals(signals)


def signal_record(*, group_id: str, kind: SignalKind, payload: Mapping[str, Any], now: datetime) -> None:
    """Leave work for alerting, and wake the workers when the transaction commits."""
    signals_record(kind=kind, payloads=[(group_id, payload)], now=now)


def signals_record(
    *,
    kind: SignalKind,
    payloads: Iterable[tuple[str | None, Mapping[str, Any]]],
    now: datetime,
    observed: datetime | None = None,
    held_by: str | None = None,
    agent_id: str | None = None,
) -> None:
    """As `signal_record`, for pairs of a project id (or None) and a payload.

    `observed`: when its cause was observed, if that was before `now`. `held_by`: the id of an agent whose
    other reports wait; the signals are evaluated after `signals_release`, and are `LATE`. `agent_id`: the id
    of an agent if the signals can end only alerts about its hosts and their replica sets. Until they are
    evaluated, only these alerts wait for them, as for all signals that the agent holds.
    """
    _insert_signals(
        Signal(
            created=now,
            group_id=group_id,
            kind=kind.value,
            payload=_marked(payload, held_by, agent_id),
            # Its release changes `created`.
            observed=observed or (now if held_by else None),
            held_by=held_by,
            agent_id=held_by or agent_id,
        )
        for group_id, payload in payloads
    )


LATE = "late"
"""The field of a signal that was held: the id of the agent that reported it."""
_ANY_TARGET = "anyTarget"
"""The field of a held signal that can end alerts about any target of the project."""


def _marked(payload: Mapping[str, Any], held_by: str | None, agent_id: str | None) -> dict[str, Any]:
    if held_by is None:
        return dict(payload)
    return {**payload, LATE: held_by} if agent_id else {**payload, LATE: held_by, _ANY_TARGET: True}


# Locked in the order of their ids, because reports and workers release signals concurrently.
_RELEASE = f"""
UPDATE events_signal
   SET held_by = NULL, created = %(now)s,
       agent_id = CASE WHEN payload ? '{_ANY_TARGET}' THEN NULL ELSE agent_id END
 WHERE id IN (SELECT id FROM events_signal WHERE held_by = ANY(%(agents)s) ORDER BY id FOR UPDATE)
"""  # noqa: S608 - built from constants
# An agent that was deleted holds nothing.
_HOLDERS = "SELECT DISTINCT held_by FROM events_signal WHERE held_by IS NOT NULL"


def signal_holders() -> set[str]:
    """Return the ids of the agents that hold signals."""
    return {holder for (holder,) in fetch_rows(_HOLDERS)}


def signals_release(*, agents: Collection[str], now: datetime) -> int:
    """Release the signals that these agents hold, in their order, for evaluation. Return their number."""
    released = execute(_RELEASE, {"agents": list(agents), "now": now})
    if released:
        wake_workers(Work.SIGNALS)
    return released


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
_SIGNAL_COLUMNS = {
    "created": "timestamptz",
    "group_id": "text",
    "kind": "text",
    "payload": "jsonb",
    "number_of_hosts": "smallint",
    "observed": "timestamptz",
    "held_by": "text",
    "agent_id": "text",
}
_INSERT_SIGNALS = f"""
WITH inserted AS ({insert_from_arrays("events_signal", _SIGNAL_COLUMNS)})
SELECT pg_notify('{WAKE_CHANNEL}', '{Work.SIGNALS.value}')
"""


def _insert_events(events: Iterable[Event]) -> None:
    for batch in batches(events):
        columns: JsonObject = {
            name: [getattr(event, name) for event in batch]
            for name in ("id", "created", "event_type", "group_id", "org_id", "alert_id")
        }
        for name in ("details", "diffs", "raw"):
            columns[name] = [write_json(getattr(event, name)).decode() for event in batch]
        execute(_INSERT_EVENTS, columns)


def _insert_signals(signals: Iterable[Signal]) -> None:
    """Insert signals and wake the workers when the transaction commits."""
    _needs_transaction()
    for batch in batches(signals):
        columns: JsonObject = {
            name: [getattr(signal, name) for signal in batch]
            for name in ("created", "group_id", "kind", "observed", "held_by", "agent_id")
        }
        columns["payload"] = [write_json(signal.payload).decode() for signal in batch]
        columns["number_of_hosts"] = [len(signal.payload.get("hosts", (signal,))) for signal in batch]
        execute(_INSERT_SIGNALS, columns)


def wake_workers(work: Work) -> None:
    """Notify listening workers of new work. PostgreSQL sends it on commit, once per transaction."""
    execute(f"NOTIFY {WAKE_CHANNEL}, '{work.value}'")


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
        payload=_marked(payload, about.held_by, agent_id),
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


def _needs_transaction() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("events and signals belong to the caller's transaction")
