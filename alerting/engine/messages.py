"""Builds the message that a channel sends for a notification: the alert's or event's document, and facts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.conf import settings as django_settings
from django.core.exceptions import ObjectDoesNotExist

from accesslist.models import Project
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.configs.rules import MetricThreshold
from alerting.configs.store import config_view
from alerting.configs.wording import compared_words, comparison, config_words, limit_words, value_words
from alerting.engine.ledger import EarlierMessages
from alerting.engine.models import Notification
from alerting.engine.observations import OF_PLANS
from alerting.engine.opening_events import REMEDY, labelled, opening_facts
from alerting.engine.transition import ConfigView
from alerting.incidents.models import Alert, Incident
from alerting.incidents.resource import AlertDocument
from alerting.incidents.store import IncidentMessage, IncidentView, row_of
from alerting.incidents.topology import RECOVERED, Picture, root_words
from automation.metrics import Metric
from events.log.resource import GLOBAL_EVENTS, EventDocument
from events.log.store import EventRow, event_row
from events.models import Event
from events.types import EventType, Severity, severity_of
from events.wording import acting, in_words, sentence, target_of, target_words
from integrations.choices import ENDS, MessageKind
from integrations.messages import Message
from opsapi.api.links import Links
from opsapi.clock import age_words, parse_time, time_words, wire_time
from opsapi.hostnames import host_and_port
from opsapi.own_url import own_url
from opsapi.page_paths import CONSOLE_PATH
from opsapi.wire_json import without_nulls

MOST_ALERTS_NAMED = 100
"""The most alerts that the message about an incident names."""


def messages_of(
    notifications: Sequence[Notification],
    *,
    incidents: Mapping[str, IncidentMessage],
    settings: Iterable[NotificationSetting],
    now: datetime,
) -> dict[str, Message]:
    """Build the messages of notifications at `now`, by notification id.

    Messages whose alert, event or project was deleted are left out. `incidents` are what messages about
    alerts say, by notification id. `settings` are the notification settings that still exist.
    """
    alerts = _shown_alerts(incidents.values())
    known = {setting.id: setting.config for setting in settings}
    configs = {config.id: config for config in known.values()}
    if others := {alert.config_id for alert in alerts.values()} - configs.keys():
        configs |= AlertConfig.objects.in_bulk(others)
    messages: dict[str, Message] = {}
    for notification in notifications:
        incident = incidents.get(notification.id)
        if incident is not None and (alert := alerts.get(incident.alert_id)):
            config = configs.get(alert.config_id)
            messages[notification.id] = _of_alert(notification, alert, config, incident, now=now)
        elif not notification.alert_id:
            with suppress(ObjectDoesNotExist):
                messages[notification.id] = _of_event(notification, known.get(notification.setting_id))
    return messages


def _shown_alerts(incidents: Collection[IncidentMessage]) -> dict[str, Alert]:
    """The alerts whose documents the messages have, by id."""
    leads = {incident.view.lead.id: incident.view.lead for incident in incidents}
    ids = {incident.alert_id for incident in incidents}
    others = ids - leads.keys()
    alerts = {**leads, **Alert.objects.select_related("group").in_bulk(others)} if others else leads
    return {alert_id: alerts[alert_id] for alert_id in ids if alert_id in alerts}


def _times(incident: Incident) -> dict[str, str]:
    times = {"created": wire_time(_begun(incident))}
    return {**times, "resolved": wire_time(incident.ended)} if incident.ended else times


def _begun(incident: Incident) -> datetime:
    """When its first alert was observed. A late report comes after that."""
    return min(incident.created, incident.lead.created)


def _with_picture(message: Message, view: IncidentView, picture: Picture) -> Message:
    """The message about an incident that groups alerts, from the message about its alert."""
    root = root_words(picture.root)
    named = incident_facts(
        root,
        [alert.facts for alert in view.open[:TARGETS_NAMED]],
        len(view.open),
        has_recovered=picture.root == RECOVERED,
    )
    document = {
        **message.document,
        "incident": without_nulls(
            {
                "id": view.incident.id,
                "root": root,
                "severity": message.severity.value,
                "alertCount": len(view.open),
                "alertIds": [alert.id for alert in view.open[:MOST_ALERTS_NAMED]],
            }
        ),
    }
    return replace(
        message,
        occurred_at=view.incident.ended or _begun(view.incident),
        document=document,
        headline=incident_headline(message.headline, len(view.open)),
        target=root or message.target,
        known={**message.known, **named},
    )


def with_earlier_messages(message: Message, earlier: EarlierMessages) -> Message:
    """The message that changes an earlier message about its alert.

    It says when the alert was acknowledged, because the message that said so is no longer there. While the
    alert is open, it does so only as long as the acknowledgement counts.
    """
    known = message.known
    if earlier.acknowledged and ("Acknowledged until" in known or message.kind in ENDS):
        known = with_acknowledgement(known, earlier.acknowledged)
    return replace(message, handle=earlier.handle, known=known)


def message_of_test(config: AlertConfig, *, event_id: str, now: datetime) -> Message:
    """The message of a test: the event that records the test, marked as a test."""
    # Never saved: the log only has alerts and events.
    unsaved = Notification(
        group_id=config.group_id, event_id=event_id, kind=MessageKind.INFORM.value, created=now
    )
    message = _of_event(unsaved, config)
    return replace(
        message,
        severity=Severity.INFO,
        event_type_name=config.event_type,
        headline=in_words(config.event_type),
        known=facts_of_test(message.document, config_view(config), project=message.project_name),
        # The test of a configuration that is not stored yet.
        config_link=None if config._state.adding else _page(_links(), "alerting/alertconfig", config.id),
        is_test=True,
    )


def message_of_report(event: Event, *, title: str, path: str, now: datetime) -> Message:
    """The message of a report without its lines: the event that records its sending, and a link to a page."""
    unsaved = Notification(
        group_id=event.group_id, event_id=event.id, kind=MessageKind.INFORM.value, created=now
    )
    message = _of_event(unsaved, None)
    link = f"{_links().base}{path}"
    return replace(message, severity=Severity.INFO, headline=title, known={}, link=link)


def with_report(message: Message, report: Mapping[str, Sequence[str]]) -> Message:
    """The message with the lines of a report, for people and in its document."""
    sections = [{"title": title, "lines": list(lines)} for title, lines in report.items()]
    member = {"title": message.headline, "sections": sections}
    return replace(message, document={**message.document, "report": member}, report=report)


def _of_alert(
    notification: Notification,
    alert: Alert,
    config: AlertConfig | None,
    incident: IncidentMessage,
    *,
    now: datetime,
) -> Message:
    """Return the message about an incident, whose document is of the alert.

    `config` is its configuration, if it still exists.
    """
    links, kind = _links(), MessageKind(notification.kind)
    opening = _opening(alert, kind)
    document = AlertDocument.present(row_of(alert), links, now=now)
    document |= {"opening": opening} if opening else {}
    # A change of a configuration ends its alerts: it may be another since the alert.
    is_same = config is not None and (alert.resolved is None or config.updated < alert.resolved)
    current = config if is_same else None
    view = config_view(current) if current else None
    timed = document | _times(incident.view.incident) if incident.picture else document
    message = Message(
        delivery_id=notification.id,
        kind=kind,
        occurred_at=alert.resolved or alert.created,
        thread_key=incident.view.incident.id,
        document=document,
        event_type_name=alert.event_type,
        severity=incident.view.severity or alert.effective_severity,
        headline=alert_headline(timed, view, kind=kind, now=now),
        known=alert_facts(
            timed, view, project=alert.group.name, opening=labelled(opening) if opening else {}
        ),
        project_name=alert.group.name,
        target=target_of(document),
        link=_page(links, "alerting/alert", alert.id),
        config_link=_page(links, "alerting/alertconfig", config.id)
        if config and config.deleted is None
        else None,
        description=current.description if current else "",
        runbook_url=current.runbook_url or None if current else None,
    )
    return _with_picture(message, incident.view, incident.picture) if incident.picture else message


def _opening(alert: Alert, kind: MessageKind) -> Mapping[str, str]:
    """The facts of the event that opened the alert. At its end, nothing is left to do."""
    facts = opening_facts(alert) if alert.event_type in OF_PLANS else {}
    return {name: text for name, text in facts.items() if kind not in ENDS or name != REMEDY}


def _of_event(notification: Notification, config: AlertConfig | None) -> Message:
    """Return the message about an event. `config` is the configuration that notifies of it, if it exists."""
    row = event_row(notification.event_id or "")
    if row is None:
        raise Event.DoesNotExist(f"the event of notification {notification.id} is gone")
    links, project = _links(), _project_name(row["group_id"])
    document = EventDocument.present(row, links, among=_found_among(row))
    target = target_of(document)
    # Channels show the target next to the headline.
    headline = in_words(row["event_type"]) if target else sentence(row["event_type"], document, project)
    return Message(
        delivery_id=notification.id,
        kind=MessageKind.INFORM,
        occurred_at=parse_time(row["wire_created"]),
        thread_key=row["id"],
        document=document,
        event_type_name=row["event_type"],
        severity=severity_of(config.severity if config else None, row["event_type"]),
        headline=headline,
        known=event_facts(document, project=project),
        project_name=project,
        target=target,
        link=_page(links, "events/event", row["id"]),
        description=config.description if config else "",
        runbook_url=config.runbook_url or None if config else None,
    )


def _found_among(row: EventRow) -> str:
    """The path of the list that contains an event: of its project or organization, or the installation."""
    if row["group_id"]:
        return f"/groups/{row['group_id']}/events"
    return f"/orgs/{row['org_id']}/events" if row["org_id"] else GLOBAL_EVENTS


def _project_name(group_id: str | None) -> str | None:
    """None for an event without a project, even if the configuration of a project notifies of it."""
    return Project.with_deleted.values_list("name", flat=True).get(id=group_id) if group_id else None


def _links() -> Links:
    """Links in messages: no request is involved, so the settings provide the base URL."""
    return Links(django_settings.OPSAPI_PUBLIC_URL or own_url())


def _page(links: Links, model: str, row_id: str) -> str:
    """A page of the console, without `reverse`: a worker then imports none of the pages."""
    return f"{links.base}{CONSOLE_PATH}{model}/{row_id}/change/"


Facts = dict[str, str]

TARGETS_NAMED = 5
"""The most alerts of an incident that a line names."""
_LASTING: Mapping[MessageKind, str] = {
    MessageKind.UPDATE: "for",
    MessageKind.CLOSE: "after",
    MessageKind.CANCEL: "after",
}
"""Messages with the duration of the alert, and the preposition."""
_TARGETS = (
    ("replicaSetName", "Replica set"),
    ("clusterName", "Cluster"),
    ("shardName", "Shard"),
    ("database", "Database"),
    ("collection", "Collection"),
)
_CONCERNED = (
    ("targetUsername", "User"),
    ("targetPublicKey", "API key"),
    ("accessListEntry", "Access list entry"),
)


def alert_headline(
    document: Mapping[str, Any], config: ConfigView | None, *, kind: MessageKind, now: datetime
) -> str:
    """The headline of an alert without its target: `Resident memory 2 GB > 1 GB`, `Host down after 12 min`.

    `config` is its configuration, None if its condition is no longer known.
    """
    words = in_words(document["eventTypeName"])
    if "metricName" in document:
        words = _metric_headline(document, config.metric_threshold if config else None)
    length = f" {_LASTING[kind]} {age_words(_length(document, now))}" if kind in _LASTING else ""
    return words + length


def alert_facts(
    document: Mapping[str, Any],
    config: ConfigView | None,
    *,
    project: str,
    opening: Mapping[str, str] = MappingProxyType({}),
) -> Facts:
    """The facts about an alert for people, the most important first; unknown facts are left out.

    `opening`: the facts of the event that opened it.
    """
    return {
        "Alert": with_wire_name(in_words(document["eventTypeName"]), document["eventTypeName"]),
        **_measured_facts(document, config),
        **_target_facts(document),
        **opening,
        "Project": project,
        **_time_facts(document),
        **_acknowledgement_facts(document),
        **config_facts(config),
    }


def incident_headline(headline: str, members: int) -> str:
    """The headline of a message about several open alerts: `Host down (12 alerts)`."""
    return f"{headline} ({members} alerts)" if members > 1 else headline


def incident_facts(
    root: str | None, opened: Sequence[Mapping[str, Any]], members: int, *, has_recovered: bool
) -> Facts:
    """The facts about an incident: its root, and the targets of its open alerts.

    `opened`: the facts of the first of its `members` open alerts: TARGETS_NAMED, or all if there are fewer.
    """
    facts: Facts = {"Root": root} if root else {}
    if has_recovered and members:
        facts["Root"] = "has recovered"
    if members > 1:
        names = ", ".join(target_words(target) for target in opened[:TARGETS_NAMED])
        more = f" and {members - TARGETS_NAMED} more" if members > TARGETS_NAMED else ""
        facts["Open alerts"] = f"{members}: {names}{more}"
    return facts


def event_facts(document: Mapping[str, Any], *, project: str | None) -> Facts:
    """The facts about an event that opens no alert, for people.

    Strangers can make the platform record USER_CREATED_AUDIT, so none of its texts from them are shown.
    """
    name = document["eventTypeName"]
    facts = {"Event": with_wire_name(in_words(name), name), **_target_facts(document)}
    if name != EventType.USER_CREATED_AUDIT:
        facts |= {label: document[key] for key, label in _CONCERNED if key in document}
        facts |= {"By": by} if (by := acting(document)) else {}
    facts |= {"Project": project} if project else {}
    return {**facts, "Time": _time(document["created"])}


def facts_of_test(document: Mapping[str, Any], config: ConfigView, *, project: str | None) -> Facts:
    """The facts of a test: the configuration, who tested it, and when."""
    tested = {"Alert": with_wire_name(in_words(config.event_type), config.event_type.value)}
    known = event_facts(document, project=project)
    return {**tested, **config_facts(config), **{name: known[name] for name in known if name != "Event"}}


def config_facts(config: ConfigView | None) -> Facts:
    """The name and the condition of the configuration.

    The scope of a global configuration is shown only to its readers.
    """
    if config is None:
        return {}
    words = config_words(config, with_matchers=not config.is_global)
    return {"Configuration": f"{words} (global)" if config.is_global else words}


def with_wire_name(words: str, name: str) -> str:
    """`Host down (HOST_DOWN)`."""
    return f"{words} ({name})"


def _metric_headline(document: Mapping[str, Any], threshold: MetricThreshold | None) -> str:
    metric, value = Metric(document["metricName"]), _value(document)
    words = metric.spec.words
    if threshold is None:
        return words if value is None else f"{words} {value_words(metric, value, None)}"
    # The last value of an ended alert is inside its threshold.
    if value is None or "resolved" in document:
        return compared_words(words, threshold)
    return f"{words} {comparison(metric, value, threshold)}"


def _measured_facts(document: Mapping[str, Any], config: ConfigView | None) -> Facts:
    facts: Facts = {}
    if "metricName" in document:
        metric, value = Metric(document["metricName"]), _value(document)
        facts["Metric"] = with_wire_name(metric.spec.words, metric.value)
        if value is not None:
            facts["Value"] = value_words(metric, value, config.metric_threshold if config else None)
    if config and config.threshold:
        facts["Threshold"] = limit_words(config.threshold)
    return facts


def _target_facts(document: Mapping[str, Any]) -> Facts:
    host = document.get("hostnameAndPort")
    if "hostname" in document:
        host = host_and_port(document["hostname"], document.get("port"))
    facts = {label: document[name] for name, label in _TARGETS if name in document}
    return {"Host": host, **facts} if host else facts


def _time_facts(document: Mapping[str, Any]) -> Facts:
    facts = {"Since": _time(document["created"])}
    if "resolved" in document:
        ended = parse_time(document["resolved"])
        facts |= {"Until": time_words(ended), "Duration": age_words(_length(document, ended))}
    return facts


_TIMES = ("Since", "Until", "Duration")


def with_acknowledgement(facts: Mapping[str, str], at: datetime) -> Facts:
    """The facts about an alert with the time of its acknowledgement, after the other times."""
    before = 1 + max((place for place, name in enumerate(facts) if name in _TIMES), default=len(facts))
    known = list(facts.items())
    return dict([*known[:before], ("Acknowledged at", time_words(at)), *known[before:]])


def _acknowledgement_facts(document: Mapping[str, Any]) -> Facts:
    facts: Facts = {}
    if "acknowledgingUsername" in document:
        facts["Acknowledged by"] = document["acknowledgingUsername"]
    if "acknowledgedUntil" in document:
        facts["Acknowledged until"] = _time(document["acknowledgedUntil"])
    if "acknowledgementComment" in document:
        facts["Comment"] = document["acknowledgementComment"]
    return facts


def _value(document: Mapping[str, Any]) -> float | None:
    """In the base unit of the metric, as in documents."""
    value = document.get("currentValue")
    return float(value["number"]) if value else None


def _length(document: Mapping[str, Any], now: datetime) -> timedelta:
    ended = parse_time(document["resolved"]) if "resolved" in document else now
    return ended - parse_time(document["created"])


def _time(wire: str) -> str:
    return time_words(parse_time(wire))
