"""The rows of the list of alerts: what is wrong, for how long, why, and who was notified."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Model

from alerting.configs.models import AlertConfig
from alerting.configs.notification_types import recipient_words
from alerting.configs.rules import MetricThreshold
from alerting.configs.store import config_view
from alerting.configs.wording import limit_words, value_words
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification
from alerting.engine.notification_log import origins_of
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.models import GROUPED, Alert, Incident
from alerting.incidents.presentation import alert_badge, severity_badge
from alerting.incidents.rule_words import rule_words
from alerting.incidents.rules import Acknowledgement
from alerting.incidents.store import alert_acknowledgement
from alerting.incidents.topology import root_words
from alerting.reasons import NO_RECIPIENTS
from automation.metrics import Metric
from automation.models import Agent, Host, ReplicaSet
from events.wording import target_words
from integrations.choices import ChannelType
from opsapi.api.principal import VisibleScope
from opsapi.clock import age_words, ago_words, time_words
from opsapi.console.admin_urls import page_url
from opsapi.console.widgets import Tone
from opsapi.fields import Among

MOST_MESSAGES: Final = 100
"""The most messages about an alert that are read to say who was notified."""
_MOST_RECEIVERS: Final = 3
"""The most receivers that a row names."""


@dataclass(frozen=True, slots=True)
class ReceiverResult:
    """A receiver of messages about an alert, and the result of the newest one."""

    who: str
    is_delivered: bool
    attempts: int
    unsent: str = ""
    """Why the message had no recipient."""

    @property
    def failure_words(self) -> str:
        """What to say of a message that was not delivered: `3 attempts`, `no user has an address`."""
        return self.unsent or f"{self.attempts:,} attempt{'' if self.attempts == 1 else 's'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxAlert:
    """A row of the list."""

    alert: Alert
    state: tuple[str, Tone]
    severity: tuple[str, Tone]
    words: str
    target: str
    target_url: str
    length: str
    """How long it has lasted, or when it ended."""
    reason: str
    receivers: Sequence[ReceiverResult]
    more_receivers: int
    acknowledgement: Acknowledgement | None
    is_writable: bool
    """Whether the operator may acknowledge and mute it."""

    @property
    def is_active(self) -> bool:
        return self.alert.status in ACTIVE

    @property
    def can_be_acknowledged(self) -> bool:
        """Whether the row offers to acknowledge it in one click."""
        return self.is_writable and self.is_active and self.acknowledgement is None

    @property
    def can_be_muted(self) -> bool:
        return self.is_writable and self.is_active

    @property
    def is_nobody_notified(self) -> bool:
        """Whether it is open and no message was sent yet."""
        return self.alert.status == AlertStatus.OPEN and not self.receivers


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxIncident:
    """The alerts of an incident on a page of the list, as a row. `open` counts all its open alerts."""

    id: str
    alerts: Sequence[InboxAlert]
    open: int
    root: str

    @property
    def first(self) -> InboxAlert:
        return self.alerts[0]

    @property
    def can_be_acknowledged(self) -> bool:
        """Whether the row offers to acknowledge all its open alerts in one click."""
        return any(row.can_be_acknowledged for row in self.alerts)

    @property
    def elsewhere(self) -> int:
        """The number of its open alerts that are not among these rows."""
        return max(0, self.open - sum(row.alert.status == AlertStatus.OPEN for row in self.alerts))

    @property
    def targets(self) -> str:
        """The first targets, each once."""
        names = list(dict.fromkeys(row.target for row in self.alerts))
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        return ", ".join(names[:2]) + more


def inbox_rows(
    alerts: Sequence[Alert], visible_scope: VisibleScope, writable: Collection[str], *, now: datetime
) -> list[InboxAlert | InboxIncident]:
    """The rows of a page of alerts, in their order; the first alert of an incident decides its place.

    The number of statements does not depend on the number of alerts. `AlertAdmin.look_up` has read the
    targets of the alerts and whether they are muted. `writable`: the projects whose alerts the operator may
    acknowledge.
    """
    incidents = _incidents(alerts)
    rows = {row.alert.id: row for row in _rows(alerts, incidents, visible_scope, writable, now)}
    members: dict[str, list[InboxAlert]] = defaultdict(list)
    for alert in alerts:
        members[alert.incident_id or ""].append(rows[alert.id])
    several = {name for name in incidents if len(members[name]) > 1}
    counts, roots = _open_counts(several), _roots([incidents[name].lead_id for name in several])
    grouped: dict[str, InboxAlert | InboxIncident] = {}
    for alert in alerts:
        name = alert.incident_id or ""
        if name not in several:
            grouped[alert.id] = rows[alert.id]
        elif name not in grouped:
            root = roots.get(incidents[name].lead_id, "")
            grouped[name] = InboxIncident(id=name, alerts=members[name], open=counts[name], root=root)
    return list(grouped.values())


def _incidents(alerts: Collection[Alert]) -> dict[str, Incident]:
    """The incidents that group alerts, by id."""
    ids = {alert.incident_id for alert in alerts if alert.incident_id}
    rows = Incident.objects.filter(GROUPED, Among("id", ids)).defer("units") if ids else []
    return {row.id: row for row in rows}


def _open_counts(incident_ids: Collection[str]) -> Counter[str]:
    if not incident_ids:
        return Counter()
    opened = Alert.objects.filter(Among("incident_id", incident_ids), status=AlertStatus.OPEN.value)
    return Counter(str(name) for name in opened.values_list("incident_id", flat=True))


def _roots(leads: Collection[str]) -> dict[str, str]:
    """The root that the newest message of each incident names, by the id of its first alert."""
    if not leads:
        return {}
    messages = Notification.objects.filter(Among("alert_id", leads), said_root__isnull=False)
    newest = messages.order_by("alert_id", "-sequence").distinct("alert_id")
    roots = newest.values_list("alert_id", "said_root")
    return {str(lead): root_words(root or "") or "" for lead, root in roots}


def _rows(
    alerts: Sequence[Alert],
    incidents: Mapping[str, Incident],
    visible_scope: VisibleScope,
    writable: Collection[str],
    now: datetime,
) -> Iterator[InboxAlert]:
    seen = {alert.config_id for alert in alerts if visible_scope.everything or not alert.is_global}
    configs = {row.id: row for row in AlertConfig.objects.filter(Among("id", seen))} if seen else {}
    results = receivers_of(alerts, incidents, visible_scope)
    agents = _agents(alerts)
    for alert in alerts:
        row: Any = alert
        config, receivers = configs.get(alert.config_id), results.get(alert.id, [])
        threshold = config_view(config).metric_threshold if config else None
        yield InboxAlert(
            alert=alert,
            state=alert_badge(alert, now, is_muted=row.is_muted),
            severity=severity_badge(alert),
            words=rule_words(alert, config),
            target=target_words(alert.facts),
            target_url=page_url(row.about) if row.about else "",
            length=length_words(alert, now),
            reason=reason_words(alert, row.about, agents, threshold, now=now),
            receivers=receivers[:_MOST_RECEIVERS],
            more_receivers=max(0, len(receivers) - _MOST_RECEIVERS),
            acknowledgement=alert_acknowledgement(alert, now) if alert.status in ACTIVE else None,
            is_writable=alert.group_id in writable,
        )


def length_words(alert: Alert, now: datetime) -> str:
    """`1 h 16 min`; for an ended alert also when it ended."""
    if alert.resolved is None:
        return age_words(now - alert.created)
    return f"{age_words(alert.resolved - alert.created)}, ended {ago_words(alert.resolved, now)}"


def _agents(alerts: Sequence[Any]) -> dict[str, Agent]:
    """The agents that report the hosts of the alerts, by id."""
    ids = {alert.about.reported_by_id for alert in alerts if isinstance(alert.about, Host)}
    rows = Agent.objects.filter(Among("id", (name for name in ids if name))) if ids else []
    return {agent.id: agent for agent in rows}


def reason_words(
    alert: Alert,
    target: Model | None,
    agents: Mapping[str, Agent],
    threshold: MetricThreshold | None,
    *,
    now: datetime,
) -> str:
    """Why the alert is there, from what the agents reported last."""
    if alert.status not in ACTIVE:
        return f"from {time_words(alert.created)}"
    if alert.status == AlertStatus.TRACKING:
        when = f"in {age_words(alert.opens - now)}" if alert.opens > now else "now"
        return f"opens {when} unless it ends first"
    return _now_words(alert, target, agents, threshold, now)


def _now_words(
    alert: Alert,
    target: Model | None,
    agents: Mapping[str, Agent],
    threshold: MetricThreshold | None,
    now: datetime,
) -> str:
    if (words := _value_words(alert, threshold)) is not None:
        return words
    match target:
        case Host():
            return _of_host(target, agents.get(target.reported_by_id or ""), now)
        case Agent():
            return f"last report {ago_words(target.last_report, now)}"
        case ReplicaSet():
            return f"primaries {target.primaries}, healthy {target.healthy}, unhealthy {target.unhealthy}"
    return f"since {time_words(alert.created)}"


def _value_words(alert: Alert, threshold: MetricThreshold | None) -> str | None:
    if alert.metric_name is None or alert.current_value is None:
        return None
    metric = Metric(alert.metric_name)
    limit = f", {limit_words(threshold)}" if threshold else ""
    return f"{metric.spec.words} {value_words(metric, alert.current_value, threshold)}{limit}"


def _of_host(host: Host, agent: Agent | None, now: datetime) -> str:
    """What the agent of a host said last: `agent vm cannot reach it; last measured 16:05, 4 min ago`."""
    name = agent.hostname if agent else "its agent"
    if host.down:
        last = f"last measured {ago_words(host.measured, now)}" if host.measured else "never measured"
        return f"{name} cannot reach it; {last}"
    if host.problem:
        return f"{name}: {host.problem}"
    return f"last report {ago_words(host.last_report, now)}" if host.last_report else "never reported"


# Of each alert, no more messages than that are read, in the order of the index. Of the rows that were never
# sent, only rows without recipients say something about who was notified.
_MESSAGES = """
SELECT DISTINCT ON (message.alert_id, message.setting_id, message.recipient) message.*
  FROM unnest(%(ids)s::text[]) AS about (id)
 CROSS JOIN LATERAL (
       SELECT * FROM alerting_notification
        WHERE alert_id = about.id
          AND (status IN ('DELIVERED', 'FAILED') OR status = 'PENDING' AND attempts > 0
               OR status = 'DROPPED' AND starts_with(reason, %(no_recipients)s))
        LIMIT %(most)s) AS message
 ORDER BY message.alert_id, message.setting_id, message.recipient, message.sequence DESC
"""


def receivers_of(
    alerts: Collection[Alert], incidents: Mapping[str, Incident], visible_scope: VisibleScope
) -> dict[str, list[ReceiverResult]]:
    """Who was notified of each alert, failures first, by the alert's id.

    Recipients of global configurations are shown only to operators who read everything. Messages about an
    incident belong to its first alert.
    """
    seen = [alert for alert in alerts if visible_scope.everything or not alert.is_global]
    leads = {
        alert.id: {alert.id, incidents[alert.incident_id or ""].lead_id}
        if alert.incident_id in incidents
        else {alert.id}
        for alert in seen
    }
    ids = sorted({name for names in leads.values() for name in names})
    if not ids:
        return {}
    parameters = {"ids": ids, "most": MOST_MESSAGES, "no_recipients": NO_RECIPIENTS}
    messages = list(Notification.objects.raw(_MESSAGES, parameters))
    newest: dict[tuple[str | None, str], int] = {}
    for row in messages:
        key = row.alert_id, row.setting_id
        newest[key] = max(row.sequence, newest.get(key, row.sequence))
    origins = origins_of(messages)
    of_lead: dict[str, dict[str, ReceiverResult]] = defaultdict(dict)
    for row in sorted(messages, key=lambda row: row.sequence):
        channel = ChannelType(row.channel) if row.channel else None
        who = recipient_words(
            type_name=row.type_name, channel=channel, recipient=row.recipient, place=origins[row.id].place
        )
        unsent = ""
        if row.status == NotificationStatus.DROPPED:
            if row.sequence < newest[row.alert_id, row.setting_id]:
                continue  # Its notification had recipients later.
            unsent = (row.reason or "").removeprefix(NO_RECIPIENTS)
        is_delivered = row.status == NotificationStatus.DELIVERED
        of_lead[row.alert_id or ""][who] = ReceiverResult(who, is_delivered, row.attempts, unsent)
    results: dict[str, list[ReceiverResult]] = {}
    for alert_id, names in leads.items():
        together = {who: result for name in sorted(names) for who, result in of_lead[name].items()}
        results[alert_id] = sorted(together.values(), key=lambda result: (result.is_delivered, result.who))
    return results
