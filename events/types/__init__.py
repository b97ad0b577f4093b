"""Event types: the properties of a type, and the table of all types."""

from events.types.spec import AlertEffect, Category, EventTypeSpec, Needs, Target
from events.types.table import ALERT_CATEGORIES, EVENT_TYPES, EventType, closing_type, openers_of

__all__ = [
    "ALERT_CATEGORIES",
    "EVENT_TYPES",
    "AlertEffect",
    "Category",
    "EventType",
    "EventTypeSpec",
    "Needs",
    "Target",
    "closing_type",
    "openers_of",
]
