"""Maintenance windows: created, changed, deleted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accesslist.changes import Tracked, changing
from accesslist.locks import scope_lock_shared
from alerting.configs.locks import configs_lock
from alerting.engine.schedule import notifications_unmute
from alerting.windows.models import MaintenanceWindow
from alerting.windows.recurrence import last_end, recurrence_of
from alerting.windows.resource import WindowDocument, window_faults
from alerting.windows.rules import MUTING_FIELDS
from alerting.windows.store import costly_windows
from events.choices import DiffType
from events.facts import EventFacts
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor
from opsapi.roles import Scope

MOST_COSTLY_WINDOWS = 100
"""The most costly windows of a project (`store.costly_windows`)."""


def _locked(here: Scope, window_id: str) -> MaintenanceWindow:
    windows = MaintenanceWindow.objects.select_for_update().filter(group_id=here.group_id, id=window_id)
    code = ErrorCode.MAINTENANCE_WINDOW_NOT_FOUND
    return get_or_404(windows.first(), code, window_id, here.group_id or "")


WINDOW = Tracked(
    diff_type=DiffType.MAINTENANCE_WINDOW,
    stored=WindowDocument.stored,
    added=EventType.MAINTENANCE_WINDOW_ADDED_AUDIT,
    changed=EventType.MAINTENANCE_WINDOW_CHANGED_AUDIT,
    deleted=EventType.MAINTENANCE_WINDOW_DELETED_AUDIT,
    # The first lock keeps code that ends the project's alerts from locking their notifications before.
    locks=(configs_lock, scope_lock_shared),
    find=_locked,
    facts=lambda window: EventFacts(maintenance_window_id=window.id),
)


def window_create(
    *, group_id: str, values: Mapping[str, Any], actor: Actor, now: datetime
) -> MaintenanceWindow:
    """Create a window from a validated document; a window that has begun mutes at once.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime; LIMIT_REACHED.
    """
    with changing(WINDOW, actor, now, here=Scope(group_id=group_id)) as change:
        window = MaintenanceWindow(group_id=group_id, created=now, updated=now, **_columns(values))
        window.last_end = _last_end(window)
        window.save(force_insert=True)
        _check_room(group_id, now)
        return change.record_added(window)


def window_change(
    *, group_id: str, window_id: str, changes: Mapping[str, Any], actor: Actor, now: datetime
) -> None:
    """Change the fields that a validated document names; identical values change nothing.

    Raises:
        ApiError: MAINTENANCE_WINDOW_NOT_FOUND or GROUP_NOT_FOUND, when it was deleted in the meantime;
            MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE or INVALID_ATTRIBUTE, when another change left the
            fields unfit for each other; LIMIT_REACHED.
    """
    with changing(WINDOW, actor, now, here=Scope(group_id=group_id), row_id=window_id) as change:
        window, columns = change.row, _columns(changes)
        changed = {name for name, value in columns.items() if getattr(window, name) != value}
        if not changed:
            return
        for name in changed:
            setattr(window, name, columns[name])
        if bad_fields := list(window_faults(**window.muting_fields)):
            raise ApiError.of_fields(bad_fields)
        window.last_end, window.updated = _last_end(window), now
        window.save(update_fields=[*changed, "last_end", "updated"])
        if not changed.isdisjoint(MUTING_FIELDS):
            _check_room(group_id, now)
            notifications_unmute(group_id=group_id, now=now, window_id=window_id)


def window_delete(*, group_id: str, window_id: str, actor: Actor, now: datetime) -> None:
    """Delete a window; notifications that it muted are sent unless another window mutes them.

    Raises:
        ApiError: MAINTENANCE_WINDOW_NOT_FOUND or GROUP_NOT_FOUND, when it was deleted in the meantime.
    """
    with changing(WINDOW, actor, now, here=Scope(group_id=group_id), row_id=window_id) as change:
        change.record_deleted()
        change.row.delete()
        notifications_unmute(group_id=group_id, now=now, window_id=window_id)


def _columns(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values as they are stored: an empty recurrence or no matchers are null."""
    nullable = {name: values[name] or None for name in ("recurrence", "matchers") if name in values}
    return {**values, **nullable}


def _check_room(group_id: str, now: datetime) -> None:
    """Refuse more costly windows than a page computes at once; undoes what was written.

    Delivery needs no limit: it divides this work (`mute_search`).
    """
    if costly_windows(group_id, now).count() > MOST_COSTLY_WINDOWS:
        raise ApiError(
            ErrorCode.LIMIT_REACHED,
            "maintenance windows that recur or have matchers",
            str(MOST_COSTLY_WINDOWS),
        )


def _last_end(window: MaintenanceWindow) -> datetime | None:
    """The end of the last occurrence; None if the window occurs once, or never ends."""
    if window.recurrence is None:
        return None
    return last_end(window.start, window.end, recurrence_of(window.recurrence))
