"""Reads the events of an alert, and the event that opened it, for its timeline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alerting.configs.wording import limit_words, value_words
from alerting.engine.muting import PLANNED_TYPES
from alerting.engine.observations import METRICS_GONE
from alerting.engine.opening_events import event_facts, labelled, opening_event
from alerting.engine.transition import ConfigView
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.insight.timeline_entries import AcknowledgementChange, TimelineEntry, TimelineEntryKind, lapses
from automation.agents.rules import AGENT_DOWN, HEARTBEAT_TIMEOUT
from automation.hosts.rules import UNMEASURED_TIMEOUT
from automation.metrics import Metric
from automation.turns.store import planned_turn
from events.models import Event
from events.types import EventType, closing_type
from events.wording import acting, in_words, target_words
from integrations.messages import printable
from opsapi.clock import age_words, parse_time, time_words
from opsapi.first_rows import ends_of
from opsapi.redaction import redact_urls

FIRST, NEWEST = 20, 80
"""So many events or notifications of an alert are shown: the first and the newest."""
_LONGEST_FACT = 500

_AUDITS: Mapping[str, tuple[TimelineEntryKind, str]] = {
    EventType.ALERT_ACKNOWLEDGED_AUDIT: (TimelineEntryKind.ACKNOWLEDGED, "The alert was acknowledged"),
    EventType.ALERT_UNACKNOWLEDGED_AUDIT: (
        TimelineEntryKind.UNACKNOWLEDGED,
        "The acknowledgement was removed.",
    ),
    EventType.NOTIFICATION_RESENT_AUDIT: (
        TimelineEntryKind.RESENT,
        "A failed notification was sent again.",
    ),
    EventType.ALERT_CANCELLED_AUDIT: (
        TimelineEntryKind.CANCELLED,
        "The alert was cancelled: its configuration or its target was deleted.",
    ),
}


_OF_ROLES = frozenset().union(*METRICS_GONE.values())
"""The metrics whose alerts evaluation cancels when a host takes another role."""


@dataclass(frozen=True, slots=True)
class EventsOfAlert:
    """The entries of the events, unordered; `more` other events are in the log."""

    entries: tuple[TimelineEntry, ...]
    more: int


def events_of(alert: Alert, *, now: datetime) -> EventsOfAlert:
    """The entries of the alert's events; of its row if retention has deleted them."""
    events, more = ends_of(Event.objects.filter(alert_id=alert.id), first=FIRST, newest=NEWEST)
    entries = [_entry(event, alert) for event in events]
    end = min(now, alert.resolved) if alert.resolved else now
    # What happened between the first and the newest is not known.
    lapsed = lapses(_acknowledgement_changes(events[:NEWEST] if more else events), end)
    return EventsOfAlert((*entries, *_unrecorded(alert, entries), *lapsed), more)


def began(alert: Alert, view: ConfigView | None, value: tuple[float, datetime] | None) -> TimelineEntry:
    """The start of the alert and its reason.

    `view` is None if the configuration is not shown. `value` is the alert's `first_value`.
    """
    event_type = EventType(alert.event_type)
    event = None if alert.metric_name else opening_event(alert)
    reason = None
    if event is not None:
        reason = down_reason(event_type, event.details, event.created) or _facts_words(event)
    if alert.metric_name is not None:
        reason = _value_words(alert, view, value)
    reason = ". ".join(filter(None, [reason, _planned_words(alert)])) or None
    return TimelineEntry(
        at=alert.created,
        kind=TimelineEntryKind.BEGAN,
        text=started_words(event_type, alert.facts),
        reason=reason,
        event_id=event.id if event else None,
    )


def _planned_words(alert: Alert) -> str | None:
    """The move of a plan that was changing the host when the alert began."""
    if alert.event_type not in PLANNED_TYPES:
        return None
    turn = planned_turn(alert.group_id, alert.facts.get("hostId"), alert.created)
    if turn is None:
        return None
    move = f"the move {turn.move} of {redact_urls(turn.process)} from {time_words(turn.granted)} on"
    return f"The plan of the automation configuration made {move}"


def _facts_words(event: Event) -> str | None:
    """`Move: RESTART. Step: start. Reason: no disk`."""
    facts = labelled(event_facts(event))
    return (
        ". ".join(f"{label}: {printable(text, _LONGEST_FACT).rstrip('.')}" for label, text in facts.items())
        or None
    )


def _value_words(alert: Alert, view: ConfigView | None, first: tuple[float, datetime] | None) -> str:
    """`Connections was 1,650: above 900`."""
    metric = Metric(str(alert.metric_name))
    threshold = view.metric_threshold if view else None
    limit = limit_words(threshold) if threshold else "outside"
    if first is None:
        return f"{metric.spec.words} was {limit}; the value is no longer stored"
    value, observed = first
    since = "" if observed == alert.created else f" (observed at {time_words(observed)})"
    return f"{metric.spec.words} was {value_words(metric, value, threshold)}: {limit}{since}"


def _entry(event: Event, alert: Alert) -> TimelineEntry:
    kind, text = _kind_and_text(event, alert)
    details = event.details
    return TimelineEntry(
        at=event.created,
        kind=kind,
        text=text,
        reason=_changed(event, "acknowledgementComment"),
        who=details.get("username") or details.get("publicKey"),
        event_id=event.id,
    )


def _kind_and_text(event: Event, alert: Alert) -> tuple[TimelineEntryKind, str]:
    if event.event_type == alert.event_type:
        return TimelineEntryKind.OPENED, "The alert opened."
    if event.event_type == closing_type(EventType(alert.event_type)):
        return TimelineEntryKind.CLOSED, "The condition ended and the alert closed."
    kind, text = _AUDITS.get(event.event_type, (TimelineEntryKind.OTHER, f"{in_words(event.event_type)}."))
    is_by_user = {"username", "publicKey"} & event.details.keys()
    if kind is TimelineEntryKind.CANCELLED and alert.metric_name in _OF_ROLES and not is_by_user:
        return kind, "The alert was cancelled: its host took a role in which it does not have the metric."
    if kind is TimelineEntryKind.ACKNOWLEDGED:
        until = _changed(event, "acknowledgedUntil")
        text += f" until {time_words(parse_time(until))}." if until else ": the comment was changed."
    return kind, text


def _changed(event: Event, name: str) -> str | None:
    """The new value of a field of the acknowledgement."""
    params: Sequence[Mapping[str, Any]] = [param for diff in event.diffs for param in diff["params"]]
    return next((param.get("new") for param in params if param["param"] == name), None)


def _acknowledgement_changes(events: Sequence[Event]) -> list[AcknowledgementChange]:
    """Oldest first; a change of the comment keeps the time."""
    changes: list[AcknowledgementChange] = []
    for event in sorted(events, key=lambda recorded: (recorded.created, recorded.id)):
        if event.event_type == EventType.ALERT_UNACKNOWLEDGED_AUDIT:
            changes.append(AcknowledgementChange(at=event.created, until=None))
        elif event.event_type == EventType.ALERT_ACKNOWLEDGED_AUDIT:
            until = _changed(event, "acknowledgedUntil")
            last = changes[-1].until if changes else None
            changes.append(
                AcknowledgementChange(at=event.created, until=parse_time(until) if until else last)
            )
    return changes


def _unrecorded(alert: Alert, entries: Sequence[TimelineEntry]) -> Iterator[TimelineEntry]:
    """Entries from the row without an event: the alert never opened, or its events were deleted."""
    kinds = {entry.kind for entry in entries}
    if TimelineEntryKind.OPENED not in kinds and _opened(alert):
        yield TimelineEntry(at=alert.opens, kind=TimelineEntryKind.OPENED, text="The alert opened.")
    if alert.resolved is None or kinds & {TimelineEntryKind.CLOSED, TimelineEntryKind.CANCELLED}:
        return
    closed = alert.status == AlertStatus.CLOSED
    kind = TimelineEntryKind.CLOSED if closed else TimelineEntryKind.CANCELLED
    role = ", or its host took a role in which it does not have the metric"
    cancelled = "The alert was cancelled: its configuration or its target was deleted"
    text = "The condition ended" if closed else f"{cancelled}{role if alert.metric_name in _OF_ROLES else ''}"
    before = " before it opened" if alert.resolved < alert.opens else ""
    yield TimelineEntry(at=alert.resolved, kind=kind, text=f"{text}{before}.")


def _opened(alert: Alert) -> bool:
    """Whether the alert certainly opened; a cancelled alert may have been TRACKING."""
    if alert.status == AlertStatus.CLOSED and alert.resolved is not None:
        return alert.resolved >= alert.opens
    return alert.status == AlertStatus.OPEN


_STARTED: Mapping[EventType, str] = {
    EventType.AUTOMATION_AGENT_DOWN: "{Target} stopped reporting",
    EventType.BACKUP_AGENT_DOWN: "{Target} stopped reporting",
    EventType.MONITORING_AGENT_DOWN: "{Target} stopped reporting",
    EventType.MONITORING_AGENT_VERSION_BEHIND: "{Target} is older than another agent of the project",
    EventType.BACKUP_AGENT_VERSION_BEHIND: "{Target} is older than another agent of the project",
    EventType.AUTOMATION_PLAN_STOPPED: "A move of {target} failed, and the plan stopped",
    EventType.AUTOMATION_PLAN_WAITING: "The plan has waited too long to change {target}",
    EventType.OPLOG_BEHIND: "The backup of {target} fell behind its oplog",
    EventType.RESYNC_REQUIRED: "The backup of {target} needs a resync",
    EventType.INCONSISTENT_BACKUP_CONFIGURATION: "The backup configuration of {target} is inconsistent",
    EventType.BAD_CLUSTERSHOTS: "The cluster {target} has bad snapshots",
    EventType.BI_CONNECTOR_DOWN: "The BI connector of {target} is down",
    EventType.CLUSTER_MONGOS_IS_MISSING: "The cluster {target} has no mongos",
    EventType.HOST_DOWN: "The host {target} is down",
    EventType.HOST_NOT_MEASURED: "The host {target} is reachable, but not measured",
    EventType.HOST_RECOVERING: "The host {target} is recovering",
    EventType.HOST_SSL_CERTIFICATE_STALE: "The certificate of {target} is stale",
    EventType.VERSION_BEHIND: "The host {target} runs an older version than another host of the project",
    EventType.OUTSIDE_METRIC_THRESHOLD: "A value of {target} crossed its threshold",
    EventType.ORG_USERS_WITHOUT_MFA: "A user of the organization has no second factor",
    EventType.USERS_WITHOUT_MULTI_FACTOR_AUTH: "A user of the project has no second factor",
    EventType.NO_PRIMARY: "The replica set {target} has no primary",
    EventType.MULTIPLE_PRIMARIES: "The replica set {target} has more than one primary",
    EventType.TOO_FEW_HEALTHY_MEMBERS: "The replica set {target} has too few healthy members",
    EventType.TOO_MANY_UNHEALTHY_MEMBERS: "The replica set {target} has too many unhealthy members",
}
"""What started, for each event type that opens alerts. `{Target}` starts with "the"."""


def started_words(event_type: EventType, facts: Mapping[str, Any]) -> str:
    """What started an alert, as a sentence: `The host db1:27017 is down.`"""
    target = target_words(facts)
    words = _STARTED[event_type].format(target=target, Target=target[:1].upper() + target[1:])
    return f"{words}."


def down_reason(event_type: EventType, details: Mapping[str, Any], at: datetime) -> str | None:
    """Why a host or agent counts as down or not measured, from the event that says it; None for other types.

    `at`: the time of observation. Reports have an author. The platform itself notices a heartbeat timeout.
    """
    if event_type in AGENT_DOWN.values():
        return f"No report for {age_words(HEARTBEAT_TIMEOUT)}"
    if event_type is EventType.HOST_NOT_MEASURED:
        return f"No measurement of the host for {age_words(UNMEASURED_TIMEOUT)}, while it was reachable"
    if event_type is not EventType.HOST_DOWN:
        return None
    if acting(details):
        return f"An agent observed at {time_words(at)} that it cannot reach the host"
    return f"No report of the host for {age_words(HEARTBEAT_TIMEOUT)}, while its agent kept reporting"
