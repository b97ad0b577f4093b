"""Maintenance windows: created, changed, deleted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accesslist.services.locks import actor_lock_shared, project_lock_shared
from alerting.models import MaintenanceWindow
from alerting.rules.recurrence import last_end, recurrence_of
from alerting.selectors.windows import costly_windows
from alerting.serializers.windows import WindowDocument, window_faults
from alerting.services.locks import project_lock
from alerting.services.notifications import notifications_unmute
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.services import event_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor
from opsapi.api.resources import Facts

MOST_COSTLY_WINDOWS = 100
"""The most windows of a project that recur or have matchers and are not over."""
_MUTING = frozenset({"start", "end", "alert_types", "recurrence", "matchers"})
"""If one of these fields changes, notifications that the window mutes may be due."""


@transaction.atomic
def window_create(
    *, group_id: str, values: Mapping[str, Any], actor: Actor, now: datetime
) -> MaintenanceWindow:
    """Create a window from a validated document; a window that has begun mutes at once.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime; LIMIT_REACHED.
    """
    actor_lock_shared(actor)
    _lock_project(group_id)
    window = MaintenanceWindow(group_id=group_id, created=now, updated=now, **_columns(values))
    window.last_end = _last_end(window)
    window.save(force_insert=True)
    _check_room(group_id, now)
    _record(window, EventType.MAINTENANCE_WINDOW_ADDED_AUDIT, actor, now, new=WindowDocument.stored(window))
    return window


@transaction.atomic
def window_change(
    *, group_id: str, window_id: str, changes: Mapping[str, Any], actor: Actor, now: datetime
) -> None:
    """Change the fields that a validated document names; identical values change nothing.

    Raises:
        ApiError: MAINTENANCE_WINDOW_NOT_FOUND or GROUP_NOT_FOUND, when it was deleted in the meantime;
            MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE or INVALID_ATTRIBUTE, when another change left the
            fields unfit for each other; LIMIT_REACHED.
    """
    actor_lock_shared(actor)
    window = _locked(group_id, window_id)
    old = WindowDocument.stored(window)
    columns = _columns(changes)
    changed = [name for name, value in columns.items() if getattr(window, name) != value]
    if not changed:
        return
    for name in changed:
        setattr(window, name, columns[name])
    faults = window_faults(
        start=window.start,
        end=window.end,
        alert_types=window.alert_types,
        recurrence=window.recurrence,
        matchers=window.matchers,
    )
    if found := list(faults):
        raise ApiError.of_fields(found)
    window.last_end, window.updated = _last_end(window), now
    window.save(update_fields=[*changed, "last_end", "updated"])
    if _MUTING.intersection(changed):
        _check_room(group_id, now)
    _record(
        window,
        EventType.MAINTENANCE_WINDOW_CHANGED_AUDIT,
        actor,
        now,
        old=old,
        new=WindowDocument.stored(window),
    )
    if _MUTING.intersection(changed):
        notifications_unmute(group_id=group_id, now=now, window_id=window_id)


@transaction.atomic
def window_delete(*, group_id: str, window_id: str, actor: Actor, now: datetime) -> None:
    """Delete a window; notifications that it muted are sent unless another window mutes them.

    Raises:
        ApiError: MAINTENANCE_WINDOW_NOT_FOUND or GROUP_NOT_FOUND, when it was deleted in the meantime.
    """
    actor_lock_shared(actor)
    window = _locked(group_id, window_id)
    old = WindowDocument.stored(window)
    MaintenanceWindow.objects.filter(id=window_id).delete()
    _record(window, EventType.MAINTENANCE_WINDOW_DELETED_AUDIT, actor, now, old=old)
    notifications_unmute(group_id=group_id, now=now, window_id=window_id)


def _columns(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values as they are stored: an empty recurrence or no matchers are null."""
    nullable = {name: values[name] or None for name in ("recurrence", "matchers") if name in values}
    return {**values, **nullable}


def _check_room(group_id: str, now: datetime) -> None:
    """Refuse more windows than pages and previews can compute at once; undoes what was written.

    Delivery needs no limit: it divides this work (`muting`).
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


def _locked(group_id: str, window_id: str) -> MaintenanceWindow:
    """Lock the window against other writes, and read it."""
    _lock_project(group_id)
    window = MaintenanceWindow.objects.select_for_update().filter(group_id=group_id, id=window_id).first()
    return get_or_404(window, ErrorCode.MAINTENANCE_WINDOW_NOT_FOUND, window_id, group_id)


def _lock_project(group_id: str) -> None:
    """Lock the project, so that code that ends its alerts waits before it locks their notifications."""
    project_lock(group_id)
    project_lock_shared(group_id=group_id)


def _record(
    window: MaintenanceWindow, event_type: EventType, actor: Actor, now: datetime, **sides: Facts
) -> None:
    event_record(
        event_type=event_type,
        actor=actor,
        now=now,
        group_id=window.group_id,
        facts=EventFacts(maintenance_window_id=window.id),
        diffs=diff(DiffType.MAINTENANCE_WINDOW, window.id, **sides),
    )
