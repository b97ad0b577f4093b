"""What the agents would do with a document: the answer of a dry run. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from automation.document.changes import changed_params, is_disabled, is_restore, moved, pairs
from automation.document.formats import CANCEL, has_zone, moment
from automation.document.parts import Part, first, text
from automation.document.pointers import shortened
from automation.rules.versions import version_event
from events.types import EventType
from opsapi.clock import wire_time
from opsapi.redaction import redact_urls


class Action(StrEnum):
    """What becomes of a process; the values are the wire values of `action`."""

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
    """Something stands there that will not do what it seems to say; the warning tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that would happen to one process: at once, or `at` a time to come."""

    process: str
    action: Action
    detail: str
    at: datetime | None = None
    warning: str | None = None

    def document(self) -> dict[str, str]:
        """As a dry run shows it; what is absent is left out."""
        shown = {"process": self.process, "action": self.action.value, "detail": self.detail}
        if self.at:
            shown["at"] = wire_time(self.at)
        return shown | ({"warning": self.warning} if self.warning else {})


@dataclass(frozen=True, slots=True)
class Pair:
    """A process as it was and as it shall be: empty where it is not."""

    name: str
    old: Part
    new: Part
    now: datetime


def effects(old: Mapping[str, Any], new: Mapping[str, Any], now: datetime) -> list[Effect]:
    """Everything that would happen: process by process as in the new document, then those removed."""
    found: list[Effect] = []
    for name, before, after in pairs(old, new):
        pair = Pair(name, before or {}, after or {}, now)
        found.extend(removal(pair) if after is None else chain.from_iterable(rule(pair) for rule in _RULES))
    return found


def removal(pair: Pair) -> Iterator[Effect]:
    """A process that the document no longer names."""
    yield _effect(pair, Action.REMOVE, "is no longer managed")


def start(pair: Pair) -> Iterator[Effect]:
    """A process that is new or was disabled starts, one that turns disabled shuts down."""
    runs = bool(pair.old) and not is_disabled(pair.old)
    shall_run = not is_disabled(pair.new)
    if shall_run and not runs:
        yield _effect(pair, Action.START, "is started")
    elif runs and not shall_run:
        yield _effect(pair, Action.SHUTDOWN, "is shut down")


def version(pair: Pair) -> Iterator[Effect]:
    """Another version is run; upgrade and downgrade where the two can be compared."""
    before, after = text(pair.old, "version"), text(pair.new, "version")
    if before and after and before != after:
        action = _VERSION_ACTIONS.get(version_event(before, after), Action.CHANGE_VERSION)
        new, old = (shortened(redact_urls(name)) for name in (after, before))
        yield _effect(pair, action, f"runs version {new} instead of {old}")


def settings(pair: Pair) -> Iterator[Effect]:
    """Other fields changed: the process takes them on."""
    changes = changed_params(pair.old, pair.new) if pair.old else ()
    names, others = first(
        _MOST_NAMES, (change.param for change in changes if change.param not in _TOLD_OTHERWISE)
    )
    if names:
        more = f" and {others} more" if others else ""
        shown = ", ".join(shortened(name) for name in names)
        yield _effect(pair, Action.RECONFIGURE, f"takes on {shown}{more}")


def restore(pair: Pair) -> Iterator[Effect]:
    """A backupRestoreUrl set restores, CANCEL stops a restore that was asked for."""
    if is_restore(pair.old, pair.new):
        yield _effect(pair, Action.RESTORE, "is restored from a backup", warning=_RESTORE_WARNING)
    elif text(pair.new, "backupRestoreUrl") == CANCEL != text(pair.old, "backupRestoreUrl"):
        yield _effect(pair, Action.CANCEL_RESTORE, "has its restore cancelled")


def restart(pair: Pair) -> Iterator[Effect]:
    """Another lastRestart restarts a process that runs and goes on running."""
    runs_on = pair.old and not is_disabled(pair.old) and not is_disabled(pair.new)
    if runs_on and moved(pair.old, pair.new, "lastRestart"):
        yield _at_moment(pair, "lastRestart", Action.RESTART, "is restarted")


def resync(pair: Pair) -> Iterator[Effect]:
    """Another lastResync removes the data of the node and copies it anew."""
    if moved(pair.old, pair.new, "lastResync"):
        detail = "removes its data and copies it anew from another member"
        yield _at_moment(pair, "lastResync", Action.RESYNC, detail, _RESYNC_WARNING)


def rotation(pair: Pair) -> Iterator[Effect]:
    """Another lastKmipMasterKeyRotation rotates the master key."""
    name = "lastKmipMasterKeyRotation"
    if moved(pair.old, pair.new, name):
        yield _at_moment(pair, name, Action.ROTATE_KEY, "has its master key rotated")


def compaction(pair: Pair) -> Iterator[Effect]:
    """Another lastCompact reclaims space then; one without a time zone does nothing, and is warned of."""
    asked, stored = text(pair.new, "lastCompact"), text(pair.old, "lastCompact")
    if asked is None or asked == stored:
        return
    if not has_zone(asked):
        yield _effect(pair, Action.NOTHING, "is not compacted", warning=_COMPACT_WARNING)
    elif moved(pair.old, pair.new, "lastCompact") or not has_zone(stored or ""):
        yield _at_moment(pair, "lastCompact", Action.COMPACT, "has its space reclaimed")


def _at_moment(pair: Pair, name: str, action: Action, detail: str, warning: str | None = None) -> Effect:
    """The effect of a time that moved: at once, or when it comes."""
    time = moment(pair.new[name])
    return _effect(pair, action, detail, at=time if time and time > pair.now else None, warning=warning)


def _effect(
    pair: Pair, action: Action, detail: str, *, at: datetime | None = None, warning: str | None = None
) -> Effect:
    name = redact_urls(pair.name)
    return Effect(process=name, action=action, detail=detail, at=at, warning=warning)


_MOST_NAMES = 10
_TOLD_OTHERWISE = frozenset(
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
_VERSION_ACTIONS: Final[Mapping[EventType | None, Action]] = {
    EventType.HOST_UPGRADED: Action.UPGRADE,
    EventType.HOST_DOWNGRADED: Action.DOWNGRADE,
}
_RESYNC_WARNING = "lastResync: an initial sync removes the entire data of this node"
_RESTORE_WARNING = "backupRestoreUrl: a restore replaces the data of this node"
_COMPACT_WARNING = "lastCompact: has no time zone, so it is kept and triggers nothing"
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
