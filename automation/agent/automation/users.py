"""The users of a server, compared with the users of the document. Pure.

Servers say the hashes of passwords (SCRAM, RFC 5802), and a password is compared with its hash. Neither
leaves this module, except in a command to the server, and in the connection string of the agent's user.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from pymongo.saslprep import saslprep

from automation.agent.engine import ServerAddress
from automation.plan.auth import AUTO_DATABASE, AUTO_ROLE, SCRAM, UserName, deleted_users, stated_users
from automation.sections import Section, text

Roles = frozenset[tuple[str, str]]
Restrictions = frozenset[tuple[tuple[str, ...], tuple[str, ...]]]
_MOST_ITERATIONS = 1_000_000
_REMEMBERED = 65_536


@dataclass(frozen=True)
class WantedUser:
    """A user as the document wants it.

    `is_lasting`: whether the password counts after the creation, too. `may_have_more`: whether roles of which
    the document says nothing stay. `keeps_mechanisms`: whether the mechanisms that it has stay. None: the
    document says nothing.
    """

    name: UserName
    roles: Roles
    password: str | None = field(repr=False)
    is_lasting: bool = True
    may_have_more: bool = False
    keeps_mechanisms: bool = False
    mechanisms: frozenset[str] | None = None
    restrictions: Restrictions | None = None


@dataclass(frozen=True)
class UserCommand:
    """A command that makes a user as the document wants it, for a database."""

    database: str
    command: Mapping[str, Any] = field(repr=False)


def users_question(auth: Section) -> Mapping[str, Any]:
    """The command that asks a server for the users of the document, with credentials and restrictions."""
    names = {*(name for name, _ in stated_users(auth)), *deleted_users(auth)}
    return {
        "usersInfo": [{"db": database, "user": name} for database, name in sorted(names)],
        "showCredentials": True,
        "showAuthenticationRestrictions": True,
    }


def user_commands(auth: Section, known: Sequence[Mapping[str, Any]]) -> Mapping[str, UserCommand]:
    """The commands for the users that are not as the document wants, by the names of the users.

    `known`: the users that a server has, with their credentials and restrictions. No user is deleted before
    all others are as they should be.
    """
    present = {UserName(str(user.get("db")), str(user.get("user"))): user for user in known}
    commands: dict[str, UserCommand] = {}
    for user in wanted_users(auth):
        now = present.get(user.name)
        command = _creation(user) if now is None else _update(user, now)
        if command:
            commands[str(user.name)] = UserCommand(user.name.database, command)
    for name in deleted_users(auth):
        if name in present:
            commands[str(name)] = UserCommand(name.database, {"dropUser": name.name})
    return commands


def wanted_users(auth: Section) -> Iterator[WantedUser]:
    """The users that a valid section wants, first the user of the agent."""
    usual = _mechanisms(auth.get("deploymentAuthMechanisms"))
    for name, user in stated_users(auth):
        yield _auto_user(name, auth, usual) if user is None else _wanted_user(name, user, usual)


def _auto_user(name: UserName, auth: Section, usual: frozenset[str] | None) -> WantedUser:
    stated = auth.get("autoAuthMechanism")
    own = _mechanisms([stated] if stated is not None else auth.get("autoAuthMechanisms"))
    return WantedUser(
        name,
        frozenset({(AUTO_DATABASE, AUTO_ROLE)}),
        text(auth, "autoPwd"),
        may_have_more=True,
        mechanisms=own or usual,
        restrictions=_restrictions(auth.get("autoAuthRestrictions")),
    )


def _wanted_user(name: UserName, user: Section, usual: frozenset[str] | None) -> WantedUser:
    return WantedUser(
        name,
        _roles(user.get("roles")),
        text(user, "pwd") or text(user, "initPwd"),
        is_lasting=text(user, "pwd") is not None,
        mechanisms=_mechanisms(user.get("mechanisms")) or usual,
        keeps_mechanisms=not user.get("mechanisms"),
        restrictions=_restrictions(user.get("authenticationRestrictions")),
    )


def watch_string(address: ServerAddress, auth: Section) -> str:
    """The connection string with which a server is watched: as the user of the agent, if there is one."""
    user = next((user for user in wanted_users(auth) if user.may_have_more), None)
    if user is None:
        return f"mongodb://{address}/"
    mechanism = max(user.mechanisms or {SCRAM[-1]})
    login = f"{quote(user.name.name, safe='')}:{quote(user.password or '', safe='')}"
    options = f"authSource={AUTO_DATABASE}&authMechanism={mechanism}"
    return f"mongodb://{login}@{address}/?{options}"


def _creation(user: WantedUser) -> Mapping[str, Any]:
    return {
        "createUser": user.name.name,
        **({} if user.password is None else {"pwd": user.password}),
        "roles": _role_documents(user.roles),
        **({} if user.mechanisms is None or user.password is None else _named(user.mechanisms)),
        **({} if user.restrictions is None else _restriction_documents(user.restrictions)),
    }


def _update(user: WantedUser, now: Mapping[str, Any]) -> Mapping[str, Any]:
    """The changed parts of a user; empty if it is as it should be."""
    changed: dict[str, Any] = {}
    roles = _roles(now.get("roles"))
    wanted = roles | user.roles if user.may_have_more else user.roles
    if roles != wanted:
        changed["roles"] = _role_documents(wanted)
    if user.restrictions is not None and _restrictions(now.get("authenticationRestrictions") or []) != (
        user.restrictions
    ):
        changed |= _restriction_documents(user.restrictions)
    if user.password is not None and user.is_lasting:
        mechanisms = _mechanisms(now.get("mechanisms")) or frozenset()
        all_wanted = user.mechanisms or mechanisms
        if user.may_have_more or user.keeps_mechanisms:
            all_wanted |= mechanisms
        is_known = _is_password(user.name.name, user.password, now.get("credentials"))
        if not is_known or mechanisms != all_wanted:
            changed |= {"pwd": user.password, **_named(all_wanted)}
    return {"updateUser": user.name.name, **changed} if changed else {}


def _named(mechanisms: frozenset[str]) -> Mapping[str, Any]:
    return {"mechanisms": sorted(mechanisms)} if mechanisms else {}


def _mechanisms(listed: object) -> frozenset[str] | None:
    return frozenset(map(str, listed)) if isinstance(listed, (list, tuple)) else None


def _roles(listed: object) -> Roles:
    roles = listed if isinstance(listed, list) else ()
    return frozenset((str(role.get("db")), str(role.get("role"))) for role in roles)


def _role_documents(roles: Roles) -> Sequence[Mapping[str, str]]:
    return [{"db": database, "role": role} for database, role in sorted(roles)]


def _restrictions(listed: object) -> Restrictions | None:
    if not isinstance(listed, list):
        return None
    names = ("clientSource", "serverAddress")
    return frozenset(
        (tuple(sorted(stated.get(names[0]) or ())), tuple(sorted(stated.get(names[1]) or ())))
        for stated in listed
    )


def _restriction_documents(restrictions: Restrictions) -> Mapping[str, Any]:
    documents = [
        {
            **({"clientSource": list(clients)} if clients else {}),
            **({"serverAddress": list(servers)} if servers else {}),
        }
        for clients, servers in sorted(restrictions)
    ]
    return {"authenticationRestrictions": documents}


def _is_password(user: str, password: str, credentials: object) -> bool:
    """Whether the password is that of all credentials of the user."""
    known = {
        name: stored
        for name, stored in (credentials.items() if isinstance(credentials, Mapping) else ())
        if name in SCRAM and isinstance(stored, Mapping)
    }
    return bool(known) and all(
        _is_hash(_secret_of(name, user, password), _StoredHash.of(name, stored))
        for name, stored in known.items()
    )


@dataclass(frozen=True)
class _StoredHash:
    """The hash of a password, as a server says it."""

    algorithm: str
    salt: str
    iterations: int
    stored_key: str = field(repr=False)

    @staticmethod
    def of(mechanism: str, stored: Mapping[str, Any]) -> _StoredHash:
        """The hash in the credentials of a user for a mechanism."""
        algorithm = "sha256" if mechanism == "SCRAM-SHA-256" else "sha1"
        iterations = int(stored.get("iterationCount") or 0)
        return _StoredHash(algorithm, str(stored.get("salt")), iterations, str(stored.get("storedKey")))


def _secret_of(mechanism: str, user: str, password: str) -> bytes | None:
    """The secret of which the mechanism computes the hash; None if no server takes the password."""
    if mechanism == "SCRAM-SHA-256":
        try:
            return str(saslprep(password)).encode()
        except ValueError:
            return None
    digest = hashlib.md5(f"{user}:mongo:{password}".encode(), usedforsecurity=False)
    return digest.hexdigest().encode()


@lru_cache(maxsize=_REMEMBERED)
def _is_hash(secret: bytes | None, stored: _StoredHash) -> bool:
    """Whether the hash is that of the secret. Remembered, because it takes long on purpose."""
    if secret is None or not 0 < stored.iterations <= _MOST_ITERATIONS:
        return False
    algorithm = stored.algorithm
    try:
        salted = hashlib.pbkdf2_hmac(algorithm, secret, b64decode(stored.salt), stored.iterations)
        expected = b64decode(stored.stored_key)
    except NotBase64:
        return False
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    return hmac.compare_digest(hashlib.new(algorithm, client_key).digest(), expected)
