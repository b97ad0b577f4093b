"""API keys: created, changed, deleted; each scope records the key's roles in it, and no others.

A change of a key or of its roles locks the key first, then the projects and organizations of the roles.
"""

import secrets
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from accesslist.access_lists.changes import access_list_entries_create
from accesslist.access_lists.resource import AccessListEntryDocument
from accesslist.access_lists.rules import AccessList, ListWriter, refuse_keys_beyond
from accesslist.access_lists.store import entries_of
from accesslist.changes import RecordedAct, acting
from accesslist.digest import rules as digest
from accesslist.keys.models import ApiKey
from accesslist.keys.resource import ApiKeyDocument
from accesslist.keys.store import keys_in
from accesslist.roles.changes import (
    grants_admit,
    grants_create,
    grants_of,
    grants_replace,
    keys_revoke,
)
from accesslist.roles.rules import AskedRole, RoleRequest, refuse_roles_not_held
from accesslist.roles.store import held_by, orgs_of_groups, wire_roles
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.log.changes import NewEvent
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor, ActorKind
from opsapi.api.resources import Facts
from opsapi.encryption import encrypt
from opsapi.ids import new_id
from opsapi.roles import INSTALLATION, Grant, Role, Scope

_PUBLIC_LENGTH = 6
_PUBLIC_ALPHABET = string.ascii_lowercase + string.digits
_PRIVATE_GROUPS = (8, 4, 4, 12)
_NO_CHANGES: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key with its private key, which can be shown only now."""

    key: ApiKey
    private_key: str

    @property
    def facts(self) -> Facts:
        """The key as a document, with the complete private key."""
        return {**key_facts(self.key.id), "privateKey": self.private_key}


def key_facts(key_id: str, here: Scope = INSTALLATION) -> Facts:
    """Return the key as a document, with its roles in the scope.

    Raises:
        ApiError: API_KEY_NOT_FOUND.
    """
    return ApiKeyDocument.found(keys_in(here).filter(id=key_id), ErrorCode.API_KEY_NOT_FOUND, key_id)


@transaction.atomic
def api_key_create(
    *, values: Mapping[str, Any], grants: Sequence[Grant], actor: Actor, now: datetime
) -> NewKey:
    """Create a key with these roles. The calling service checks whether they may be granted.

    `values`: the columns of a checked document.

    Raises:
        ApiError: GROUP_NOT_FOUND, ORG_NOT_FOUND, if the scope of a role does not exist.
    """
    private_key = "-".join(secrets.token_hex(length // 2) for length in _PRIVATE_GROUPS)
    key = _insert(values, private_key, now)
    grants_create(grants, holder=key)
    _refuse_machine_with_other_roles(key)
    key_changes_record(key, before=None, after=grants_of(key), actor=actor, now=now)
    return NewKey(key, private_key)


def api_key_issue(*, values: Mapping[str, Any], roles: RoleRequest, actor: Actor, now: datetime) -> NewKey:
    """Create a key with the requested roles, if the caller may grant them.

    `values`: the columns of a checked document. If the caller is a key with an access list, the new key gets
    the same list.

    Raises:
        ApiError: ROLE_NEEDS_GROUP_ID, ROLE_NEEDS_ORG_ID, ROLE_NEEDS_NO_GROUP_ID, INVALID_ATTRIBUTE,
            CANNOT_ADD_GLOBAL_ROLE, ROLE_NOT_HELD. INVALID_ATTRIBUTE is also for `hostnames` with another role
            than GROUP_AGENT.
    """
    with acting(actor, now, ends=()):
        grants = roles.grants()
        grants_admit(roles, added=grants)
        new_key = api_key_create(values=values, grants=grants, actor=actor, now=now)
        if entries := _list_of(actor):
            of = AccessList(new_key.key.id, new_key.key.public_key, roles.here)
            access_list_entries_create(of=of, new=entries, by=ListWriter(actor), now=now)
        return new_key


def api_key_update(
    *,
    key_id: str,
    here: Scope,
    changes: Mapping[str, Any] = _NO_CHANGES,
    asked: Sequence[AskedRole] | None = None,
    by: Sequence[Grant] = (),
    actor: Actor,
    now: datetime,
) -> None:
    """Change the columns in `changes`, or the roles in the scope `here`; None keeps them.

    `by`: the caller's grants.

    Raises:
        ApiError: API_KEY_NOT_FOUND, CANNOT_CHANGE_OWN_ROLES, CANNOT_DEMOTE_LAST_OWNER, and the errors of
            `api_key_issue` for added roles. USER_UNAUTHORIZED and ROLE_NOT_HELD are also for other
            `hostnames`.
    """
    with acting(actor, now, ends=[key_id]):
        key = api_key_lock(key_id, here)
        before, old = grants_of(key), _described(key)
        if asked is not None:
            _replace_roles(key, RoleRequest(asked, here, by), actor, now)
        for column, value in changes.items():
            setattr(key, column, value)
        key.hostnames = _stored_names(key.hostnames)
        if key.hostnames != old["hostnames"]:
            _refuse_other_machine(key, before, by)
            keys_revoke(ids=[key.id], actor=actor)
        key.save(update_fields=list(changes))
        _refuse_machine_with_other_roles(key)
        described = diff(DiffType.AUTH, key.id, old=old, new=_described(key))
        after = grants_of(key)
        key_changes_record(key, before=before, after=after, described=described, actor=actor, now=now)


def api_key_delete(*, key_id: str, here: Scope, actor: Actor, now: datetime) -> None:
    """Revoke the key's roles in the scope `here`; without roles, the key and its access list are deleted.

    Raises:
        ApiError: API_KEY_NOT_FOUND, CANNOT_CHANGE_OWN_ROLES, CANNOT_DEMOTE_LAST_OWNER.
    """
    with acting(actor, now, ends=[key_id]):
        key = api_key_lock(key_id, here)
        _refuse_own(key, actor)
        before = grants_of(key)
        grants_replace(holder=key, current=grants_of(key, here), wanted=(), actor=actor, now=now)
        api_key_roles_revoked(key=key, before=before, actor=actor, now=now)


def api_key_roles_revoked(*, key: ApiKey, before: Sequence[Grant], actor: Actor, now: datetime) -> None:
    """Record that the key lost some of its roles `before`; delete the key if it has no role left.

    Call it in the transaction that revokes the roles.
    """
    left = grants_of(key) or None
    key_changes_record(key, before=before, after=left, actor=actor, now=now)
    if not left:
        key.delete()


def api_key_lock(key_id: str, here: Scope = INSTALLATION) -> ApiKey:
    """Lock the key and return it; call it in an act that `ends` the key.

    Raises:
        ApiError: API_KEY_NOT_FOUND, also if the key has no role in the scope.
    """
    row = ApiKey.objects.select_for_update().filter(id=key_id).first()
    key = get_or_404(row, ErrorCode.API_KEY_NOT_FOUND, key_id)
    if here != INSTALLATION and not grants_of(key, here):
        raise ApiError(ErrorCode.API_KEY_NOT_FOUND, key_id)
    return key


def _list_of(actor: Actor) -> list[Mapping[str, Any]]:
    """The entries of the acting key's list, by their columns."""
    if actor.kind is not ActorKind.KEY:
        return []
    return list(entries_of(actor.id).values(*AccessListEntryDocument.written().values()))


def _described(key: ApiKey) -> Mapping[str, Any]:
    """The fields of the key's document that clients write, without its roles."""
    written = ApiKeyDocument.written().items()
    return {name: getattr(key, column) for name, column in written if name != "roles"}


def _replace_roles(key: ApiKey, roles: RoleRequest, actor: Actor, now: datetime) -> None:
    current, wanted = grants_of(key, roles.here), roles.grants()
    if frozenset(current) == frozenset(wanted):
        return
    _refuse_own(key, actor)
    held = frozenset(current)
    grants_admit(roles, added=[grant for grant in wanted if grant not in held])
    grants_replace(holder=key, current=current, wanted=wanted, actor=actor, now=now)


def _stored_names(hostnames: Iterable[str] | None) -> list[str] | None:
    """The names of a machine as they are stored; None for each machine."""
    return list(dict.fromkeys(name.lower() for name in hostnames or ())) or None


def _refuse_other_machine(key: ApiKey, held: Sequence[Grant], by: Sequence[Grant]) -> None:
    """Refuse callers who could not create this key, because its machine counts in all its projects."""
    refuse_keys_beyond(held_by(key), by=by)
    refuse_roles_not_held(held, by=by, orgs_of_groups=orgs_of_groups(held))


def _refuse_machine_with_other_roles(key: ApiKey) -> None:
    """Refuse names of a machine for a key that has another role than GROUP_AGENT."""
    if key.hostnames and any(grant.role is not Role.GROUP_AGENT for grant in grants_of(key)):
        message = "must be empty unless GROUP_AGENT is the only role of the key"
        raise ApiError.of_field("hostnames", ErrorCode.INVALID_ATTRIBUTE, message)


def _refuse_own(key: ApiKey, actor: Actor) -> None:
    if actor.kind is ActorKind.KEY and actor.id == key.id:
        raise ApiError(ErrorCode.CANNOT_CHANGE_OWN_ROLES)


def _insert(values: Mapping[str, Any], private_key: str, now: datetime) -> ApiKey:
    """Draw public keys until one is free; with two billion of them, a second draw is rare."""
    while True:
        public_key = "".join(secrets.choice(_PUBLIC_ALPHABET) for _ in range(_PUBLIC_LENGTH))
        key_id = new_id()
        key, created = ApiKey.objects.get_or_create(
            public_key=public_key,
            defaults={
                **values,
                "hostnames": _stored_names(values.get("hostnames")),
                "id": key_id,
                "ha1": encrypt(digest.ha1(public_key, digest.REALM, private_key), owner=key_id),
                "private_last4": private_key[-4:],
                "created": now,
            },
        )
        if created:
            return key


def key_changes_record(
    key: ApiKey,
    *,
    before: Sequence[Grant] | None,
    after: Sequence[Grant] | None,
    described: Sequence[Mapping[str, Any]] = (),
    actor: Actor,
    now: datetime,
) -> None:
    """Record in each scope of the key its own roles, or in the installation without roles.

    `before` is None for a new key, `after` for a deleted key. `described`: changes of the other fields, which
    are recorded in every scope.
    """
    event_type = EventType.API_KEY_CREATED_AUDIT if before is None else EventType.API_KEY_CHANGED_AUDIT
    event_type = EventType.API_KEY_DELETED_AUDIT if after is None else event_type
    facts = EventFacts(target_public_key=key.public_key)
    had, has = _by_scope(before), _by_scope(after)
    for scope in dict.fromkeys([*had, *has]) or [INSTALLATION]:
        events = []
        old = None if before is None else _role_facts(had.get(scope, ()))
        new = None if after is None else _role_facts(has.get(scope, ()))
        changes = [*described, *diff(DiffType.ROLES, key.id, old=old, new=new)]
        if changes:
            events.append(NewEvent(event_type=event_type, facts=facts, diffs=changes))
        if scope.org_id is not None and (scope in had) != (scope in has):
            # The key's first role in the organization was granted, or the last was revoked.
            membership = EventType.ORG_API_KEY_ADDED if scope in has else EventType.ORG_API_KEY_DELETED
            events.append(NewEvent(event_type=membership, facts=facts))
        RecordedAct(actor=actor, now=now, here=scope).record(*events)


def _by_scope(grants: Iterable[Grant] | None) -> Mapping[Scope, list[Grant]]:
    by_place: dict[Scope, list[Grant]] = {}
    for grant in grants or ():
        by_place.setdefault(grant.scope, []).append(grant)
    return by_place


def _role_facts(grants: Iterable[Grant]) -> Mapping[str, Any]:
    """The roles as in the document of a key."""
    return {"roles": wire_roles(grants)}
