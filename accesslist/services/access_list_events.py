"""The events of access lists: an entry is added, changed or removed, enforcement begins or ends."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from accesslist.models import AccessListEntry
from accesslist.rules.access_lists import AccessList
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.services import event_record
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.wire_json import JsonObject


def entry_facts(entry: AccessListEntry) -> Mapping[str, Any]:
    """Return the facts of an entry that audit diffs compare."""
    return {"cidrBlock": entry.cidr_block, "description": entry.description}


def added_record(
    of: AccessList, entry: AccessListEntry, *, is_first: bool, actor: Actor, now: datetime
) -> None:
    """Record a new entry; with its first entry, the list starts to apply."""
    changes = diff(DiffType.ACCESS_LIST, entry.id, new=entry_facts(entry))
    if is_first:
        changes += _enforcement(entry, begins=True)
    _record(EventType.ACCESS_LIST_ENTRY_ADDED_AUDIT, of, entry, changes=changes, actor=actor, now=now)


def changed_record(
    of: AccessList, entry: AccessListEntry, *, old: Mapping[str, Any], actor: Actor, now: datetime
) -> None:
    """Record the change of an entry that was `old`."""
    changes = diff(DiffType.ACCESS_LIST, entry.id, old=old, new=entry_facts(entry))
    _record(EventType.ACCESS_LIST_ENTRY_CHANGED_AUDIT, of, entry, changes=changes, actor=actor, now=now)


def removed_record(
    of: AccessList, entry: AccessListEntry, *, is_last: bool, actor: Actor, now: datetime
) -> None:
    """Record the removal of an entry; without entries, the list no longer applies."""
    changes = diff(DiffType.ACCESS_LIST, entry.id, old=entry_facts(entry))
    if is_last:
        changes += _enforcement(entry, begins=False)
    _record(EventType.ACCESS_LIST_ENTRY_REMOVED_AUDIT, of, entry, changes=changes, actor=actor, now=now)


def _enforcement(entry: AccessListEntry, *, begins: bool) -> list[JsonObject]:
    return diff(DiffType.ACCESS_LIST, entry.id, old={"enforced": not begins}, new={"enforced": begins})


def _record(
    event_type: EventType,
    of: AccessList,
    entry: AccessListEntry,
    *,
    changes: Sequence[Mapping[str, Any]],
    actor: Actor,
    now: datetime,
) -> None:
    event_record(
        event_type=event_type,
        actor=actor,
        now=now,
        group_id=of.place.group_id,
        org_id=of.place.org_id,
        facts=EventFacts(access_list_entry=entry.cidr_block, target_public_key=of.public_key),
        diffs=changes,
    )
