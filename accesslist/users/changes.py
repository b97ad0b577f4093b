"""Users: created, deleted, given roles; users can also register themselves (endpoint 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from accesslist.access_lists.changes import access_list_entries_create
from accesslist.access_lists.rules import AccessList, ListWriter
from accesslist.changes import acting
from accesslist.hooks import user_deleting
from accesslist.keys.changes import NewKey, api_key_create
from accesslist.locks import FIRST_USER_LOCK, advisory_lock
from accesslist.login.changes import own_user_lock, user_event_record
from accesslist.roles.changes import (
    grants_admit,
    grants_create,
    grants_of,
    grants_replace,
    refuse_own_roles,
    role_changes_record,
    user_lock,
)
from accesslist.roles.rules import RoleRequest, asked_roles, grants_asked
from accesslist.teams.changes import members_left
from accesslist.users.checks import as_email, check_new_user
from accesslist.users.models import User, username_forms
from accesslist.users.resource import user_facts
from accesslist.users.store import any_user_exists, name_is_taken
from events.choices import DiffType
from events.diffs import diff
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, needs_role
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import INSTALLATION, Grant, Role, satisfies
from opsapi.wire_json import JsonObject

_FIRST_KEY_DESC = "Key of the first user"
_FIRST_GRANTS = (Grant(Role.GLOBAL_OWNER),)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUser:
    """The values of a new user; `roles` are the requested roles as `{roleName, groupId?, orgId?}`."""

    username: str
    password: str
    first_name: str
    last_name: str
    email_address: str | None = None
    mobile_number: str | None = None
    roles: Sequence[Mapping[str, Any]] = ()


@transaction.atomic
def unauth_user_create(
    *, new: NewUser, access_list: Sequence[str], remote_address: str | None, now: datetime
) -> tuple[User, NewKey | None]:
    """Create a user without authentication. The first user becomes Global owner and gets a key.

    Of concurrent calls, exactly one creates the first user. Only that call uses `access_list`: canonical
    ranges for the global access list.

    Raises:
        ApiError: INVALID_USERNAME, WEAK_PASSWORD, CANNOT_ADD_GLOBAL_ROLE, ROLE_NOT_HELD,
            ROLE_NEEDS_NO_GROUP_ID, INVALID_ATTRIBUTE, USER_ALREADY_EXISTS.
    """
    first = first_user_create(new=new, remote_address=remote_address, now=now)
    if first is None:
        return _user_register(new, remote_address, now), None
    user, actor = first
    key = api_key_create(values={"desc": _FIRST_KEY_DESC}, grants=_FIRST_GRANTS, actor=actor, now=now)
    of = AccessList(public_key=key.key.public_key)
    entries = [{"cidr_block": cidr_block} for cidr_block in dict.fromkeys(access_list)]
    access_list_entries_create(of=of, new=entries, by=ListWriter(actor), now=now)
    return user, key


@transaction.atomic
def first_user_create(
    *, new: NewUser, remote_address: str | None, now: datetime
) -> tuple[User, Actor] | None:
    """Create the first user, a Global owner without a key; None if a user exists.

    Returns the user, and the user as the actor of what follows. Of concurrent calls, exactly one creates the
    user. `new.roles` is not used.

    Raises:
        ApiError: INVALID_USERNAME, WEAK_PASSWORD.
    """
    advisory_lock(FIRST_USER_LOCK)
    if any_user_exists():
        return None
    user = _insert(new, _FIRST_GRANTS, now)
    return user, _created_by_themselves(user, _FIRST_GRANTS, remote_address, now)


def user_create(*, new: NewUser, by: Sequence[Grant], actor: Actor, now: datetime) -> User:
    """Create a user with the requested roles, if the caller may grant them.

    The user must change the password after the first log-in. `by`: the caller's grants.

    Raises:
        ApiError: ROLE_NEEDS_GROUP_ID, ROLE_NEEDS_ORG_ID, ROLE_NEEDS_NO_GROUP_ID, INVALID_ATTRIBUTE,
            CANNOT_ADD_GLOBAL_ROLE, ROLE_NOT_HELD, INVALID_USERNAME, WEAK_PASSWORD, USER_ALREADY_EXISTS.
    """
    with acting(actor, now):
        roles = RoleRequest(asked_roles(new.roles), INSTALLATION, by)
        grants = roles.grants()
        grants_admit(roles, added=grants)
        user = _insert(new, grants, now, password_given=True)
        user_event_record(
            event_type=EventType.USER_CREATED_AUDIT, user=user, actor=actor, now=now, diffs=_created(user)
        )
        in_places = [grant for grant in grants if not grant.role.is_global]
        role_changes_record(user=user, old=(), new=in_places, actor=actor, now=now)
        return user


@transaction.atomic
def user_details_change(
    *,
    first_name: str,
    last_name: str,
    email_address: str | None = None,
    mobile_number: str | None = None,
    actor: Actor,
    now: datetime,
) -> None:
    """Change the actor's names, e-mail address and mobile number. The same values again change nothing.

    Without an e-mail address, a username that is an e-mail address serves as one, as for a new user.

    Raises:
        ApiError: USER_NOT_FOUND, also if the actor is not a user.
    """
    user = own_user_lock(actor)
    old = user_facts(user)
    user.first_name, user.last_name, user.mobile_number = first_name, last_name, mobile_number
    user.email_address = email_address or as_email(user.username)
    user.save(update_fields=["first_name", "last_name", "email_address", "mobile_number"])
    if diffs := diff(DiffType.USERS, user.id, old=old, new=user_facts(user)):
        user_event_record(
            event_type=EventType.USER_CHANGED_AUDIT, user=user, actor=actor, now=now, diffs=diffs
        )


def user_delete(*, user_id: str, by: Sequence[Grant], actor: Actor, now: datetime) -> None:
    """Delete a user, who leaves every project, organization and team, and whose sessions end.

    Raises:
        ApiError: USER_NOT_FOUND, CANNOT_CHANGE_OWN_ROLES, CANNOT_DEMOTE_LAST_OWNER; USER_UNAUTHORIZED, also
            for a user admin if the user has a global role (a Global owner is needed).
    """
    with acting(actor, now, ends=[user_id]) as act:
        user = user_lock(user_id)
        refuse_own_roles(user, actor)
        grants, facts = grants_of(user), user_facts(user)
        is_global = any(grant.role.is_global for grant in grants)
        if is_global and not satisfies(by, Role.GLOBAL_OWNER, INSTALLATION):
            raise needs_role([Role.GLOBAL_OWNER])
        user_deleting.send(sender=User, user=user, actor=actor, now=now)
        grants_replace(holder=user, current=grants, wanted=(), actor=actor, now=now)
        role_changes_record(user=user, old=grants, new=(), actor=actor, now=now)
        for team in user.teams.order_by("created", "id"):
            members_left(act, team, [user])
        gone = diff(DiffType.USERS, user.id, old=facts)
        user_event_record(
            event_type=EventType.USER_DELETED_AUDIT, user=user, actor=actor, now=now, diffs=gone
        )
        user.delete()


@transaction.atomic
def invited_user_create(
    *, new: NewUser, grants: Sequence[Grant], remote_address: str | None, now: datetime
) -> tuple[User, Actor]:
    """Create a user who accepts an invitation, with the roles that it gives. `new.roles` is not used.

    Returns the user, and the user as the actor of what follows.

    Raises:
        ApiError: INVALID_USERNAME, WEAK_PASSWORD, USER_ALREADY_EXISTS.
    """
    user = _insert(new, grants, now)
    actor = _created_by_themselves(user, grants, remote_address, now)
    role_changes_record(user=user, old=(), new=grants, actor=actor, now=now, was_invited=True)
    return user, actor


def _user_register(new: NewUser, remote_address: str | None, now: datetime) -> User:
    grants = _grants_of_a_stranger(new.roles)
    user = _insert(new, grants, now, self_registered=True)
    _created_by_themselves(user, grants, remote_address, now)
    return user


def _created_by_themselves(
    user: User, grants: Sequence[Grant], remote_address: str | None, now: datetime
) -> Actor:
    """Record the creation. There is no other actor, so the event names the new user."""
    is_owner = Grant(Role.GLOBAL_OWNER) in grants
    actor = Actor(ActorKind.USER, user.id, user.username, is_owner, remote_address)
    user_event_record(
        event_type=EventType.USER_CREATED_AUDIT, user=user, actor=actor, now=now, diffs=_created(user)
    )
    return actor


def _created(user: User) -> list[JsonObject]:
    return diff(DiffType.USERS, user.id, new=user_facts(user))


def _insert(new: NewUser, grants: Sequence[Grant], now: datetime, **marks: bool) -> User:
    """Create the row and its roles; refuse an invalid, used or look-alike name and a weak password.

    `marks`: flags of the row.
    """
    forms = username_forms(new.username)
    columns = {name: value for name, value in asdict(new).items() if name not in {"password", "roles"}}
    columns["email_address"] = new.email_address or as_email(new.username)
    user = User(**columns, **forms, **marks, created=now)
    check_new_user(new.password, user)
    if name_is_taken(forms):  # Before the hash, which is expensive on purpose.
        raise ApiError(ErrorCode.USER_ALREADY_EXISTS, new.username)
    user.set_password(new.password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise ApiError(ErrorCode.USER_ALREADY_EXISTS, new.username) from None
    grants_create(grants, holder=user)
    return user


def _grants_of_a_stranger(roles: Sequence[Mapping[str, Any]]) -> list[Grant]:
    """Return the roles of a user who registers: none, unless OPSAPI_UNAUTH_GLOBAL_ROLES is set."""
    asked = asked_roles(roles)
    for request in asked:
        if request.role.is_global and not settings.OPSAPI_UNAUTH_GLOBAL_ROLES:
            raise ApiError(ErrorCode.CANNOT_ADD_GLOBAL_ROLE, request.role.value)
    for request in asked:
        if not request.role.is_global:
            raise ApiError(ErrorCode.ROLE_NOT_HELD, request.role.value)
    return grants_asked(asked)
