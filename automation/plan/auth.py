"""The section `auth` of a document: the key file of its servers, and their users. Pure.

It has the documented shape of Ops Manager. Values of a plan hold names and places only: the key and the
passwords stay in the section.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from automation.sections import Section, items, section, shortened, text

KEY_FILE, TRANSITION = "security.keyFile", "security.transitionToAuth"
_MEMBER_LOGIN = "security.clusterAuthMode"
SCRAM = ("SCRAM-SHA-1", "SCRAM-SHA-256")
"""The mechanisms of log-ins that the plan sets up."""
AUTO_DATABASE, AUTO_ROLE = "admin", "clusterMonitor"
"""The database of the agent's user, and the role with which it measures."""
EXTERNAL = "$external"
"""The database of users without passwords."""
_KEY = re.compile(r"[A-Za-z0-9+/=]{6,1024}")
_MOST_FAULTS = 20
_CARRIED_OUT = (
    "disabled",
    "autoUser",
    "autoPwd",
    "autoAuthMechanism",
    "autoAuthMechanisms",
    "autoAuthRestrictions",
    "deploymentAuthMechanisms",
    "key",
    "keyfile",
    "usersWanted",
    "usersDeleted",
)
_OF_USER = ("user", "db", "roles", "pwd", "initPwd", "mechanisms", "authenticationRestrictions")
_OF_DELETED = ("user", "dbs")
_OF_WINDOWS = "keyfileWindows"
"""Agents do not run on Windows."""
_OF_AUTO_USER = ("autoPwd", "autoAuthMechanism", "autoAuthMechanisms", "autoAuthRestrictions")
_NOT_CARRIED_OUT = {
    "authoritativeSet": "only users in usersDeleted are deleted",
    "newKey": "the key of running servers does not change",
    "newAutoPwd": "state the new password in autoPwd",
}


class KeyUse(Enum):
    """How a server takes part in a replica set: with a key file or without."""

    NONE = "NONE"
    TRANSITION = "TRANSITION"
    """With a key file; it also talks to members and clients without one (security.transitionToAuth)."""
    FULL = "FULL"
    OTHER = "OTHER"
    """With another key than that of the document, or with certificates."""

    @property
    def has_key(self) -> bool:
        """Whether it has the key file of the document."""
        return self in {KeyUse.TRANSITION, KeyUse.FULL}

    def talks_to(self, other: KeyUse) -> bool:
        """Whether two members can talk to each other."""
        return self is other or (KeyUse.TRANSITION in {self, other} and KeyUse.OTHER not in {self, other})


def key_use(settings: Mapping[str, str]) -> KeyUse:
    """How a server with these settings takes part."""
    if settings.get(_MEMBER_LOGIN) not in {None, '"keyFile"'}:
        return KeyUse.OTHER
    if KEY_FILE not in settings:
        return KeyUse.NONE
    return KeyUse.TRANSITION if settings.get(TRANSITION) == "true" else KeyUse.FULL


def carried_auth(document: Section) -> Section:
    """The section, if the document states one that is carried out; otherwise empty."""
    auth = section(document, "auth")
    return {} if auth.get("disabled") is True else auth


def key_of(auth: Section) -> str:
    """The key as servers read it: without white space."""
    return "".join((text(auth, "key") or "").split())


def with_auth(process: Section, auth: Section) -> Section:
    """The process with the settings that follow from the section. Settings that it states itself stay."""
    settings = section(process, "args2_6")
    own = {name: value for name, value in section(settings, "security").items() if value is not None}
    security = {"keyFile": auth.get("keyfile"), "authorization": "enabled", **own}
    return {**process, "args2_6": {**settings, "security": security}}


def process_fault(process: Section, auth: Section) -> str:
    """Why the settings of a process contradict the section; empty if they do not."""
    security = section(section(process, "args2_6"), "security")
    if security.get("keyFile") not in (None, auth.get("keyfile")):
        return "keyfile and args2_6.security.keyFile are different files"
    if security.get("clusterAuthMode") not in (None, "keyFile"):
        return "args2_6.security.clusterAuthMode must be keyFile"
    return ""


@dataclass(frozen=True)
class AuthChange:
    """The change of the section between two documents.

    `users`: the names of the users that they state differently; None if this is not known.
    """

    is_key_same: bool = True
    users: frozenset[str] | None = None


def auth_change(old: Section, new: Section) -> AuthChange:
    """Return the change of the section between two documents."""
    before, after = carried_auth(old), carried_auth(new)
    stated, wanted = _statements(before), _statements(after)
    different = {name for name, statement in wanted.items() if stated.get(name) != statement}
    return AuthChange(key_of(before) == key_of(after), frozenset(different))


def _statements(auth: Section) -> Mapping[str, object]:
    """All that the section says of each user, by the name of the user."""
    of_auto = {name: auth.get(name) for name in _OF_AUTO_USER}
    usual = auth.get("deploymentAuthMechanisms")
    stated = {str(name): (of_auto if user is None else user, usual) for name, user in stated_users(auth)}
    return {**stated, **{str(name): True for name in deleted_users(auth)}}


class UserName(NamedTuple):
    """The name of a user in its database."""

    database: str
    name: str

    def __str__(self) -> str:
        """The name of the user in plans."""
        return f"{self.database}.{self.name}"


def stated_users(auth: Section) -> Iterator[tuple[UserName, Section | None]]:
    """The users that the section wants, with what it says of them.

    The user of the agent comes first, with None: the section itself says it.
    """
    auto_user = text(auth, "autoUser")
    if auto_user:
        yield UserName(AUTO_DATABASE, auto_user), None
    for _, user in items(auth, "usersWanted"):
        yield UserName(text(user, "db") or "", text(user, "user") or ""), user


def deleted_users(auth: Section) -> Iterator[UserName]:
    """The users that the section deletes."""
    for _, user in items(auth, "usersDeleted"):
        databases = user.get("dbs")
        for database in databases if isinstance(databases, list) else ():
            yield UserName(str(database), text(user, "user") or "")


def user_names(auth: Section) -> tuple[str, ...]:
    """The names of the users that the section wants or deletes, in order."""
    names = {*(name for name, _ in stated_users(auth)), *deleted_users(auth)}
    return tuple(sorted(map(str, names)))


def refused_fields(auth: Section) -> Iterator[tuple[str, str]]:
    """Stated fields that the plan does not carry out, and why."""
    for name, why in _NOT_CARRIED_OUT.items():
        if auth.get(name) not in (None, False, ""):
            yield name, why


def auth_faults(document: Section) -> list[str]:
    """Why the section cannot be carried out: the first fields of a wrong shape, and what they must be."""
    stated = document.get("auth")
    if stated is not None and not isinstance(stated, Mapping):
        return ["it must be an object"]
    auth = carried_auth(document)
    faults = _faults(auth) if auth else iter(())
    return [fault for fault, _ in zip(faults, range(_MOST_FAULTS), strict=False)]


def _faults(auth: Section) -> Iterator[str]:
    yield from _unknown("", auth, _CARRIED_OUT, {_OF_WINDOWS, *_NOT_CARRIED_OUT})
    for name in ("disabled", "authoritativeSet"):
        if not isinstance(auth.get(name, False), (bool, type(None))):
            yield f"{name} must be true or false"
    if not _KEY.fullmatch(key_of(auth)):
        yield "key must be 6 to 1024 characters of base64"
    if not PurePosixPath(text(auth, "keyfile") or "").is_absolute():
        yield "keyfile must be an absolute path"
    yield from _auto_user_faults(auth)
    for at, user in _objects(auth, "usersWanted"):
        yield from ([f"usersWanted[{at}] must be an object"] if user is None else _user_faults(at, user))
    for at, user in _objects(auth, "usersDeleted"):
        databases = None if user is None else user.get("dbs")
        is_list = isinstance(databases, list) and all(map(_is_name, databases))
        if user is None or not text(user, "user") or not is_list:
            yield f"usersDeleted[{at}] must have a user, and dbs as a list of names"
        yield from _unknown(f"usersDeleted[{at}]: ", user or {}, _OF_DELETED)
    yield from _contradictions(auth)


def _auto_user_faults(auth: Section) -> Iterator[str]:
    if bool(text(auth, "autoUser")) is not bool(text(auth, "autoPwd")):
        yield "autoUser and autoPwd must be stated together, as texts"
    for name in ("autoAuthMechanisms", "deploymentAuthMechanisms"):
        yield from _mechanism_faults(name, auth.get(name))
    if auth.get("autoAuthMechanism") is not None:
        yield from _mechanism_faults("autoAuthMechanism", [auth["autoAuthMechanism"]])
    yield from _restriction_faults("autoAuthRestrictions", auth.get("autoAuthRestrictions"))


def _objects(auth: Section, name: str) -> Iterator[tuple[int, Section | None]]:
    """The elements of a list, each with its index; None for an element that is no object."""
    listed = auth.get(name)
    if listed is not None and not isinstance(listed, list):
        yield 0, None
    for at, element in enumerate(listed if isinstance(listed, list) else ()):
        yield at, element if isinstance(element, Mapping) else None


def _user_faults(at: int, user: Section) -> Iterator[str]:
    where = f"usersWanted[{at}]"
    yield from _unknown(f"{where}: ", user, _OF_USER)
    if not text(user, "user"):
        yield f"{where}.user must be a text"
    if not _is_name(user.get("db")):
        yield f"{where}.db must be the name of a database"
    roles = user.get("roles")
    if not isinstance(roles, list) or not all(map(_is_role, roles)):
        yield f"{where}.roles must be a list of objects with db and role"
    for name in ("pwd", "initPwd"):
        if user.get(name) is not None and not text(user, name):
            yield f"{where}.{name} must be a text"
    if user.get("db") != EXTERNAL and user.get("pwd") is None and user.get("initPwd") is None:
        yield f"{where} must have pwd or initPwd"
    yield from _mechanism_faults(f"{where}.mechanisms", user.get("mechanisms"))
    yield from _restriction_faults(
        f"{where}.authenticationRestrictions", user.get("authenticationRestrictions")
    )


def _unknown(
    where: str, stated: Section, allowed: Sequence[str], others: Container[str] = ()
) -> Iterator[str]:
    """The fields that say something, and that the plan does not carry out, with the allowed fields."""
    unknown = [
        shortened(name)
        for name, value in stated.items()
        if name not in allowed and name not in others and value not in (None, False, "", [], {})
    ]
    if unknown:
        yield f"{where}the plan does not carry out {', '.join(unknown)}: allowed are {', '.join(allowed)}"


def _mechanism_faults(name: str, listed: Any) -> Iterator[str]:
    if listed is None or listed == []:  # Nothing is stated.
        return
    if not isinstance(listed, list) or not all(mechanism in SCRAM for mechanism in listed):
        yield f"{name} can be {' and '.join(SCRAM)} only"


def _restriction_faults(name: str, listed: Any) -> Iterator[str]:
    if listed is not None and (not isinstance(listed, list) or not all(map(_is_restriction, listed))):
        yield f"{name} must be a list of objects with clientSource and serverAddress as lists of addresses"


def _is_restriction(stated: Any) -> bool:
    return isinstance(stated, Mapping) and all(
        name in {"clientSource", "serverAddress"}
        and (addresses is None or (isinstance(addresses, list) and all(map(_is_text, addresses))))
        for name, addresses in stated.items()
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_role(stated: Any) -> bool:
    if not isinstance(stated, Mapping) or not stated.keys() <= {"db", "role"}:
        return False
    return bool(text(stated, "role")) and _is_name(stated.get("db"))


def _is_name(name: Any) -> bool:
    """Whether it can be the name of a database."""
    return isinstance(name, str) and bool(name) and "." not in name


def _contradictions(auth: Section) -> Iterator[str]:
    wanted, deleted = Counter(name for name, _ in stated_users(auth)), set(deleted_users(auth))
    auto_name = UserName(AUTO_DATABASE, text(auth, "autoUser") or "")
    for name, count in wanted.items():
        if count > 1:
            also = "autoUser, too" if name == auto_name else "stated twice"
            yield f"usersWanted: {name} is {also}"
        if name in deleted:
            also = "autoUser" if name == auto_name else "in usersWanted, too"
            yield f"usersDeleted: {name} is {also}"
