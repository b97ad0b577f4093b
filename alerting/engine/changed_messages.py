"""Finds the messages that later messages about the same alert change (`Channel.changes_messages`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from alerting.engine.models import Notification
from integrations.choices import MessageKind
from opsapi.sql import fetch_rows

_EARLIER = """
SELECT alert_id, destination,
       (array_agg(handle ORDER BY sequence DESC) FILTER (WHERE handle > ''))[1],
       max(created) FILTER (WHERE kind = %(acknowledge)s)
  FROM alerting_notification
 WHERE alert_id = ANY(%(alerts)s) AND destination = ANY(%(destinations)s) AND handle IS NOT NULL
 GROUP BY alert_id, destination
"""


@dataclass(frozen=True, slots=True)
class EarlierMessages:
    """The message about an alert that the next message changes, and the last acknowledgement.

    `handle` is None if the receiver has no message, or its name is not known.
    """

    handle: str | None = None
    acknowledged: datetime | None = None


def earlier_messages(notifications: Sequence[Notification]) -> dict[str, EarlierMessages]:
    """Return the earlier messages by the id of a notification, with one query.

    The notifications have an alert; messages about an incident have the first alert of the incident.
    """
    if not notifications:
        return {}
    values = {
        "alerts": sorted({row.alert_id for row in notifications if row.alert_id}),
        "destinations": sorted({row.destination for row in notifications}),
        "acknowledge": MessageKind.ACKNOWLEDGE.value,
    }
    found = {(alert, destination): rest for alert, destination, *rest in fetch_rows(_EARLIER, values)}
    return {row.id: EarlierMessages(*found.get((row.alert_id, row.destination), ())) for row in notifications}
