"""events.md: the table of event types."""

from collections.abc import Iterable

from events.types import EVENT_TYPES, AlertEffect, Category, EventType, EventTypeSpec
from tools.reference.markdown import code, table

_INTRODUCTION = """# Event types

`GET /api/public/v1.0/eventTypes` lists the same types.

| column | meaning |
|---|---|
| effect | *opens* → the type that closes the alert; *closes*; *notifies once*; *audit*: recorded only |
| alertable | an alert configuration can use the type; *global only*: only a global one |
| reported | an agent can report the type |
| produced | the type occurs: the platform or an agent writes it |
"""
_EFFECTS = {AlertEffect.CLOSING: "closes", AlertEffect.ONE_SHOT: "notifies once", AlertEffect.AUDIT: "audit"}


def page() -> str:
    """The page, category by category."""
    sections = [f"\n## {category}\n\n{_table(category)}" for category in Category]
    return _INTRODUCTION + "".join(sections)


def _table(category: Category) -> str:
    return table(("event type", "effect", "alertable", "reported", "produced"), map(_row, _types(category)))


def _types(category: Category) -> Iterable[tuple[EventType, EventTypeSpec]]:
    return ((name, spec) for name, spec in EVENT_TYPES.items() if spec.category is category)


def _row(each: tuple[EventType, EventTypeSpec]) -> tuple[str, str, str, str, str]:
    name, spec = each
    effect = f"opens → {code(spec.closed_by)}" if spec.closed_by else _EFFECTS[spec.kind]
    alertable = "global only" if spec.global_only else _yes(spec.alertable)
    return code(name), effect, alertable, _yes(spec.reported), _yes(spec.produced)


def _yes(holds: bool) -> str:
    return "yes" if holds else ""
