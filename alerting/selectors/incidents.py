"""Incidents as rules and messages take them: their alerts, the fleet, and their last pictures."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.db import OperationalError, transaction
from django.db.models import F, Q, QuerySet, Subquery

from alerting.choices import AlertStatus, NotificationStatus
from alerting.models import Alert, Incident, Notification
from alerting.models.incidents import GROUPED
from alerting.rules.topology import (
    FleetUnit,
    FleetUnits,
    Picture,
    covered_unit,
    is_important_change,
    picture,
    root_unit,
    root_words,
)
from alerting.selectors.fleet_units import named_units
from events.types import EVENT_TYPES, EventType, Severity, severity_of
from opsapi.fields import Among
from opsapi.first_rows import FirstRows, first_rows
from opsapi.sql import fetch_rows, statements_within, took_too_long


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
        Member(*(getattr(each, name) for name in Member._fields))
        for each in alerts
        if each.incident_id == row.id and each.status == AlertStatus.OPEN.value
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
        if (shown := pictures.get(notification.id)) and (root := root_unit(shown.root)):
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
    found: dict[str, IncidentMessage] = {}
    pictures: dict[tuple[str, Picture | None], Picture] = {}
    for notification in notifications:
        view = views.get(notification.incident_id or "")
        if view is None:
            continue
        if notification.id not in last:
            found[notification.id] = IncidentMessage(view)
            continue
        # Messages to many people have the same picture.
        key = view.incident.id, last[notification.id]
        if key not in pictures:
            pictures[key] = view.picture(last[notification.id])
        found[notification.id] = IncidentMessage(view, pictures[key])
    return found
