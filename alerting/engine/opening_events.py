"""Reads the event that opened an alert, and the facts in it that the alert itself does not have."""

from collections.abc import Mapping
from datetime import timedelta

from alerting.engine.observations import OF_PLANS
from alerting.incidents.models import Alert
from events.models import Event
from events.targets import target_key
from events.types import EVENT_TYPES, EventType

_LOOKED_THROUGH = 200
_BEFORE = timedelta(hours=1)
_WITH_FACTS = frozenset(OF_PLANS)
"""The types whose events have facts. Their conditions hold until another event: the newest one counts."""
_LABELS = {
    "move": "Move",
    "step": "Step",
    "reason": "Reason",
    "detail": "Reason",
    "remedy": "What to do",
}
"""The facts of an event, by their names in its diffs. A later name counts more."""
REMEDY = "remedy"


def opening_event(alert: Alert) -> Event | None:
    """Return the newest event of the type and target when the alert began; it does not name the alert."""
    events = Event.objects.filter(
        event_type=alert.event_type, group_id=alert.group_id, alert_id=None, created__lte=alert.created
    )
    if alert.event_type not in _WITH_FACTS:
        events = events.filter(created__gte=alert.created - _BEFORE)
    target = EVENT_TYPES[EventType(alert.event_type)].target
    newest = events.order_by("-created", "-id")[:_LOOKED_THROUGH]
    return next((event for event in newest if target_key(target, event.details) == alert.target_key), None)


def event_facts(event: Event) -> Mapping[str, str]:
    """Return the facts of an event, by their names in its diffs; empty for types without facts."""
    if event.event_type not in _WITH_FACTS:
        return {}
    new = {param["param"]: param.get("new") for diff in event.diffs for param in diff["params"]}
    return {name: new[name] for name in _LABELS if new.get(name)}


def opening_facts(alert: Alert) -> Mapping[str, str]:
    """Return the facts of the event that opened an alert, as `event_facts`."""
    event = opening_event(alert)
    return event_facts(event) if event else {}


def labelled(facts: Mapping[str, str]) -> Mapping[str, str]:
    """Return facts for people, by their labels."""
    return {_LABELS[name]: text for name, text in facts.items()}
