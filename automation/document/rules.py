"""Rules between fields of the document, and between the document and the stored revision. Pure.

Each rule is a function that yields its faults. Rules do not trust the shape of the document, because their
faults and the faults of the schema are reported together.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from automation.document.schema import in_documented_order, schema_faults
from automation.document.sections import Section, items, pointer, process_name, section, text
from automation.document.text import canonical
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, BadField

_LONGEST_ALLOWED = 1000  # Maximum characters of the allowed values of a fault.
_KNOWN_BY = ("platform", "architecture", "gitVersion")
_ABSENT = "null"
Place = tuple[int, int]


def document_faults(document: Mapping[str, Any], stored: Mapping[str, Any]) -> list[BadField]:
    """All faults of a document that follows the stored one.

    At most MOST_FAULTS, one for each place, in the documented order.
    """
    found: dict[str, BadField] = {}
    for fault in (*schema_faults(document), *rule_faults(document, stored)):
        found.setdefault(fault.field, fault)
    return in_documented_order(found.values())[:MOST_FAULTS]


def rule_faults(document: Mapping[str, Any], stored: Mapping[str, Any]) -> list[BadField]:
    """Violated rules between fields or with the stored document; at most MOST_FAULTS."""
    faults = chain(
        unique_names(document, "databaseVersions", _written_name),
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


def _written_name(item: Section) -> str | None:
    return text(item, "name")


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
    shown = tuple(values)
    return shown if sum(map(len, shown)) <= _LONGEST_ALLOWED else ()


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
    found = defaultdict(list)
    for version_at, version in items(document, "databaseVersions"):
        for build_at, build in items(version, "builds"):
            known_by = [version.get("name"), *(build.get(name) for name in _KNOWN_BY), _modules(build)]
            found[canonical(known_by)].append(((version_at, build_at), canonical(build.get("bits"))))
    return found


def _modules(build: Section) -> list[str]:
    modules = build.get("modules")
    return sorted(map(canonical, modules)) if isinstance(modules, list) else []
