"""The values before a change, read from its event, with which a form reverts the change."""

from collections.abc import Mapping
from typing import Any

from events.choices import DiffStatus, DiffType
from events.log.models import Event
from events.log.store import event_scope
from events.wording import acting
from opsapi.api.principal import VisibleScope
from opsapi.clock import time_words
from opsapi.console.admin_urls import page_url
from opsapi.console.earlier import RevertedChange, RowInEvents


def recorded_change(scope: VisibleScope, event_id: str, row: RowInEvents) -> RevertedChange | None:
    """Return the change that the event recorded of the row; None if the event is not visible."""
    events = Event.objects.filter(event_scope(scope), id=event_id)
    event = (events.filter(group_id=row.group_id) if row.group_id else events).first()
    diff = _diff_about(event, row) if event else None
    if event is None or diff is None:
        return None
    params = diff["params"]
    return RevertedChange(
        before={param["param"]: param["old"] for param in params if "old" in param},
        after={param["param"]: param["new"] for param in params if "new" in param},
        words=f"{acting(event.details) or 'the platform'} at {time_words(event.created)}",
        url=page_url(event),
    )


def _diff_about(event: Event, row: RowInEvents) -> Mapping[str, Any] | None:
    """The diff of the row, or of a member of the row."""
    diffs: list[Mapping[str, Any]] = event.diffs
    for diff in diffs:
        is_of_row = diff["id"] == row.name and (not row.kinds or diff["type"] in row.kinds)
        if is_of_row and is_change(diff):
            return diff
    if row.member_key and event.details.get(row.member_key) == row.name and len(event.diffs) == 1:
        member: Mapping[str, Any] = event.diffs[0]
        return member
    return None


def is_change(diff: Mapping[str, Any]) -> bool:
    """Whether the diff is of a row that was there before and after. Roles are of a holder, who stays."""
    return bool(diff["status"] == DiffStatus.MODIFIED.value or diff["type"] == DiffType.ROLES.value)
