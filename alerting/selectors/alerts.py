"""Alerts as documents, read with SQL.

The list of alerts is the most frequent request, and the ORM takes longer to build the statement than
PostgreSQL to run it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection

from automation.metrics import Metric, base_unit
from opsapi.wire_json import JsonObject

AlertRow = JsonObject

# Times are formatted by PostgreSQL: per value far cheaper than in Python.
_COLUMNS = """
SELECT id, group_id, config_id, is_global, event_type, status, facts, metric_name, current_value, tags,
       acknowledgement_comment, acknowledging_username,
       to_char(created AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS wire_created,
       to_char(updated AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS wire_updated,
       to_char(resolved AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS wire_resolved,
       to_char(last_notified AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS wire_last_notified,
       to_char(acknowledged_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
           AS wire_acknowledged_until"""
# Only for a single alert: whether its configuration and host still exist.
_LEADS_TO = """,
       EXISTS (SELECT FROM alerting_alertconfig AS config
                WHERE config.id = alerting_alert.config_id AND config.deleted IS NULL) AS has_config,
       EXISTS (SELECT FROM automation_host AS host
                WHERE host.id = alerting_alert.facts ->> 'hostId'
                  AND host.group_id = alerting_alert.group_id AND host.deleted IS NULL) AS has_host"""
_FROM = " FROM alerting_alert"
_ROWS = _COLUMNS + _FROM
_ROW = _COLUMNS + _LEADS_TO + _FROM
_COUNT = "SELECT COUNT(*) FROM alerting_alert"
# Combined as needed, instead of `status IS NULL OR`: each combination has an index of its own.
_IN_GROUP = " WHERE group_id = %(group_id)s"
# A deleted project is invisible, although its rows are deleted later. PostgreSQL would plan NOT EXISTS as a
# join, and sort all alerts for a page.
_GLOBAL = """
 WHERE is_global AND group_id NOT IN (SELECT id FROM accesslist_project WHERE deleted IS NOT NULL)"""
_OF_CONFIG = " AND config_id = %(config_id)s"
_IN_STATUS = " AND status = %(status)s"
_ALONE = " AND id = %(id)s"
_THESE = " WHERE id = ANY(%(ids)s)"
_PAGE = " ORDER BY created DESC, id DESC LIMIT %(limit)s OFFSET %(offset)s"


@dataclass(frozen=True, slots=True)
class AlertRows:
    """The alerts of a project, or of global configurations if `group_id` is None, newest first, for paging.

    With `status` or `config_id`, only alerts of that status or configuration.
    """

    group_id: str | None
    status: str | None = None
    config_id: str | None = None

    def __getitem__(self, page: slice, /) -> list[AlertRow]:
        """The rows of a page, which has a start and a stop."""
        bounds = {"limit": page.stop - page.start, "offset": page.start}
        return _fetch(_ROWS + self._where + _PAGE, {**self._filters, **bounds})

    def count(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(_COUNT + self._where, self._filters)
            return int(cursor.fetchone()[0])

    @property
    def _where(self) -> str:
        where = _scope(self.group_id)
        if self.config_id is not None:
            where += _OF_CONFIG
        return where if self.status is None else where + _IN_STATUS

    @property
    def _filters(self) -> dict[str, str | None]:
        return {"group_id": self.group_id, "status": self.status, "config_id": self.config_id}


def alert_row(alert_id: str, *, group_id: str | None) -> AlertRow | None:
    """An alert of a project, or of a global configuration for None; None if there is none.

    In addition to the columns of a list: `has_config` and `has_host`, whether both still exist.
    """
    rows = _fetch(_ROW + _scope(group_id) + _ALONE, {"group_id": group_id, "id": alert_id})
    return next(iter(rows), None)


def alert_rows(ids: Collection[str]) -> dict[str, AlertRow]:
    """Like `alert_row`, for many alerts of any project, by id, in one statement."""
    return {row["id"]: row for row in _fetch(_ROW + _THESE, {"ids": list(ids)})}


def current_value(metric_name: str | None, number: float | None) -> JsonObject | None:
    """The value of an alert as in documents and events, in the metric's base unit; None without a value."""
    if metric_name is None or number is None:
        return None
    return {"number": number, "units": base_unit(Metric(metric_name)).value}


def _scope(group_id: str | None) -> str:
    return _GLOBAL if group_id is None else _IN_GROUP


def _fetch(statement: str, parameters: Mapping[str, Any]) -> list[AlertRow]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        names = [column.name for column in cursor.description]
        return [_row(names, values) for values in cursor.fetchall()]


def _row(names: list[str], values: tuple[Any, ...]) -> AlertRow:
    row = dict(zip(names, values, strict=True))
    # Django leaves jsonb as text; what is stored has no duplicate keys and no huge numbers to get wrong.
    row["facts"] = orjson.loads(row["facts"])
    return row
