"""The changes of a publication for each process, as recorded in its event. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from automation.document.formats import CANCEL, moment
from automation.document.secrets import redacted
from automation.document.sections import Section, first, process_name, processes, section, shortened, text
from automation.document.text import canonical, write
from events.choices import DiffStatus, DiffType
from opsapi.redaction import redact_urls
from opsapi.wire_json import JsonObject

_LONGEST_PATH = 200  # Maximum length of a path that is followed further down: it prefixes every field below.

MOST_PARAMS = 5000
"""Maximum number of fields in an event; further changes are only counted per process."""
MOST_PARAMS_OF_A_PROCESS = 200
LONGEST_VALUE = 500
"""Maximum characters of a shown value."""


@dataclass(frozen=True, slots=True)
class ParamChange:
    """A changed field of a process, by its dotted path. A missing side is None, a long value is cut."""

    param: str
    old: str | None
    new: str | None

    def document(self) -> dict[str, str]:
        """The field in a diff."""
        sides = {"old": self.old, "new": self.new}
        return {"param": self.param, "display": self.param} | {
            side: value for side, value in sides.items() if value is not None
        }


@dataclass(frozen=True, slots=True)
class ProcessChange:
    """The changes of a process; secrets are `******`."""

    name: str
    status: DiffStatus
    params: tuple[ParamChange, ...]

    def document(self) -> JsonObject:
        """The process in an event's `diffs`."""
        return {
            "id": self.name,
            "type": DiffType.PROCESS.value,
            "status": self.status.value,
            "params": [param.document() for param in self.params],
        }


def process_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[ProcessChange]:
    """The changes of each process: processes of the new document first, then removed ones.

    The first fields are listed, the others counted.
    """
    changes: list[ProcessChange] = []
    room = MOST_PARAMS
    for name, before, after in pairs(old, new):
        found = changed_params(before or {}, after or {})
        listed, more = first(min(room, MOST_PARAMS_OF_A_PROCESS), found)
        room -= len(listed)
        params = (*listed, ParamChange(f"… and {more} more", None, None)) if more else tuple(listed)
        if params:
            changes.append(ProcessChange(redact_urls(name), status(before, after), params))
    return changes


def pairs(old: Section, new: Section) -> Iterator[tuple[str, Section | None, Section | None]]:
    """Each process by name, before and after; None if missing."""
    before, after = processes(old), processes(new)
    for key in dict.fromkeys([*after, *before]):
        process = after[key] if key in after else before[key]
        yield process_name(process), before.get(key), after.get(key)


def status(old: Section | None, new: Section | None) -> DiffStatus:
    """The status of a change. If several apply, the first in this list wins, because it matters most."""
    if old is None:
        return DiffStatus.NEW
    if new is None:
        return DiffStatus.REMOVED
    if is_disabled(old) != is_disabled(new):
        return DiffStatus.SHUTDOWN if is_disabled(new) else DiffStatus.STARTUP
    if is_restore(old, new):
        return DiffStatus.RESTORE
    return DiffStatus.RESTART if moved(old, new, "lastRestart") else DiffStatus.MODIFIED


def is_disabled(process: Section) -> bool:
    """Whether the process is to be shut down."""
    return process.get("disabled") is True


def is_restore(old: Section, new: Section) -> bool:
    """Whether backupRestoreUrl is set to a new URL."""
    url = text(new, "backupRestoreUrl")
    return url not in {None, CANCEL, text(old, "backupRestoreUrl")}


def moved(old: Section, new: Section, name: str) -> bool:
    """Whether the time has moved to another moment. Removing it does not count."""
    after, before = text(new, name), text(old, name)
    return after is not None and moment(after) != (None if before is None else moment(before))


def changed_params(old: Section, new: Section) -> Iterator[ParamChange]:
    """Every changed field of a process, with nested objects compared field by field and secrets redacted."""
    if canonical(old) != canonical(new):
        yield from _params("", (old, new), (redacted(old), redacted(new)))


def _params(
    prefix: str, values: tuple[Section, Section], shown: tuple[Section, Section]
) -> Iterator[ParamChange]:
    """The values decide what changed; their redacted forms are shown."""
    old, new = values
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        path = prefix + shortened(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping) and len(path) < _LONGEST_PATH:
            members_shown = section(shown[0], name), section(shown[1], name)
            yield from _params(f"{path}.", (before, after), members_shown)
        elif canonical(before) != canonical(after):
            yield ParamChange(path, _text(shown[0].get(name)), _text(shown[1].get(name)))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    shown = value if isinstance(value, str) else write(value)
    return shown if len(shown) <= LONGEST_VALUE else shown[:LONGEST_VALUE] + "…"
