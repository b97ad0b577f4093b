"""Measures the size and the growth of stored events and alerts, to choose a retention."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from opsapi.sql import fetch_rows

DAYS: Final = 7
"""The number of days before today (UTC) whose mean is calculated."""
_YEAR: Final = 365
_ENOUGH: Final = 1_000
"""The number of rows from which the size of a row is measured. With fewer rows, empty pages would count."""
_EVENT_OCTETS: Final = 1_200
_ALERT_OCTETS: Final = 4_100
"""The bytes of an alert, two notifications and their attempts, without events."""

# The number of alerts is the estimate of the query planner.
_STORED = """
SELECT (SELECT coalesce(sum(number), 0) FROM events_eventcount WHERE scope = ''),
       (SELECT coalesce(sum(number), 0) FROM events_eventcount
         WHERE scope = '' AND day >= %(first)s AND day < %(today)s),
       pg_total_relation_size('events_event'),
       (SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = 'alerting_alert'::regclass),
       (SELECT count(*) FROM alerting_alert WHERE created >= %(first)s AND created < %(today)s),
       pg_total_relation_size('alerting_alert') + pg_total_relation_size('alerting_notification')
         + pg_total_relation_size('alerting_notificationattempt')
"""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a kind: bytes on the disk, mean number of new rows a day, and bytes of a year of such days."""

    octets: int
    a_day: float
    a_year: float


def stored_rows(now: datetime) -> Mapping[str, StoredRows]:
    """Return the stored rows: `events`, and `alerts` with their notification log."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    parameters: Mapping[str, Any] = {"first": today - timedelta(days=DAYS), "today": today}
    [(events, new_events, event_octets, alerts, new_alerts, alert_octets)] = fetch_rows(_STORED, parameters)
    return {
        "events": _stored(int(events), int(new_events), event_octets, _EVENT_OCTETS),
        "alerts": _stored(int(alerts), new_alerts, alert_octets, _ALERT_OCTETS),
    }


def _stored(rows: int, new: int, octets: int, usual: int) -> StoredRows:
    of_row = octets / rows if rows >= _ENOUGH else usual
    return StoredRows(octets, new / DAYS, new / DAYS * _YEAR * of_row)
