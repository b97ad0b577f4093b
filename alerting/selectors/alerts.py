"""Alerts: as documents of the API, and in the lists of the console.

Documents are read with SQL: the list of alerts is the most frequent request, and the ORM takes longer to
build the statement than PostgreSQL to run it. Filters and search use indexes, so a page costs the same
however many alerts exist.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson
from django.db import connection
from django.db.models import Q, QuerySet

from alerting.choices import ACTIVE, AlertStatus
from alerting.models import Alert
from alerting.models.alerts import TARGET_NAME
from alerting.rules.state import Acknowledgement, in_force
from alerting.severities import types_of
from automation.metrics import Metric, base_unit
from automation.units import Unit
from events.types import EventType, severity_of
from opsapi.api.paging import DeferredRows
from opsapi.api.principal import VisibleScope
from opsapi.clock import wire_time
from opsapi.first_rows import MOST_SHOWN, FirstRows, bounded_count
from opsapi.ids import is_id
from opsapi.sql import fetch_rows
from opsapi.wire_json import JsonObject

AlertRow = JsonObject

# Times are formatted by PostgreSQL: per value far cheaper than in Python.
_COLUMNS = """
SELECT id, group_id, config_id, is_global, event_type, severity, status, facts, metric_name, current_value,
       tags, acknowledgement_comment, acknowledging_username,
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
_OF_SEVERITY = (
    " AND (severity = %(severity)s OR severity IS NULL AND event_type = ANY(%(types_of_severity)s::text[]))"
)
_ALONE = " AND id = %(id)s"
_THESE = " WHERE id = ANY(%(ids)s)"
_NEWEST_FIRST = " ORDER BY created DESC, id DESC"
_PAGE = _NEWEST_FIRST + " LIMIT %(limit)s OFFSET %(offset)s"


@dataclass(frozen=True, slots=True)
class AlertRows:
    """The alerts of a project, or of global configurations if `group_id` is None, newest first, for paging.

    With `status`, `config_id` or `severity`, only alerts of that status, configuration or severity. No index
    has the severity, so a page reads the newer alerts of other severities too. Far down the list, the ids of
    a page are found first, as for `DeferredRows`: otherwise PostgreSQL sorts all alerts of the project.
    """

    group_id: str | None
    status: str | None = None
    config_id: str | None = None
    severity: str | None = None

    def __getitem__(self, page: slice, /) -> list[AlertRow]:
        """The rows of a page, which has a start and a stop."""
        bounds = {"limit": page.stop - page.start, "offset": page.start}
        where = self._where + _PAGE
        if page.start >= DeferredRows.FAR:
            where = f" WHERE id IN (SELECT id{_FROM}{where}){_NEWEST_FIRST}"
        return _fetch(_ROWS + where, {**self._filters, **bounds})

    def count(self) -> int:
        [(count,)] = fetch_rows(_COUNT + self._where, self._filters)
        return int(count)

    @property
    def _where(self) -> str:
        where = _scope(self.group_id)
        if self.config_id is not None:
            where += _OF_CONFIG
        if self.severity is not None:
            where += _OF_SEVERITY
        return where if self.status is None else where + _IN_STATUS

    @property
    def _filters(self) -> dict[str, Any]:
        return {
            "group_id": self.group_id,
            "status": self.status,
            "config_id": self.config_id,
            "severity": self.severity,
            "types_of_severity": list(types_of(self.severity)) if self.severity else [],
        }


def alert_row(alert_id: str, *, group_id: str | None) -> AlertRow | None:
    """An alert of a project, or of a global configuration for None; None if there is none.

    In addition to the columns of a list: `has_config` and `has_host`, whether both still exist.
    """
    rows = _fetch(_ROW + _scope(group_id) + _ALONE, {"group_id": group_id, "id": alert_id})
    return next(iter(rows), None)


def alert_with_id(alert_id: str) -> Alert | None:
    """An alert of any project; None if there is none."""
    return Alert.objects.filter(id=alert_id).first()


def alert_rows(ids: Collection[str]) -> dict[str, AlertRow]:
    """Like `alert_row`, for many alerts of any project, by id, in one statement."""
    return {row["id"]: row for row in _fetch(_ROW + _THESE, {"ids": list(ids)})}


_TIMES = ("created", "updated", "resolved", "last_notified", "acknowledged_until")
_OTHERS = (
    "id",
    "group_id",
    "config_id",
    "is_global",
    "event_type",
    "status",
    "facts",
    "metric_name",
    "current_value",
    "tags",
    "acknowledgement_comment",
    "acknowledging_username",
)


def row_of(alert: Alert) -> AlertRow:
    """The row of an alert that was read already, as in a list."""
    row = {name: getattr(alert, name) for name in _OTHERS}
    row["severity"] = alert.effective_severity.value
    for name in _TIMES:
        moment = getattr(alert, name)
        row[f"wire_{name}"] = wire_time(moment) if moment else None
    return row


def current_value(metric_name: str | None, number: float | None) -> JsonObject | None:
    """The value of an alert as in documents and events; None without a value.

    In the base unit of the metric; without a metric it is the number of members.
    """
    if number is None:
        return None
    units = base_unit(Metric(metric_name)) if metric_name else Unit.RAW
    return {"number": number, "units": units.value}


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
    row["severity"] = severity_of(row["severity"], row["event_type"]).value
    return row


def acknowledged_at(now: datetime) -> Q:
    """Alerts with an acknowledgement that counts, as `alert_acknowledgement` finds it."""
    return Q(acknowledged_until__gt=now)


def alert_acknowledgement(alert: Alert, now: datetime) -> Acknowledgement | None:
    """The alert's acknowledgement as it counts at `now`."""
    if alert.acknowledged_until is None:
        return None
    stored = Acknowledgement(
        alert.acknowledged_until, alert.acknowledgement_comment, alert.acknowledging_username
    )
    return in_force(stored, now)


_ACTIVE = [status.value for status in ACTIVE]
_OVER = [alert_status.value for alert_status in AlertStatus if alert_status not in ACTIVE]


def first_active(alerts: QuerySet[Alert], *, now: datetime, most: int = MOST_SHOWN) -> list[Alert]:
    """The first of the alerts that are open or pending, in one statement."""
    waiting, acknowledged = _by_urgency(alerts.filter(status__in=_ACTIVE).select_related(None), now)
    # PostgreSQL reads the second part only if the first part has fewer rows than the limit.
    first = waiting.values("id")[:most].union(acknowledged.values("id")[:most], all=True)[:most]
    found = alerts.filter(id__in=first).order_by("-created", "-id")
    return sorted(found, key=lambda alert: alert_acknowledgement(alert, now) is not None)


def active_first_rows(alerts: QuerySet[Alert], *, now: datetime) -> FirstRows[Alert]:
    """The first of the alerts that are open or pending, and how many there are."""
    found = first_active(alerts, now=now, most=MOST_SHOWN + 1)
    count = len(found) if len(found) <= MOST_SHOWN else bounded_count(alerts.filter(status__in=_ACTIVE))
    return FirstRows(found[:MOST_SHOWN], count)


def urgent_first(alerts: QuerySet[Alert], start: int, stop: int, *, now: datetime) -> list[Alert]:
    """The alerts from `start` up to `stop`: open and pending alerts, then ended alerts, newest first."""
    over = alerts.filter(status__in=_OVER).order_by("-created", "-id")
    active = alerts.filter(status__in=_ACTIVE)
    return list(_between((*_by_urgency(active, now), over), start, stop))


def _by_urgency(active: QuerySet[Alert], now: datetime) -> tuple[QuerySet[Alert], ...]:
    """Each in the order of an index: a single query for both would sort all active alerts."""
    newest = active.order_by("-created", "-id")
    return newest.exclude(acknowledged_at(now)), newest.filter(acknowledged_at(now))


def _between(parts: Iterable[QuerySet[Alert]], start: int, stop: int) -> Iterator[Alert]:
    """The rows from `start` up to `stop` of the parts in their order."""
    wanted = stop - start
    for part in parts:
        if not wanted:
            return
        found = list(part[start : start + wanted])
        yield from found
        wanted -= len(found)
        # Counted only where a part ends before the page begins, and no further than that.
        start = 0 if found or not start else start - part.order_by()[:start].count()


_SHORTEST = 3


class Age(StrEnum):
    """The age of an alert; the values are in URLs of the console."""

    HOUR = "1h"
    DAY = "1d"
    WEEK = "7d"
    OLDER_THAN_HOUR = "over-1h"
    OLDER_THAN_DAY = "over-1d"
    OLDER_THAN_WEEK = "over-7d"


_LENGTHS = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7)}


def of_age(alerts: QuerySet[Alert], age: Age, *, now: datetime) -> QuerySet[Alert]:
    is_older = age.value.startswith("over-")
    moment = now - _LENGTHS[age.value.removeprefix("over-")]
    return alerts.filter(created__lt=moment) if is_older else alerts.filter(created__gte=moment)


def acknowledged(alerts: QuerySet[Alert], is_acknowledged: bool, *, now: datetime) -> QuerySet[Alert]:
    active = alerts.filter(status__in=_ACTIVE)
    return active.filter(acknowledged_at(now)) if is_acknowledged else active.exclude(acknowledged_at(now))


def alerts_matching(alerts: QuerySet[Alert], term: str, *, visible_scope: VisibleScope) -> QuerySet[Alert]:
    """Readable alerts that match a search term.

    An id is that of an alert, otherwise of a configuration, otherwise of a project. Only operators who read
    everything can search by a global configuration. Other terms match the beginning of a target's name in any
    case: a host with or without its port, the host of an agent, a replica set or a cluster. From three
    characters on, they also match a part of an event type. In quotes, a term is the whole name of an agent,
    replica set or cluster.
    """
    term = term.strip()
    if not term:
        return alerts
    if is_id(term):
        return _of_id(alerts, term, visible_scope)
    return alerts.alias(target_name=TARGET_NAME).filter(_about(term.lower()) | _of_types(term.upper()))


def _of_id(alerts: QuerySet[Alert], term: str, visible_scope: VisibleScope) -> QuerySet[Alert]:
    of_config = Q(config_id=term) if visible_scope.everything else Q(config_id=term, is_global=False)
    for meant in (Q(id=term), of_config):
        if alerts.filter(meant).exists():
            return alerts.filter(meant)
    return alerts.filter(group_id=term)


def _about(term: str) -> Q:
    if len(term) > 2 and term[0] == term[-1] == '"':
        return Q(target_name=term[1:-1], facts__port__isnull=True)
    name, colon, port = term.rpartition(":")
    if colon and port.isascii() and port.isdigit():
        return Q(target_name=name.strip("[]"), facts__port=int(port[:6]))
    return Q(target_name__startswith=term)


def _of_types(term: str) -> Q:
    types = [event_type.value for event_type in EventType if term in event_type.value]
    return Q(event_type__in=types if len(term) >= _SHORTEST else [])
