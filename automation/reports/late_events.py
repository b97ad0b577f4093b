"""Late events whose condition has changed since: the newer event decides (docs/observations.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import Max, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce, Lower

from automation.reports.rules import second_of
from events.log.changes import NewEvent
from events.models import Event
from events.targets import TARGET_FACTS, target_key
from events.types import EVENT_TYPES, EventType, Target, closing_type, openers_of

MOST_READ = 20_000
"""Maximum number of stored events of a type that are read, the newest first, so that no report takes long.

If only older events could overtake a late event, it keeps its signal: its condition may still hold.
"""
# The fact of each kind of target by which the stored events are selected.
_NAME: Mapping[Target, str] = {
    Target.AGENT: "hostname",
    Target.HOST: "hostname",
    Target.HOST_METRIC: "hostname",
    Target.REPLICA_SET: "replicaSetName",
    Target.CLUSTER: "clusterName",
}


def without_overtaken(group_id: str, events: Sequence[NewEvent], now: datetime) -> list[NewEvent]:
    """Return the events; late events without a signal if a newer event of their condition is stored.

    The beginning of a condition that has ended since opens no alert, and an end closes no alert if the
    condition has begun again since. `happened` of an event that is not late is None, or this second.
    """
    late = [event for event in events if _is_late(event, now)]
    newest: dict[tuple[EventType, str], datetime] = {}
    for opposite in {opposite for event in late for opposite in _opposites(event.event_type)}:
        newest |= _newest(group_id, opposite, [e for e in late if opposite in _opposites(e.event_type)])

    def is_overtaken(event: NewEvent) -> bool:
        if not _is_late(event, now):
            return False
        key = target_key(_target(event.event_type), _facts(event))
        times = [newest.get((opposite, key)) for opposite in _opposites(event.event_type)]
        return any(time and event.happened and second_of(time) > event.happened for time in times)

    return [replace(event, signals=False) if is_overtaken(event) else event for event in events]


def _is_late(event: NewEvent, now: datetime) -> bool:
    return event.happened is not None and event.happened < second_of(now)


def _newest(
    group_id: str, opposite: EventType, events: Sequence[NewEvent]
) -> dict[tuple[EventType, str], datetime]:
    """The times of the newest stored events of a type, by target, which end or begin what these events do."""
    target = _target(opposite)
    since = min(event.happened for event in events if event.happened)
    # Events about an alert have the time at which the platform opened or closed it.
    stored = Event.objects.filter(
        group_id=group_id, event_type=opposite.value, created__gt=since, alert_id=None
    ).order_by("-created", "-id")[:MOST_READ]
    rows = Event.objects.filter(id__in=stored.values("id"))
    if name := _NAME.get(target):
        names = {str(_facts(event).get(name) or "").lower() for event in events}
        named = Coalesce(Lower(KT(f"details__{name}")), Value(""), output_field=TextField())
        rows = rows.annotate(name=named).filter(name__in=names)
    newest: dict[tuple[EventType, str], datetime] = {}
    facts = [f"details__{fact}" for fact in TARGET_FACTS[target]]
    for _, *values, created in rows.values_list("event_type", *facts).annotate(Max("created")).order_by():
        key = opposite, target_key(target, dict(zip(TARGET_FACTS[target], values, strict=True)))
        newest[key] = max(created, newest.get(key, created))
    return newest


def _opposites(event_type: EventType) -> tuple[EventType, ...]:
    closing = closing_type(event_type)
    return (closing,) if closing else openers_of(event_type)


def _target(event_type: EventType) -> Target:
    """The target of the alerts that an event of this type opens or closes."""
    opener, *_ = openers_of(event_type) or (event_type,)
    return EVENT_TYPES[opener].target


def _facts(event: NewEvent) -> Mapping[str, Any]:
    return event.signal_facts or {}
