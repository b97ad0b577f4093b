"""What happens to alerts: they start, open, change, end. Each with its event and its notifications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

from alerting.choices import ACTIVE, AlertStatus
from alerting.models import Alert
from alerting.rules.transition import ConfigView, opens_at
from alerting.selectors.alerts import current_value
from alerting.services.notifications import schedule_end, schedule_openings
from events.choices import SignalKind
from events.facts import EventFacts
from events.models import Signal
from events.services import NewEvent, events_record, groups_events_record, wake_workers
from events.types import EventType, closing_type
from integrations.choices import MessageKind
from opsapi.api.principal import SYSTEM, Actor
from opsapi.batches import batches
from opsapi.ids import derived_id, first_id

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
ALERTS_AT_ONCE = 1_000
"""So many begin or end with one statement: PostgreSQL takes 65,535 parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAlert:
    """An alert that is to begin; `facts` under the wire names, `value` in the metric's base unit."""

    config: ConfigView
    target: str
    facts: Mapping[str, Any]
    value: float | None = None


@transaction.atomic
def alerts_start(*, starts: Sequence[NewAlert], signal: Signal, group_id: str, now: datetime) -> None:
    """Begin alerts of one project: tracked, or open at once when no notification is delayed.

    Those another worker began in the meantime are left alone. The ids follow from the signal: when it is
    evaluated again, after a crash or a restore, they are the same, and so are those of notifications.
    """
    for some in batches(starts, ALERTS_AT_ONCE):
        _start([_tracked(one, signal, group_id, now) for one in some], now)


def _start(rows: Sequence[Alert], now: datetime) -> None:
    Alert.objects.bulk_create(rows, ignore_conflicts=True)
    begun = set(Alert.objects.filter(id__in=[row.id for row in rows]).values_list("id", flat=True))
    alerts_open(alerts=[row for row in rows if row.id in begun and row.opens <= now], now=now)


def _tracked(one: NewAlert, signal: Signal, group_id: str, now: datetime) -> Alert:
    metric = one.config.metric_threshold.metric.value if one.config.metric_threshold else None
    said = (str(signal.pk), group_id, one.config.id, one.target)
    return Alert(
        id=derived_id(first_id(signal.created), *said, time_digits=12),
        group_id=group_id,
        config_id=one.config.id,
        is_global=one.config.is_global,
        tags=list(one.config.tags),
        event_type=one.config.event_type.value,
        status=AlertStatus.TRACKING.value,
        target_key=one.target,
        facts={name: one.facts[name] for name in ALERT_FACTS if one.facts.get(name) is not None},
        metric_name=metric,
        current_value=one.value,
        created=now,
        updated=now,
        opens=opens_at(one.config, now),
    )


@transaction.atomic
def alerts_open(*, alerts: Sequence[Alert], now: datetime) -> None:
    """The smallest delay has passed: they are alerts, and those to be told are told when they are due."""
    for alert in alerts:
        alert.status, alert.updated = AlertStatus.OPEN.value, now
    opened = Alert.objects.filter(id__in=[alert.id for alert in alerts])
    opened.update(status=AlertStatus.OPEN.value, updated=now)
    told = [(alert.group_id, _told(alert, EventType(alert.event_type))) for alert in alerts]
    groups_events_record(events=told, actor=SYSTEM, now=now)
    schedule_openings(alerts=alerts, now=now)


@transaction.atomic
def alerts_delay(*, config_id: str, delay: timedelta) -> None:
    """The smallest delay of a configuration is this now: its tracked alerts open by it, open ones stay so.

    Where it has passed already, they open at the next look of the workers, who are woken. The caller
    holds the configuration's lock.
    """
    opens = F("created") + delay
    tracked = Alert.objects.filter(config_id=config_id, status=AlertStatus.TRACKING.value)
    other = tracked.exclude(opens=opens).select_for_update().order_by("id").values("id")
    if Alert.objects.filter(id__in=other).update(opens=opens):
        wake_workers()


@transaction.atomic
def alert_update_value(*, alert: Alert, value: float | None, now: datetime) -> None:
    """Keep the current value current."""
    Alert.objects.filter(id=alert.id).update(current_value=value, updated=now)
    alert.current_value = value


@transaction.atomic
def alerts_close(*, values: Mapping[str, float | None], group_id: str, now: datetime) -> None:
    """The conditions of these alerts of one project ended; by their ids the last values, None where unknown.

    One whose delay had not passed by then ends unseen, without an event.
    """
    for some in batches(sorted(values), ALERTS_AT_ONCE):
        _close({alert_id: values[alert_id] for alert_id in some}, group_id, now)


def _close(values: Mapping[str, float | None], group_id: str, now: datetime) -> None:
    # Their delays may have passed, or deliveries been recorded, since they were read.
    alerts = list(Alert.objects.filter(id__in=values).order_by("id").select_for_update())
    for alert in alerts:
        if _outlasted_its_delay(alert, now):
            alerts_open(alerts=[alert], now=alert.opens)
        if values[alert.id] is not None:
            alert_update_value(alert=alert, value=values[alert.id], now=now)
    ended = Alert.objects.filter(id__in=values)
    ended.update(status=AlertStatus.CLOSED.value, resolved=now, updated=now)
    events = [told for alert in alerts if (told := _told_closed(alert))]
    events_record(events=events, actor=SYSTEM, now=now, group_id=group_id)
    schedule_end(alerts=alerts, kind=MessageKind.CLOSE, now=now)


@transaction.atomic
def alerts_cancel(*, alerts: QuerySet[Alert], actor: Actor, now: datetime) -> None:
    """End those that are not over, because their configuration or target is gone, by whom that was."""
    active = alerts.filter(status__in=ACTIVE)
    for ending in batches(active.select_for_update().order_by("id")):
        _cancel(ending, actor, now)


def _cancel(ending: Sequence[Alert], actor: Actor, now: datetime) -> None:
    Alert.objects.filter(id__in=[alert.id for alert in ending]).update(
        status=AlertStatus.CANCELLED.value, resolved=now, updated=now
    )
    were_open = [alert for alert in ending if alert.status == AlertStatus.OPEN.value]
    told = [(alert.group_id, _told(alert, EventType.ALERT_CANCELLED_AUDIT)) for alert in were_open]
    groups_events_record(events=told, actor=actor, now=now)
    schedule_end(alerts=ending, kind=MessageKind.CANCEL, now=now)


def _outlasted_its_delay(alert: Alert, ended: datetime) -> bool:
    """Whether it should have opened, but nobody was there to open it.

    It ended when `ended` says or before: where a signal from before the alert was to open still waits,
    as it does when a configuration is held against the newest state, that may be what ended it.
    """
    if alert.status != AlertStatus.TRACKING.value or alert.opens > ended:
        return False
    waiting = Signal.objects.filter(group_id=alert.group_id, failed=None, created__lt=alert.opens)
    return not waiting.exclude(kind=SignalKind.CONFIG.value).exists()


def alert_facts(alert: Alert) -> EventFacts:
    """What events tell of an alert: its configuration, its target, and its value where it has one."""
    return EventFacts.of_document(
        {
            **alert.facts,
            "alertConfigId": alert.config_id,
            "metricName": alert.metric_name,
            "currentValue": current_value(alert.metric_name, alert.current_value),
        }
    )


def _told(alert: Alert, event_type: EventType) -> NewEvent:
    return NewEvent(event_type=event_type, alert_id=alert.id, facts=alert_facts(alert))


def _told_closed(alert: Alert) -> NewEvent | None:
    """What is told of an alert that ends, as it was before; None of one that never opened."""
    closing = closing_type(EventType(alert.event_type))
    return _told(alert, closing) if closing and alert.status == AlertStatus.OPEN.value else None
