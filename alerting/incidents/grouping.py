"""Lets alerts join and leave incidents, and schedules the messages of these.

Alerts join and leave incidents in the transaction that opens or ends them, under the lock of their project.
So an incident cannot end while an alert joins it. An alert whose configuration groups no alerts is an
incident by itself. Delivery decides what a message says (docs/grouping.md).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from alerting.configs.choices import Grouping
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.destinations.changes import known_destinations
from alerting.engine.choices import IncidentPart, NotificationStatus
from alerting.engine.ledger import IncidentLedger, Ledger
from alerting.engine.models import REMINDERS, Notification
from alerting.engine.schedule import alert_row, schedule_ends
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import GROUPED, Alert, Incident
from alerting.incidents.topology import (
    MOST_ALERTS,
    FleetUnit,
    OpenedAlert,
    OpenIncident,
    Opening,
    Picture,
    UnitKind,
    UnitSearch,
    deciding_labels,
    first_message_due,
    grouped,
    kept_units,
    labels_held,
    unit_searches,
)
from alerting.reasons import NotificationReason
from integrations.choices import MessageKind
from opsapi.batches import batches
from opsapi.clock import AHEAD
from opsapi.fields import Among
from opsapi.ids import derived_id
from opsapi.sql import execute, fetch_rows

Settings = Mapping[str, Sequence[NotificationSetting]]

# --- openings -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JoinedIncidents:
    """How alerts joined incidents.

    `leads`: the alerts that began an incident. `lasting`: the other incidents, by id, each with the first of
    the alerts that joined it.
    """

    leads: set[str] = field(default_factory=set)
    lasting: dict[str, tuple[Incident, OpenedAlert]] = field(default_factory=dict)


def openings_schedule(*, alerts: Sequence[Alert], ledger: Ledger) -> None:
    """Let opened alerts begin or join incidents, and schedule the messages of these.

    The alerts opened when they were last updated. Each is stored with its own id as incident; an alert that
    joins another incident is changed. The caller holds the lock of the project of grouped alerts.
    """
    if not alerts:
        return
    settings = ledger.settings_of_configs({alert.config_id for alert in alerts})
    waits = {config_id: incident_wait(of_config[0].config) for config_id, of_config in settings.items()}
    joined = incidents_join(alerts, waits, ledger)
    _schedule_openings(alerts, joined.leads, settings, waits, ledger)
    _schedule_changes(
        [incident for incident, _ in joined.lasting.values()],
        settings=settings,
        at={incident_id: alert.updated for incident_id, (_, alert) in joined.lasting.items()},
        version={incident_id: alert.id for incident_id, (_, alert) in joined.lasting.items()},
        ledger=ledger,
    )


def incident_wait(config: AlertConfig) -> timedelta | None:
    """How long the messages of an incident wait for more alerts; None if no other alert can join it."""
    if config.grouping != Grouping.TOPOLOGY.value:
        return None
    return timedelta(seconds=config.group_wait_sec)


def incidents_join(
    alerts: Sequence[OpenedAlert], waits: Mapping[str, timedelta | None], ledger: IncidentLedger
) -> JoinedIncidents:
    """Let opened alerts begin or join incidents, by their configuration and project.

    `waits`: how long the messages of an incident wait for more alerts, by configuration; None if no other
    alert can join it.
    """
    joined = JoinedIncidents()
    alone: list[OpenedAlert] = []
    related: dict[tuple[str, str], list[OpenedAlert]] = defaultdict(list)
    for alert in alerts:
        is_alone = waits.get(alert.config_id) is None
        (alone if is_alone else related[alert.config_id, alert.group_id]).append(alert)
    if alone:
        ledger.incidents_begin(alone)
        joined.leads.update(alert.id for alert in alone)
    for (config_id, _), some in sorted(related.items()):
        _join_related(some, waits[config_id] or timedelta(), joined, ledger)
    return joined


_BEGIN = """
INSERT INTO alerting_incident (id, group_id, config_id, lead_id, units, created, grown)
SELECT id, project, config, id, '{}', at, at
  FROM unnest(%(ids)s::text[], %(projects)s::text[], %(configs)s::text[], %(at)s::timestamptz[])
       AS begun(id, project, config, at)
    ON CONFLICT (id) DO NOTHING
"""


def incidents_begin(alerts: Sequence[OpenedAlert]) -> None:
    """Begin an incident for each alert by itself, unless it has begun."""
    values: Mapping[str, Any] = {
        "ids": [alert.id for alert in alerts],
        "projects": [alert.group_id for alert in alerts],
        "configs": [alert.config_id for alert in alerts],
        "at": [alert.updated for alert in alerts],
    }
    execute(_BEGIN, values)


_JOIN = """
UPDATE alerting_alert AS alert SET incident_id = joined.incident
  FROM unnest(%(ids)s::text[], %(incidents)s::text[]) AS joined(id, incident)
 WHERE alert.id = joined.id
"""


MOST_TRIED = 100
"""The most incidents with a unit that are searched for room, the oldest first."""
# A project can have thousands of open incidents of a configuration, with thousands of units. So all are
# compared with all searches at once, by a hash of the keys, and only the results are returned.
_OF_RULE = """
incident.config_id = %(config)s AND incident.group_id = %(group)s AND incident.ended IS NULL
   AND incident.id <> incident.lead_id
"""
# A worker of a version without grouping, during an upgrade, ends alerts and leaves their incident open.
_HAS_ROOM = """
EXISTS (SELECT FROM alerting_alert AS member
         WHERE member.incident_id = related.id AND member.status = 'OPEN')
   AND NOT EXISTS (SELECT FROM alerting_alert AS member
                    WHERE member.incident_id = related.id AND member.status = 'OPEN'
                   OFFSET %(most)s - 1)
"""
# As `OpenIncident.may_relate`.
_LABEL_RELATES = "incident.created <= search.at + %(ahead)s AND incident.created > search.at - %(wait)s"
_AGENT_RELATES = "incident.grown <= search.at + %(ahead)s AND incident.grown >= search.at - %(wait)s"
_RECENT_LABELS = f"""
WITH matching AS MATERIALIZED (
     SELECT incident.id, unit.key,
            row_number() OVER (PARTITION BY unit.key ORDER BY incident.created, incident.id) AS place
       FROM (SELECT %(at)s::timestamptz AS at) AS search
       JOIN alerting_incident AS incident ON {_OF_RULE} AND {_LABEL_RELATES}
      CROSS JOIN LATERAL unnest(incident.units) AS unit (key)
       JOIN unnest(%(keys)s::text[]) AS label (key) ON label.key = unit.key
)
SELECT DISTINCT matching.key
  FROM matching JOIN (
       SELECT related.id
         FROM (SELECT DISTINCT id FROM matching WHERE place <= %(tried)s) AS related
        WHERE {_HAS_ROOM}) AS related USING (id)
"""  # noqa: S608 - built from constants
_TO_JOIN = f"""
WITH matching AS MATERIALIZED (
     SELECT incident.id, incident.created, incident.lead_id, search.number,
            row_number() OVER (PARTITION BY search.number ORDER BY incident.created, incident.id) AS place
       FROM alerting_incident AS incident
      CROSS JOIN LATERAL unnest(incident.units) AS unit (key)
       JOIN unnest(%(keys)s::text[], %(kinds)s::text[], %(at)s::timestamptz[])
            WITH ORDINALITY AS search (key, kind, at, number) ON search.key = unit.key
      WHERE {_OF_RULE}
        AND CASE search.kind WHEN %(label)s THEN {_LABEL_RELATES}
                             WHEN %(agent)s THEN {_AGENT_RELATES}
                             ELSE true END
), related AS MATERIALIZED (
     SELECT related.id, related.created, lead.target_key AS target
       FROM (SELECT DISTINCT id, created, lead_id FROM matching WHERE place <= %(tried)s) AS related
       LEFT JOIN alerting_alert AS lead ON lead.id = related.lead_id
      WHERE {_HAS_ROOM}
), first AS (
     SELECT DISTINCT ON (matching.number) related.*
       FROM matching JOIN related USING (id)
      ORDER BY matching.number, related.created, related.target, related.id
)
SELECT incident.id, incident.group_id, incident.config_id, incident.lead_id, incident.units,
       incident.created, incident.grown, incident.ended
  FROM (SELECT DISTINCT id, created, target FROM first) AS first
  JOIN alerting_incident AS incident ON incident.id = first.id
 ORDER BY first.created, first.target, first.id
"""  # noqa: S608 - built from constants


def labels_of_recent(
    config_id: str, group_id: str, labels: Collection[FleetUnit], *, at: datetime, wait: timedelta
) -> frozenset[str]:
    """Return the keys of these labels that incidents have which an alert at `at` can join by a label."""
    if not labels:
        return frozenset()
    values: Mapping[str, Any] = {
        **_of_rule(config_id, group_id, wait),
        "keys": [label.key for label in labels],
        "at": at,
    }
    return frozenset(key for (key,) in fetch_rows(_RECENT_LABELS, values))


def incidents_to_join(
    config_id: str, group_id: str, searches: Collection[UnitSearch], *, wait: timedelta
) -> list[Incident]:
    """Return, of the incidents of a configuration and project, the results of searches, the oldest first.

    The result of a search is the oldest incident that an alert can join.
    """
    values: Mapping[str, Any] = {
        **_of_rule(config_id, group_id, wait),
        "keys": [search.unit.key for search in searches],
        "kinds": [search.unit.kind.value for search in searches],
        "at": [search.at for search in searches],
        "label": UnitKind.LABEL.value,
        "agent": UnitKind.AGENT.value,
    }
    return list(Incident.objects.raw(_TO_JOIN, values)) if searches else []


def _of_rule(config_id: str, group_id: str, wait: timedelta) -> Mapping[str, Any]:
    return {
        "config": config_id,
        "group": group_id,
        "wait": wait,
        "ahead": AHEAD,
        "most": MOST_ALERTS,
        "tried": MOST_TRIED,
    }


def incidents_save(incidents: Sequence[Incident]) -> None:
    """Write new incidents, and incidents that have grown."""
    Incident.objects.bulk_create(
        incidents,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["group", "config_id", "lead", "units", "created", "grown", "ended"],
    )


def alerts_join(alerts: Sequence[OpenedAlert]) -> None:
    """Write the incidents of alerts."""
    incidents = [alert.incident_id for alert in alerts]
    execute(_JOIN, {"ids": [alert.id for alert in alerts], "incidents": incidents})


def _join_related(
    alerts: Sequence[OpenedAlert], wait: timedelta, joined: JoinedIncidents, ledger: IncidentLedger
) -> None:
    """Let alerts of one configuration and project join the incidents of related alerts."""
    units = ledger.alert_units(alerts)
    by_id = {alert.id: alert for alert in alerts}
    in_order = sorted(alerts, key=lambda alert: (alert.created, alert.target_key))
    openings = [Opening(alert.id, units[alert.id], alert.updated) for alert in in_order]
    config_id, group_id = alerts[0].config_id, alerts[0].group_id
    held, at = labels_held(openings), min(opening.at for opening in openings)
    recent = ledger.labels_of_recent(config_id, group_id, held.keys(), at=at, wait=wait)
    labels = ledger.labels_of_a_part(group_id, deciding_labels(held, recent))
    searches = unit_searches(openings, labels)
    known = {row.id: row for row in ledger.incidents_to_join(config_id, group_id, searches, wait=wait)}
    still_open = [OpenIncident.of(row) for row in known.values()]
    written = []
    for incident_id, group in grouped(openings, still_open, wait=wait, labels=labels):
        members = [by_id[opening.alert_id] for opening in group]
        incident = known[incident_id] if incident_id else _begin(members)
        if incident_id:
            joined.lasting.setdefault(incident_id, (incident, members[0]))
        else:
            joined.leads.add(members[0].id)
        incident.units = kept_units(incident.units, group)
        incident.grown = max(incident.grown, *(alert.updated for alert in members))
        written.append(incident)
        for alert in members:
            alert.incident_id = incident.id
    # Several groups can join an incident.
    ledger.incidents_save(list({incident.id: incident for incident in written}.values()))
    ledger.alerts_join(alerts)


def _begin(members: Sequence[OpenedAlert]) -> Incident:
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


def _schedule_openings(
    alerts: Sequence[Alert],
    leads: Collection[str],
    settings: Settings,
    waits: Mapping[str, timedelta | None],
    ledger: Ledger,
) -> None:
    """Schedule the first message of each new incident, and note for the other alerts where they are said."""
    due = [
        (alert, setting, first_message_due(alert.created, alert.updated, delay=setting.delay, wait=wait))
        for alert in alerts
        for wait in [waits.get(alert.config_id) or timedelta()]
        for setting in settings.get(alert.config_id, ())
    ]
    destinations = known_destinations(
        (
            (setting, alert.group_id, alert.is_global)
            for alert, setting, at in due
            if alert.id in leads and at <= alert.updated
        ),
        ledger=ledger,
    )
    rows = []
    for alert, setting, at in due:
        row = alert_row(setting, MessageKind.OPEN, alert, due=at, now=alert.updated)
        if alert.id in leads:
            row.destination = destinations.get((setting.id, alert.group_id, alert.is_global), "")
        else:
            row.status, row.due = NotificationStatus.DROPPED.value, alert.updated
            row.reason = NotificationReason.IN_INCIDENT.value
        rows.append(row)
    ledger.insert(rows)


def _schedule_changes(
    incidents: Sequence[Incident],
    *,
    settings: Settings,
    at: Mapping[str, datetime],
    version: Mapping[str, str],
    ledger: Ledger,
) -> None:
    """Let delivery decide, after the wait, whether incidents have important changes.

    A message that waits and is not being sent says it anyway; it is locked, so that it is not sent before the
    change is committed. If it is muted, it is decided again, because the incident may not be muted any more.
    """
    if not incidents:
        return
    waiting = _waiting(incidents, ledger)
    leads = ledger.alerts([incident.lead_id for incident in incidents])
    rows = []
    for incident in incidents:
        for setting in settings.get(incident.config_id, ()):
            moment = at[incident.id]
            due = moment + timedelta(seconds=setting.config.group_wait_sec)
            lead = leads.get(incident.lead_id)
            if known := waiting.get((incident.id, setting.id)):
                for message in known:
                    if message.silenced_by and message.due > due:
                        ledger.due_at(message, due)
            if lead is None or known:
                continue
            number = f"change {version[incident.id]}"
            row = alert_row(setting, MessageKind.UPDATE, lead, due=due, now=moment, number=number)
            row.part = IncidentPart.CHANGE.value
            rows.append(row)
    ledger.insert(rows)


def _pending_messages(incidents: Sequence[Incident]) -> QuerySet[Notification]:
    """The messages about incidents that nobody is sending; all belong to the first alerts."""
    return Notification.objects.filter(
        Among("alert_id", {incident.lead_id for incident in incidents}),
        Among("incident_id", {incident.id for incident in incidents}),
        status=NotificationStatus.PENDING.value,
        lease_token=None,
    )


def _waiting(incidents: Sequence[Incident], ledger: Ledger) -> dict[tuple[str, str], list[Notification]]:
    """The first messages and changes that wait, by incident and setting; locks these."""
    waiting: dict[tuple[str, str], list[Notification]] = {}
    for row in ledger.messages_wait(incidents):
        waiting.setdefault((str(row.incident_id), row.setting_id), []).append(row)
    return waiting


def messages_wait(incidents: Sequence[Incident]) -> list[Notification]:
    """Lock the first messages and changes of incidents that wait, and return them."""
    # A message to one address of several says nothing to the others.
    to_all = _pending_messages(incidents).filter(Q(channel=None) | Q(channel=F("type_name")))
    return list(to_all.exclude(REMINDERS).select_for_update().order_by("id"))


def due_at(message: Notification, due: datetime) -> None:
    """Write the due time of a locked notification."""
    message.due = due
    message.save(update_fields=["due"])


# --- ends ---------------------------------------------------------------------------------------------


# The end of an alert in a late report comes before the platform knows of it.
_END = """
UPDATE alerting_incident AS incident
   SET ended = coalesce((SELECT max(alert.resolved) FROM alerting_alert AS alert
                          WHERE alert.incident_id = incident.id), left_by.at)
  FROM unnest(%(ids)s::text[], %(at)s::timestamptz[]) AS left_by(id, at)
 WHERE incident.id = left_by.id AND incident.ended IS NULL
RETURNING incident.id, incident.lead_id, left_by.at
"""


class EndedIncident(NamedTuple):
    """An incident that has ended. `lead_id`: its first alert. `kind`: the kind of its last messages.

    `at`: when the platform knew of the end.
    """

    id: str
    lead_id: str
    at: datetime
    kind: MessageKind


class LeftIncidents(NamedTuple):
    """The incidents of alerts that ended: `lasting` incidents have other open alerts."""

    ended: Sequence[EndedIncident] = ()
    lasting: Sequence[Incident] = ()


def ends_schedule(
    *, alerts: Sequence[Alert], at: Mapping[str, datetime], kind: MessageKind, ledger: Ledger
) -> None:
    """Schedule the messages of alerts that end with `kind`; an incident ends with its last open alert.

    `at` is when the platform knew of each end, by alert id. The ends are written already. Alerts that never
    opened have no incident and no messages.
    """
    left = incidents_leave(alerts=alerts, at=at, kind=kind, ledger=ledger)
    for end_kind in (MessageKind.CLOSE, MessageKind.CANCEL):
        ended = {incident.lead_id: incident.at for incident in left.ended if incident.kind is end_kind}
        schedule_ends(ended=ended, kind=end_kind, ledger=ledger)
    if not left.lasting:
        return
    last = {alert.incident_id: alert.id for alert in alerts}
    _schedule_changes(
        left.lasting,
        settings=ledger.settings_of_configs({incident.config_id for incident in left.lasting}),
        at={incident.id: at[last[incident.id]] for incident in left.lasting},
        version={incident.id: f"{last[incident.id]} ended" for incident in left.lasting},
        ledger=ledger,
    )


def incidents_leave(
    *, alerts: Sequence[OpenedAlert], at: Mapping[str, datetime], kind: MessageKind, ledger: IncidentLedger
) -> LeftIncidents:
    """Let alerts that ended leave their incidents; an incident ends with its last open alert.

    `at` is when the platform knew of each end, by alert id. The ends are written already. An incident whose
    last alerts ended with CANCEL is closed if another of its alerts was closed.
    """
    moments = {alert.incident_id: at[alert.id] for alert in alerts if alert.incident_id}
    if not moments:
        return LeftIncidents()
    # No other transaction ends the other alerts meanwhile: the caller has the lock of the project. A join in
    # `_END` could take the square of the alerts, if PostgreSQL does not know yet how many are open.
    lasting_ids = ledger.incidents_with(AlertStatus.OPEN, among=moments)
    over = {name: moment for name, moment in moments.items() if name not in lasting_ids}
    ended = ledger.incidents_end(over) if over else []
    closed = {incident_id for incident_id, _, _ in ended}
    if kind is MessageKind.CANCEL and ended:
        closed = ledger.incidents_with(AlertStatus.CLOSED, among=closed)
    others = moments.keys() - over.keys()
    return LeftIncidents(
        [EndedIncident(*row, MessageKind.CLOSE if row[0] in closed else MessageKind.CANCEL) for row in ended],
        ledger.incidents_lock(others) if others else [],
    )


def incidents_with(status: AlertStatus, *, among: Collection[str]) -> set[str]:
    """Return which of these incidents have an alert with the status."""
    members = Alert.objects.filter(Among("incident_id", among), status=status.value)
    return {str(incident_id) for incident_id in members.values_list("incident_id", flat=True).distinct()}


def incidents_end(at: Mapping[str, datetime]) -> list[tuple[str, str, datetime]]:
    """End incidents with their last alerts. Return each that had not ended, with its first alert and `at`."""
    ended = fetch_rows(_END, {"ids": list(at), "at": list(at.values())})
    return [(incident_id, lead_id, moment) for incident_id, lead_id, moment in ended]


def incidents_lock(ids: Collection[str]) -> list[Incident]:
    """Lock the incidents that have not ended among these, and return them."""
    rows = Incident.objects.filter(Among("id", ids), ended=None).order_by("id")
    return list(rows.select_for_update())


UNGROUPED_AT_ONCE = 200
"""The most incidents that are notified together: each can have dozens of messages."""


def incidents_ungroup(*, config: AlertConfig, now: datetime, ledger: Ledger) -> None:
    """Notify each open incident of the configuration once more, with all its open alerts.

    Its incidents last until their alerts end; no alert joins them. The caller holds the lock of the
    configuration.
    """
    settings = list(config.settings.all())
    for ids in batches(ledger.incidents_grouped(config.id), UNGROUPED_AT_ONCE):
        _ungroup(ledger.incidents_lock(ids), settings, now, ledger)


def _ungroup(
    incidents: Sequence[Incident], settings: Sequence[NotificationSetting], now: datetime, ledger: Ledger
) -> None:
    waiting = _waiting(incidents, ledger)
    ungrouped = IncidentPart.UNGROUPED.value
    ledger.changes_become(ungrouped, incidents, now=now)
    leads = ledger.alerts([incident.lead_id for incident in incidents])
    rows = []
    for incident in incidents:
        for setting in settings if incident.lead_id in leads else ():
            if (incident.id, setting.id) not in waiting:
                lead, number = leads[incident.lead_id], f"ungrouped {now.isoformat()}"
                row = alert_row(setting, MessageKind.UPDATE, lead, due=now, now=now, number=number)
                row.part = ungrouped
                rows.append(row)
    ledger.insert(rows)


def incidents_grouped(config_id: str) -> list[str]:
    """Return the ids of the open incidents of a configuration that group alerts, in their order."""
    # The incident of cancelled alerts ends when a worker writes its messages.
    is_open = Exists(Alert.objects.filter(incident_id=OuterRef("id"), status=AlertStatus.OPEN.value))
    lasting = Incident.objects.filter(GROUPED, is_open, config_id=config_id, ended=None)
    return list(lasting.order_by("id").values_list("id", flat=True))


def changes_become(part: str, incidents: Sequence[Incident], *, now: datetime) -> None:
    """Give the messages about changes of incidents that wait another part, created and due now."""
    changes = _pending_messages(incidents).filter(part=IncidentPart.CHANGE.value)
    changes.update(part=part, created=now, due=now)


_KEEP_PICTURES = """
UPDATE alerting_notification AS message SET said_members = picture.members, said_root = picture.root
  FROM unnest(%(ids)s::text[], %(members)s::integer[], %(roots)s::text[]) AS picture(id, members, root)
 WHERE message.id = picture.id
"""


def pictures_keep(pictures: Mapping[str, Picture]) -> None:
    """Keep the pictures that messages show, by notification; the caller has their leases."""
    values: Mapping[str, Any] = {
        "ids": list(pictures),
        "members": [picture.members for picture in pictures.values()],
        "roots": [picture.root for picture in pictures.values()],
    }
    execute(_KEEP_PICTURES, values)
