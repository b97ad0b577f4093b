"""Changes of the global access list and of the access lists of keys.

Writes to the same list wait for each other. Otherwise two writes, each of which keeps its caller on the list,
could together lock both callers out. Each added, changed or removed entry is an event.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from accesslist.access_lists.models import AccessListEntry
from accesslist.access_lists.resource import AccessListEntryDocument
from accesslist.access_lists.rules import AccessList, ListWriter, covers
from accesslist.changes import RecordedAct, acting
from accesslist.keys.models import ApiKey
from accesslist.roles.changes import keys_revoke
from accesslist.roles.models import RoleGrant
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.log.changes import NewEvent
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404

Blocks = dict[str, str]
"""Range → ID of its entry, for all entries of a list."""


def access_list_entries_create(
    *, of: AccessList, new: Sequence[Mapping[str, Any]], by: ListWriter, now: datetime
) -> list[AccessListEntry]:
    """Add entries to the list, all or none. `new`: the columns of each, with a canonical range.

    Raises:
        ApiError: CANNOT_WIDEN_OWN_ACCESS_LIST, ADDRESS_ALREADY_IN_ACCESS_LIST,
            CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST, API_KEY_NOT_FOUND.
    """
    with _changing(of, by, now) as act:
        blocks = _blocks(of)
        if blocks:
            _refuse_own(of, by)
        wanted = [values["cidr_block"] for values in new]
        for block in wanted:
            _refuse_present(block, blocks)
        _keep_caller(of, by, [*blocks, *wanted])
        if not blocks:
            _revoke(of, by)
        entries = AccessListEntry.objects.bulk_create(
            AccessListEntry(api_key_id=of.key_id, created=now, updated=now, **values) for values in new
        )
        first = [] if blocks else entries[:1]
        act.record(*(_event(of, entry, new=_facts(entry), is_only=entry in first) for entry in entries))
        return entries


def access_list_entry_update(
    *, of: AccessList, entry_id: str, changes: Mapping[str, Any], by: ListWriter, now: datetime
) -> None:
    """Change the columns in `changes`. Without a change, no event is recorded.

    Raises:
        ApiError: ACCESS_LIST_ENTRY_NOT_FOUND, ADDRESS_ALREADY_IN_ACCESS_LIST,
            CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST, API_KEY_NOT_FOUND.
    """
    with _changing(of, by, now) as act:
        blocks, entry = _blocks(of), _find(of, entry_id)
        old = _facts(entry)
        wanted = changes.get("cidr_block", entry.cidr_block)
        if wanted != entry.cidr_block:
            _check_move(of, entry.cidr_block, wanted, blocks, by)
            entry.updated = now
        for column, value in changes.items():
            setattr(entry, column, value)
        if _facts(entry) != old:
            # Not last_used: authentication may have written it in the meantime.
            entry.save(update_fields=[*changes, "updated"])
            act.record(_event(of, entry, old=old, new=_facts(entry)))


def access_list_entry_delete(*, of: AccessList, entry_id: str, by: ListWriter, now: datetime) -> None:
    """Remove an entry. Without entries the list no longer applies, which the event records.

    Raises:
        ApiError: ACCESS_LIST_ENTRY_NOT_FOUND, API_KEY_NOT_FOUND, CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST,
            CANNOT_WIDEN_OWN_ACCESS_LIST for the last entry.
    """
    with _changing(of, by, now) as act:
        blocks, entry = _blocks(of), _find(of, entry_id)
        del blocks[entry.cidr_block]
        if not blocks:
            _refuse_own(of, by)
        _keep_caller(of, by, blocks)
        if blocks:
            _revoke(of, by)
        act.record(_event(of, entry, old=_facts(entry), is_only=not blocks))
        entry.delete()


def access_list_clear(*, of: AccessList, by: ListWriter, now: datetime) -> int:
    """Remove all entries, so that the list no longer applies. Return their number.

    Raises:
        ApiError: API_KEY_NOT_FOUND.
    """
    with _changing(of, by, now) as act:
        _blocks(of)
        entries = AccessListEntry.objects.filter(api_key_id=of.key_id).order_by("created", "id")
        gone = list(entries)
        act.record(*(_event(of, entry, old=_facts(entry), is_only=entry is gone[-1]) for entry in gone))
        entries.delete()
        return len(gone)


def _changing(of: AccessList, by: ListWriter, now: datetime) -> AbstractContextManager[RecordedAct]:
    """Wait for writes of the keys that the list applies to."""
    return acting(by.actor, now, here=of.scope, locks=(), ends=_held_to(of).values_list("id", flat=True))


def _blocks(of: AccessList) -> Blocks:
    """Read the list; refuse the list of a key that was deleted in the meantime."""
    if of.key_id is not None and not _held_to(of).exists():
        raise ApiError(ErrorCode.API_KEY_NOT_FOUND, of.key_id)
    return dict(AccessListEntry.objects.filter(api_key_id=of.key_id).values_list("cidr_block", "id"))


def _revoke(of: AccessList, by: ListWriter) -> None:
    """The list may now block keys that it admitted: their next writes are checked again."""
    keys_revoke(ids=list(_held_to(of).values_list("id", flat=True)), actor=by.actor)


def _held_to(of: AccessList) -> QuerySet[ApiKey]:
    """The key of the list; for the global list, all keys with a global role."""
    if of.key_id is not None:
        return ApiKey.objects.filter(id=of.key_id)
    return ApiKey.objects.filter(id__in=RoleGrant.objects.filter(org=None, project=None).values("api_key_id"))


def _find(of: AccessList, entry_id: str) -> AccessListEntry:
    entry = AccessListEntry.objects.filter(api_key_id=of.key_id, id=entry_id).first()
    return get_or_404(entry, ErrorCode.ACCESS_LIST_ENTRY_NOT_FOUND, entry_id)


def _check_move(of: AccessList, old: str, new: str, blocks: Blocks, by: ListWriter) -> None:
    """Refuse another range that is on the list, or that blocks the writer."""
    _refuse_present(new, blocks)
    del blocks[old]
    _keep_caller(of, by, [*blocks, new])
    _revoke(of, by)


def _refuse_own(of: AccessList, by: ListWriter) -> None:
    """Refuse a key that adds entries to its own list: a thief could call from more addresses."""
    if by.owns(of):
        raise ApiError(ErrorCode.CANNOT_WIDEN_OWN_ACCESS_LIST)


def _refuse_present(cidr_block: str, blocks: Blocks) -> None:
    if cidr_block in blocks:
        raise ApiError(ErrorCode.ADDRESS_ALREADY_IN_ACCESS_LIST, cidr_block, blocks[cidr_block])


def _keep_caller(of: AccessList, by: ListWriter, blocks: Collection[str]) -> None:
    """Refuse a list that blocks its writer; a list without entries blocks no caller."""
    address = by.actor.remote_address
    if blocks and by.is_held_by(of) and not covers(blocks, address):
        raise ApiError(ErrorCode.CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST, address or "unknown")


def _facts(entry: AccessListEntry) -> Mapping[str, Any]:
    """Return the facts of an entry that audit diffs compare."""
    return {name: getattr(entry, column) for name, column in AccessListEntryDocument.written().items()}


def _event(
    of: AccessList,
    entry: AccessListEntry,
    *,
    old: Mapping[str, Any] | None = None,
    new: Mapping[str, Any] | None = None,
    is_only: bool = False,
) -> NewEvent:
    """Return the event of an entry that is added, changed or removed.

    `is_only`: the list has no other entry, so it starts to apply with a new entry, or no longer applies
    without a removed one.
    """
    diffs = diff(DiffType.ACCESS_LIST, entry.id, old=old, new=new)
    if is_only:
        before, after = {"enforced": old is not None}, {"enforced": new is not None}
        diffs += diff(DiffType.ACCESS_LIST, entry.id, old=before, new=after)
    added, removed = EventType.ACCESS_LIST_ENTRY_ADDED_AUDIT, EventType.ACCESS_LIST_ENTRY_REMOVED_AUDIT
    changed = EventType.ACCESS_LIST_ENTRY_CHANGED_AUDIT
    return NewEvent(
        event_type=added if old is None else removed if new is None else changed,
        facts=EventFacts(access_list_entry=entry.cidr_block, target_public_key=of.public_key),
        diffs=diffs,
    )
