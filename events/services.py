"""Writing to the event log and to the signal outbox, always in the caller's transaction."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from events.choices import SignalKind
from events.facts import EventFacts
from events.models import Event, Signal
from events.types import EVENT_TYPES, EventType
from opsapi.api.principal import Actor, ActorKind

WAKE_CHANNEL = "opsapi_work"


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
    """Record what happened, now or when `happened` says; the only writer of events.

    An event that can open or close an alert also becomes a signal, unless it tells of an alert
    itself, or `signals` is False because another signal carries the state it is an edge of;
    `signal_facts` are what alerting has to know beside the event's own facts, under their wire names.
    Has to be called inside the transaction of what it records.
    """
    _needs_transaction()
    known = (facts or EventFacts()).document()
    event = Event.objects.create(
        created=happened or now,
        event_type=event_type.value,
        group_id=group_id,
        org_id=org_id,
        alert_id=alert_id,
        details={**_acting(actor), **known},
        diffs=list(diffs),
        raw={"category": EVENT_TYPES[event_type].category.value, "actor": actor.kind.value, **known},
    )
    if signals and group_id and alert_id is None and _concerns_alerting(event_type):
        named = {"eventId": event.id, "eventTypeName": event_type.value}
        payload = {**(signal_facts or {}), **known, **named}
        # A reporter's clock may be ahead of ours; alerts do not begin in the future.
        seen = min(happened or now, now)
        signal_record(group_id=group_id, kind=SignalKind.EVENT, payload=payload, now=seen)
    return event


def signal_record(*, group_id: str, kind: SignalKind, payload: Mapping[str, Any], now: datetime) -> None:
    """Leave alerting something to look at, and wake the workers when the transaction commits."""
    _needs_transaction()
    Signal.objects.create(created=now, group_id=group_id, kind=kind.value, payload=dict(payload))
    wake_workers()


def wake_workers() -> None:
    """Tell listening workers that there is work; PostgreSQL delivers it on commit, once per transaction."""
    with connection.cursor() as cursor:
        cursor.execute(f"NOTIFY {WAKE_CHANNEL}")


def _acting(actor: Actor) -> dict[str, Any]:
    """The fields that name who acted; a key's exclude a user's (decisions 4)."""
    if actor.kind is ActorKind.SYSTEM:
        return {}
    names = ("userId", "username") if actor.kind is ActorKind.USER else ("apiKeyId", "publicKey")
    acting: dict[str, Any] = dict(zip(names, (actor.id, actor.name), strict=True))
    acting["isGlobalAdmin"] = actor.is_global_admin
    if actor.remote_address:
        acting["remoteAddress"] = actor.remote_address
    return acting


def _concerns_alerting(event_type: EventType) -> bool:
    spec = EVENT_TYPES[event_type]
    return spec.alertable or bool(spec.closes)


def _needs_transaction() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("events and signals belong to the caller's transaction")
