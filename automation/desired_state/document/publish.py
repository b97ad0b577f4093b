"""Decides whether a sent document is rejected or becomes the next version, with its defaults. Pure.

Each rule is a function that yields its faults. Rules do not trust the shape of the document, because their
faults and the faults of the schema are reported together.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property  # noqa: TID251 - pure: nothing in it waits
from itertools import chain, islice
from typing import Any, Final

from automation.desired_state.document.changes import ProcessChange, process_changes
from automation.desired_state.document.schema import SCHEMA, in_documented_order, resolved, schema_faults
from automation.desired_state.document.secrets import restored
from automation.desired_state.document.text import canonical
from automation.sections import (
    Section,
    items,
    keyed,
    pointer,
    process_name,
    section,
    text,
)
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, ApiError, BadField
from opsapi.wire_json import JsonObject

_LONGEST_ALLOWED = 1000  # Maximum characters of the allowed values of a fault.
_KNOWN_BY = ("platform", "architecture", "gitVersion")
_ABSENT = "null"
Place = tuple[int, int]


def document_faults(document: Mapping[str, Any], stored: Mapping[str, Any]) -> list[BadField]:
    """All faults of a document that follows the stored one.

    At most MOST_FAULTS, one for each place, in the documented order.
    """
    faults: dict[str, BadField] = {}
    for fault in (*schema_faults(document), *rule_faults(document, stored)):
        faults.setdefault(fault.field, fault)
    return in_documented_order(faults.values())[:MOST_FAULTS]


def rule_faults(document: Mapping[str, Any], stored: Mapping[str, Any]) -> list[BadField]:
    """Violated rules between fields or with the stored document; at most MOST_FAULTS."""
    faults = chain(
        unique_names(document, "databaseVersions", lambda version: text(version, "name")),
        bits_faults(document, stored),
        log_rotations(document),
        unique_names(document, "processes", process_name),
        known_versions(document),
        equal_auth_schemas(document),
        write_timeouts(document),
    )
    return in_documented_order(islice(faults, MOST_FAULTS))


def unique_names(
    document: Section, array: str, name_of: Callable[[Section], str | None]
) -> Iterator[BadField]:
    """Names in the array are unique; every repetition is a fault."""
    seen: set[str] = set()
    for index, item in items(document, array):
        name = name_of(item)
        if name in seen:
            yield _fault([array, index, "name"], "is used by another item")
        if name is not None:
            seen.add(name)


def known_versions(document: Section) -> Iterator[BadField]:
    """The version of a process is an entry of databaseVersions."""
    names = {text(version, "name"): None for _, version in items(document, "databaseVersions")}
    allowed = _allowed(name for name in names if name is not None)
    for index, process in items(document, "processes"):
        version = text(process, "version")
        if version is not None and version not in names:
            yield _fault(["processes", index, "version"], "is not an entry of databaseVersions", allowed)


def equal_auth_schemas(document: Section) -> Iterator[BadField]:
    """authSchemaVersion is the same for all processes of a cluster as for the first one."""
    first: dict[str, int] = {}
    for index, process in items(document, "processes"):
        cluster, version = text(process, "cluster"), process.get("authSchemaVersion")
        if cluster is None or not isinstance(version, int) or isinstance(version, bool):
            continue
        if first.setdefault(cluster, version) != version:
            yield _fault(
                ["processes", index, "authSchemaVersion"],
                "must equal that of the other processes of its cluster",
                _allowed([canonical(first[cluster])]),
            )


def write_timeouts(document: Section) -> Iterator[BadField]:
    """A wtimeout is not allowed with w 0 or 1, because there is nothing to wait for."""
    for index, process in items(document, "processes"):
        concern = section(section(process, "defaultRWConcern"), "defaultWriteConcern")
        if concern.get("wtimeout") is not None and _is_one_or_none(concern.get("w")):
            path = "processes", index, "defaultRWConcern", "defaultWriteConcern", "wtimeout"
            yield _fault(path, "is only allowed with a w greater than 1")


def log_rotations(document: Section) -> Iterator[BadField]:
    """maxUncompressed is the older name of numUncompressed; if both are given, they must be equal."""
    for array in ("monitoringVersions", "backupVersions", "processes"):
        for index, item in items(document, array):
            rotation = section(item, "logRotate")
            older, newer = rotation.get("maxUncompressed"), rotation.get("numUncompressed")
            if None not in (older, newer) and canonical(older) != canonical(newer):
                path = array, index, "logRotate", "maxUncompressed"
                yield _fault(path, "is the older name of numUncompressed, which has another value")


def _is_one_or_none(members: Any) -> bool:
    """Whether w is 0 or 1, as a number or in digits."""
    if isinstance(members, str):
        return bool(members) and members.lstrip("0") in {"", "1"}
    return type(members) is int and members in {0, 1}


def _fault(path: Iterable[str | int], message: str, allowed: tuple[str, ...] = ()) -> BadField:
    return BadField(pointer(path), ErrorCode.INVALID_SETTINGS, message, allowed)


def _allowed(values: Iterable[str]) -> tuple[str, ...]:
    """The values, if they are short enough to be listed with every fault; otherwise none."""
    texts = tuple(values)
    return texts if sum(map(len, texts)) <= _LONGEST_ALLOWED else ()


def bits_faults(document: Section, stored: Section) -> Iterator[BadField]:
    """Check that stored `bits` of builds are neither removed nor changed.

    Builds that differ only in their bits are compared as a group: builds equal to a stored build are set
    aside first, so that they do not match another one.
    """
    before, after = _bits(stored), _bits(document)
    for build, places in after.items():
        left = Counter(bits for _, bits in before.get(build, ()))
        other = [place for place, bits in places if not _set_aside(left, bits)]
        lost = [bits for bits in left.elements() if bits != _ABSENT]
        for (version, at), bits in zip(other, lost, strict=False):
            path = "databaseVersions", version, "builds", at, "bits"
            yield _fault(path, f"must stay {bits}: it cannot be removed or changed")


def _set_aside(left: Counter[str], bits: str) -> bool:
    there = left[bits] > 0
    left[bits] -= there
    return there


def _bits(document: Section) -> dict[str, list[tuple[Place, str]]]:
    """The identity of a build: its place, and its bits as text."""
    bits = defaultdict(list)
    for version_at, version in items(document, "databaseVersions"):
        for build_at, build in items(version, "builds"):
            known_by = [version.get("name"), *(build.get(name) for name in _KNOWN_BY), _modules(build)]
            bits[canonical(known_by)].append(((version_at, build_at), canonical(build.get("bits"))))
    return bits


def _modules(build: Section) -> list[str]:
    modules = build.get("modules")
    return sorted(map(canonical, modules)) if isinstance(modules, list) else []


ANY_ETAG: Final = "*"
NEW_PROJECT: Final[Mapping[str, Any]] = {
    "version": 0,
    "options": {"downloadBase": "/var/lib/ops-agent"},
    "databaseVersions": [],
    "processes": [],
}
"""The initial document of every project."""
_AGENTS = ("monitoringVersions", "backupVersions")


@dataclass(frozen=True)
class Publication:
    """The document before and after; the same object if nothing changes."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]

    @property
    def changes_something(self) -> bool:
        """Whether there is anything to publish."""
        return self.new is not self.old

    @cached_property
    def changes(self) -> Sequence[ProcessChange]:
        """The changes of each process, with secrets redacted."""
        return process_changes(self.old, self.new)


def etag(version: int) -> str:
    """The entity tag of a document, from its version."""
    return f'"{version}"'


def publication(
    sent: Mapping[str, Any],
    stored: Mapping[str, Any],
    *,
    if_match: Sequence[str] | None = None,
    unstorable: Sequence[BadField] = (),
) -> Publication:
    """Check the sent document against the stored one, and return the result of publishing it.

    `unstorable` are the faults found while reading it; they hide other faults at the same places. `if_match`
    are entity tags, one of which must match the stored document; None if there is no such condition.

    Raises: ApiError: AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, if the document is based on another version;
    otherwise the code of the first fault, with all faults in `badFields`.
    """
    sent = _with_first_version(sent, stored)
    _check_version(sent, stored, if_match)
    document, unknown = restored(sent, stored)
    places = {fault.field for fault in unstorable}
    others = (*unknown, *document_faults(document, stored))
    faults = [*unstorable, *(fault for fault in others if fault.field not in places)]
    if faults:
        raise ApiError.of_fields(in_documented_order(faults)[:MOST_FAULTS])
    document = {**completed(document, stored), "version": stored["version"]}
    if canonical(document) == canonical(stored):
        return Publication(stored, stored)
    return Publication(stored, {**document, "version": stored["version"] + 1})


def _with_first_version(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first document of a project can leave out its version: clients drop a value of 0."""
    if sent.get("version") is None and stored["version"] == NEW_PROJECT["version"]:
        return {**sent, "version": stored["version"]}
    return sent


def _check_version(
    sent: Mapping[str, Any], stored: Mapping[str, Any], if_match: Sequence[str] | None
) -> None:
    """Before the faults: a document based on another version must not be checked against this one."""
    if if_match is not None and not {ANY_ETAG, etag(stored["version"])}.intersection(if_match):
        raise _concurrent(", ".join(tag.strip('"') for tag in if_match), stored)
    version = sent.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version != stored["version"]:
        raise _concurrent(str(version), stored)


def _concurrent(asked: str, stored: Mapping[str, Any]) -> ApiError:
    return ApiError(ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, asked, str(stored["version"]))


def completed(document: Mapping[str, Any], stored: Mapping[str, Any]) -> JsonObject:
    """The document with defaults, without nulls in optional fields and without older names.

    Agents keep the read-only `name` stored for their hostname. Fields outside the schema and the order of
    keys stay as sent.
    """
    full_document: JsonObject = _completed(document, SCHEMA)
    return {
        name: _kept(full_document, stored, name) if name in _AGENTS else value
        for name, value in full_document.items()
    }


def _completed(value: Any, schema: Mapping[str, Any]) -> Any:
    schema = resolved(schema)
    if isinstance(value, Mapping):
        return _object(value, schema)
    if isinstance(value, list) and "items" in schema:
        return [_completed(item, schema["items"]) for item in value]
    return value


def _object(value: Section, schema: Mapping[str, Any]) -> JsonObject:
    known = schema.get("properties", {})
    members: JsonObject = {}
    for name, member in value.items():
        field = known.get(name, {})
        if member is not None or "type" not in resolved(field):
            members.setdefault(field.get("olderNameOf", name), _completed(member, field))
    for name, field in known.items():
        if "default" in field:
            members.setdefault(name, field["default"])
    return members


def _kept(document: Section, stored: Section, array: str) -> list[Any]:
    """The agents, each with the name stored for its hostname."""
    before = keyed((agent for _, agent in items(stored, array)), _hostname)
    after = keyed((agent for _, agent in items(document, array)), _hostname)
    return [
        {**agent, "name": before[key]["name"]} if key in before else agent for key, agent in after.items()
    ]


def _hostname(agent: Section) -> str | None:
    return text(agent, "hostname")
