"""Alerts as documents, read with statements written out.

The list of alerts is what is asked for most, and the ORM takes longer to compose its statement than
PostgreSQL to answer it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection

AlertRow = dict[str, Any]

# Times are formatted by PostgreSQL: per value far cheaper than in Python.
_ROWS = """
SELECT id, group_id, config_id, event_type, status, facts, metric_name, current_value, tags,
       acknowledgement_comment, acknowledging_username,
       to_char(created AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS wire_created,
       to_char(updated AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS wire_updated,
       to_char(resolved AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS wire_resolved,
       to_char(last_notified AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS wire_last_notified,
       to_char(acknowledged_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
           AS wire_acknowledged_until
  FROM alerting_alert
"""
_COUNT = "SELECT COUNT(*) FROM alerting_alert"
# Two of them, instead of one with `status IS NULL OR`: each has an index of its own.
_IN_GROUP = " WHERE group_id = %(group_id)s"
_IN_STATUS = " WHERE group_id = %(group_id)s AND status = %(status)s"
_PAGE = " ORDER BY created DESC, id DESC LIMIT %(limit)s OFFSET %(offset)s"
_ALONE = " WHERE group_id = %(group_id)s AND id = %(id)s"


@dataclass(frozen=True, slots=True)
class AlertRows:
    """A project's alerts, all or those in one state: newest first, id as tie-break. Can be paged."""

    group_id: str
    status: str | None = None

    def __getitem__(self, page: slice, /) -> list[AlertRow]:
        """The rows of a page, which has a start and a stop."""
        bounds = {"limit": page.stop - page.start, "offset": page.start}
        return _fetch(_ROWS + self._where + _PAGE, {**self._filters, **bounds})

    def count(self) -> int:
        """All rows."""
        with connection.cursor() as cursor:
            cursor.execute(_COUNT + self._where, self._filters)
            return int(cursor.fetchone()[0])

    @property
    def _where(self) -> str:
        return _IN_GROUP if self.status is None else _IN_STATUS

    @property
    def _filters(self) -> dict[str, str | None]:
        return {"group_id": self.group_id, "status": self.status}


def alert_row(alert_id: str, *, group_id: str) -> AlertRow | None:
    """One alert of a project; None when there is none."""
    return next(iter(_fetch(_ROWS + _ALONE, {"group_id": group_id, "id": alert_id})), None)


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
