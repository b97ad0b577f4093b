"""From signal to notification, in the order things happen (architecture, "the way of a signal").

    collect ─► decide ─► apply            `evaluate_signals`: one project at a time, in one transaction
    open                                  `open_tracked`: alerts whose delay has passed
    deliver ─► record                     `deliver_due`: one notification at a time

Each is called again and again by the worker and answers whether it found work.
"""

import logging
import random
import time
from collections.abc import Callable, Iterable
from datetime import datetime

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import Exists, Min, OuterRef

from accesslist.models import Project
from alerting.choices import ACTIVE, AlertStatus, DropReason
from alerting.messages import channel_config, message_of
from alerting.models import Alert, Notification, NotificationSetting
from alerting.observing import observations_of
from alerting.rules.observations import Observation
from alerting.rules.sending import drop_reason
from alerting.rules.transition import Action, AlertView, ConfigView, step, target_of
from alerting.selectors.configs import concerned_configs, single_config
from alerting.services.alerts import alert_close, alert_open, alert_start, alert_update_value
from alerting.services.delivery import (
    notification_claim,
    notification_drop,
    notification_give_up,
    notification_record,
)
from alerting.services.locks import project_try_lock
from alerting.services.notifications import schedule_once
from events.choices import SignalKind
from events.models import Signal
from events.types import EventType
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from integrations.delivery import Outcome, deliver
from opsapi.batches import delete_batch
from opsapi.encryption import CannotDecryptError

logger = logging.getLogger("opsapi.pipeline")

SIGNALS_AT_ONCE = 20
EVALUATION_SECONDS = 0.5
"""After so long a transaction takes no further signal: what it changed is locked until it ends."""
# SQLSTATE classes of what passes: connection, rollback, locks, resources, operator, system.
_PASSING_CLASSES = frozenset({"08", "40", "53", "55", "57", "58"})
SIGNALS_DROPPED_AT_ONCE = 500
ALERTS_AT_ONCE = 100
_GROUPS_TRIED = 50

Clock = Callable[[], datetime]


# --- collect, decide, apply ---------------------------------------------------------------------


@transaction.atomic
def evaluate_signals(*, now: datetime) -> bool:
    """Evaluate the oldest signals of one project that no other worker has in hand."""
    group_id = _claim_group()
    if group_id is None:
        return False
    if not Project.objects.filter(id=group_id).exists():
        # Deleted after they were written: nobody is to be told, and the purge takes them away.
        delete_batch(Signal.objects.filter(group_id=group_id), SIGNALS_DROPPED_AT_ONCE)
        return True
    until = time.monotonic() + EVALUATION_SECONDS
    for signal in Signal.objects.filter(group_id=group_id, failed=None).order_by("id")[:SIGNALS_AT_ONCE]:
        if _evaluated(signal, now):
            signal.delete()
        if time.monotonic() > until:
            break
    return True


def _claim_group() -> str | None:
    """A project with signals whose lock nobody holds; held until the transaction ends."""
    waiting = Signal.objects.filter(failed=None).values("group_id").annotate(oldest=Min("id"))
    oldest_first = waiting.order_by("oldest").values_list("group_id", flat=True)[:_GROUPS_TRIED]
    return next((group_id for group_id in oldest_first if project_try_lock(group_id)), None)


def _evaluated(signal: Signal, now: datetime) -> bool:
    """Evaluate one signal; one that cannot be is set aside: it neither stops the rest nor vanishes."""
    try:
        with transaction.atomic():
            _evaluate(signal, now)
    except Exception as error:  # whatever it is, the other signals of the project still count
        if _passes(error):
            raise
        logger.exception("signal %s cannot be evaluated and was set aside", signal.pk)
        Signal.objects.filter(pk=signal.pk).update(failed=now)
        return False
    return True


def _passes(error: Exception) -> bool:
    """Whether it is a fault of the database that passes, such as a deadlock, and not of the signal."""
    if not isinstance(error, (DatabaseError, InterfaceError)):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state[:2] in _PASSING_CLASSES


def _evaluate(signal: Signal, now: datetime) -> None:
    """What the signal says, held against the configurations it can concern.

    It counts from the time it was written, so that delays are those of what happened; a changed
    configuration is held against the fleet as it is now.
    """
    since = signal.created
    if signal.kind == SignalKind.CONFIG.value:
        since = now
        configs = single_config(signal.payload["alertConfigId"])
        observations = observations_of(signal) if configs else []
    else:
        observations = observations_of(signal)
        configs = concerned_configs(signal.group_id, {one.event_type for one in observations})
    alerts = _active_alerts(configs)
    by_type: dict[EventType, list[Observation]] = {}
    for observation in observations:
        by_type.setdefault(observation.event_type, []).append(observation)
    for config in configs:
        for observation in by_type.get(config.event_type, ()):
            _decide(signal, config, observation, alerts, since=since)


def _active_alerts(configs: Iterable[ConfigView]) -> dict[tuple[str, str], Alert]:
    active = Alert.objects.filter(
        config_id__in=[config.id for config in configs],
        status__in=ACTIVE,
    )
    return {(alert.config_id, alert.target_key): alert for alert in active.order_by("id")}


def _decide(
    signal: Signal,
    config: ConfigView,
    observation: Observation,
    alerts: dict[tuple[str, str], Alert],
    *,
    since: datetime,
) -> None:
    target = target_of(config, observation)
    alert = alerts.get((config.id, target))
    view = AlertView(alert.id, AlertStatus(alert.status), alert.current_value) if alert else None
    try:
        decision = step(config, observation, view)
    except (ValueError, ArithmeticError):
        # One configuration that cannot be judged does not silence the others.
        logger.exception("configuration %s cannot be held against signal %s", config.id, signal.pk)
        return
    if decision.action is Action.START:
        started = alert_start(
            config=config,
            group_id=signal.group_id,
            target=target,
            facts=observation.facts,
            value=decision.value,
            now=since,
        )
        if started:
            alerts[config.id, target] = started
    elif decision.action is Action.TELL_ONCE and observation.event_id:
        schedule_once(config_id=config.id, group_id=signal.group_id, event_id=observation.event_id, now=since)
    elif alert and decision.action is Action.UPDATE:
        alert_update_value(alert=alert, value=decision.value, now=since)
    elif alert and decision.action is Action.CLOSE:
        alert_close(alert=alert, value=decision.value, now=since)
        del alerts[config.id, target]


# --- open ---------------------------------------------------------------------------------------


@transaction.atomic
def open_tracked(*, now: datetime) -> bool:
    """Open alerts whose smallest delay has passed; those another worker has in hand are left to it.

    Where signals from before that moment wait to be evaluated, the condition may have ended: they go first.
    """
    unread = Signal.objects.filter(group_id=OuterRef("group_id"), failed=None, created__lte=OuterRef("opens"))
    due = Alert.objects.filter(~Exists(unread), status=AlertStatus.TRACKING.value, opens__lte=now)
    due = due.order_by("opens")
    alerts = list(due.select_for_update(skip_locked=True)[:ALERTS_AT_ONCE])
    for alert in alerts:
        alert_open(alert=alert, now=now)
    return bool(alerts)


# --- deliver, record ----------------------------------------------------------------------------


def deliver_due(*, clock: Clock) -> bool:
    """Send the notification that is due longest, and write down how that ended."""
    claim = notification_claim(now=clock())
    if claim is None:
        return False
    notification = claim.notification
    setting = NotificationSetting.objects.select_related("config").filter(id=notification.setting_id).first()
    status = Alert.objects.filter(id=notification.alert_id).values_list("status", flat=True).first()
    reason = drop_reason(
        MessageKind(notification.kind),
        AlertStatus(status) if status else None,
        perhaps_sent=claim.perhaps_sent,
        config_counts=setting is not None and setting.config.enabled,
    )
    if reason is not None or setting is None:
        notification_drop(notification=notification, reason=reason or DropReason.CONFIG_OFF)
        return True
    if claim.lapsed_for_good:
        notification_give_up(notification=notification)
        return True
    outcome = _send(notification, setting, clock())
    jitter = random.uniform(-1, 1)  # noqa: S311 - spreads retries, protects nothing
    notification_record(notification=notification, outcome=outcome, jitter=jitter, now=clock())
    logger.info(
        "%s %s %s",
        notification.kind,
        setting.type_name,
        outcome.status.value,
        extra={"delivery": notification.id, "ms": outcome.latency_ms, "reason": outcome.reason or "-"},
    )
    return True


def _send(notification: Notification, setting: NotificationSetting, now: datetime) -> Outcome:
    """One attempt; a message that cannot be made counts as one that failed and comes again."""
    try:
        config = channel_config(setting)
        message = message_of(notification)
    except (CannotDecryptError, ObjectDoesNotExist) as error:
        logger.exception("notification %s cannot be sent", notification.id)
        return Outcome(DeliveryStatus.RETRY, f"the message cannot be made: {type(error).__name__}", 0)
    return deliver(ChannelType(setting.type_name), config, message, now=now)
