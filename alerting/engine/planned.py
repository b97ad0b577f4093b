"""Finds notifications about the planned effects of a move, which are held back for the time of the move.

A plan changes one member of a replica set at a time, and the agent holds the turn meanwhile. Alerts of other
types, such as NO_PRIMARY, are always notified.
"""

from collections.abc import Sequence
from datetime import datetime

from alerting.engine.models import Notification
from alerting.incidents.models import Alert
from alerting.incidents.store import targets_of_messages
from automation.turns.store import PlannedTime, planned_times
from events.models import Event
from events.types import EventType
from opsapi.fields import Among

PLANNED_TYPES = frozenset(
    event_type.value
    for event_type in EventType
    if event_type in {EventType.HOST_DOWN, EventType.HOST_RESTARTED}
    or event_type.value.startswith(("HOST_NOW_", "VERSION_"))
)


def planned_messages(notifications: Sequence[Notification], now: datetime) -> dict[str, datetime]:
    """Return until when each notification is held back, by its id; the others are left out.

    A message about several alerts is held back only if all of them are planned.
    """
    times: dict[tuple[str, str], list[PlannedTime]] = {}
    for planned in planned_times({row.group_id for row in notifications if row.group_id}, now):
        times.setdefault((planned.group_id, planned.host_id), []).append(planned)
    groups = {group_id for group_id, _ in times}
    rows = [row for row in notifications if row.group_id in groups]
    if not rows:
        return {}
    targets = targets_of_messages(rows)
    ends = _planned_ends({target for row in rows for target in targets[row.id]}, times)
    return {
        row.id: min(ends[target] for target in targets[row.id])
        for row in rows
        if targets[row.id] and all(target in ends for target in targets[row.id])
    }


def _planned_ends(targets: set[str], times: dict[tuple[str, str], list[PlannedTime]]) -> dict[str, datetime]:
    """The end of the planned time of each alert and event, by its id."""
    alerts = Alert.objects.filter(Among("id", targets), event_type__in=PLANNED_TYPES)
    events = Event.objects.filter(Among("id", targets), event_type__in=PLANNED_TYPES)
    began = [
        *alerts.values_list("id", "group_id", "facts__hostId", "created"),
        *events.values_list("id", "group_id", "details__hostId", "created"),
    ]
    ends = {}
    for target, group_id, host_id, created in began:
        until = [
            planned.until
            for planned in times.get((group_id or "", host_id), ())
            if planned.begin <= created <= planned.until
        ]
        if until:
            ends[target] = max(until)
    return ends
