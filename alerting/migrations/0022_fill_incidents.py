"""Gives an incident to each open alert and to each notification that waits or can be sent again.

The rows are changed in small batches, because an alert that has been open for months has thousands of notifications.
A repetition after a failure continues with the rest. Ended alerts without such notifications keep none: no message
about them follows.
"""

from collections.abc import Iterator
from typing import Any

from django.db import migrations, transaction

_AT_ONCE = 20
_FIRST: tuple[Any, ...] = ("-infinity", "")

_OPEN = """
SELECT id, created::text FROM alerting_alert
 WHERE status IN ('TRACKING', 'OPEN') AND status = 'OPEN' AND incident_id IS NULL
   AND (created, id) > (%s::timestamptz, %s)
 ORDER BY created, id LIMIT %s
"""
# Each of both conditions has an index.
_WAITING = """
SELECT alert_id, due::text FROM alerting_notification
 WHERE status = 'PENDING' AND incident_id IS NULL AND alert_id IS NOT NULL AND due >= %s::timestamptz
 ORDER BY due LIMIT %s
"""
_FAILED = """
SELECT alert_id, due::text FROM alerting_notification
 WHERE status = 'FAILED' AND incident_id IS NULL AND alert_id IS NOT NULL AND due >= %s::timestamptz
 ORDER BY due LIMIT %s
"""
# In the order in which deliveries and evaluation lock: alerts by id, then notifications by id.
_LOCK_ALERTS = "SELECT id FROM alerting_alert WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"
_LOCK_NOTIFICATIONS = """
SELECT id FROM alerting_notification
 WHERE alert_id = ANY(%s) AND incident_id IS NULL ORDER BY id FOR NO KEY UPDATE
"""
_BEGIN = """
INSERT INTO alerting_incident (id, group_id, config_id, lead_id, units, created, grown, ended)
SELECT id, group_id, config_id, id, '{}', greatest(created, opens), greatest(created, opens),
       CASE WHEN status <> 'OPEN' THEN coalesce(resolved, updated) END
  FROM alerting_alert WHERE id = ANY(%s) AND incident_id IS NULL
    ON CONFLICT (id) DO NOTHING
"""
_JOIN = "UPDATE alerting_alert SET incident_id = id WHERE id = ANY(%s) AND incident_id IS NULL"
_NAME = """
UPDATE alerting_notification AS message SET incident_id = alert.incident_id
  FROM alerting_alert AS alert
 WHERE alert.id = message.alert_id AND alert.id = ANY(%s) AND message.incident_id IS NULL
"""

_SINGLE = "SELECT id FROM alerting_incident WHERE id = lead_id AND id > %s ORDER BY id LIMIT %s"
_LEAVE = "UPDATE alerting_alert SET incident_id = NULL WHERE id = ANY(%s)"
_FORGET = "UPDATE alerting_notification SET incident_id = NULL WHERE alert_id = ANY(%s)"
_REMOVE = "DELETE FROM alerting_incident WHERE id = ANY(%s)"
_FOLD = """
UPDATE alerting_notification SET part = 'FOLDED'
 WHERE part IS NULL AND status = 'DROPPED' AND reason = 'the messages of its incident include the alert'
"""


def _fill(apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    for alerts in _alerts_to_fill(connection):
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            for statement in (_LOCK_ALERTS, _BEGIN, _JOIN, _LOCK_NOTIFICATIONS, _NAME):
                cursor.execute(statement, [alerts])


def _alerts_to_fill(connection: Any) -> Iterator[list[str]]:
    after = _FIRST
    while rows := _rows(connection, _OPEN, [*after, _AT_ONCE]):
        yield [alert_id for alert_id, _ in rows]
        after = (rows[-1][1], rows[-1][0])
    for statement in (_WAITING, _FAILED):
        due = "-infinity"
        while rows := _rows(connection, statement, [due, _AT_ONCE]):
            yield list(dict.fromkeys(alert_id for alert_id, _ in rows))
            due = rows[-1][1]


def _empty(apps: Any, schema_editor: Any) -> None:
    connection, after = schema_editor.connection, ""
    while rows := _rows(connection, _SINGLE, [after, _AT_ONCE]):
        ids = [incident_id for (incident_id,) in rows]
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            for statement in (_LEAVE, _FORGET, _REMOVE):
                cursor.execute(statement, [ids])
        after = ids[-1]
    with connection.cursor() as cursor:
        cursor.execute(_FOLD)


def _rows(connection: Any, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("alerting", "0021_incidents_of_opened_alerts")]

    operations = [migrations.RunPython(_fill, _empty)]
