"""What happens to alerts: they start, open, change, end. Each with its event and its notifications."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from alerting.choices import AlertStatus
from alerting.models import Alert
from alerting.rules.transition import ConfigView, opens_at
from alerting.services.notifications import schedule_end, schedule_opening
from automation.metrics import Metric, base_unit
from events.facts import EventFacts
from events.services import event_record
from events.types import EventType, closing_type
from integrations.choices import MessageKind
from opsapi.api.principal import SYSTEM, Actor
from opsapi.batches import batches

ALERT_FACTS = (
    "clusterId",
    "clusterName",
    "hostId",
    "hostname",
    "port",
    "replicaSetName",
    "shardName",
    "sourceTypeName",
)
"""What an alert keeps of the facts of the signal that began it, under the wire names."""


@transaction.atomic
def alert_start(
    *,
    config: ConfigView,
    group_id: str,
    target: str,
    facts: Mapping[str, Any],
    value: float | None,
    now: datetime,
) -> Alert | None:
    """Begin an alert: tracked, or open at once when no notification is delayed.

    Answers None when another worker began it in the meantime.
    """
    opens = opens_at(config, now)
    metric = config.metric_threshold.metric.value if config.metric_threshold else None
    alert = Alert(
        group_id=group_id,
        config_id=config.id,
        is_global=config.is_global,
        tags=list(config.tags),
        event_type=config.event_type.value,
        status=AlertStatus.TRACKING.value,
        target_key=target,
        facts={name: facts[name] for name in ALERT_FACTS if facts.get(name) is not None},
        metric_name=metric,
        current_value=value,
        created=now,
        updated=now,
        opens=opens,
    )
    Alert.objects.bulk_create([alert], ignore_conflicts=True)
    if not Alert.objects.filter(id=alert.id).exists():
        return None
    if opens <= now:
        alert_open(alert=alert, now=now)
    return alert


@transaction.atomic
def alert_open(*, alert: Alert, now: datetime) -> None:
    """The smallest delay has passed: the alert is one, and those to be told are told when they are due."""
    _change(alert, AlertStatus.OPEN, now)
    _record(alert, EventType(alert.event_type), SYSTEM, now)
    schedule_opening(alert=alert, now=now)


@transaction.atomic
def alert_update_value(*, alert: Alert, value: float | None, now: datetime) -> None:
    """Keep the current value current."""
    Alert.objects.filter(id=alert.id).update(current_value=value, updated=now)
    alert.current_value = value


@transaction.atomic
def alert_close(*, alert: Alert, value: float | None, now: datetime) -> None:
    """The condition ended; one that never opened ends unseen, without an event."""
    # Its delay may have passed, or a delivery been recorded, since it was read.
    alert = Alert.objects.select_for_update().get(id=alert.id)
    was_open = alert.status == AlertStatus.OPEN.value
    if value is not None:
        alert.current_value = value
    alert.resolved = now
    _change(alert, AlertStatus.CLOSED, now)
    closing = closing_type(EventType(alert.event_type))
    if was_open and closing:
        _record(alert, closing, SYSTEM, now)
    schedule_end(alerts=[alert], kind=MessageKind.CLOSE, now=now)


@transaction.atomic
def alerts_cancel(*, alerts: Iterable[Alert], actor: Actor, now: datetime) -> None:
    """End alerts, locked by the caller, because their configuration or target is gone, by whom that was."""
    for ending in batches(alerts):
        _cancel(ending, actor, now)


def _cancel(ending: Sequence[Alert], actor: Actor, now: datetime) -> None:
    Alert.objects.filter(id__in=[alert.id for alert in ending]).update(
        status=AlertStatus.CANCELLED.value, resolved=now, updated=now
    )
    for alert in ending:
        if alert.status == AlertStatus.OPEN.value:
            _record(alert, EventType.ALERT_CANCELLED_AUDIT, actor, now)
    schedule_end(alerts=ending, kind=MessageKind.CANCEL, now=now)


def _change(alert: Alert, status: AlertStatus, now: datetime) -> None:
    alert.status, alert.updated = status.value, now
    alert.save(update_fields=["status", "updated", "resolved", "current_value"])


def _record(alert: Alert, event_type: EventType, actor: Actor, now: datetime) -> None:
    facts = EventFacts.of_document(
        {
            **alert.facts,
            "alertConfigId": alert.config_id,
            "metricName": alert.metric_name,
            "currentValue": _current_value(alert),
        }
    )
    event_record(
        event_type=event_type, actor=actor, now=now, group_id=alert.group_id, alert_id=alert.id, facts=facts
    )


def _current_value(alert: Alert) -> dict[str, Any] | None:
    if alert.current_value is None or alert.metric_name is None:
        return None
    return {"number": alert.current_value, "units": base_unit(Metric(alert.metric_name)).value}
