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

_FACTS = sorted({name for names in TARGET_FACTS.values() for name in names})
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
    for target in {_target(event.event_type) for event in late}:
        of_target = [event for event in late if _target(event.event_type) is target]
        newest |= _newest_opposites(group_id, target, of_target)

    def is_overtaken(event: NewEvent) -> bool:
        if not _is_late(event, now):
            return False
        key = target_key(_target(event.event_type), _facts(event))
        times = [newest.get((opposite, key)) for opposite in _opposites(event.event_type)]
        return any(time and event.happened and second_of(time) > event.happened for time in times)

    return [replace(event, signals=False) if is_overtaken(event) else event for event in events]


def _is_late(event: NewEvent, now: datetime) -> bool:
    return event.happened is not None and event.happened < second_of(now)


def _newest_opposites(
    group_id: str, target: Target, events: Sequence[NewEvent]
) -> dict[tuple[EventType, str], datetime]:
    """The times of the newest stored ends of what these events begin, and beginnings of what they end."""
    opposites = {opposite.value for event in events for opposite in _opposites(event.event_type)}
    if not opposites:
        return {}
    since = min(event.happened for event in events if event.happened)
    # Events about an alert have the time at which the platform opened or closed it.
    rows = Event.objects.filter(group_id=group_id, event_type__in=opposites, created__gt=since, alert_id=None)
    if name := _NAME.get(target):
        names = {str(_facts(event).get(name) or "").lower() for event in events}
        named = Coalesce(Lower(KT(f"details__{name}")), Value(""), output_field=TextField())
        rows = rows.annotate(name=named).filter(name__in=names)
    stored = rows.values_list("event_type", *(f"details__{fact}" for fact in _FACTS)).annotate(Max("created"))
    newest: dict[tuple[EventType, str], datetime] = {}
    for event_type, *values, created in stored.order_by():
        key = EventType(event_type), target_key(target, dict(zip(_FACTS, values, strict=True)))
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
