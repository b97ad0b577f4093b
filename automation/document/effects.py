"""The effects of a document on processes: the answer of a dry run. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from automation.document.changes import changed_params, is_disabled, is_restore, moved, pairs
from automation.document.formats import CANCEL, has_zone, moment
from automation.document.sections import Section, first, shortened, text
from automation.rules.versions import version_event
from events.types import EventType
from opsapi.clock import wire_time
from opsapi.redaction import redact_urls


class ProcessAction(StrEnum):
    """The actions of agents; the values are the wire values of `action`."""

    START = "START"
    SHUTDOWN = "SHUTDOWN"
    REMOVE = "REMOVE"
    CHANGE_VERSION = "CHANGE_VERSION"
    UPGRADE = "UPGRADE"
    DOWNGRADE = "DOWNGRADE"
    RECONFIGURE = "RECONFIGURE"
    RESTORE = "RESTORE"
    CANCEL_RESTORE = "CANCEL_RESTORE"
    RESTART = "RESTART"
    RESYNC = "RESYNC"
    COMPACT = "COMPACT"
    ROTATE_KEY = "ROTATE_KEY"
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

    def document(self) -> dict[str, str]:
        """The effect in a dry run; absent values are left out."""
        shown = {"process": self.process, "action": self.action.value, "detail": self.detail}
        if self.at:
            shown["at"] = wire_time(self.at)
        return shown | ({"warning": self.warning} if self.warning else {})


@dataclass(frozen=True, slots=True)
class Pair:
    """A process before and after; empty if it does not exist."""

    name: str
    old: Section
    new: Section
    now: datetime


def effects(old: Mapping[str, Any], new: Mapping[str, Any], now: datetime) -> list[Effect]:
    """All effects: process by process in the order of the new document, then removed processes."""
    found: list[Effect] = []
    for name, before, after in pairs(old, new):
        pair = Pair(name, before or {}, after or {}, now)
        found.extend(removal(pair) if after is None else chain.from_iterable(rule(pair) for rule in _RULES))
    return found


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
    names, others = first(
        _MOST_NAMES, (change.param for change in changes if change.param not in _REPORTED_OTHERWISE)
    )
    if names:
        more = f" and {others} more" if others else ""
        shown = ", ".join(shortened(name) for name in names)
        yield _effect(pair, ProcessAction.RECONFIGURE, f"changes {shown}{more}")


def restore(pair: Pair) -> Iterator[Effect]:
    """Setting backupRestoreUrl restores a backup; CANCEL stops a requested restore."""
    if is_restore(pair.old, pair.new):
        yield _effect(pair, ProcessAction.RESTORE, "is restored from a backup", warning=_RESTORE_WARNING)
    elif text(pair.new, "backupRestoreUrl") == CANCEL != text(pair.old, "backupRestoreUrl"):
        yield _effect(pair, ProcessAction.CANCEL_RESTORE, "cancels its restore")


def restart(pair: Pair) -> Iterator[Effect]:
    """Changing lastRestart restarts a running process that stays enabled."""
    runs_on = pair.old and not is_disabled(pair.old) and not is_disabled(pair.new)
    if runs_on and moved(pair.old, pair.new, "lastRestart"):
        yield _at_moment(pair, "lastRestart", ProcessAction.RESTART, "is restarted")


def resync(pair: Pair) -> Iterator[Effect]:
    """Changing lastResync deletes the data of the node and copies it again."""
    if moved(pair.old, pair.new, "lastResync"):
        detail = "deletes its data and copies it again from another member"
        yield _at_moment(pair, "lastResync", ProcessAction.RESYNC, detail, _RESYNC_WARNING)


def rotation(pair: Pair) -> Iterator[Effect]:
    """Changing lastKmipMasterKeyRotation rotates the master key."""
    name = "lastKmipMasterKeyRotation"
    if moved(pair.old, pair.new, name):
        yield _at_moment(pair, name, ProcessAction.ROTATE_KEY, "rotates its master key")


def compaction(pair: Pair) -> Iterator[Effect]:
    """Changing lastCompact reclaims space; a value without a time zone has no effect and causes a warning."""
    asked, stored = text(pair.new, "lastCompact"), text(pair.old, "lastCompact")
    if asked is None or asked == stored:
        return
    if not has_zone(asked):
        yield _effect(pair, ProcessAction.NOTHING, "is not compacted", warning=_COMPACT_WARNING)
    elif moved(pair.old, pair.new, "lastCompact") or not has_zone(stored or ""):
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
        "backupRestoreUrl",
        "lastRestart",
        "lastResync",
        "lastKmipMasterKeyRotation",
        "lastCompact",
    }
)
_VERSION_ACTIONS: Final[Mapping[EventType | None, ProcessAction]] = {
    EventType.HOST_UPGRADED: ProcessAction.UPGRADE,
    EventType.HOST_DOWNGRADED: ProcessAction.DOWNGRADE,
}
_RESYNC_WARNING = "lastResync: an initial sync deletes all data of this node"
_RESTORE_WARNING = "backupRestoreUrl: a restore replaces the data of this node"
_COMPACT_WARNING = "lastCompact: has no time zone, so it is stored and has no effect"
_RULES: Final[Sequence[Callable[[Pair], Iterator[Effect]]]] = (
    start,
    version,
    settings,
    restore,
    restart,
    resync,
    rotation,
    compaction,
)
