"""The bits of stored builds, which a new document must keep. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from automation.document.pointers import pointer
from automation.document.sections import Section, items
from automation.document.text import canonical
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import BadField

_KNOWN_BY = ("platform", "architecture", "gitVersion")
_UNSAID = "null"

Place = tuple[int, int]


def bits_faults(document: Section, stored: Section) -> Iterator[BadField]:
    """Check that stored `bits` of builds are neither removed nor changed.

    Builds that differ only in their bits are compared as a group: builds equal to a stored build are set
    aside first, so that they do not match another one.
    """
    before, after = _bits(stored), _bits(document)
    for build, places in after.items():
        left = Counter(bits for _, bits in before.get(build, ()))
        other = [place for place, bits in places if not _set_aside(left, bits)]
        lost = [bits for bits in left.elements() if bits != _UNSAID]
        yield from (_fault(place, bits) for place, bits in zip(other, lost, strict=False))


def _set_aside(left: Counter[str], bits: str) -> bool:
    there = left[bits] > 0
    left[bits] -= there
    return there


def _fault(place: Place, bits: str) -> BadField:
    version, build = place
    field = pointer(["databaseVersions", version, "builds", build, "bits"])
    return BadField(field, ErrorCode.INVALID_SETTINGS, f"must stay {bits}: it cannot be removed or changed")


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
