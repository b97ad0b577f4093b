"""The first user and those after it (endpoint 5, contract 4.2 rule 2; decisions 3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import connection, transaction

from accesslist.models import AccessListEntry, User, username_key
from accesslist.services.grants import grants_create
from accesslist.services.keys import NewKey, api_key_create
from events.facts import EventFacts
from events.services import event_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import Grant, Role

_FIRST_USER_LOCK = 0x6F70736669727374  # "opsfirst": one advisory lock for the whole installation
_FIRST_KEY_DESC = "Key of the first user"
_LONGEST_KEY = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUser:
    """What makes a user; `roles` are those asked for, as `{roleName, groupId?, orgId?}`."""

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
    """Make a user without a key of anyone: the first one becomes Global Owner and gets a key.

    However many calls race, one of them makes the first user. `access_list` is looked at only then.

    Raises:
        ApiError: INVALID_USERNAME, WEAK_PASSWORD, INVALID_QUERY_PARAMETER, CANNOT_ADD_GLOBAL_ROLE,
            ROLE_NOT_HELD, USER_ALREADY_EXISTS.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_FIRST_USER_LOCK])
    first = not User.objects.exists()
    grants = [Grant(Role.GLOBAL_OWNER)] if first else _grants_of_a_stranger(new.roles)
    networks = _networks(access_list) if first else []
    user = user_create(new=new, grants=grants, remote_address=remote_address, now=now)
    if not first:
        return user, None
    actor = Actor(ActorKind.USER, user.id, user.username, True, remote_address)
    key = api_key_create(desc=_FIRST_KEY_DESC, grants=grants, actor=actor, now=now)
    for network in networks:
        _add_to_access_list(network, key, actor, now)
    return user, key


@transaction.atomic
def user_create(*, new: NewUser, grants: Sequence[Grant], remote_address: str | None, now: datetime) -> User:
    """Make a user with these roles; whether they may be given is the caller's question.

    Raises:
        ApiError: INVALID_USERNAME, WEAK_PASSWORD, USER_ALREADY_EXISTS.
    """
    _check_username(new.username)
    user = User(
        username=new.username,
        username_key=username_key(new.username),
        first_name=new.first_name,
        last_name=new.last_name,
        email_address=new.email_address or _as_email(new.username),
        mobile_number=new.mobile_number,
        created=now,
    )
    _check_password(new.password, user)
    if User.objects.filter(username_key=user.username_key).exists():
        raise ApiError(ErrorCode.USER_ALREADY_EXISTS, new.username)
    user.set_password(new.password)
    user.save(force_insert=True)
    grants_create(grants, holder=user)
    event_record(
        event_type=EventType.USER_CREATED_AUDIT,
        actor=Actor(
            ActorKind.USER, user.id, user.username, Grant(Role.GLOBAL_OWNER) in grants, remote_address
        ),
        now=now,
        facts=EventFacts(target_username=user.username),
    )
    return user


def _grants_of_a_stranger(roles: Sequence[Mapping[str, Any]]) -> list[Grant]:
    """What may be given to a user nobody vouches for: nothing, unless the literal reading is restored."""
    wanted = [Role(role["roleName"]) for role in roles]
    for role in wanted:
        if not role.is_global:
            raise ApiError(ErrorCode.ROLE_NOT_HELD, role.value)
        if not settings.OPSAPI_UNAUTH_GLOBAL_ROLES:
            raise ApiError(ErrorCode.CANNOT_ADD_GLOBAL_ROLE, role.value)
    return [Grant(role) for role in wanted]


def _networks(access_list: Sequence[str]) -> list[str]:
    """The ranges as canonical text, each once; a bare address is a range of one."""
    try:
        return list(dict.fromkeys(_network(text) for text in access_list))
    except ValueError as error:
        fault = BadField(
            "accessList", ErrorCode.INVALID_QUERY_PARAMETER, f"must be addresses or ranges: {error}"
        )
        raise ApiError.of_fields([fault]) from None


def _network(text: str) -> str:
    """As PostgreSQL takes it, which knows no zones, and as callers are compared with it."""
    if "%" in text:
        raise ValueError(f"{text!r} names a zone")
    network = ip_network(text)
    mapped = network.network_address.ipv4_mapped if network.version == 6 else None
    # Callers' addresses are unwrapped too: an IPv4-mapped range stands for the IPv4 one.
    return str(
        ip_network((mapped, network.prefixlen - 96)) if mapped and network.prefixlen >= 96 else network
    )


def _add_to_access_list(network: str, key: NewKey, actor: Actor, now: datetime) -> None:
    AccessListEntry.objects.create(cidr_block=network, description=None, created=now, updated=now)
    event_record(
        event_type=EventType.ACCESS_LIST_ENTRY_ADDED_AUDIT,
        actor=actor,
        now=now,
        facts=EventFacts(access_list_entry=network, target_public_key=key.key.public_key),
    )


def _check_username(username: str) -> None:
    # A few characters become many under NFKC; the unique index has to hold the result.
    if len(username_key(username)) > _LONGEST_KEY:
        raise _bad_username("it is too long in its canonical form")
    rule = settings.OPSAPI_USERNAME_VALIDATION
    if rule == "loose" and "." not in username.partition("@")[2]:
        raise _bad_username("it must hold an @ and a dot after it (OPSAPI_USERNAME_VALIDATION=loose)")
    if rule == "strict" and _as_email(username) is None:
        raise _bad_username("it must be an e-mail address (OPSAPI_USERNAME_VALIDATION=strict)")


def _bad_username(reason: str) -> ApiError:
    return ApiError.of_fields([BadField("username", ErrorCode.INVALID_USERNAME, reason)])


def _as_email(username: str) -> str | None:
    try:
        validate_email(username)
    except ValidationError:
        return None
    return username


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        fault = BadField("password", ErrorCode.WEAK_PASSWORD, " ".join(error.messages))
        raise ApiError.of_fields([fault]) from None
