"""Delivery: from a due notification to its outcome. Read from top to bottom.

    claim ─► decide ─► send ─► record

Claim leases the notifications that may be sent next (`services.claims`). Decide chooses a step for each
notification (`rules.delivery_policy`), while its alert and the maintenance windows are locked:

    send      begin an attempt now
    address   write the destination, and release the notification for the next claim. A notification for
              people is replaced by a notification for each of their addresses.
    postpone  release it until a later time, because the alert is muted or acknowledged
    drop      DROPPED, with the reason: it is no longer wanted and was certainly not received, or a window
              mutes a notification of an event without an alert
    give up   FAILED: it is no longer wanted and was perhaps received, or too many attempts have no outcome
    remove    delete it: the end of an alert for a receiver without a message about it, or a change that does
              not matter

Send makes one attempt over the channel, without the database. Record writes the outcome of the attempt and
schedules the next retry or reminder. `courier` calls these functions in a loop.

After a crash another worker takes over the notification. If decide had marked the attempt as begun, the
notification counts as perhaps received, and is sent again with the same delivery id.

Grouped alerts share the messages of their incident. These messages belong to the first alert of the
incident; all open alerts of the incident decide whether they are sent (`selectors.incidents`). A `Picture` is
the content of a message about the incident. A change is only sent if its picture differs enough from the last
picture sent.
"""

import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction

from alerting.choices import DropReason, NotificationStatus, WaitReason
from alerting.messages import messages_of
from alerting.models import Alert, Notification, NotificationAttempt, NotificationSetting
from alerting.rules.delivery_policy import (
    SECRETS_UNREADABLE,
    DeliveryStep,
    DeliveryVerdict,
    DueNotification,
    Mute,
    decide_delivery,
    drop_reason,
)
from alerting.rules.topology import Picture
from alerting.selectors.due_notifications import (
    due_notification,
    due_notification_with_setting,
    notified_destinations,
)
from alerting.selectors.incidents import (
    IncidentMessage,
    IncidentView,
    alerts_deciding,
    alerts_with_incident_state,
    incident_messages,
    incident_mutes,
    incident_views,
    incidents_of,
    is_worth_sending,
    last_pictures,
    open_in,
)
from alerting.selectors.notification_settings import settings_of
from alerting.services.addressing import (
    AddressLookup,
    DestinationConfigs,
    NotificationAddress,
    addresses_write,
    last_failure,
)
from alerting.services.destinations import (
    NamedDestination,
    destination_configs,
    destinations_lock,
    destinations_record,
    destinations_tried,
)
from alerting.services.incidents import pictures_keep
from alerting.services.leases import (
    LAPSES_AT_MOST,
    LONGEST_ATTEMPT,
    AttemptResult,
    attempts_record,
    lapses_of,
    leased_at,
    leases_release_with,
)
from alerting.services.notifications import (
    recipients_replace,
    schedule_follow_ups,
)
from integrations.choices import FOLLOWING, ChannelType, DeliveryFault, DeliveryStatus
from integrations.delivery import deliver
from integrations.messages import Message
from integrations.outcome import Outcome, next_attempt
from opsapi.encryption import CannotDecryptError
from opsapi.fields import Among
from opsapi.outbound.errors import NO_ANSWER
from opsapi.postgresql.faults import passes
from opsapi.sql import fetch_rows

logger = logging.getLogger("opsapi.delivery")

HELD_UP = "the worker was delayed before it could send the message"


# --- decide ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """An attempt to send a message with `channel_fields`.

    If nothing can be sent, `content` is the outcome: `send` returns it, and `record` writes it like others.
    `number` counts the attempts of the notification. `first_attempt` is the start of its hour of retries.
    Both are set when the attempt begins; `notification` keeps its earlier values.
    """

    notification: Notification
    channel_fields: Mapping[str, str]
    content: Message | Outcome
    number: int = 0
    first_attempt: datetime | None = None

    @property
    def has_message(self) -> bool:
        """Whether there is a message to send."""
        return isinstance(self.content, Message)


def decide(claimed: Sequence[Notification], *, now: datetime) -> Iterator[DeliveryAttempt]:
    """Decide on claimed notifications, and yield the attempts, all marked as begun.

    The other notifications are addressed, postponed, dropped, removed or given up. If a notification causes
    an unexpected error, only its own attempt fails, and it is retried.

    Raises:
        DatabaseError, InterfaceError: the database has a fault that passes. The attempts that were yielded
            before have begun.
    """
    try:
        begun = _decide_together(claimed, now)
    except Exception as error:
        if passes(error):
            raise
        if len(claimed) > 1:  # decide on each notification separately to find the cause
            for notification in claimed:
                yield from decide([notification], now=now)
            return
        begun = _mark_begun([_undecided(claimed[0], error)], now)
    yield from begun


def _undecided(notification: Notification, error: Exception) -> DeliveryAttempt:
    logger.error("notification %s cannot be decided on", notification.id, exc_info=error)
    reason = f"the notification cannot be processed: {type(error).__name__}"
    return DeliveryAttempt(notification, {}, Outcome(DeliveryStatus.RETRY, reason, 0))


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of decisions, read for all notifications together."""

    alerts: Mapping[str, Alert]
    """By id; the first alert of an incident has the state of the incident."""
    settings: Mapping[tuple[str, str], NotificationSetting]
    """By setting id and type."""
    mutes: Mapping[str, Mute]
    """By notification id; only muted notifications are in it."""
    notified: AbstractSet[tuple[str, str]]
    """The alert and destination of each message that was perhaps received."""
    lapses: Mapping[str, int]
    """The number of attempts without an outcome, by notification id."""
    channel_fields: DestinationConfigs
    incidents: Mapping[str, IncidentView]
    """By incident id."""
    last_pictures: Mapping[str, Picture | None]
    """The pictures in the last messages about incidents, by notification id."""

    def alert(self, notification: Notification) -> Alert | None:
        return self.alerts.get(notification.alert_id or "")

    def setting(self, notification: Notification) -> NotificationSetting | None:
        return self.settings.get((notification.setting_id, notification.type_name))

    def was_notified(self, notification: Notification) -> bool:
        """Whether the receiver was perhaps notified of the alert; older rows name no destination."""
        alert_id = notification.alert_id or ""
        return not self.notified.isdisjoint({(alert_id, notification.destination), (alert_id, "")})


@dataclass(slots=True)
class _ToDo:
    """The work that remains for all notifications together."""

    without_message: list[DeliveryAttempt] = field(default_factory=list)
    to_send: list[Notification] = field(default_factory=list)
    to_address: list[tuple[Notification, NamedDestination]] = field(default_factory=list)


@transaction.atomic
def _decide_together(claimed: Sequence[Notification], now: datetime) -> list[DeliveryAttempt]:
    """Write all decisions, and return the attempts to make."""
    facts = _lock_and_read(claimed, now)
    addresses = AddressLookup(facts.channel_fields)
    to_do = _ToDo()
    for notification in claimed:
        _decide_one(notification, facts, addresses, to_do, now)
    if to_do.to_address:
        # Together with the destinations of `_mark_begun`, in one order, so two workers cannot deadlock.
        tried = [notification.destination for notification in to_do.to_send]
        destinations_lock([*tried, *(destination.id for _, destination in to_do.to_address)])
        addresses_write(to_do.to_address, now=now)
    about_incidents = incident_messages(to_do.to_send, facts.incidents, facts.last_pictures)
    begun = _mark_begun([*to_do.without_message, *_attempts(to_do.to_send, facts, about_incidents, now)], now)
    with_message = {attempt.notification.id for attempt in begun if attempt.has_message}
    pictures_keep(
        {row_id: each.picture for row_id, each in about_incidents.items() if row_id in with_message}
    )
    return begun


def _lock_and_read(claimed: Sequence[Notification], now: datetime) -> _Facts:
    """Lock windows and alerts until the decisions are written, and read the other facts without a lock.

    The order of locks is: windows, alerts, destinations (`_decide_together`, `_mark_begun`), each by id. The
    notifications are already leased, so no other worker locks them.

    A request that ends or acknowledges an alert, or changes a window, waits and then sees the decision. An
    attempt that has begun is sent, even if the alert ends before it: `record` then sees the end. A request
    that deletes a project waits only for these windows and alerts. A request that changes a configuration
    does not wait: a message whose decision has begun is still sent.
    """
    mutes = incident_mutes(claimed, now=now)  # locks the windows
    alert_ids = [notification.alert_id for notification in claimed if notification.alert_id]
    alerts = Alert.objects.select_related("group").filter(alerts_deciding(claimed))
    locked = list(alerts.select_for_update(no_key=True, of=("self",)).order_by("id"))
    pictures = last_pictures(claimed)
    return _Facts(
        alerts=alerts_with_incident_state(locked, claimed),
        settings=settings_of(claimed),
        mutes=mutes,
        notified=notified_destinations(alert_ids),
        lapses=lapses_of(claimed),
        channel_fields=destination_configs({row.destination for row in claimed if row.destination}),
        incidents=incident_views(claimed, locked, pictures),
        last_pictures=pictures,
    )


def _decide_one(
    notification: Notification,
    facts: _Facts,
    addresses: AddressLookup,
    to_do: _ToDo,
    now: datetime,
) -> None:
    """Decide on a notification, and write the decision or add the notification to `to_do`."""
    alert, setting = facts.alert(notification), facts.setting(notification)
    address = addresses.address_of(notification, alert, setting)
    verdict = decide_delivery(_due(notification, address, facts), now)
    match verdict.step:
        case DeliveryStep.DROP:
            dropped = NotificationStatus.DROPPED.value
            leases_release_with([notification], status=dropped, reason=verdict.reason)
        case DeliveryStep.REMOVE:
            Notification.objects.filter(id=notification.id, lease_token=notification.lease_token).delete()
        case DeliveryStep.POSTPONE:
            _postpone(notification, verdict)
        case DeliveryStep.GIVE_UP:
            _give_up(notification, verdict, alert, now)
        case DeliveryStep.SEND if address.failure:  # there is no destination to send to
            to_do.without_message.append(DeliveryAttempt(notification, {}, address.failure))
        case DeliveryStep.SEND:
            to_do.to_send.append(notification)
        case DeliveryStep.ADDRESS if address.destination:
            to_do.to_address.append((notification, address.destination))
        case DeliveryStep.ADDRESS if setting:
            recipients_replace(notification=notification, setting=setting, alert=alert, now=now)
        case DeliveryStep.ADDRESS:
            raise AssertionError(f"notification {notification.id} has no destination and no recipients")


def _due(notification: Notification, address: NotificationAddress, facts: _Facts) -> DueNotification:
    incident = facts.incidents.get(notification.incident_id or "")
    return replace(
        due_notification_with_setting(notification, facts.alert(notification), facts.setting(notification)),
        addressed=address.is_settled,
        was_notified=facts.was_notified(notification),
        lapsed_for_good=facts.lapses.get(notification.id, 0) >= LAPSES_AT_MOST,
        mute=facts.mutes.get(notification.id),
        worth_sending=is_worth_sending(notification, incident, facts.last_pictures.get(notification.id)),
    )


def _postpone(notification: Notification, verdict: DeliveryVerdict) -> None:
    """Release the notification until `verdict.until`. Its hour of retries begins again then.

    Its destination is looked up again, unless the notification was perhaps received, or is an end or an
    acknowledgement.
    """
    keeps_destination = notification.perhaps_received or notification.kind in FOLLOWING
    leases_release_with(
        [notification],
        due=verdict.until,
        reason=verdict.reason,
        silenced_by=verdict.silenced_by,
        first_attempt=None,
        destination=notification.destination if keeps_destination else "",
    )


def _give_up(
    notification: Notification, verdict: DeliveryVerdict, alert: Alert | None, now: datetime
) -> None:
    """Fail the notification; the next reminder of an open alert follows, as after any failure."""
    reason = verdict.reason or last_failure(notification) or NO_ANSWER
    failed = NotificationStatus.FAILED.value
    if leases_release_with([notification], status=failed, reason=reason) and alert:
        schedule_follow_ups(ended=[(notification, alert)], now=now)


def _attempts(
    to_send: Sequence[Notification],
    facts: _Facts,
    about_incidents: Mapping[str, IncidentMessage],
    now: datetime,
) -> list[DeliveryAttempt]:
    """Return the attempts to send notifications."""
    messages = messages_of(
        to_send, alerts=facts.alerts, settings=facts.settings.values(), now=now, incidents=about_incidents
    )
    return [_attempt(notification, facts, messages.get(notification.id)) for notification in to_send]


def _attempt(notification: Notification, facts: _Facts, message: Message | None) -> DeliveryAttempt:
    """Return the attempt. It is retried if the message cannot be built or the fields cannot be decrypted."""
    channel_fields = facts.channel_fields[notification.destination]
    if isinstance(channel_fields, CannotDecryptError):
        logger.error("notification %s cannot be sent: %s", notification.id, channel_fields)
        reason = SECRETS_UNREADABLE
    elif message is None:
        reason = "the message cannot be built: its alert, event or project was deleted"
        logger.error("notification %s cannot be sent: %s", notification.id, reason)
    else:
        return DeliveryAttempt(notification, channel_fields, message)
    return DeliveryAttempt(notification, {}, Outcome(DeliveryStatus.RETRY, reason, 0))


# Keeps the reason of the last failure (`last_failure`), and removes the reason why it was held back.
_MARK_BEGUN = """
UPDATE alerting_notification
   SET attempts = attempts + 1, first_attempt = coalesce(first_attempt, %(now)s), silenced_by = NULL,
       reason = CASE WHEN silenced_by IS NULL AND reason <> %(acknowledged)s THEN reason END,
       perhaps_received = perhaps_received OR id = ANY(%(with_message)s)
 WHERE id = ANY(%(ids)s) AND lease_token = ANY(%(tokens)s)
RETURNING id, attempts, first_attempt
"""


@transaction.atomic(savepoint=False)
def _mark_begun(attempts: Sequence[DeliveryAttempt], now: datetime) -> list[DeliveryAttempt]:
    """Mark attempts as begun before anything is sent: after a crash they count as perhaps received.

    Return the attempts whose lease is still valid. Another worker has the other notifications.
    """
    if not attempts:
        return []
    parameters: Mapping[str, Any] = {
        "ids": [attempt.notification.id for attempt in attempts],
        "tokens": list({attempt.notification.lease_token for attempt in attempts}),
        "with_message": [attempt.notification.id for attempt in attempts if attempt.has_message],
        "acknowledged": WaitReason.ACKNOWLEDGED.value,
        "now": now,
    }
    held = {row_id: (number, first) for row_id, number, first in fetch_rows(_MARK_BEGUN, parameters)}
    begun = []
    for attempt in attempts:
        if attempt.notification.id in held:
            number, first = held[attempt.notification.id]
            begun.append(replace(attempt, number=number, first_attempt=first))
    tried = [attempt.notification.destination for attempt in begun if attempt.has_message]
    destinations_tried(ids=tried, now=now)
    return begun


# --- send -----------------------------------------------------------------------------------------


def send(attempt: DeliveryAttempt, *, now: datetime) -> Outcome:
    """Make one attempt over the channel; needs no database."""
    notification = attempt.notification
    if isinstance(attempt.content, Outcome):
        return attempt.content
    if notification.lease_until and now > notification.lease_until - LONGEST_ATTEMPT:
        # The lease may end before the answer arrives, and then another worker may send the message again.
        return Outcome(DeliveryStatus.RETRY, HELD_UP, 0, fault=DeliveryFault.WORKER)
    channel = ChannelType(str(notification.channel))
    return deliver(channel, attempt.channel_fields, attempt.content, now=now)


# --- record ---------------------------------------------------------------------------------------

_FINISHED = frozenset({NotificationStatus.DELIVERED.value, NotificationStatus.FAILED.value})


class _EndedAttempt(NamedTuple):
    """An attempt, its outcome, and the new values of its notification."""

    attempt: DeliveryAttempt
    outcome: Outcome
    result: AttemptResult

    @property
    def notification(self) -> Notification:
        return self.attempt.notification


def record(ended: Sequence[tuple[DeliveryAttempt, Outcome]], *, now: datetime) -> None:
    """Write the outcomes of attempts, and schedule retries and reminders.

    An outcome is ignored if its lease was released meanwhile: another worker sends the message again with the
    same delivery id. An unexpected error concerns only the outcome that causes it: the message is sent again
    when the lease ends.

    Raises:
        DatabaseError, InterfaceError: the database has a fault that passes. Call again with the same
            outcomes.
    """
    try:
        recorded = _record_together(ended, now)
    except Exception as error:
        if passes(error):
            raise
        if len(ended) > 1:  # record each outcome separately to find the cause
            for attempt, outcome in ended:
                record([(attempt, outcome)], now=now)
            return
        logger.exception("the outcome of notification %s cannot be recorded", ended[0][0].notification.id)
        return
    for each in recorded:
        _log(each.notification, each.outcome)


@transaction.atomic
def _record_together(ended: Sequence[tuple[DeliveryAttempt, Outcome]], now: datetime) -> list[_EndedAttempt]:
    """Write the outcomes whose lease is still valid, and return them."""
    notifications = [attempt.notification for attempt, _ in ended]
    # A request that ends an alert takes this lock too: it sees the delivery, or this code sees the end.
    behind = Alert.objects.filter(alerts_deciding(notifications))
    locked = list(behind.select_for_update(no_key=True).order_by("id"))
    alerts = alerts_with_incident_state(locked, notifications)
    results = [
        _EndedAttempt(attempt, outcome, _result_of(attempt, alerts, outcome, now))
        for attempt, outcome in ended
    ]
    held = attempts_record([(each.notification, each.result) for each in results])
    recorded = [each for each, is_held in zip(results, held, strict=True) if is_held]
    NotificationAttempt.objects.bulk_create(_attempt_row(each, now) for each in recorded)
    _set_last_notified(recorded, locked, now)
    _follow_up_finished(recorded, alerts, now)
    _record_health(recorded, now)
    return recorded


def _set_last_notified(recorded: Sequence[_EndedAttempt], alerts: Sequence[Alert], now: datetime) -> None:
    """Set `last_notified` of the alerts of delivered messages, and of the open alerts of their incidents."""
    delivered = [each.notification for each in recorded if each.outcome.status is DeliveryStatus.DELIVERED]
    notified = {notification.alert_id for notification in delivered if notification.alert_id}
    notified |= open_in(incidents_of(delivered), alerts)
    Alert.objects.filter(Among("id", notified)).update(last_notified=now)


def _follow_up_finished(
    recorded: Sequence[_EndedAttempt], alerts: Mapping[str, Alert], now: datetime
) -> None:
    """Schedule reminders, also after a failure: the receiver may be back when they are due."""
    finished = [
        (each.notification, alert)
        for each in recorded
        if each.result["status"] in _FINISHED and (alert := alerts.get(each.notification.alert_id or ""))
    ]
    schedule_follow_ups(ended=finished, now=now)


def _record_health(recorded: Sequence[_EndedAttempt], now: datetime) -> None:
    """Write the health of destinations, from the attempts in which a message was sent."""
    tried = [
        (each.notification.destination, leased_at(each.notification), each.outcome)
        for each in recorded
        if each.attempt.has_message and each.outcome.fault is not DeliveryFault.WORKER
    ]
    destinations_record(ended=tried, now=now)


def _result_of(
    attempt: DeliveryAttempt, alerts: Mapping[str, Alert], outcome: Outcome, now: datetime
) -> AttemptResult:
    """Return the new values of the notification: delivered, due again, dropped or failed."""
    notification = attempt.notification
    latency_ms = outcome.latency_ms if outcome.has_meaningful_latency else None
    if outcome.status is DeliveryStatus.DELIVERED:
        status = NotificationStatus.DELIVERED.value
        return {"latency_ms": latency_ms, "status": status, "reason": None, "delivered": now}
    # `notification` has the value from before this attempt: the row was set when the attempt began only for
    # the case of a crash, and now the outcome is known.
    perhaps_received = notification.perhaps_received or outcome.perhaps_received
    failed: AttemptResult = {
        "latency_ms": latency_ms,
        "status": NotificationStatus.FAILED.value,
        "reason": outcome.reason,
        "perhaps_received": perhaps_received,
    }
    if reason := _reason_to_stop(notification, alerts, now):
        if perhaps_received:
            return failed
        return {**failed, "status": NotificationStatus.DROPPED.value, "reason": reason.value}
    if (retry_at := _retry_at(attempt, outcome, now)) is None:
        return failed
    return {**failed, "status": NotificationStatus.PENDING.value, "due": retry_at}


def _reason_to_stop(
    notification: Notification, alerts: Mapping[str, Alert], now: datetime
) -> DropReason | None:
    """Return why the message is no longer wanted. The next decision also reads the setting."""
    try:
        due = due_notification(notification, alerts.get(notification.alert_id or ""))
    except (LookupError, ValueError):
        return None  # a later version wrote its kind or channel, so nothing was sent: see `_undecided`
    return drop_reason(due, now)


def _retry_at(attempt: DeliveryAttempt, outcome: Outcome, now: datetime) -> datetime | None:
    """Return the time of the next attempt; None if the notification failed for good."""
    if outcome.status is not DeliveryStatus.RETRY:
        return None
    jitter = random.uniform(-1, 1)  # noqa: S311 - spreads retries, protects nothing
    retry_at = next_attempt(attempt.number, attempt.first_attempt or now, now, outcome.retry_after, jitter)
    # If no request reached the receiver, no pause is needed.
    return now if retry_at and outcome.fault is DeliveryFault.WORKER else retry_at


def _attempt_row(ended: _EndedAttempt, now: datetime) -> NotificationAttempt:
    outcome = ended.outcome
    # If the duration is secret, the row has the start of the attempt instead of its end.
    began = now - timedelta(milliseconds=outcome.latency_ms)
    return NotificationAttempt(
        notification_id=ended.notification.id,
        number=ended.attempt.number,
        ended=now if outcome.has_meaningful_latency else began,
        status=outcome.status.value,
        reason=outcome.reason,
        latency_ms=outcome.latency_ms if outcome.has_meaningful_latency else None,
    )


def _log(notification: Notification, outcome: Outcome) -> None:
    logger.info(
        "%s %s %s",
        notification.kind,
        notification.channel,
        outcome.status.value,
        extra={"delivery": notification.id, "ms": outcome.latency_ms, "reason": outcome.reason or "-"},
    )
