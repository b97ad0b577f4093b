"""The life of alerts, with their events and notifications: start, opening, acknowledgement and end."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from accesslist.changes import acting
from accesslist.locks import actor_lock_shared, scopes_lock_shared
from alerting.engine.ledger import AlertClosing, Ledger
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.schedule import schedule_acknowledged
from alerting.engine.transition import ConfigView
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.grouping import ends_schedule, openings_schedule
from alerting.incidents.models import Alert
from alerting.incidents.rules import Acknowledgement, acknowledged
from alerting.incidents.store import alert_acknowledgement, current_value, incident_of, of_incident
from events.choices import DiffType, SignalKind, Work
from events.diffs import diff
from events.facts import EventFacts
from events.log.changes import NewEvent
from events.models import Signal
from events.outbox.changes import signals_record, wake_workers
from events.types import EventType, closing_type
from integrations.choices import MessageKind
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, get_or_404
from opsapi.api.principal import SYSTEM, Actor
from opsapi.batches import batches
from opsapi.clock import wire_time
from opsapi.fields import Among
from opsapi.ids import derived_id, first_id
from opsapi.roles import Scope

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
"""The facts of its first signal that an alert keeps, under their wire names."""
CANCELLED_AT_ONCE = 100
"""About how many alerts are cancelled together with their messages: each can have dozens of receivers."""
INCIDENTS = "incidents"
"""The field of a CANCELLED signal: the ids of incidents."""
WRITTEN_AT_ONCE = 1_000
"""The most alerts that start or end in one statement: PostgreSQL accepts 65,535 parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAlert:
    """An alert that starts at `at`; `facts` under their wire names, `value` in the metric's base unit.

    `is_late`: it began in a late report. `opens_from`: the time of the evaluation, if the signal is late or
    old. The alert opens when the signals from before this time are evaluated, and never if it has ended by
    then.

    The id follows from the signal: if the signal is evaluated again after a crash or a restored backup, the
    alert and its notifications get the same ids.
    """

    signal: Signal
    config: ConfigView
    target: str
    facts: Mapping[str, Any]
    at: datetime
    value: float | None = None
    opens_from: datetime | None = None
    is_late: bool = False

    @property
    def id(self) -> str:
        """The alert's id. It sorts by time, as all ids do."""
        key = (str(self.signal.pk), self.signal.group_id or "", self.config.id, self.target)
        return derived_id(first_id(self.signal.created), *key, time_digits=12)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertEnd:
    """The end of an alert's condition at `at`; `value` is the last value, None if unknown.

    `signals_done`: ids of earlier signals that were evaluated, and are deleted later in the transaction.
    """

    signal: Signal
    at: datetime
    value: float | None = None
    signals_done: Collection[int] = ()


@dataclass(slots=True)
class AlertChanges:
    """The changes by signals of one project, in order: new alerts, new values, and ends.

    Values and ends are by alert id, each value with its time. `over`: when the condition ended according to a
    late report, or None if it has not ended, with the time of the evaluation.
    """

    starts: list[NewAlert] = field(default_factory=list)
    values: dict[str, tuple[float | None, datetime]] = field(default_factory=dict)
    ends: dict[str, AlertEnd] = field(default_factory=dict)
    over: dict[str, tuple[datetime | None, datetime]] = field(default_factory=dict)

    def extend(self, later: "AlertChanges") -> None:
        self.starts += later.starts
        self.over |= later.over
        self.values |= later.values
        self.ends |= later.ends


_SignalEvent = tuple[int, NewEvent]
"""An event, and the id of the signal that causes it."""


def alerts_change(
    *, changes: AlertChanges, group_id: str, now: datetime, ledger: Ledger = POSTGRESQL
) -> None:
    """Write the changes, and record their events in the order of the signals.

    An alert starts as TRACKING, or OPEN if no notification is delayed. An alert that another worker has
    started in the meantime stays as it is. An alert that ends before its delay has passed never opens and
    leaves no event.
    """
    with ledger.transaction(savepoint=False):
        events: list[_SignalEvent] = []
        for starts in batches(changes.starts, WRITTEN_AT_ONCE):
            events += _start(starts, group_id, now, ledger)
        ending = []
        # Locked in the same order as by deliveries. Their delays may have passed since they were read.
        for ids in batches(sorted({*changes.values, *changes.over, *changes.ends}), WRITTEN_AT_ONCE):
            ending += [alert for alert in ledger.alerts_lock(ids) if alert.id in changes.ends]
        # Alerts that open only now are notified in the order of their ends.
        ending.sort(key=lambda alert: changes.ends[alert.id].signal.pk)
        ledger.values_keep(changes.values)
        ledger.over_keep(changes.over)
        for alert in ending:
            alert.current_value = changes.values.get(alert.id, (alert.current_value,))[0]
        for alerts in batches(ending, WRITTEN_AT_ONCE):
            events += _close(alerts, changes.ends, now, ledger)
        events.sort(key=lambda pair: pair[0])
        ledger.events_record(events=[(group_id, event) for _, event in events], actor=SYSTEM, now=now)


def _start(starts: Sequence[NewAlert], group_id: str, now: datetime, ledger: Ledger) -> list[_SignalEvent]:
    delays = ledger.shortest_delays({start.config.id for start in starts})
    rows = [_row(start, group_id, delays.get(start.config.id, timedelta()), now) for start in starts]
    begun = ledger.alerts_start(rows)
    opened = [
        (start.signal.pk, row)
        for start, row in zip(starts, rows, strict=True)
        if row.id in begun and row.status == AlertStatus.OPEN.value
    ]
    openings_schedule(alerts=[row for _, row in opened], ledger=ledger)
    return [(signal, _opened_event(row)) for signal, row in opened]


def _arrival(signal: Signal, at: datetime, now: datetime) -> datetime:
    """Return when the platform knew of a change at `at`: the report may have come late.

    A message is not due before. A time that was written by a clock that is ahead counts as now.
    """
    return max(at, min(signal.created, now))


def _row(new_alert: NewAlert, group_id: str, delay: timedelta, now: datetime) -> Alert:
    opens = max(new_alert.at + delay, new_alert.opens_from or new_alert.at)
    status = AlertStatus.OPEN if opens <= new_alert.at else AlertStatus.TRACKING
    return Alert(
        id=new_alert.id,
        group_id=group_id,
        config_id=new_alert.config.id,
        is_global=new_alert.config.is_global,
        tags=list(new_alert.config.tags),
        event_type=new_alert.config.event_type.value,
        severity=new_alert.config.severity.value,
        status=status.value,
        target_key=new_alert.target,
        facts={name: new_alert.facts[name] for name in ALERT_FACTS if new_alert.facts.get(name) is not None},
        metric_name=new_alert.config.metric.value if new_alert.config.metric else None,
        current_value=new_alert.value,
        incident_id=new_alert.id if status is AlertStatus.OPEN else None,
        created=new_alert.at,
        updated=_arrival(new_alert.signal, new_alert.at, now),
        opens=opens,
        late=new_alert.is_late,
    )


def _close(
    alerts: Sequence[Alert], ends: Mapping[str, AlertEnd], now: datetime, ledger: Ledger
) -> list[_SignalEvent]:
    events: list[_SignalEvent] = []
    late = [alert for alert in alerts if _outlasted_its_delay(alert, ends[alert.id], ledger)]
    for alert in late:
        signal = ends[alert.id].signal
        alert.status, alert.incident_id = AlertStatus.OPEN.value, alert.id
        alert.updated = _arrival(signal, alert.opens, now) if signal.observed else alert.opens
        events.append((signal.pk, _opened_event(alert)))
    openings_schedule(alerts=late, ledger=ledger)
    unknown = {alert.id for alert in alerts if alert.late and alert.status == AlertStatus.TRACKING.value}
    if unknown:  # Users have not seen these alerts, and nothing refers to them.
        ledger.alerts_delete(unknown)
        alerts = [alert for alert in alerts if alert.id not in unknown]
    closings = []
    for alert in alerts:
        end = ends[alert.id]
        if end.value is not None:
            alert.current_value = end.value
        if event := _closed_event(alert):
            events.append((end.signal.pk, replace(event, happened=end.at)))
        known = _arrival(end.signal, end.at, now)
        closings.append(AlertClosing(alert.id, alert.incident_id, end.value, end.at, known))
    ledger.alerts_set_closed(closings)
    at = {closing.alert_id: closing.known for closing in closings}
    ends_schedule(alerts=alerts, at=at, kind=MessageKind.CLOSE, ledger=ledger)
    return events


def alerts_close_over(
    *, alerts: Sequence[Alert], group_id: str, now: datetime, ledger: Ledger = POSTGRESQL
) -> None:
    """Close the locked alerts of a project that are over according to late reports."""
    by_none = Signal(id=0, group_id=group_id, created=now)
    ends = {alert.id: AlertEnd(signal=by_none, at=alert.over) for alert in alerts if alert.over}
    with ledger.transaction(savepoint=False):
        events = _close([alert for alert in alerts if alert.id in ends], ends, now, ledger)
        ledger.events_record(events=[(group_id, event) for _, event in events], actor=SYSTEM, now=now)


def alerts_open(*, alerts: Sequence[Alert], now: datetime, ledger: Ledger = POSTGRESQL) -> None:
    """Open alerts whose shortest delay has passed, and schedule their notifications."""
    for alert in alerts:
        alert.status, alert.updated, alert.incident_id = AlertStatus.OPEN.value, now, alert.id
    with ledger.transaction(savepoint=False):
        ledger.alerts_set_open([alert.id for alert in alerts], now=now)
        events = [(alert.group_id, _opened_event(alert)) for alert in alerts]
        ledger.events_record(events=events, actor=SYSTEM, now=now)
        openings_schedule(alerts=alerts, ledger=ledger)


@transaction.atomic
def alerts_delay(*, config_id: str, delay: timedelta) -> None:
    """Set the new shortest delay of a configuration; it applies to its TRACKING alerts.

    If it has passed already, the workers open the alerts in their next step; they are woken. The caller holds
    the configuration's lock.
    """
    opens = F("created") + delay
    tracked = Alert.objects.filter(config_id=config_id, status=AlertStatus.TRACKING.value)
    other = tracked.exclude(opens=opens).select_for_update().order_by("id").values("id")
    if Alert.objects.filter(id__in=other).update(opens=opens):
        wake_workers(Work.SIGNALS)


@transaction.atomic
def alerts_cancel(*, alerts: QuerySet[Alert], actor: Actor, now: datetime) -> None:
    """Cancel the active alerts, because their configuration or target was removed by `actor`.

    If there are more than about CANCELLED_AT_ONCE, workers end the incidents of the others with their
    messages, before they evaluate later signals of the project (`cancelled_incidents_end`).
    """
    active = alerts.filter(status__in=ACTIVE).order_by("id").select_for_update()
    rows = active.values_list("id", "incident_id")  # Locked together.
    parts = _by_incident(sorted((incident_id or alert_id, alert_id) for alert_id, incident_id in rows))
    waiting: dict[str, dict[str, None]] = defaultdict(dict)
    for place, ids in enumerate(parts):
        ending = list(Alert.objects.filter(Among("id", ids)).order_by("id"))
        if place == 0:
            locked_alerts_cancel(alerts=ending, actor=actor, now=now)
            continue
        _become_cancelled(ending, actor, now, POSTGRESQL)
        for alert in ending:
            if alert.incident_id:
                waiting[alert.group_id][alert.incident_id] = None
    payloads = [
        (group_id, {INCIDENTS: part})
        for group_id, incidents in waiting.items()
        for part in batches(list(incidents), CANCELLED_AT_ONCE)
    ]
    if payloads:
        signals_record(kind=SignalKind.CANCELLED, payloads=payloads, now=now)


def _by_incident(alerts: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
    """Yield the ids of alerts, sorted by incident, in parts of about CANCELLED_AT_ONCE.

    The alerts of an incident stay together: a part of them would schedule a message about a change.
    """
    part: list[str] = []
    for _, members in groupby(alerts, key=itemgetter(0)):
        part += [alert_id for _, alert_id in members]
        if len(part) >= CANCELLED_AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def locked_alerts_cancel(
    *, alerts: Sequence[Alert], actor: Actor, now: datetime, ledger: Ledger = POSTGRESQL
) -> None:
    """Cancel locked active alerts, as `alerts_cancel`, in the transaction of the caller."""
    _become_cancelled(alerts, actor, now, ledger)
    ends = dict.fromkeys((alert.id for alert in alerts), now)
    ends_schedule(alerts=alerts, at=ends, kind=MessageKind.CANCEL, ledger=ledger)


def _become_cancelled(alerts: Sequence[Alert], actor: Actor, now: datetime, ledger: Ledger) -> None:
    ledger.alerts_set_cancelled([alert.id for alert in alerts], now=now)
    were_open = [alert for alert in alerts if alert.status == AlertStatus.OPEN.value]
    events = [(alert.group_id, _event(alert, EventType.ALERT_CANCELLED_AUDIT)) for alert in were_open]
    ledger.events_record(events=events, actor=actor, now=now)


def cancelled_incidents_end(*, incidents: Collection[str], at: datetime) -> None:
    """End incidents whose alerts were cancelled at `at`, and schedule their messages.

    An incident that has other open alerts lasts, and its receivers hear of the change. The caller has the
    lock of the project.
    """
    cancelled = Alert.objects.filter(Among("incident_id", incidents), status=AlertStatus.CANCELLED.value)
    alerts = list(cancelled.order_by("id"))
    ends = dict.fromkeys((alert.id for alert in alerts), at)
    ends_schedule(alerts=alerts, at=ends, kind=MessageKind.CANCEL, ledger=POSTGRESQL)


def _outlasted_its_delay(alert: Alert, end: AlertEnd, ledger: Ledger) -> bool:
    """Whether the alert should have opened before it ended, but no worker opened it in time.

    False if a signal from before that moment still waits, for example while a changed configuration is
    compared with the current state: that signal may have ended the condition earlier.
    """
    if alert.status != AlertStatus.TRACKING.value or alert.opens > end.at or alert.over:
        return False
    if alert.late and alert.opens == end.at:  # The report that ended the wait ended the alert as well.
        return False
    return not ledger.signals_wait(alert, done=end.signals_done)


def alert_facts(alert: Alert) -> EventFacts:
    """The facts of an alert in events: its configuration, its target, and its value if it has one."""
    return EventFacts.of_document(
        {
            **alert.facts,
            "alertConfigId": alert.config_id,
            "metricName": alert.metric_name,
            "currentValue": current_value(alert.metric_name, alert.current_value),
        }
    )


def _event(alert: Alert, event_type: EventType) -> NewEvent:
    return NewEvent(event_type=event_type, alert_id=alert.id, facts=alert_facts(alert))


def _opened_event(alert: Alert) -> NewEvent:
    """The event of an alert that opened when it was last updated."""
    return replace(_event(alert, EventType(alert.event_type)), happened=alert.updated)


def _closed_event(alert: Alert) -> NewEvent | None:
    """The event of an alert that ends; None if it never opened."""
    closing = closing_type(EventType(alert.event_type))
    return _event(alert, closing) if closing and alert.status == AlertStatus.OPEN.value else None


def alerts_hold(*, ids: Collection[str], actor: Actor) -> list[Alert]:
    """Lock alerts in the transaction of the caller, and return them as they are now, in the order of ids.

    The open alerts of their incidents are locked in the same order, so that `alert_acknowledge` on each alert
    locks no more alerts.

    Raises:
        ApiError: SERVICE_UNAVAILABLE, if a permission of the actor was revoked since.
    """
    actor_lock_shared(actor)
    chosen = Q(Among("id", ids))
    joined = Alert.objects.filter(chosen).values_list("incident_id", flat=True)
    incidents = {incident for incident in joined if incident}
    of_incidents = Q(Among("incident_id", incidents), status=AlertStatus.OPEN.value)
    locked = Alert.objects.filter(chosen | of_incidents).order_by("id").select_for_update()
    wanted = set(ids)
    return [alert for alert in locked if alert.id in wanted]


def alert_acknowledge(
    *, alert_id: str, group_id: str, until: datetime, comment: str | None, actor: Actor, now: datetime
) -> None:
    """Acknowledge an alert until a time; a time in the past removes the acknowledgement.

    Raises:
        ApiError: INVALID_ALERT_STATUS, when the alert is over; ALERT_NOT_FOUND, when it is gone.
    """
    with acting(actor, now, here=Scope(group_id=group_id), locks=()) as act:
        # Ending the alert takes this lock too: the acknowledgement comes before the end, or is refused.
        related = Alert.objects.filter(of_incident(alert_id)).order_by("id")
        locked = list(related.select_for_update())
        alert = next((row for row in locked if (row.id, row.group_id) == (alert_id, group_id)), None)
        # The project is locked after the alert, as in its deletion.
        is_there = group_id in scopes_lock_shared(groups=[group_id]).orgs_of_groups
        alert = get_or_404(alert if is_there else None, ErrorCode.ALERT_NOT_FOUND, alert_id, group_id)
        _refuse_when_over(alert)
        before = alert_acknowledgement(alert, now)
        after = acknowledged(before, until=until, comment=comment, username=actor.name, now=now)
        if after == before:
            return
        _keep(alert, after, now)
        event = NewEvent(
            event_type=EventType.ALERT_ACKNOWLEDGED_AUDIT if after else EventType.ALERT_UNACKNOWLEDGED_AUDIT,
            alert_id=alert.id,
            facts=alert_facts(alert),
            # ALERT_CONFIG is the most similar of the closed set of diff types.
            diffs=diff(DiffType.ALERT_CONFIG, alert.id, old=_shown(before), new=_shown(after)),
        )
        act.record(event)
        if incident := incident_of(alert, locked):
            schedule_acknowledged(incident=incident, now=now, ledger=POSTGRESQL)


def _refuse_when_over(alert: Alert) -> None:
    if alert.status not in ACTIVE:
        message = f"the alert is {alert.status}, so it cannot be acknowledged"
        allowed = [status.value for status in ACTIVE]
        raise ApiError.of_fields([BadField("status", ErrorCode.INVALID_ALERT_STATUS, message, allowed)])


def _keep(alert: Alert, after: Acknowledgement | None, now: datetime) -> None:
    alert.acknowledged_until = after.until if after else None
    alert.acknowledgement_comment = after.comment if after else None
    alert.acknowledging_username = after.username if after else None
    alert.updated = now
    alert.save(
        update_fields=["acknowledged_until", "acknowledgement_comment", "acknowledging_username", "updated"]
    )


def _shown(acknowledgement: Acknowledgement | None) -> dict[str, str | None]:
    if acknowledgement is None:
        return {}
    return {
        "acknowledgedUntil": wire_time(acknowledgement.until),
        "acknowledgementComment": acknowledgement.comment,
        "acknowledgingUsername": acknowledgement.username,
    }
