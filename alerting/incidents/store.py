"""Reading alerts and incidents."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

import orjson
from django.db import OperationalError, connection, transaction
from django.db.models import F, Q, QuerySet, Subquery

from alerting.configs.models import AlertConfig
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.fleet_units import named_units
from alerting.incidents.models import GROUPED, TARGET_NAME, Alert, Incident
from alerting.incidents.rules import Acknowledgement, in_force
from alerting.incidents.topology import (
    FleetUnit,
    FleetUnits,
    Picture,
    covered_unit,
    is_important_change,
    picture,
    root_unit,
    root_words,
)
from alerting.severities import types_of
from automation.metrics import Metric, base_unit, metrics_with
from automation.units import Unit
from events.types import EVENT_TYPES, Category, EventType, Severity, severity_of
from events.wording import names_with
from opsapi.api.paging import DeferredRows
from opsapi.api.principal import VisibleScope
from opsapi.clock import wire_time
from opsapi.fields import Among
from opsapi.first_rows import MOST_SHOWN, FirstRows, bounded_count, first_rows
from opsapi.hostnames import name_and_port
from opsapi.ids import is_id
from opsapi.sql import fetch_rows, statements_within, took_too_long
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
    " AND (severity = ANY(%(severities)s) OR severity IS NULL AND event_type = ANY(%(types_of_severities)s))"
)
_ALONE = " AND id = %(id)s"
_THESE = " WHERE id = ANY(%(ids)s)"
_NEWEST_FIRST = " ORDER BY created DESC, id DESC"
_PAGE = _NEWEST_FIRST + " LIMIT %(limit)s OFFSET %(offset)s"


@dataclass(frozen=True, slots=True)
class AlertRows:
    """The alerts of a project, or of global configurations if `group_id` is None, newest first, for paging.

    With `status`, `config_id` or `severities`, only alerts with them. No index has the severity, so a page
    reads the newer alerts of other severities too. Far down the list, the ids of a page are found first, as
    for `DeferredRows`: otherwise PostgreSQL sorts all alerts of the project.
    """

    group_id: str | None
    status: str | None = None
    config_id: str | None = None
    severities: Sequence[str] = ()

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
        if self.severities:
            where += _OF_SEVERITY
        return where if self.status is None else where + _IN_STATUS

    @property
    def _filters(self) -> dict[str, Any]:
        return {
            "group_id": self.group_id,
            "status": self.status,
            "config_id": self.config_id,
            "severities": list(self.severities),
            "types_of_severities": types_of(*self.severities),
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
    row["severity"] = severity_of(alert.severity, alert.event_type).value
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
    rows = alerts.filter(id__in=first).order_by("-created", "-id")
    return sorted(rows, key=lambda alert: alert_acknowledgement(alert, now) is not None)


def active_first_rows(alerts: QuerySet[Alert], *, now: datetime) -> FirstRows[Alert]:
    """The first of the alerts that are open or pending, and how many there are."""
    rows = first_active(alerts, now=now, most=MOST_SHOWN + 1)
    count = len(rows) if len(rows) <= MOST_SHOWN else bounded_count(alerts.filter(status__in=_ACTIVE))
    return FirstRows(rows[:MOST_SHOWN], count)


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
        rows = list(part[start : start + wanted])
        yield from rows
        wanted -= len(rows)
        # Counted only where a part ends before the page begins, and no further than that.
        start = 0 if rows or not start else start - part.order_by()[:start].count()


MOST_SEARCHED: Final = 20_000
"""The newest active alerts, and the newest ended alerts, that are searched for parts of words."""
MOST_FOUND: Final = 5_000
"""The most active alerts, and the most ended alerts, that a search finds."""
_MOST_WORDS: Final = 10


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
    everything can search by a global configuration. In quotes, a term is the whole name of a host with its
    port, or of an agent, replica set or cluster.

    Otherwise an alert matches if each word is a part of what its row shows: its target, replica set, cluster,
    project or event type, its metric, or the name of its configuration. The newest MOST_SEARCHED active
    alerts and the newest MOST_SEARCHED ended alerts are searched. A term that begins the name of a target
    finds all alerts about it.
    """
    term = term.strip()
    if not term:
        return alerts
    if is_id(term):
        return _of_id(alerts, term, visible_scope)
    about = _about(term.lower())
    if not _is_quoted(term):
        about |= Q(Among("id", _ids_with_parts(alerts, term.split()[:_MOST_WORDS], visible_scope)))
    return alerts.alias(target_name=TARGET_NAME).filter(about)


def _ids_with_parts(
    alerts: QuerySet[Alert], words: Sequence[str], visible_scope: VisibleScope
) -> Iterator[str]:
    """The ids of the newest alerts that contain each word, for each of active and ended alerts."""
    for statuses in (_ACTIVE, _OVER):
        searched = alerts.select_related(None).filter(status__in=statuses).order_by("-created", "-id")
        rows = Alert.objects.filter(id__in=searched.values("id")[:MOST_SEARCHED])
        yield from _with_words(rows, words, visible_scope).values_list("id", flat=True)[:MOST_FOUND]


def active_alerts_with(
    alerts: QuerySet[Alert], words: Iterable[str], *, visible_scope: VisibleScope
) -> QuerySet[Alert]:
    """Active alerts, newest first, that contain each word in what their rows show."""
    rows = alerts.filter(status__in=ACTIVE).order_by("-created", "-id")
    return _with_words(rows, words, visible_scope)


def _with_words(
    alerts: QuerySet[Alert], words: Iterable[str], visible_scope: VisibleScope
) -> QuerySet[Alert]:
    rows = alerts.alias(target_name=TARGET_NAME)
    for word in words:
        name, port = name_and_port(word)
        of_host = Q(target_name__contains=name.lower())
        if port is not None:
            of_host &= Q(facts__port=port)
        configs = AlertConfig.objects.filter(name__icontains=word)
        if not visible_scope.everything:
            configs = configs.exclude(group=None)
        rows = rows.filter(
            of_host
            | Q(facts__replicaSetName__icontains=word)
            | Q(facts__clusterName__icontains=word)
            | Q(group__name__icontains=word)
            | Q(event_type__in=names_with(word, EventType))
            | Q(metric_name__in=metrics_with(word))
            | Q(config_id__in=configs.values("id"))
        )
    return rows


def _of_id(alerts: QuerySet[Alert], term: str, visible_scope: VisibleScope) -> QuerySet[Alert]:
    of_config = Q(config_id=term) if visible_scope.everything else Q(config_id=term, is_global=False)
    for meant in (Q(id=term), of_config):
        if alerts.filter(meant).exists():
            return alerts.filter(meant)
    return alerts.filter(group_id=term)


def _is_quoted(term: str) -> bool:
    return len(term) > 2 and term[0] == term[-1] == '"'


def _about(term: str) -> Q:
    """The condition that a term is the name of a target, or its beginning."""
    is_whole = _is_quoted(term)
    named = term[1:-1] if is_whole else term
    name, colon, port = named.rpartition(":")
    if colon and port.isascii() and port.isdigit():
        return Q(target_name=name.strip("[]"), facts__port=int(port[:6]))
    if is_whole:
        return Q(target_name=named, facts__port__isnull=True)
    return Q(target_name__startswith=named)


class Member(NamedTuple):
    """An open alert of an incident.

    An incident can have thousands, of which decisions need only these columns. `facts` and `event_type` are
    needed for the picture of an incident.
    """

    id: str
    incident_id: str
    created: datetime
    acknowledged_until: datetime | None
    event_type: str
    severity: str | None
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IncidentState:
    """The state of an incident, which its open alerts decide."""

    open: Sequence[Member]
    """The oldest first."""

    @property
    def status(self) -> AlertStatus:
        """OPEN while an alert of the incident is, then CLOSED."""
        return AlertStatus.OPEN if self.open else AlertStatus.CLOSED

    @property
    def severity(self) -> Severity | None:
        """The highest severity of its open alerts; None if there are none."""
        kinds = {(alert.severity, alert.event_type) for alert in self.open}
        severities = [severity_of(severity, event_type) for severity, event_type in kinds]
        return max(severities, key=lambda severity: severity.rank, default=None)

    @property
    def acknowledged_until(self) -> datetime | None:
        """When the first acknowledgement ends; None if an open alert has none."""
        until = [alert.acknowledged_until for alert in self.open]
        known = [moment for moment in until if moment is not None]
        return min(known) if known and len(known) == len(until) else None


@dataclass(frozen=True, slots=True)
class IncidentView(IncidentState):
    """An incident, with the units that its open alerts are about, and the fleet around them.

    `covered` and `fleet` are needed for a picture only.
    """

    incident: Incident
    covered: Sequence[FleetUnit | None] = ()
    fleet: FleetUnits = field(default_factory=FleetUnits)

    @property
    def lead(self) -> Alert:
        """Its first alert, which has its messages."""
        return self.incident.lead

    def picture(self, last: Picture | None) -> Picture:
        """The picture for a message now, after the picture `last`."""
        first_is_open = any(alert.id == self.incident.lead_id for alert in self.open)
        return picture(self.covered, self.fleet, last=last, first_is_open=first_is_open)


def open_alerts_of_set(*, group_id: str, replica_set: str, **_: object) -> list[tuple[str, datetime]]:
    """Return the open alerts of category REPLICA_SET about a replica set: event type, and when each began."""
    types = [name.value for name, spec in EVENT_TYPES.items() if spec.category is Category.REPLICA_SET]
    alerts = Alert.objects.filter(group_id=group_id, status=AlertStatus.OPEN.value, event_type__in=types)
    about = alerts.filter(facts__replicaSetName=replica_set).order_by("created", "id")
    return list(about.values_list("event_type", "created"))


def targets_of_messages(notifications: Sequence[Notification]) -> dict[str, list[str]]:
    """The ids of the alerts, or of the event, that each notification is about, by the notification's id.

    A message is about all open alerts of its incident, which is muted while all of them are. After its end,
    the message is about its first alert.
    """
    members: dict[str, list[str]] = defaultdict(list)
    if ids := {row.incident_id for row in notifications if row.incident_id}:
        opened = Alert.objects.filter(Among("incident_id", ids), status=AlertStatus.OPEN.value)
        for incident_id, alert_id in opened.values_list("incident_id", "id"):
            members[str(incident_id)].append(alert_id)
    return {
        row.id: members.get(row.incident_id or "") or [row.alert_id or row.event_id or ""]
        for row in notifications
    }


def members_lock(notifications: Sequence[Notification], *, wait: float) -> tuple[list[Member], set[str]]:
    """Lock the open alerts of the incidents of notifications, by id.

    Alerts that another transaction has locked are left out after `wait` seconds; infinity: never. Return the
    locked alerts, and the ids of the notifications about others.
    """
    ids = _incident_ids(notifications)
    if not ids:
        return [], set()
    if wait == math.inf:
        return _members(fetch_rows(_LOCK_MEMBERS, {"ids": ids})), set()
    if wait:
        try:
            with transaction.atomic(), statements_within(wait):
                return _members(fetch_rows(_LOCK_MEMBERS, {"ids": ids})), set()
        except OperationalError as error:
            if not took_too_long(error):
                raise
    rows = fetch_rows(_LOCK_FREE_MEMBERS, {"ids": ids})
    locked = _members(row[:-1] for row in rows if row[0])
    left_out = Counter({row[1]: row[-1] for row in rows if not row[0]})
    left_out.subtract(alert.incident_id for alert in locked)
    return locked, {row.id for row in notifications if left_out[row.incident_id] > 0}


def _incident_ids(notifications: Iterable[Notification]) -> list[str]:
    return list({row.incident_id for row in notifications if row.incident_id})


_OPEN_MEMBERS = "FROM alerting_alert WHERE incident_id = ANY(%(ids)s) AND status = 'OPEN'"
_LOCK_MEMBERS = f"""
SELECT {", ".join(Member._fields)} {_OPEN_MEMBERS} ORDER BY id FOR NO KEY UPDATE
"""
# The last rows have the number of open alerts of each incident. An alert that ends meanwhile counts as
# locked.
_LOCK_FREE_MEMBERS = f"""
WITH free AS MATERIALIZED ({_LOCK_MEMBERS} SKIP LOCKED)
SELECT free.*, NULL::bigint FROM free
UNION ALL
SELECT NULL, incident_id, NULL, NULL, NULL, NULL, NULL, count(*) {_OPEN_MEMBERS} GROUP BY incident_id
"""  # noqa: S608 - built from constants


def _members(rows: Iterable[Sequence[Any]]) -> list[Member]:
    return [Member._make([*row[:-1], orjson.loads(row[-1])]) for row in rows]


def incident_states(
    notifications: Iterable[Notification], members: Iterable[Member]
) -> dict[str, IncidentState]:
    """The states of the incidents of notifications, by id; `members` are their locked `members_lock`."""
    opened: dict[str, list[Member]] = {incident_id: [] for incident_id in _incident_ids(notifications)}
    for alert in sorted(members, key=lambda alert: (alert.created, alert.id)):
        if alert.incident_id in opened:
            opened[alert.incident_id].append(alert)
    return {incident_id: IncidentState(alerts) for incident_id, alerts in opened.items()}


def incident_rows(ids: Collection[str]) -> QuerySet[Incident]:
    """Incidents with their first alerts."""
    return Incident.objects.select_related("lead__group").defer("units").filter(Among("id", ids))


def incident_views(
    notifications: Iterable[Notification],
    members: Iterable[Member],
    read: Callable[[Collection[str]], Iterable[Incident]] = incident_rows,
) -> dict[str, IncidentView]:
    """The incidents of notifications, by id; `members` are their locked `members_lock`."""
    states = incident_states(notifications, members)
    return {row.id: IncidentView(states[row.id].open, row) for row in read(states)} if states else {}


def of_incident(alert_id: str) -> Q:
    """An alert, and the open alerts of its incident."""
    incident = Alert.objects.filter(id=alert_id).values("incident_id")
    return Q(id=alert_id) | Q(incident_id=Subquery(incident), status=AlertStatus.OPEN.value)


def incident_of(alert: Alert, alerts: Iterable[Alert]) -> IncidentView | None:
    """The incident of an alert, whose alerts are among `alerts`; None before the alert opens."""
    rows = Incident.objects.select_related("lead__group").filter(id=alert.incident_id)
    if not alert.incident_id or (row := rows.first()) is None:
        return None
    opened = [
        Member(*(getattr(member, name) for name in Member._fields))
        for member in alerts
        if member.incident_id == row.id and member.status == AlertStatus.OPEN.value
    ]
    return IncidentView(opened, row)


@dataclass(frozen=True, slots=True)
class IncidentSummary:
    """The incident of an alert, for its page: its root in words, and its first alerts, open ones first."""

    ended: datetime | None
    root: str | None
    open: int
    alerts: FirstRows[Alert]


def incident_summary(alert: Alert) -> IncidentSummary | None:
    """The incident of an alert; None if it groups no alerts."""
    incident = Incident.objects.filter(GROUPED, id=alert.incident_id).first() if alert.incident_id else None
    if incident is None:
        return None
    members = Alert.objects.filter(incident_id=incident.id)
    messages = Notification.objects.filter(alert_id=incident.lead_id, said_root__isnull=False)
    root = messages.order_by("-sequence").values_list("said_root", flat=True).first()
    return IncidentSummary(
        ended=incident.ended,
        root=root_words(root) if root else None,
        open=members.filter(status=AlertStatus.OPEN.value).count(),
        alerts=first_rows(members.order_by(F("resolved").desc(nulls_first=True), "created", "id")),
    )


FleetsAround = Callable[
    [str, Mapping[str, Collection[FleetUnit]], Mapping[str, Collection[FleetUnit]]], dict[str, FleetUnits]
]


def with_fleets(
    views: Mapping[str, IncidentView],
    notifications: Collection[Notification],
    pictures: Mapping[str, Picture | None],
    fleets_around: FleetsAround,
) -> dict[str, IncidentView]:
    """The incidents, with what the pictures of messages need.

    `pictures` are `last_pictures`. The fleet is read once for all incidents of a project.
    """
    roots: dict[str, set[FleetUnit]] = defaultdict(set)
    for notification in notifications:
        if (last := pictures.get(notification.id)) and (root := root_unit(last.root)):
            roots[notification.incident_id or ""].add(root)
    covered: dict[str, list[FleetUnit | None]] = {}
    together: dict[str, dict[str, set[FleetUnit]]] = defaultdict(dict)
    for incident_id in {row.incident_id or "" for row in notifications if row.id in pictures}:
        if view := views.get(incident_id):
            covered[incident_id] = [_covered(alert) for alert in view.open]
            together[view.incident.group_id][incident_id] = {unit for unit in covered[incident_id] if unit}
    fleets: dict[str, FleetUnits] = {}
    for group_id, units in together.items():
        fleets |= fleets_around(group_id, units, roots)
    with_fleet = {
        incident_id: replace(views[incident_id], covered=units, fleet=fleets[incident_id])
        for incident_id, units in covered.items()
    }
    return {**views, **with_fleet}


def _covered(alert: Member) -> FleetUnit | None:
    return covered_unit(EVENT_TYPES[EventType(alert.event_type)].target, named_units(alert.facts))


# A message to several people is several notifications with the same number of creation.
_LAST_MESSAGES = """
SELECT DISTINCT ON (due.alert_id, due.setting_id, due.sequence)
       due.alert_id, due.setting_id, due.sequence, message.said_members, message.said_root
  FROM unnest(%(alerts)s::text[], %(settings)s::text[], %(sequences)s::bigint[])
       AS due (alert_id, setting_id, sequence)
  JOIN alerting_notification AS message
    ON message.alert_id = due.alert_id AND message.setting_id = due.setting_id
   AND message.sequence <> due.sequence
 WHERE message.said_members IS NOT NULL
   AND (message.status = 'DELIVERED' OR message.perhaps_received OR message.merged_into IS NOT NULL
        OR message.kind = 'alert.open')
 ORDER BY due.alert_id, due.setting_id, due.sequence,
          coalesce(message.first_attempt, CASE WHEN message.merged_into IS NOT NULL THEN message.due END)
              DESC NULLS LAST,
          message.sequence DESC
"""


def last_pictures(notifications: Collection[Notification]) -> dict[str, Picture | None]:
    """The picture in the last message of each notification's incident and setting, by notification id.

    Only messages about incidents that group alerts have pictures.
    A refused message does not count, except the first: its receiver may accept the next change. Messages of
    the same number of creation are the same message, to several people.
    """
    keys = {row.id: _message_key(row) for row in notifications if row.is_grouped}
    if not keys:
        return {}
    alerts, settings, sequences = zip(*set(keys.values()), strict=True)
    parameters = {"alerts": list(alerts), "settings": list(settings), "sequences": list(sequences)}
    last = {row[:3]: Picture(*row[3:]) for row in fetch_rows(_LAST_MESSAGES, parameters)}
    return {name: last.get(key) for name, key in keys.items()}


def newest_picture_at(notification: Notification) -> QuerySet[Notification]:
    """The newest message about the incident that was delivered to the destination of the notification."""
    messages = Notification.objects.filter(
        alert_id=notification.alert_id,
        destination=notification.destination,
        status=NotificationStatus.DELIVERED.value,
        said_members__isnull=False,
    )
    return messages.order_by("-delivered", "-sequence")[:1]


def _message_key(notification: Notification) -> tuple[str, str, int]:
    return notification.alert_id or "", notification.setting_id, notification.sequence


def is_worth_sending(
    notification: Notification,
    view: IncidentView | None,
    last: Picture | None,
    *,
    has_minimum: bool = False,
) -> bool:
    """Return False for an unimportant change of an incident, compared with the last message.

    A change that was tried is tried again, unless it was held back since. Receivers without a message get the
    whole incident with their first message. `has_minimum`: if the severity was too low for the first message
    to be sent, a change can be the first message.
    """
    if not notification.is_change or notification.first_attempt:
        return True
    if view is None or not view.open:
        return False
    if last is None:
        return has_minimum
    return is_important_change(last, view.picture(last))


@dataclass(frozen=True, slots=True)
class IncidentMessage:
    """What a message says: the incident with its open alerts, and its picture if it groups alerts."""

    view: IncidentView
    picture: Picture | None = None

    @property
    def alert_id(self) -> str:
        """The alert whose document the message has: the first of the incident, or the first open one."""
        lead, opened = self.view.incident.lead_id, self.view.open
        return lead if not opened or any(alert.id == lead for alert in opened) else opened[0].id


def incident_messages(
    notifications: Iterable[Notification],
    views: Mapping[str, IncidentView],
    last: Mapping[str, Picture | None],
) -> dict[str, IncidentMessage]:
    """What messages about incidents say, by notification. `last` are the `last_pictures`.

    The message of an incident of a single alert has no picture.
    """
    messages: dict[str, IncidentMessage] = {}
    pictures: dict[tuple[str, Picture | None], Picture] = {}
    for notification in notifications:
        view = views.get(notification.incident_id or "")
        if view is None:
            continue
        if notification.id not in last:
            messages[notification.id] = IncidentMessage(view)
            continue
        # Messages to many people have the same picture.
        key = view.incident.id, last[notification.id]
        if key not in pictures:
            pictures[key] = view.picture(last[notification.id])
        messages[notification.id] = IncidentMessage(view, pictures[key])
    return messages
