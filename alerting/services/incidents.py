"""Schedules the messages of alerts: of each alert, or of its incident if its configuration groups them.

Alerts join and leave incidents in the transaction that opens or ends them, under the lock of their project.
So an incident cannot end while an alert joins it. Delivery decides what a message says (docs/grouping.md).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from alerting.choices import AlertStatus, DropReason, Grouping, IncidentPart, NotificationStatus
from alerting.models import Alert, AlertConfig, Incident, Notification, NotificationSetting
from alerting.rules.topology import (
    OpenIncident,
    Opening,
    Picture,
    deciding_labels,
    first_message_due,
    grouped,
    kept_units,
)
from alerting.selectors.fleet_units import alert_units, labels_of_a_part
from alerting.services.notifications import (
    alert_row,
    notifications_insert,
    schedule_end_for_notified,
    schedule_separate_openings,
    settings_of_configs,
)
from integrations.choices import MessageKind
from opsapi.fields import Among
from opsapi.ids import derived_id
from opsapi.sql import execute

Settings = Mapping[str, Sequence[NotificationSetting]]

_JOIN = """
UPDATE alerting_alert AS alert SET incident_id = joined.incident
  FROM unnest(%(ids)s::text[], %(incidents)s::text[]) AS joined(id, incident)
 WHERE alert.id = joined.id
"""


def openings_schedule(*, alerts: Sequence[Alert]) -> None:
    """Schedule the messages of opened alerts, which opened when they were last updated.

    The caller holds the lock of the project of grouped alerts.
    """
    if not alerts:
        return
    settings = settings_of_configs({alert.config_id for alert in alerts})
    waits = {
        config_id: timedelta(seconds=found[0].config.group_wait_sec)
        for config_id, found in settings.items()
        if found[0].config.grouping == Grouping.TOPOLOGY.value
    }
    separate = [alert for alert in alerts if alert.config_id not in waits]
    schedule_separate_openings(alerts=separate, settings=settings)
    together: dict[tuple[str, str], list[Alert]] = {}
    for alert in alerts:
        if alert.config_id in waits:
            together.setdefault((alert.config_id, alert.group_id), []).append(alert)
    for (config_id, _), joining in sorted(together.items()):
        _join(joining, settings[config_id], waits[config_id])


def _join(alerts: Sequence[Alert], settings: Sequence[NotificationSetting], wait: timedelta) -> None:
    """Let alerts of one configuration and project join incidents, and schedule their messages."""
    units = alert_units(alerts)
    by_id = {alert.id: alert for alert in alerts}
    in_order = sorted(alerts, key=lambda alert: (alert.created, alert.target_key))
    openings = [Opening(alert.id, units[alert.id], alert.updated) for alert in in_order]
    # A worker of a version without grouping, during an upgrade, ends alerts and leaves their incident open.
    is_open = Exists(Alert.objects.filter(incident_id=OuterRef("id"), status=AlertStatus.OPEN.value))
    lasting = Incident.objects.filter(
        is_open, config_id=alerts[0].config_id, group_id=alerts[0].group_id, ended=None
    )
    first_target = Alert.objects.filter(id=OuterRef("lead_id")).values("target_key")
    known = {row.id: row for row in lasting.order_by("created", Subquery(first_target), "id")}
    still_open = [
        OpenIncident(row.id, frozenset(row.units), row.created, row.grown) for row in known.values()
    ]
    changed: dict[str, Alert] = {}
    begun: list[Alert] = []
    deciding = deciding_labels(openings, still_open, wait=wait)
    labels = labels_of_a_part(alerts[0].group_id, deciding)
    for incident_id, group in grouped(openings, still_open, wait=wait, labels=labels):
        members = [by_id[opening.alert_id] for opening in group]
        incident = known[incident_id] if incident_id else _begin(members)
        if incident_id:
            changed.setdefault(incident_id, members[0])
        else:
            begun.append(members[0])
        incident.units = kept_units(incident.units, group)
        incident.grown = max(incident.grown, *(alert.updated for alert in members))
        incident.save()
        for alert in members:
            alert.incident_id = incident.id
    _keep(alerts)
    _schedule_first_messages(alerts, {alert.id for alert in begun}, settings, wait)
    _schedule_changes(
        [known[incident_id] for incident_id in changed],
        settings={alerts[0].config_id: settings},
        at={incident_id: alert.updated for incident_id, alert in changed.items()},
        version={incident_id: alert.id for incident_id, alert in changed.items()},
    )


def _begin(members: Sequence[Alert]) -> Incident:
    """A new incident, which is not saved; its id follows from its first alert."""
    lead = members[0]
    return Incident(
        id=derived_id(lead.id, "incident"),
        group_id=lead.group_id,
        config_id=lead.config_id,
        lead_id=lead.id,
        created=lead.updated,
        grown=lead.updated,
    )


def _keep(alerts: Sequence[Alert]) -> None:
    ids, incidents = [alert.id for alert in alerts], [alert.incident_id for alert in alerts]
    execute(_JOIN, {"ids": ids, "incidents": incidents})


def _schedule_first_messages(
    alerts: Iterable[Alert], begun: Collection[str], settings: Sequence[NotificationSetting], wait: timedelta
) -> None:
    """Schedule the first message of each new incident, and note for the other alerts where they are said."""
    rows = []
    for alert in alerts:
        for setting in settings:
            due = first_message_due(alert.created, alert.updated, delay=setting.delay, wait=wait)
            row = alert_row(setting, MessageKind.OPEN, alert, due=due, now=alert.updated)
            if alert.id not in begun:
                row.status, row.part = NotificationStatus.DROPPED.value, IncidentPart.FOLDED.value
                row.due, row.reason = alert.updated, DropReason.IN_INCIDENT.value
            rows.append(row)
    notifications_insert(rows)


def _schedule_changes(
    incidents: Sequence[Incident],
    *,
    settings: Settings,
    at: Mapping[str, datetime],
    version: Mapping[str, str],
) -> None:
    """Let delivery decide, after the wait, whether incidents have important changes.

    A message that waits and is not being sent says it anyway; it is locked, so that it is not sent before the
    change is committed. If it is muted, it is decided again, because the incident may not be muted any more.
    """
    if not incidents:
        return
    waiting = _waiting(incidents)
    leads = Alert.objects.in_bulk([incident.lead_id for incident in incidents])
    rows = []
    for incident in incidents:
        for setting in settings.get(incident.config_id, ()):
            moment = at[incident.id]
            due = moment + timedelta(seconds=setting.config.group_wait_sec)
            lead = leads.get(incident.lead_id)
            if known := waiting.get((incident.id, setting.id)):
                for message in known:
                    if message.silenced_by and message.due > due:
                        message.due = due
                        message.save(update_fields=["due"])
            if lead is None or known:
                continue
            number = f"change {version[incident.id]}"
            row = alert_row(setting, MessageKind.UPDATE, lead, due=due, now=moment, number=number)
            row.part = IncidentPart.CHANGE.value
            rows.append(row)
    notifications_insert(rows)


def _pending_messages(incidents: Sequence[Incident]) -> QuerySet[Notification]:
    """The messages about incidents that nobody is sending; all belong to the first alerts."""
    return Notification.objects.filter(
        Among("alert_id", {incident.lead_id for incident in incidents}),
        Among("incident_id", {incident.id for incident in incidents}),
        status=NotificationStatus.PENDING.value,
        lease_token=None,
    )


def _waiting(incidents: Sequence[Incident]) -> dict[tuple[str, str], list[Notification]]:
    """The first messages and changes that wait, by incident and setting; locks these."""
    # A message to one address of several says nothing to the others.
    to_all = _pending_messages(incidents).filter(Q(channel=None) | Q(channel=F("type_name")))
    kept = to_all.exclude(kind=MessageKind.UPDATE.value, part=None).exclude(part=IncidentPart.FOLDED.value)
    found: dict[tuple[str, str], list[Notification]] = {}
    for row in kept.select_for_update().order_by("id"):
        found.setdefault((str(row.incident_id), row.setting_id), []).append(row)
    return found


# --- ends ---------------------------------------------------------------------------------------------


def ends_schedule(*, alerts: Sequence[Alert], at: Mapping[str, datetime], kind: MessageKind) -> None:
    """Schedule the messages of alerts that end; an incident ends with its last open alert.

    `at` is the time of each end, by alert id. The ends are written already.
    """
    separate = {alert.id: at[alert.id] for alert in alerts if not alert.incident_id}
    schedule_end_for_notified(ended=separate, kind=kind)
    left: dict[str, Alert] = {alert.incident_id: alert for alert in alerts if alert.incident_id}
    if not left:
        return
    members = Alert.objects.filter(Among("incident_id", left))
    still_open = set(members.filter(status=AlertStatus.OPEN.value).values_list("incident_id", flat=True))
    rows = Incident.objects.filter(Among("id", left), ended=None).order_by("id")
    incidents = list(rows.select_for_update())
    moments = {incident_id: at[alert.id] for incident_id, alert in left.items()}
    _end([incident for incident in incidents if incident.id not in still_open], moments)
    lasting = [incident for incident in incidents if incident.id in still_open]
    if lasting:
        _schedule_changes(
            lasting,
            settings=settings_of_configs({incident.config_id for incident in lasting}),
            at=moments,
            version={incident_id: f"{alert.id} ended" for incident_id, alert in left.items()},
        )


def _end(incidents: Sequence[Incident], at: Mapping[str, datetime]) -> None:
    """End incidents. Cancelled are incidents of which no alert was closed."""
    if not incidents:
        return
    for incident in incidents:
        Incident.objects.filter(id=incident.id).update(ended=at[incident.id])
    closed_alerts = Alert.objects.filter(
        Among("incident_id", {incident.id for incident in incidents}), status=AlertStatus.CLOSED.value
    )
    closed = set(closed_alerts.values_list("incident_id", flat=True))
    for kind in (MessageKind.CLOSE, MessageKind.CANCEL):
        of_kind = [row for row in incidents if (row.id in closed) == (kind is MessageKind.CLOSE)]
        schedule_end_for_notified(ended={row.lead_id: at[row.id] for row in of_kind}, kind=kind)


def incidents_ungroup(*, config: AlertConfig, now: datetime) -> None:
    """Notify each open incident of the configuration once more, with all its open alerts.

    Its incidents last until their alerts end; no alert joins them. The caller holds the lock of the
    configuration.
    """
    settings = list(config.settings.all())
    incidents = list(Incident.objects.filter(config_id=config.id, ended=None).order_by("id"))
    waiting = _waiting(incidents)
    ungrouped = IncidentPart.UNGROUPED.value
    changes = _pending_messages(incidents).filter(part=IncidentPart.CHANGE.value)
    changes.update(part=ungrouped, due=now)
    leads = Alert.objects.in_bulk([incident.lead_id for incident in incidents])
    rows = []
    for incident in incidents:
        for setting in settings if incident.lead_id in leads else ():
            if (incident.id, setting.id) not in waiting:
                lead, number = leads[incident.lead_id], f"ungrouped {now.isoformat()}"
                row = alert_row(setting, MessageKind.UPDATE, lead, due=now, now=now, number=number)
                row.part = ungrouped
                rows.append(row)
    notifications_insert(rows)


_KEEP_PICTURES = """
UPDATE alerting_notification AS message SET said_members = picture.members, said_root = picture.root
  FROM unnest(%(ids)s::text[], %(members)s::integer[], %(roots)s::text[]) AS picture(id, members, root)
 WHERE message.id = picture.id
"""


def pictures_keep(pictures: Mapping[str, Picture]) -> None:
    """Keep the pictures that messages show, by notification; the caller has their leases."""
    if not pictures:
        return
    kept = list(pictures.values())
    values: Mapping[str, Any] = {
        "ids": list(pictures),
        "members": [picture.members for picture in kept],
        "roots": [picture.root for picture in kept],
    }
    execute(_KEEP_PICTURES, values)
