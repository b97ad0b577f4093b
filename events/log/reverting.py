"""The values before a change, read from its event, with which a form reverts the change."""

from collections.abc import Mapping
from typing import Any

from events.choices import DiffStatus
from events.log.models import Event
from events.log.store import event_scope
from events.wording import acting
from opsapi.api.principal import VisibleScope
from opsapi.clock import time_words
from opsapi.console.admin_urls import page_url
from opsapi.console.earlier import RevertedChange


def recorded_change(
    scope: VisibleScope, event_id: str, group_id: str | None, name: str
) -> RevertedChange | None:
    """Return the change that the event recorded of the row with this name in diffs; None if not visible."""
    event = Event.objects.filter(event_scope(scope), id=event_id, group_id=group_id).first()
    diff = modified(event.diffs) if event else None
    if event is None or diff is None or diff["id"] != name:
        return None
    params = diff["params"]
    return RevertedChange(
        before={param["param"]: param["old"] for param in params if "old" in param},
        after={param["param"]: param["new"] for param in params if "new" in param},
        words=f"{acting(event.details) or 'the platform'} at {time_words(event.created)}",
        url=page_url(event),
    )


def modified(diffs: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the only diff of an event, if a row was modified."""
    if len(diffs) != 1 or diffs[0]["status"] != DiffStatus.MODIFIED.value:
        return None
    return diffs[0]
