"""What a publication changes: the fields of each process, as its event records them, and effects. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from automation.desired_state.document.schema import CANCEL
from automation.desired_state.document.secrets import redacted
from automation.desired_state.document.text import canonical, write
from automation.hosts.rules import version_event
from automation.moments import has_zone, moment
from automation.plan.concerns import CONCERN
from automation.plan.left_alone import LeftAlone
from automation.plan.reading import NOT_PLANNED, not_planned
from automation.sections import (
    Section,
    first,
    process_name,
    processes,
    section,
    shortened,
    text,
)
from events.choices import DiffStatus, DiffType
from events.types import EventType
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
        param_changes = changed_params(before or {}, after or {})
        listed, more = first(min(room, MOST_PARAMS_OF_A_PROCESS), param_changes)
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
    prefix: str, values: tuple[Section, Section], redacted_forms: tuple[Section, Section]
) -> Iterator[ParamChange]:
    """The values decide what changed; their redacted forms are shown."""
    old, new = values
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        path = prefix + shortened(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping) and len(path) < _LONGEST_PATH:
            members_shown = section(redacted_forms[0], name), section(redacted_forms[1], name)
            yield from _params(f"{path}.", (before, after), members_shown)
        elif canonical(before) != canonical(after):
            yield ParamChange(path, _text(redacted_forms[0].get(name)), _text(redacted_forms[1].get(name)))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    value_text = value if isinstance(value, str) else write(value)
    return value_text if len(value_text) <= LONGEST_VALUE else value_text[:LONGEST_VALUE] + "…"


class ProcessAction(StrEnum):
    """The actions of agents; the values are the wire values of `action`."""

    START = "START"
    SHUTDOWN = "SHUTDOWN"
    REMOVE = "REMOVE"
    CHANGE_VERSION = "CHANGE_VERSION"
    UPGRADE = "UPGRADE"
    DOWNGRADE = "DOWNGRADE"
    RECONFIGURE = "RECONFIGURE"
    RESTART = "RESTART"
    RESYNC = "RESYNC"
    COMPACT = "COMPACT"
    NOTHING = "NOTHING"
    """A setting that has no effect although it looks as if it had; the warning explains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """An effect on a process: immediately, or `at` a later time."""

    process: str
    action: ProcessAction
    detail: str
    at: datetime | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A process before and after; empty if it does not exist. `refused`: fields without effect, and why."""

    name: str
    old: Section
    new: Section
    now: datetime
    refused: Mapping[str, str]

    def is_stated(self, name: str) -> bool:
        """Whether the new process states another value of the field than the old one."""
        return self.new.get(name) is not None and canonical(self.new[name]) != canonical(self.old.get(name))


def effects(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    now: datetime,
    left_alone: Mapping[str, LeftAlone] | None = None,
) -> list[Effect]:
    """All effects: process by process in the order of the new document, then removed processes.

    `left_alone`: what the plan does not carry out of a process, by its name. These changes have the effect
    NOTHING.
    """
    all_effects: list[Effect] = []
    for name, before, after in pairs(old, new):
        why = (left_alone or {}).get(name, LeftAlone())
        pair = Pair(name, before or {}, after or {}, now, {**_NOT_PLANNED, **why.fields})
        if after is None:
            all_effects.extend(removal(pair))
            continue
        of_process = list(chain.from_iterable(rule(pair) for rule in _RULES))
        all_effects.extend(_without_moves(pair, of_process, why.process) if why.process else of_process)
    return all_effects


def _without_moves(pair: Pair, of_process: Sequence[Effect], why: str) -> Iterator[Effect]:
    """The effects on a process that the plan leaves alone: what the changes ask for does not happen."""
    if any(effect.action is not ProcessAction.NOTHING for effect in of_process):
        yield _effect(pair, ProcessAction.NOTHING, "stays as it is", warning=why)
    yield from (effect for effect in of_process if effect.action is ProcessAction.NOTHING)


def removal(pair: Pair) -> Iterator[Effect]:
    """A process that is no longer in the document."""
    yield _effect(pair, ProcessAction.REMOVE, "is no longer managed")


def start(pair: Pair) -> Iterator[Effect]:
    """A new or re-enabled process starts; a newly disabled process shuts down."""
    runs = bool(pair.old) and not is_disabled(pair.old)
    shall_run = not is_disabled(pair.new)
    if shall_run and not runs:
        yield _effect(pair, ProcessAction.START, "is started")
    elif runs and not shall_run:
        yield _effect(pair, ProcessAction.SHUTDOWN, "is shut down")


def version(pair: Pair) -> Iterator[Effect]:
    """The version changes: an upgrade or downgrade if the versions can be compared."""
    before, after = text(pair.old, "version"), text(pair.new, "version")
    if before and after and before != after:
        action = _VERSION_ACTIONS.get(version_event(before, after), ProcessAction.CHANGE_VERSION)
        new, old = (shortened(redact_urls(name)) for name in (after, before))
        yield _effect(pair, action, f"runs version {new} instead of {old}")


def settings(pair: Pair) -> Iterator[Effect]:
    """Other fields change."""
    changes = changed_params(pair.old, pair.new) if pair.old else ()
    elsewhere = {*_REPORTED_OTHERWISE, *pair.refused, *(() if pair.new.get(CONCERN) else (CONCERN,))}
    names, others = first(
        _MOST_NAMES,
        (change.param for change in changes if change.param.partition(".")[0] not in elsewhere),
    )
    if names:
        more = f" and {others} more" if others else ""
        listed_names = ", ".join(shortened(name) for name in names)
        yield _effect(pair, ProcessAction.RECONFIGURE, f"changes {listed_names}{more}")


def refused(pair: Pair) -> Iterator[Effect]:
    """Fields that the plan refuses change nothing, and cause a warning. Times have rules of their own."""
    for name, why in pair.refused.items():
        if name not in _REPORTED_OTHERWISE and pair.is_stated(name):
            yield _effect(pair, ProcessAction.NOTHING, f"does not carry out {name}", warning=why)


def concern(pair: Pair) -> Iterator[Effect]:
    """A default concern that is no longer stated stays."""
    if pair.old.get(CONCERN) and not pair.new.get(CONCERN):
        detail = "no longer states a default read and write concern"
        yield _effect(pair, ProcessAction.NOTHING, detail, warning=_CONCERN_WARNING)


def restart(pair: Pair) -> Iterator[Effect]:
    """Changing lastRestart restarts a running process that stays enabled; a started process only later."""
    if is_disabled(pair.new) or not moved(pair.old, pair.new, "lastRestart"):
        return
    effect = _at_moment(pair, "lastRestart", ProcessAction.RESTART, "is restarted")
    if effect.at is not None or (pair.old and not is_disabled(pair.old)):
        yield effect


def resync(pair: Pair) -> Iterator[Effect]:
    """Changing lastResync lets a member copy all its data again."""
    if not moved(pair.old, pair.new, "lastResync"):
        return
    if why := pair.refused.get("lastResync"):
        yield _effect(pair, ProcessAction.NOTHING, "keeps its data", warning=why)
    else:
        detail = "copies all data again from another member"
        yield _at_moment(pair, "lastResync", ProcessAction.RESYNC, detail, RESYNC_WARNING)


def compaction(pair: Pair) -> Iterator[Effect]:
    """Changing lastCompact reclaims space; a value without a time zone has no effect and causes a warning."""
    asked, stored = text(pair.new, "lastCompact"), text(pair.old, "lastCompact")
    if asked is None or asked == stored:
        return
    if not has_zone(asked):
        yield _effect(pair, ProcessAction.NOTHING, "is not compacted", warning=_COMPACT_WARNING)
    elif not moved(pair.old, pair.new, "lastCompact") and has_zone(stored or ""):
        return
    elif why := pair.refused.get("lastCompact"):
        yield _effect(pair, ProcessAction.NOTHING, "is not compacted", warning=why)
    else:
        yield _at_moment(pair, "lastCompact", ProcessAction.COMPACT, "reclaims disk space")


def _at_moment(
    pair: Pair, name: str, action: ProcessAction, detail: str, warning: str | None = None
) -> Effect:
    """The effect of a changed time: immediately, or at that time."""
    time = moment(pair.new[name])
    return _effect(pair, action, detail, at=time if time and time > pair.now else None, warning=warning)


def _effect(
    pair: Pair, action: ProcessAction, detail: str, *, at: datetime | None = None, warning: str | None = None
) -> Effect:
    name = redact_urls(pair.name)
    return Effect(process=name, action=action, detail=detail, at=at, warning=warning)


_MOST_NAMES = 10
_REPORTED_OTHERWISE = frozenset(
    {
        "disabled",
        "version",
        "lastRestart",
        "lastResync",
        "lastCompact",
    }
)
_NOT_PLANNED: Final[Mapping[str, str]] = {name: not_planned("", name).sentence for name in NOT_PLANNED}
_VERSION_ACTIONS: Final[Mapping[EventType | None, ProcessAction]] = {
    EventType.HOST_UPGRADED: ProcessAction.UPGRADE,
    EventType.HOST_DOWNGRADED: ProcessAction.DOWNGRADE,
}
RESYNC_WARNING = "lastResync: the member copies all data again, and then its old data is removed"
"""The warning of a changed lastResync."""
_CONCERN_WARNING = f"{CONCERN}: leaving it out changes nothing, and servers keep the default that is set"
_COMPACT_WARNING = "lastCompact: has no time zone, so it is stored and has no effect"
_RULES: Final[Sequence[Callable[[Pair], Iterator[Effect]]]] = (
    start,
    version,
    settings,
    refused,
    concern,
    restart,
    resync,
    compaction,
)
