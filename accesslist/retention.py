"""Sets the retention of events and ended alerts for the whole installation."""

from datetime import datetime

from accesslist.changes import acting
from events.choices import DiffType
from events.diffs import diff
from events.log.changes import NewEvent
from events.models import Retention
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.sql import fetch_rows

_RESOURCE = "retention"
# Concurrent writers wait for this row, so that each event records the values that its own write replaced.
_LOCK = """
INSERT INTO events_retention AS known (id, event_days, alert_days, updated, username)
VALUES (1, 0, 0, %(now)s, '') ON CONFLICT (id) DO UPDATE SET id = known.id
RETURNING event_days, alert_days, xmax = 0
"""


def retention_choose(*, event_days: int, alert_days: int, actor: Actor, now: datetime) -> None:
    """Set the number of days to keep events and ended alerts. 0 keeps them forever.

    A call that changes nothing records no event. Settings in the environment take precedence. Workers read
    the choice before they delete rows.
    """
    with acting(actor, now) as act:
        [(events_before, alerts_before, is_new)] = fetch_rows(_LOCK, {"now": now})
        new = {"eventDays": event_days, "alertDays": alert_days}
        old = None if is_new else {"eventDays": events_before, "alertDays": alerts_before}
        if new == old:
            return
        Retention.objects.filter(id=1).update(
            event_days=event_days, alert_days=alert_days, updated=now, username=actor.name or ""
        )
        diffs = diff(DiffType.ALERT_CONFIG, _RESOURCE, old=old, new=new)
        act.record(NewEvent(event_type=EventType.RETENTION_CHANGED_AUDIT, diffs=diffs))
