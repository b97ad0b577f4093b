"""The events of API keys: each project and organization records the key's roles in it, and no others."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from accesslist.models import ApiKey
from accesslist.selectors.keys import present_grants
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.services import event_record
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.roles import INSTALLATION, Grant, Scope


def key_created(*, key: ApiKey, grants: Sequence[Grant], actor: Actor, now: datetime) -> None:
    """Record the new key in each scope of its roles, or in the installation if it has none."""
    _record_in_scopes(EventType.API_KEY_CREATED_AUDIT, key, before=None, after=grants, actor=actor, now=now)


def key_deleted(*, key: ApiKey, grants: Sequence[Grant], actor: Actor, now: datetime) -> None:
    """Record the deletion in each scope of the key's roles, or in the installation if it had none."""
    _record_in_scopes(EventType.API_KEY_DELETED_AUDIT, key, before=grants, after=None, actor=actor, now=now)


def key_changed(
    *,
    key: ApiKey,
    old_desc: str,
    before: Sequence[Grant],
    after: Sequence[Grant],
    actor: Actor,
    now: datetime,
) -> None:
    """Record changed roles in their scopes, and a changed description in every scope of the key."""
    described = diff(DiffType.AUTH, key.id, old={"desc": old_desc}, new={"desc": key.desc})
    changed = EventType.API_KEY_CHANGED_AUDIT
    _record_in_scopes(changed, key, before=before, after=after, described=described, actor=actor, now=now)


def _record_in_scopes(
    event_type: EventType,
    key: ApiKey,
    *,
    before: Sequence[Grant] | None,
    after: Sequence[Grant] | None,
    described: Sequence[Mapping[str, Any]] = (),
    actor: Actor,
    now: datetime,
) -> None:
    """Record in each scope its own roles. `before` is None for a new key, `after` for a deleted key."""
    had, has = _by_place(before), _by_place(after)
    for place in dict.fromkeys([*had, *has]) or [INSTALLATION]:
        old = None if before is None else _roles(had.get(place, ()))
        new = None if after is None else _roles(has.get(place, ()))
        changes = [*described, *diff(DiffType.ROLES, key.id, old=old, new=new)]
        if changes:
            _record(event_type, key, place, changes=changes, actor=actor, now=now)
        if place.org_id is not None and (place in had) != (place in has):
            # The key's first role in the organization was granted, or the last was revoked.
            membership = EventType.ORG_API_KEY_ADDED if place in has else EventType.ORG_API_KEY_DELETED
            _record(membership, key, place, actor=actor, now=now)


def _record(
    event_type: EventType,
    key: ApiKey,
    place: Scope,
    *,
    changes: Sequence[Mapping[str, Any]] = (),
    actor: Actor,
    now: datetime,
) -> None:
    event_record(
        event_type=event_type,
        actor=actor,
        now=now,
        group_id=place.group_id,
        org_id=place.org_id,
        facts=EventFacts(target_public_key=key.public_key),
        diffs=changes,
    )


def _by_place(grants: Iterable[Grant] | None) -> Mapping[Scope, list[Grant]]:
    """The grants by scope."""
    by_place: dict[Scope, list[Grant]] = {}
    for grant in grants or ():
        by_place.setdefault(grant.scope, []).append(grant)
    return by_place


def _roles(grants: Iterable[Grant]) -> Mapping[str, Any]:
    """The roles as in the document of a key."""
    return {"roles": present_grants(grants)}
