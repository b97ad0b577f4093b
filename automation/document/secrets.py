"""Secrets in the document: shown as `******`, and put back where such a one returns (decisions 9). Pure."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from automation.document.parts import keyed, keys, process_name, text
from automation.document.pointers import pointer
from automation.document.text import write
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, BadField
from opsapi.redaction import MASK

_ENDINGS = ("pwd", "password", "secret", "token", "apikey")
_ENDINGS_BELOW_AUTH = ("credentials", "creds")
_NAMES_BELOW_AUTH = frozenset({"key", "newkey"})
_KEYFILE = "keyfile"
_IDENTITIES = ("_id", "id", "name", "hostname")
_ABSENT: Final = object()

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the names above a value say of it."""

    auth: bool = False
    secret: bool = False

    def below(self, name: str) -> "Surroundings":
        """Those of the value of that name."""
        lower = name.lower()
        secret = self.secret or lower.endswith(_ENDINGS) or (self.auth and _is_secret_below_auth(lower))
        auth = self.auth or lower == "auth"
        return self if (auth, secret) == (self.auth, self.secret) else Surroundings(auth, secret)


def redacted(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document, or a part of it from its top, with `******` for every string that is a secret.

    Secret are strings under a name ending in pwd, password, secret, token or apiKey, in any case;
    below `auth` also key, newKey, credentials and what keyfiles hold.
    """
    shown: dict[str, Any] = _redacted(document, Surroundings())
    return shown


def restored(document: Mapping[str, Any], stored: Mapping[str, Any]) -> tuple[dict[str, Any], list[BadField]]:
    """The document with the stored secret for every `******` that stands for one.

    The faults are REDACTED_VALUE_UNKNOWN, for each that stands for nothing stored: at most
    MOST_FAULTS, by JSON Pointer. Processes and versions are found by name, agents by hostname, what
    else stands in an array by what it is known by, or by its index in an array of the same length.
    """
    if MASK not in write(document):
        return dict(document), []
    search = _Search()
    found: dict[str, Any] = search.value(document, stored, (), Surroundings())
    return found, search.faults


def _is_secret_below_auth(lower: str) -> bool:
    is_named = lower in _NAMES_BELOW_AUTH or lower.startswith(_KEYFILE)
    return is_named or lower.endswith(_ENDINGS_BELOW_AUTH)


def _redacted(value: Any, around: Surroundings) -> Any:
    if isinstance(value, str):
        return MASK if around.secret else value
    if isinstance(value, Mapping):
        return {name: _redacted(member, around.below(name)) for name, member in value.items()}
    if isinstance(value, list):
        return [_redacted(item, around) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class _Search:
    """One walk through a document beside the stored one; gathers what was not found."""

    faults: list[BadField] = field(default_factory=list)

    def value(self, sent: Any, stored: Any, path: Path, around: Surroundings) -> Any:
        if isinstance(sent, str):
            return self._text(sent, stored, path) if around.secret else sent
        if isinstance(sent, Mapping):
            members = stored if isinstance(stored, Mapping) else {}
            return {
                name: self.value(member, members.get(name, _ABSENT), (*path, name), around.below(name))
                for name, member in sent.items()
            }
        if isinstance(sent, list):
            partners = _partners(sent, stored if isinstance(stored, list) else [], path, around)
            return [
                self.value(item, partner, (*path, index), around)
                for index, (item, partner) in enumerate(zip(sent, partners, strict=True))
            ]
        return sent

    def _text(self, sent: str, stored: Any, path: Path) -> str:
        if sent != MASK:
            return sent
        if isinstance(stored, str):
            return stored
        if len(self.faults) < MOST_FAULTS:
            message = f"{MASK} stands for no value that is stored here: give the value itself"
            self.faults.append(BadField(pointer(path), ErrorCode.REDACTED_VALUE_UNKNOWN, message))
        return sent


def _partners(sent: list[Any], stored: list[Any], path: Path, around: Surroundings) -> list[Any]:
    """What is stored for each item of an array; _ABSENT for one that nothing is stored of.

    Below a secret name every text is shown as `******`: nothing is left there to know an item by.
    """
    by_index = stored if len(sent) == len(stored) else [_ABSENT] * len(sent)
    if around.secret:
        return by_index
    identity = partial(_identity, array=path[-1])
    before = keyed(stored, identity)
    return [
        by_index[index] if name is None else before.get((name, number), _ABSENT)
        for index, (name, number) in enumerate(keys(sent, identity))
    ]


def _identity(item: Any, array: str | int) -> Hashable:
    """What an item of that array is known by; None when only its index tells it from others."""
    if not isinstance(item, Mapping):
        return None
    if array == "processes":
        return process_name(item)
    if array in {"monitoringVersions", "backupVersions"}:
        return text(item, "hostname")
    if text(item, "user") is not None:
        return text(item, "user"), text(item, "db")
    return next((found for name in _IDENTITIES if (found := text(item, name)) is not None), None)
