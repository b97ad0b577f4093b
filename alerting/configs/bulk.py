"""Changes of many alert configurations at once: what each document becomes. Pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from opsapi.wire_json import JsonObject

Document = Mapping[str, Any]
_RHYTHM = frozenset({"id", "delayMin", "intervalMin", "minSeverity", "teamName"})
"""The fields of a notification that do not say who its recipient is."""


class BulkChange(StrEnum):
    """What changes in all selected rules."""

    ENABLE = "enable"
    DISABLE = "disable"
    ADD = "add"
    REMOVE = "remove"
    DELAY = "delay"
    INTERVAL = "interval"

    @property
    def is_switch(self) -> bool:
        """Whether the rules are enabled or disabled, and nothing else."""
        return self in {BulkChange.ENABLE, BulkChange.DISABLE}


@dataclass(frozen=True, slots=True)
class BulkEdit:
    """A change of all selected rules.

    `destination`: the key of the destination that is removed, or whose delay or interval changes; empty for
    all. `added`: the notification that is added. `minutes`: the delay, or the interval of reminders; None for
    no reminders.
    """

    change: BulkChange
    destination: str = ""
    added: Document | None = None
    minutes: int | None = None

    def changes(self, document: Document) -> JsonObject:
        """The fields of the document of a rule that change, as an API client would send them."""
        if self.change.is_switch:
            enabled = self.change is BulkChange.ENABLE
            return {} if document["enabled"] is enabled else {"enabled": enabled}
        before = list(document["notifications"])
        after = self._notifications(before)
        return {} if after == before else {"notifications": after}

    def _notifications(self, before: Sequence[Document]) -> list[Document]:
        match self.change:
            case BulkChange.ADD:
                added = self.added or {}
                is_known = destination_key(added) in map(destination_key, before)
                return list(before) if is_known else [*before, added]
            case BulkChange.REMOVE:
                return [row for row in before if destination_key(row) != self.destination]
            case _:
                return [self._in_rhythm(row) for row in before]

    def _in_rhythm(self, notification: Document) -> Document:
        if self.destination and destination_key(notification) != self.destination:
            return notification
        if self.change is BulkChange.DELAY:
            return {**notification, "delayMin": self.minutes}
        rest = {name: value for name, value in notification.items() if name != "intervalMin"}
        return {**rest, "intervalMin": self.minutes} if self.minutes else rest


def destination_key(notification: Document) -> str:
    """The same text for the notifications of all rules to one destination."""
    named = {
        name: value
        for name, value in notification.items()
        if name not in _RHYTHM and value not in (None, "", False, [])
    }
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]


def without_identity(notification: Document) -> Document:
    """The notification as a new notification of another rule: its ID belongs to the first rule."""
    return {name: value for name, value in notification.items() if name not in {"id", "teamName"}}
