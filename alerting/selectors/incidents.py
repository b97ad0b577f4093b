"""Incidents as rules and messages take them: their alerts, the fleet, and their last pictures."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import OperationalError, transaction
from django.db.models import F, Q, QuerySet, Subquery

from alerting.choices import AlertStatus, IncidentPart, NotificationStatus
from alerting.models import Alert, Incident, Notification
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
from alerting.selectors.fleet_units import fleets_around, named_units
from events.types import EVENT_TYPES, EventType
from opsapi.fields import Among
from opsapi.first_rows import FirstRows, first_rows
from opsapi.sql import fetch_rows, statements_within, took_too_long


class DecidingAlert(NamedTuple):
    """An alert on which the decision on a notification depends: its own, or an open one of its incident.

    An incident can have thousands, of which decisions need only these columns. `facts` and `event_type` are
    needed for the picture of an incident.
    """

    id: str
    incident_id: str | None
    status: str
    created: datetime
    acknowledged_until: datetime | None
    event_type: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IncidentView:
    """An incident: its open alerts, the oldest first, the units they are about, and the fleet around them."""

    incident: Incident
    open: Sequence[DecidingAlert]
    covered: Sequence[FleetUnit | None]
    fleet: FleetUnits

    def picture(self, last: Picture | None) -> Picture:
        """The picture for a message now, after the picture `last`."""
        first_is_open = any(alert.id == self.incident.lead_id for alert in self.open)
        return picture(self.covered, self.fleet, last=last, first_is_open=first_is_open)


def incidents_of(notifications: Iterable[Notification]) -> set[str]:
    """The ids of the incidents that notifications are about."""
    return set(leads_of(notifications))


def targets_of_messages(notifications: Sequence[Notification]) -> dict[str, list[str]]:
    """The ids of the alerts, or of the event, that each notification is about, by the notification's id.

    A message about an incident is about all its open alerts: an incident is muted while all of them are.
    """
    members: dict[str, list[str]] = defaultdict(list)
    if ids := incidents_of(notifications):
        opened = Alert.objects.filter(incident_id__in=ids, status=AlertStatus.OPEN.value)
        for incident_id, alert_id in opened.values_list("incident_id", "id"):
            members[str(incident_id)].append(alert_id)
    return {
        row.id: members.get(row.incident_id or "") or [row.alert_id or row.event_id or ""]
        for row in notifications
    }


def deciding_alerts_filter(notifications: Sequence[Notification]) -> Q:
    """Return a filter for the alerts of the notifications, and the open alerts of their incidents."""
    named = {notification.alert_id for notification in notifications if notification.alert_id}
    deciding = Q(Among("id", named))
    if incidents := incidents_of(notifications):
        deciding |= Q(incident_id__in=incidents, status=AlertStatus.OPEN.value)
    return deciding


def deciding_alerts(
    notifications: Sequence[Notification], *, wait: float
) -> tuple[list[DecidingAlert], set[str]]:
    """Lock the alerts of the notifications, and the open alerts of their incidents, by id.

    Alerts that another transaction has locked are left out after `wait` seconds; infinity: never. Return the
    locked alerts, and the ids of the notifications about others.
    """
    deciding = Alert.objects.filter(deciding_alerts_filter(notifications))
    if wait == math.inf:
        return _lock(deciding), set()
    if wait:
        try:
            with transaction.atomic(), statements_within(wait):
                return _lock(deciding), set()
        except OperationalError as error:
            if not took_too_long(error):
                raise
    locked = _lock(deciding, skip_locked=True)
    # A locked alert neither ends nor leaves its incident: with the same number, none was left out.
    if deciding.count() == len(locked):
        return locked, set()
    return locked, _about_others(notifications, locked)


def _lock(deciding: QuerySet[Alert], *, skip_locked: bool = False) -> list[DecidingAlert]:
    rows = deciding.select_for_update(no_key=True, skip_locked=skip_locked).order_by("id")
    return [DecidingAlert(*row) for row in rows.values_list(*DecidingAlert._fields)]


def _about_others(notifications: Sequence[Notification], locked: Iterable[DecidingAlert]) -> set[str]:
    """Return the notifications whose deciding alerts are not all in `locked`, by id."""
    known = {alert.id for alert in locked}
    alerts: set[str | None] = set()
    incidents: set[str | None] = set()
    deciding = Alert.objects.filter(deciding_alerts_filter(notifications))
    for alert_id, incident_id, status in deciding.values_list("id", "incident_id", "status"):
        if alert_id not in known:
            alerts.add(alert_id)
            if status == AlertStatus.OPEN.value:
                incidents.add(incident_id)
    about = leads_of(notifications)
    return {
        row.id
        for row in notifications
        if row.alert_id in alerts or (row.incident_id in about and row.incident_id in incidents)
    }


def alerts_with_incident_state(
    deciding: Iterable[DecidingAlert], notifications: Collection[Notification]
) -> dict[str, Alert]:
    """The alerts of notifications by id; the first alert of an incident represents the incident.

    It is open while an alert of the incident is, and acknowledged until the first of their acknowledgements
    ends. `deciding` are the locked `deciding_alerts`.
    """
    named = {notification.alert_id for notification in notifications if notification.alert_id}
    rows = Alert.objects.select_related("group").filter(Among("id", named)) if named else ()
    found = {alert.id: alert for alert in rows}
    opened: dict[str, list[DecidingAlert]] = defaultdict(list)
    for alert in deciding:
        if alert.incident_id and alert.status == AlertStatus.OPEN.value:
            opened[alert.incident_id].append(alert)
    for incident_id, lead_id in leads_of(notifications).items():
        if lead_id in found:
            found[lead_id] = whole_incident(found[lead_id], opened[incident_id])
    return found


def whole_incident(lead: Alert, opened: Sequence[Alert | DecidingAlert]) -> Alert:
    """A copy of an incident's first alert with the state of the incident; `opened` are its open alerts."""
    whole = copy(lead)
    if opened:
        until = [alert.acknowledged_until for alert in opened]
        known = [moment for moment in until if moment is not None]
        whole.status = AlertStatus.OPEN.value
        whole.acknowledged_until = min(known) if len(known) == len(until) else None
    return whole


def with_its_incident(alert_id: str) -> Q:
    """An alert, and the open alerts of its incident."""
    incident = Alert.objects.filter(id=alert_id).values("incident_id")
    return Q(id=alert_id) | Q(incident_id=Subquery(incident), status=AlertStatus.OPEN.value)


def representing_alert(alert: Alert, alerts: Iterable[Alert]) -> Alert:
    """The alert whose messages are about an alert: itself, or the first alert of its incident.

    `alerts` are `with_its_incident`; they are not read if the alert has no incident.
    """
    incident = Incident.objects.filter(id=alert.incident_id).first() if alert.incident_id else None
    lead = Alert.objects.filter(id=incident.lead_id).first() if incident else None
    if incident is None or lead is None:
        return alert
    opened = {other.id: other for other in alerts if other.status == AlertStatus.OPEN.value}
    current = {**opened, alert.id: alert} if alert.id in opened else opened
    return whole_incident(lead, list(current.values()))


@dataclass(frozen=True, slots=True)
class IncidentSummary:
    """The incident of an alert, for its page: its root in words, and its first alerts, open ones first."""

    ended: datetime | None
    root: str | None
    open: int
    alerts: FirstRows[Alert]


def incident_summary(alert: Alert) -> IncidentSummary | None:
    """The incident of an alert; None if its messages are not grouped."""
    incident = Incident.objects.filter(id=alert.incident_id).first() if alert.incident_id else None
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


def leads_of(notifications: Iterable[Notification]) -> dict[str, str]:
    """The first alerts of the incidents that notifications are about, by incident."""
    return {
        notification.incident_id: notification.alert_id
        for notification in notifications
        if notification.incident_id
        and notification.alert_id
        and notification.part != IncidentPart.FOLDED.value
    }


def open_in(incidents: Collection[str], alerts: Iterable[DecidingAlert]) -> set[str]:
    """The ids of the open alerts of incidents, among these alerts."""
    is_open = AlertStatus.OPEN.value
    return {alert.id for alert in alerts if alert.incident_id in incidents and alert.status == is_open}


def incident_views(
    notifications: Collection[Notification],
    alerts: Iterable[DecidingAlert],
    pictures: Mapping[str, Picture | None],
) -> dict[str, IncidentView]:
    """The incidents of notifications, by id, with their open alerts, which are among `alerts`.

    `pictures` are `last_pictures`. The fleet is read once for all incidents of a project.
    """
    ids = incidents_of(notifications)
    if not ids:
        return {}
    rows = Incident.objects.in_bulk(list(ids))
    members: dict[str, list[DecidingAlert]] = {incident_id: [] for incident_id in rows}
    for alert in sorted(alerts, key=lambda alert: (alert.created, alert.id)):
        if alert.incident_id in members and alert.status == AlertStatus.OPEN.value:
            members[alert.incident_id].append(alert)
    covered = {incident_id: [_covered(alert) for alert in found] for incident_id, found in members.items()}
    roots: dict[str, set[FleetUnit]] = defaultdict(set)
    for notification in notifications:
        if (shown := pictures.get(notification.id)) and (root := root_unit(shown.root)):
            roots[notification.incident_id or ""].add(root)
    together: dict[str, dict[str, set[FleetUnit]]] = defaultdict(dict)
    for incident_id, row in rows.items():
        together[row.group_id][incident_id] = {unit for unit in covered[incident_id] if unit}
    fleets: dict[str, FleetUnits] = {}
    for group_id, units in together.items():
        fleets |= fleets_around(group_id, units, roots)
    return {
        incident_id: IncidentView(row, members[incident_id], covered[incident_id], fleets[incident_id])
        for incident_id, row in rows.items()
    }


def _covered(alert: DecidingAlert) -> FleetUnit | None:
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

    A refused message does not count, except the first: its receiver may accept the next change. Messages of
    the same number of creation are the same message, to several people.
    """
    leads = set(leads_of(notifications).values())
    if not leads:
        return {}
    keys = {notification.id: _message_key(notification) for notification in notifications}
    due = {key for key in keys.values() if key[0] in leads}
    alerts, settings, sequences = zip(*due, strict=True)
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


def is_worth_sending(notification: Notification, view: IncidentView | None, last: Picture | None) -> bool:
    """Return False for an unimportant change of an incident, compared with the last message.

    A change that was tried is tried again, unless it was held back since. Receivers without a message get the
    whole incident with their first message.
    """
    if notification.part != IncidentPart.CHANGE.value or notification.first_attempt:
        return True
    if view is None or last is None or not view.open:
        return False
    return is_important_change(last, view.picture(last))


@dataclass(frozen=True, slots=True)
class IncidentMessage:
    """What the message about an incident says: the picture, and the incident with its open alerts."""

    picture: Picture
    view: IncidentView

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
    """What messages about incidents say, by notification; `last` are the `last_pictures`."""
    found: dict[str, IncidentMessage] = {}
    pictures: dict[tuple[str, Picture | None], Picture] = {}
    for notification in notifications:
        if view := views.get(notification.incident_id or ""):
            # Messages to many people have the same picture.
            key = view.incident.id, last[notification.id]
            if key not in pictures:
                pictures[key] = view.picture(last[notification.id])
            found[notification.id] = IncidentMessage(pictures[key], view)
    return found
