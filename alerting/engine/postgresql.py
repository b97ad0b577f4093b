"""The ledger in PostgreSQL: the statements of selectors and services."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Subquery

from alerting.configs.store import settings_of, shortest_delays
from alerting.destinations import changes as destinations
from alerting.engine import leases
from alerting.engine import schedule as notifications
from alerting.engine.ledger import Ledger
from alerting.engine.messages import messages_of
from alerting.engine.models import Notification
from alerting.engine.queues import claim_candidates, leased_notifications, undecided_notifications
from alerting.engine.store import (
    configs_of_settings,
    delivered_notifications,
    earlier_messages,
    lapses_of,
    notified_receivers,
    sent_messages,
)
from alerting.incidents import alert_writes
from alerting.incidents.fleet_units import alert_units, fleets_around, labels_of_a_part
from alerting.incidents.grouping import (
    alerts_join,
    changes_become,
    due_at,
    incidents_begin,
    incidents_end,
    incidents_grouped,
    incidents_lock,
    incidents_save,
    incidents_to_join,
    incidents_with,
    labels_of_recent,
    messages_wait,
    pictures_keep,
)
from alerting.incidents.models import Alert
from alerting.incidents.store import incident_rows, last_pictures, members_lock, newest_picture_at
from alerting.reasons import HOLDING_BACK
from events.log.changes import groups_events_record
from opsapi.postgresql.faults import is_transient
from opsapi.sql import execute, fetch_rows

# Keeps the reason of the last failure (`last_failure`), and removes the reason of a postponement. A token is
# unique to a claim, so ids and tokens need no pairs.
_MARK_BEGUN = """
UPDATE alerting_notification
   SET attempts = attempts + 1, first_attempt = coalesce(first_attempt, %(now)s), silenced_by = NULL,
       reason = CASE WHEN silenced_by IS NULL AND reason <> ALL(%(holding_back)s) THEN reason END,
       perhaps_received = perhaps_received OR id = ANY(%(with_message)s),
       handle = CASE WHEN id = ANY(%(changed)s) THEN coalesce(handle, '') ELSE handle END
 WHERE id = ANY(%(ids)s) AND lease_token = ANY(%(tokens)s)
RETURNING id, attempts, first_attempt
"""


# The time is shown in whole seconds. Each message about an incident would write all its alerts, with all
# indexes. The open alerts of an incident are locked already. Its first alert may have ended. If a request has
# locked that alert, its time stays as it is, because the request may wait for one of the open alerts.
_SET_LAST_NOTIFIED = """
UPDATE alerting_alert SET last_notified = %(now)s
 WHERE id = ANY(ARRAY(
           SELECT id FROM alerting_alert
            WHERE id = ANY(%(ids)s) AND (last_notified BETWEEN %(since)s AND %(now)s) IS NOT TRUE
            ORDER BY id FOR NO KEY UPDATE SKIP LOCKED))
"""


class PostgresqlLedger:
    """The tables. Each method is one statement, or says how many it needs where it is written."""

    begin_claim = staticmethod(leases.claim_begin)
    leased = staticmethod(leased_notifications)
    release_lapsed = staticmethod(leases.lapsed_leases_release)
    undecided = staticmethod(undecided_notifications)
    candidates = staticmethod(claim_candidates)
    take = staticmethod(leases.leases_take)
    lock = staticmethod(leases.leases_lock)
    give_back = staticmethod(leases.leases_give_back)
    release_with = staticmethod(leases.leases_release_with)
    remove = staticmethod(leases.leased_delete)

    members_lock = staticmethod(members_lock)
    incidents = staticmethod(incident_rows)
    fleets_around = staticmethod(fleets_around)
    last_pictures = staticmethod(last_pictures)
    settings_of = staticmethod(settings_of)
    sent_messages = staticmethod(sent_messages)
    lapses_of = staticmethod(lapses_of)
    destination_configs = staticmethod(destinations.destination_configs)
    delivered = staticmethod(delivered_notifications)
    configs_of_settings = staticmethod(configs_of_settings)
    messages = staticmethod(messages_of)
    earlier_messages = staticmethod(earlier_messages)

    pictures_keep = staticmethod(pictures_keep)
    attempts_record = staticmethod(leases.attempts_record)

    destinations_lock = staticmethod(destinations.destinations_lock)
    destinations_keep = staticmethod(destinations.destinations_keep)
    healthy_destinations = staticmethod(destinations.healthy_destinations)
    destinations_tried = staticmethod(destinations.destinations_tried)
    destinations_to_record = staticmethod(destinations.destinations_to_record)
    health_write = staticmethod(destinations.health_write)
    host_failed = staticmethod(destinations.host_failed)
    host_back = staticmethod(destinations.host_back)
    retries_due = staticmethod(destinations.retries_due)
    retries_due_at_host = staticmethod(destinations.retries_due_at_host)

    insert = staticmethod(notifications.notifications_insert)
    repeated_settings = staticmethod(notifications.repeated_settings)
    openings_so_far = staticmethod(notifications.openings_so_far)
    recent_recipients = staticmethod(notifications.recent_recipients)
    drop_unsent = staticmethod(notifications.notifications_drop_unsent)
    notified = staticmethod(notified_receivers)
    reminders_decide_again = staticmethod(notifications.reminders_decide_again)
    acknowledgements_wait = staticmethod(notifications.acknowledgements_wait)

    settings_of_configs = staticmethod(notifications.settings_of_configs)
    alert_units = staticmethod(alert_units)
    labels_of_a_part = staticmethod(labels_of_a_part)
    incidents_begin = staticmethod(incidents_begin)
    labels_of_recent = staticmethod(labels_of_recent)
    incidents_to_join = staticmethod(incidents_to_join)
    incidents_save = staticmethod(incidents_save)
    alerts_join = staticmethod(alerts_join)
    incidents_with = staticmethod(incidents_with)
    incidents_end = staticmethod(incidents_end)
    incidents_lock = staticmethod(incidents_lock)
    incidents_grouped = staticmethod(incidents_grouped)
    messages_wait = staticmethod(messages_wait)
    due_at = staticmethod(due_at)
    changes_become = staticmethod(changes_become)

    shortest_delays = staticmethod(shortest_delays)
    alerts_start = staticmethod(alert_writes.alerts_start)
    alerts_lock = staticmethod(alert_writes.alerts_lock)
    values_keep = staticmethod(alert_writes.values_keep)
    over_keep = staticmethod(alert_writes.over_keep)
    alerts_set_open = staticmethod(alert_writes.alerts_set_open)
    alerts_set_closed = staticmethod(alert_writes.alerts_set_closed)
    alerts_set_cancelled = staticmethod(alert_writes.alerts_set_cancelled)
    alerts_delete = staticmethod(alert_writes.alerts_delete)
    signals_wait = staticmethod(alert_writes.signals_wait)
    events_record = staticmethod(groups_events_record)

    @staticmethod
    def transaction(*, savepoint: bool = True) -> AbstractContextManager[Any]:
        return transaction.atomic(savepoint=savepoint)

    @staticmethod
    def is_transient(error: Exception) -> bool:
        return is_transient(error)

    @staticmethod
    def release_merged(notification: Notification, **changes: Any) -> int:
        newest = newest_picture_at(notification)
        seen = {name: Subquery(newest.values(name)) for name in ("said_members", "said_root")}
        return leases.leases_release_with([notification], **changes, **seen)

    @staticmethod
    def mark_begun(
        notifications: Sequence[Notification],
        *,
        with_message: Collection[str],
        changed: Collection[str],
        now: datetime,
    ) -> dict[str, tuple[int, datetime]]:
        parameters: Mapping[str, Any] = {
            "ids": [notification.id for notification in notifications],
            "tokens": list({notification.lease_token for notification in notifications}),
            "with_message": list(with_message),
            "changed": list(changed),
            "holding_back": list(HOLDING_BACK),
            "now": now,
        }
        return {row_id: (number, first) for row_id, number, first in fetch_rows(_MARK_BEGUN, parameters)}

    @staticmethod
    def set_last_notified(alerts: Collection[str], *, now: datetime) -> None:
        values: Mapping[str, Any] = {"ids": list(alerts), "now": now, "since": now.replace(microsecond=0)}
        execute(_SET_LAST_NOTIFIED, values)

    @staticmethod
    def alerts(ids: Collection[str]) -> Mapping[str, Alert]:
        return Alert.objects.in_bulk(ids)


POSTGRESQL: Ledger = PostgresqlLedger()
