"""Changes of the global access list and of the access lists of keys.

Writes to one list wait for each other. Otherwise two writes, each of which keeps its caller on the list,
could together lock both callers out.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from accesslist.models import AccessListEntry, ApiKey, RoleGrant
from accesslist.rules.access_lists import AccessList, ListWriter, NewEntry
from accesslist.rules.ranges import covers
from accesslist.services.access_list_events import added_record, changed_record, entry_facts, removed_record
from accesslist.services.locks import actor_lock_in_turn, identities_lock_exclusive
from accesslist.services.revocations import keys_revoke
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404

Blocks = dict[str, str]
"""The ranges of a list, each with the id of its entry."""


@transaction.atomic
def access_list_entries_create(
    *, of: AccessList, new: Sequence[NewEntry], by: ListWriter, now: datetime
) -> list[AccessListEntry]:
    """Add entries to the list, all or none.

    Raises:
        ApiError: CANNOT_WIDEN_OWN_ACCESS_LIST, ADDRESS_ALREADY_IN_ACCESS_LIST,
            CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST, API_KEY_NOT_FOUND.
    """
    actor_lock_in_turn(by.actor)
    blocks = _lock(of)
    if blocks:
        _refuse_own(of, by)
    wanted = [one.cidr_block for one in new]
    for block in wanted:
        _refuse_present(block, blocks)
    _keep_caller(of, by, [*blocks, *wanted])
    if not blocks:
        _revoke(of, by)
    entries = AccessListEntry.objects.bulk_create(_entry(of, one, now) for one in new)
    for place, entry in enumerate(entries):
        added_record(of, entry, is_first=not blocks and place == 0, actor=by.actor, now=now)
    return entries


@transaction.atomic
def access_list_entry_update(
    *,
    of: AccessList,
    entry_id: str,
    cidr_block: str | None,
    description: str | None,
    by: ListWriter,
    now: datetime,
) -> None:
    """Change range or description; None keeps a value. Without a change, no event is recorded.

    Raises:
        ApiError: ACCESS_LIST_ENTRY_NOT_FOUND, ADDRESS_ALREADY_IN_ACCESS_LIST,
            CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST, API_KEY_NOT_FOUND.
    """
    actor_lock_in_turn(by.actor)
    blocks = _lock(of)
    entry = _find(of, entry_id)
    old = entry_facts(entry)
    if cidr_block is not None and cidr_block != entry.cidr_block:
        _move(of, entry, cidr_block, blocks, by)
        entry.updated = now
    entry.description = description or entry.description
    if entry_facts(entry) != old:
        # Not last_used: authentication may have written it in the meantime.
        entry.save(update_fields=["cidr_block", "description", "updated"])
        changed_record(of, entry, old=old, actor=by.actor, now=now)


@transaction.atomic
def access_list_entry_delete(*, of: AccessList, entry_id: str, by: ListWriter, now: datetime) -> None:
    """Remove an entry. Without entries the list no longer applies, which the event records.

    Raises:
        ApiError: ACCESS_LIST_ENTRY_NOT_FOUND, API_KEY_NOT_FOUND, CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST,
            CANNOT_WIDEN_OWN_ACCESS_LIST for the last entry.
    """
    actor_lock_in_turn(by.actor)
    blocks = _lock(of)
    entry = _find(of, entry_id)
    del blocks[entry.cidr_block]
    if not blocks:
        _refuse_own(of, by)
    _keep_caller(of, by, blocks)
    if blocks:
        _revoke(of, by)
    removed_record(of, entry, is_last=not blocks, actor=by.actor, now=now)
    entry.delete()


@transaction.atomic
def access_list_clear(*, of: AccessList, by: ListWriter, now: datetime) -> int:
    """Remove all entries, so that the list no longer applies. Return their number.

    Raises:
        ApiError: API_KEY_NOT_FOUND.
    """
    actor_lock_in_turn(by.actor)
    _lock(of)
    entries = AccessListEntry.objects.filter(api_key_id=of.key_id).order_by("created", "id")
    gone = list(entries)
    for place, entry in enumerate(gone, start=1):
        removed_record(of, entry, is_last=place == len(gone), actor=by.actor, now=now)
    entries.delete()
    return len(gone)


def _lock(of: AccessList) -> Blocks:
    """Wait for writes of the keys that the list applies to, and read the list."""
    keys = list(_held_to(of).values_list("id", flat=True))
    if of.key_id is not None and not keys:
        raise ApiError(ErrorCode.API_KEY_NOT_FOUND, of.key_id)
    identities_lock_exclusive(keys)
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


def _entry(of: AccessList, new: NewEntry, now: datetime) -> AccessListEntry:
    return AccessListEntry(
        api_key_id=of.key_id,
        cidr_block=new.cidr_block,
        description=new.description,
        created=now,
        updated=now,
    )


def _move(of: AccessList, entry: AccessListEntry, cidr_block: str, blocks: Blocks, by: ListWriter) -> None:
    _refuse_present(cidr_block, blocks)
    del blocks[entry.cidr_block]
    _keep_caller(of, by, [*blocks, cidr_block])
    _revoke(of, by)
    entry.cidr_block = cidr_block


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
