"""Delivery: from a due notification to its outcome. Read from top to bottom.

    claim ─► decide ─► send ─► record

Claim leases the notifications that may be sent next (`services.claims`). Decide chooses to send, address,
postpone, drop or remove each notification, or to give up (`rules.delivery_policy`), while its alert and the
maintenance windows are locked. Send makes one attempt over the channel, without the database. Record writes
the outcome of the attempt and schedules the next retry or reminder. `courier` calls these steps in a loop.

After a crash another worker takes over the notification. If decide had marked the attempt as begun, the
notification counts as perhaps received, and is sent again with the same delivery id.

Grouped alerts share the messages of their incident. These messages belong to the first alert of the incident,
and the open alerts of the incident decide on them (`selectors.incidents`). A `Picture` is the content of a
message about the incident; a change is only sent if its picture differs enough from the last picture sent.
"""

import logging
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple

from django.db import connection, transaction

from alerting.choices import DropReason, NotificationStatus
from alerting.messages import messages_of
from alerting.models import Alert, Notification, NotificationAttempt, NotificationSetting
from alerting.models.notifications import LONGEST_RECIPIENT
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
    IncidentView,
    alerts_deciding,
    alerts_with_incident_state,
    incident_messages,
    incident_mutes,
    incident_views,
    incidents_of,
    is_worth_sending,
    last_pictures,
    leads_of,
    open_in,
)
from alerting.selectors.notification_settings import NoCredentialsError, credentials_for, settings_of
from alerting.services.destinations import (
    NamedDestination,
    destination_configs,
    destination_id,
    destinations_keep,
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
    notifications_insert,
    recipients_replace,
    redirected_row,
    schedule_follow_ups,
)
from integrations.choices import ENDS, FOLLOWING, ChannelType, DeliveryFault, DeliveryStatus
from integrations.delivery import deliver
from integrations.messages import Message
from integrations.outcome import Outcome, next_attempt
from opsapi.encryption import CannotDecryptError
from opsapi.fields import Among
from opsapi.outbound.errors import NO_ANSWER
from opsapi.postgresql.faults import passes

logger = logging.getLogger("opsapi.delivery")

HELD_UP = "the worker was delayed before it could send the message"


# --- decide ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """An attempt: a message to send with `channel_fields`, or its outcome if nothing can be sent.

    `notification.perhaps_received` is about earlier attempts; in the database it includes this attempt.
    """

    notification: Notification
    channel_fields: Mapping[str, str]
    content: Message | Outcome

    @property
    def has_message(self) -> bool:
        """Whether there is a message to send."""
        return isinstance(self.content, Message)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A job that has begun: the number of the attempt, and the time of the notification's first attempt."""

    job: Job
    number: int
    first_attempt: datetime


def decide(claims: Sequence[Notification], *, now: datetime) -> Iterator[Job]:
    """Decide on claimed notifications, and yield a job for each attempt.

    The other notifications are addressed, postponed, dropped, removed or given up. An unexpected error fails
    only the attempt of the notification that causes it, which is retried.

    Raises:
        DatabaseError, InterfaceError: the database has a fault that passes. The jobs that were yielded before
            have begun.
    """
    try:
        begun = _decide(claims, now)
    except Exception as error:
        if passes(error):
            raise
        if len(claims) > 1:  # decide on each notification separately to find the cause
            for notification in claims:
                yield from decide([notification], now=now)
            return
        begun = _begin([_undecided(claims[0], error)], now)
    for attempt in begun:
        # After the commit: a rollback must leave them unchanged, because they are decided on again.
        notification = attempt.job.notification
        notification.attempts, notification.first_attempt = attempt.number, attempt.first_attempt
        yield attempt.job


def _undecided(notification: Notification, error: Exception) -> Job:
    logger.error("notification %s cannot be decided on", notification.id, exc_info=error)
    reason = f"the notification cannot be processed: {type(error).__name__}"
    return Job(notification, {}, Outcome(DeliveryStatus.RETRY, reason, 0))


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of decisions, read for all notifications together.

    `settings` are by setting id and type, `mutes` and `lapses` by notification id, `channel_fields` by
    destination. `notified` has the alert and destination of each message that was perhaps received. In
    `alerts`, the first alert of an incident has the state of the incident. `last_pictures` are the
    pictures in the last messages about incidents, by notification id.
    """

    alerts: Mapping[str, Alert]
    settings: Mapping[tuple[str, str], NotificationSetting]
    mutes: Mapping[str, Mute]
    notified: AbstractSet[tuple[str, str]]
    lapses: Mapping[str, int]
    channel_fields: Mapping[str, Mapping[str, str] | CannotDecryptError]
    incidents: Mapping[str, IncidentView]
    last_pictures: Mapping[str, Picture | None]
    named: dict[tuple[object, ...], NamedDestination | Outcome] = field(default_factory=dict)
    """Results of `_look_up_destination`, by the values that they depend on."""

    def alert(self, notification: Notification) -> Alert | None:
        return self.alerts.get(notification.alert_id or "")

    def setting(self, notification: Notification) -> NotificationSetting | None:
        return self.settings.get((notification.setting_id, notification.type_name))

    def was_notified(self, notification: Notification) -> bool:
        """Whether the receiver was perhaps notified of the alert; older rows name no destination."""
        alert_id = notification.alert_id or ""
        return not self.notified.isdisjoint({(alert_id, notification.destination), (alert_id, "")})


class _NotAsked(Enum):
    """The reasons why the alert configuration is not asked for the destination."""

    FIXED = "an end or acknowledgement goes to the destination of the opening"
    FOR_PEOPLE = "the addresses of people are not looked up yet"


_Named = NamedDestination | Outcome | _NotAsked
"""The destination that the alert configuration names, the failure to name it, or the reason not to ask it."""


@dataclass(slots=True)
class _Decided:
    """The work that remains for all notifications together; `failed` are attempts without a message."""

    failed: list[Job] = field(default_factory=list)
    to_send: list[Notification] = field(default_factory=list)
    to_address: list[tuple[Notification, NamedDestination]] = field(default_factory=list)


@transaction.atomic
def _decide(claims: Sequence[Notification], now: datetime) -> list[_Attempt]:
    """Write all decisions, and return the attempts to make."""
    facts = _lock_and_read(claims, now)
    decided = _Decided()
    for notification in claims:
        _decide_one(notification, facts, decided, now)
    _address(decided, now)
    to_send = decided.to_send
    incidents = incident_messages(to_send, facts.incidents, facts.last_pictures)
    messages = messages_of(
        to_send, alerts=facts.alerts, settings=facts.settings.values(), now=now, incidents=incidents
    )
    jobs = [_job(notification, facts, messages.get(notification.id)) for notification in to_send]
    begun = _begin([*decided.failed, *jobs], now)
    sent = {attempt.job.notification.id for attempt in begun if attempt.job.has_message}
    pictures_keep({row_id: message.picture for row_id, message in incidents.items() if row_id in sent})
    return begun


def _lock_and_read(claims: Sequence[Notification], now: datetime) -> _Facts:
    """Lock alerts and windows until the decisions are written, and read the other facts without a lock.

    A request that ends or acknowledges an alert, or changes a window, waits and then sees the decision.
    Windows are locked first, then alerts, each by id; `_address` and `_begin` lock destinations after them.
    The notifications are already leased, so no other worker locks them. Projects are not locked: a request
    that deletes a project waits only for these windows and alerts. A request that changes a configuration
    does not wait: a message whose decision has begun is still sent.
    """
    mutes = incident_mutes(claims, now=now)
    alert_ids = [notification.alert_id for notification in claims if notification.alert_id]
    alerts = Alert.objects.select_related("group").filter(alerts_deciding(claims))
    locked = list(alerts.select_for_update(no_key=True, of=("self",)).order_by("id"))
    pictures = last_pictures(claims)
    return _Facts(
        alerts=alerts_with_incident_state(locked, leads_of(claims)),
        settings=settings_of(claims),
        mutes=mutes,
        notified=notified_destinations(alert_ids),
        lapses=lapses_of(claims),
        channel_fields=destination_configs({claim.destination for claim in claims if claim.destination}),
        incidents=incident_views(claims, locked, pictures),
        last_pictures=pictures,
    )


def _decide_one(notification: Notification, facts: _Facts, decided: _Decided, now: datetime) -> None:
    """Decide on a notification, and write the decision or add the notification to `decided`."""
    alert, setting = facts.alert(notification), facts.setting(notification)
    named = _named_destination(notification, facts)
    verdict = decide_delivery(_due(notification, named, facts), now)
    match verdict.step:
        case DeliveryStep.DROP:
            dropped = NotificationStatus.DROPPED.value
            leases_release_with([notification], status=dropped, reason=verdict.reason)
        case DeliveryStep.REMOVE:
            Notification.objects.filter(id=notification.id, lease_token=notification.lease_token).delete()
        case DeliveryStep.POSTPONE:
            _postpone(notification, verdict)
        case DeliveryStep.GIVE_UP:
            _give_up(notification, verdict.reason, alert, now)
        case DeliveryStep.SEND if isinstance(named, Outcome):
            decided.failed.append(Job(notification, {}, named))
        case DeliveryStep.SEND:
            decided.to_send.append(notification)
        case DeliveryStep.ADDRESS if isinstance(named, NamedDestination):
            decided.to_address.append((notification, named))
        case DeliveryStep.ADDRESS if named is _NotAsked.FOR_PEOPLE and setting:
            recipients_replace(notification=notification, setting=setting, alert=alert, now=now)
        case DeliveryStep.ADDRESS:
            raise AssertionError(f"notification {notification.id} has no destination and no recipients")


def _due(notification: Notification, named: _Named, facts: _Facts) -> DueNotification:
    incident = facts.incidents.get(notification.incident_id or "")
    return replace(
        due_notification_with_setting(notification, facts.alert(notification), facts.setting(notification)),
        addressed=_is_addressed(notification, named, facts),
        was_notified=facts.was_notified(notification),
        lapsed_for_good=facts.lapses.get(notification.id, 0) >= LAPSES_AT_MOST,
        mute=facts.mutes.get(notification.id),
        worth_sending=is_worth_sending(notification, incident, facts.last_pictures.get(notification.id)),
    )


def _is_addressed(notification: Notification, named: _Named, facts: _Facts) -> bool:
    """Return whether the notification has the destination that its alert configuration names now.

    A fixed destination and a failed look-up count as addressed; the failure becomes a failed attempt. If the
    stored fields of the channel cannot be decrypted, the notification is addressed again: that stores them
    with the current key.
    """
    if not isinstance(named, NamedDestination):
        return named is not _NotAsked.FOR_PEOPLE
    stored = facts.channel_fields.get(notification.destination)
    return named.id == notification.destination and isinstance(stored, Mapping)


def _named_destination(notification: Notification, facts: _Facts) -> _Named:
    if notification.channel is None:
        return _NotAsked.FOR_PEOPLE
    if notification.kind in FOLLOWING and notification.destination:
        if notification.destination in facts.channel_fields:
            return _NotAsked.FIXED
        return Outcome(DeliveryStatus.FAILED, DropReason.SECRETS_GONE.value, 0)
    # Notifications with the same key have the same credentials.
    key = (
        notification.setting_id,
        notification.type_name,
        notification.channel,
        notification.group_id,
        notification.recipient,
        notification.kind in ENDS,
    )
    if key not in facts.named:
        facts.named[key] = _look_up_destination(notification, facts)
    return facts.named[key]


def _look_up_destination(notification: Notification, facts: _Facts) -> NamedDestination | Outcome:
    alert, setting = facts.alert(notification), facts.setting(notification)
    try:
        credentials = credentials_for(notification, setting)
    except NoCredentialsError as error:
        return Outcome(DeliveryStatus.FAILED, error.reason, 0)
    except CannotDecryptError as error:
        # Retried, because another machine may have the key, or this machine after a restart.
        logger.error("notification %s cannot be sent: %s", notification.id, error)
        return Outcome(DeliveryStatus.RETRY, SECRETS_UNREADABLE, 0)
    group_id, channel = notification.group_id, ChannelType(str(notification.channel))
    of_global_config = setting is not None and setting.config.group_id is None
    is_global = alert.is_global if alert else of_global_config
    key = destination_id(group_id=group_id, channel=channel, config=credentials.config, is_global=is_global)
    return NamedDestination(key, group_id, channel, credentials, is_global)


def _postpone(notification: Notification, verdict: DeliveryVerdict) -> None:
    """Restart the time of retries, `RETRIES_LAST`, and address the notification again if it may move."""
    keeps_destination = notification.perhaps_received or notification.kind in FOLLOWING
    leases_release_with(
        [notification],
        due=verdict.until,
        reason=verdict.reason,
        silenced_by=verdict.silenced_by,
        first_attempt=None,
        destination=notification.destination if keeps_destination else "",
    )


def _give_up(notification: Notification, reason: str | None, alert: Alert | None, now: datetime) -> None:
    """Fail the notification; the next reminder of an open alert follows, as after any failure."""
    failed = NotificationStatus.FAILED.value
    if leases_release_with([notification], status=failed, reason=reason) and alert:
        schedule_follow_ups(ended=[(notification, alert)], now=now)


class _Addressed(NamedTuple):
    """The values that notifications get; `moved` if they had another destination."""

    destination: str
    recipient: str
    reason: str | None
    moved: bool


def _address(decided: _Decided, now: datetime) -> None:
    """Address notifications to the destinations that their configurations name now.

    The next claim sends them. All destinations of the batch, also of `to_send`, are locked in one order, so
    two workers cannot deadlock. If nothing is addressed, `_begin` locks them.
    """
    if not decided.to_address:
        return
    named = [destination for _, destination in decided.to_address]
    tried = [notification.destination for notification in decided.to_send]
    destinations_lock([*tried, *(destination.id for destination in named)])
    destinations_keep(named, now=now)
    # One statement for all notifications that get the same values.
    addressed: dict[_Addressed, list[Notification]] = defaultdict(list)
    for notification, destination in decided.to_address:
        recipient = destination.credentials.shown[:LONGEST_RECIPIENT]
        moved = notification.destination not in {"", destination.id}
        if moved and notification.perhaps_received:
            _redirect(notification, destination.id, recipient, now)
        else:
            values = _Addressed(destination.id, recipient, notification.reason, moved)
            addressed[values].append(notification)
    for values, rows in addressed.items():
        # The hour of retries begins again with a new destination.
        restarted = {"first_attempt": None} if values.moved else {}
        leases_release_with(
            rows,
            destination=values.destination,
            recipient=values.recipient,
            reason=values.reason,
            **restarted,
        )


def _redirect(notification: Notification, destination: str, recipient: str, now: datetime) -> None:
    """Fail the notification, and insert the same message for another destination.

    The earlier destination perhaps received the message. The failed notification stays, so that this
    destination gets the end of the alert too.
    """
    failed, reason = NotificationStatus.FAILED.value, notification.reason or NO_ANSWER
    if leases_release_with([notification], status=failed, reason=reason):
        notifications_insert([redirected_row(notification, destination, recipient, now)])


def _job(notification: Notification, facts: _Facts, message: Message | None) -> Job:
    """Return the job of an attempt, which is retried if the message or the channel's fields are missing."""
    channel_fields = facts.channel_fields[notification.destination]
    if isinstance(channel_fields, CannotDecryptError):
        logger.error("notification %s cannot be sent: %s", notification.id, channel_fields)
        reason = SECRETS_UNREADABLE
    elif message is None:
        reason = "the message cannot be built: its alert, event or project was deleted"
        logger.error("notification %s cannot be sent: %s", notification.id, reason)
    else:
        return Job(notification, channel_fields, message)
    return Job(notification, {}, Outcome(DeliveryStatus.RETRY, reason, 0))


_BEGIN = """
UPDATE alerting_notification
   SET attempts = attempts + 1, first_attempt = coalesce(first_attempt, %(now)s),
       perhaps_received = perhaps_received OR id = ANY(%(sent)s)
 WHERE id = ANY(%(ids)s) AND lease_token = ANY(%(tokens)s)
RETURNING id, attempts, first_attempt
"""


@transaction.atomic(savepoint=False)
def _begin(jobs: Sequence[Job], now: datetime) -> list[_Attempt]:
    """Mark attempts as begun before anything is sent: after a crash they count as perhaps received.

    Return the attempts whose lease is still valid. Another worker has the other notifications.
    """
    if not jobs:
        return []
    parameters: Mapping[str, Any] = {
        "ids": [job.notification.id for job in jobs],
        "tokens": list({job.notification.lease_token for job in jobs}),
        "sent": [job.notification.id for job in jobs if job.has_message],
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, parameters)
        held = {row[0]: row[1:] for row in cursor.fetchall()}
    begun = [_Attempt(job, *held[job.notification.id]) for job in jobs if job.notification.id in held]
    sent = [attempt.job for attempt in begun if attempt.job.has_message]
    destinations_tried(ids=[job.notification.destination for job in sent], now=now)
    return begun


# --- send -----------------------------------------------------------------------------------------


def send(job: Job, *, now: datetime) -> Outcome:
    """Make one attempt over the channel; needs no database."""
    if isinstance(job.content, Outcome):
        return job.content
    if job.notification.lease_until and now > job.notification.lease_until - LONGEST_ATTEMPT:
        # The lease may end before the answer arrives, and then another worker may send the message again.
        return Outcome(DeliveryStatus.RETRY, HELD_UP, 0, fault=DeliveryFault.WORKER)
    return deliver(ChannelType(str(job.notification.channel)), job.channel_fields, job.content, now=now)


# --- record ---------------------------------------------------------------------------------------

_FINISHED = frozenset({NotificationStatus.DELIVERED.value, NotificationStatus.FAILED.value})


def record(ended: Sequence[tuple[Job, Outcome]], *, now: datetime) -> None:
    """Write the outcomes of attempts, and schedule retries and reminders.

    An outcome is ignored if the lease was released meanwhile: the message is sent again with the same
    delivery id. An unexpected error has the same effect, and concerns only the outcome that causes it.

    Raises:
        DatabaseError, InterfaceError: the database has a fault that passes. Call again with the same
            outcomes.
    """
    try:
        recorded = _record(ended, now)
    except Exception as error:
        if passes(error):
            raise
        if len(ended) > 1:  # record each outcome separately to find the cause
            for job, outcome in ended:
                record([(job, outcome)], now=now)
            return
        logger.exception("the outcome of notification %s cannot be recorded", ended[0][0].notification.id)
        return
    for job, outcome in recorded:
        _log(job.notification, outcome)


@transaction.atomic
def _record(ended: Sequence[tuple[Job, Outcome]], now: datetime) -> list[tuple[Job, Outcome]]:
    """Write the outcomes whose lease is still valid, and return them."""
    # A request that ends an alert takes this lock too: it sees the delivery, or this code sees the end.
    notifications = [job.notification for job, _ in ended]
    locked = list(Alert.objects.select_for_update().filter(alerts_deciding(notifications)).order_by("id"))
    alerts = alerts_with_incident_state(locked, leads_of(notifications))
    attempts = [(job, outcome, _result_of(job, alerts, outcome, now)) for job, outcome in ended]
    held = attempts_record([(job.notification, result) for job, _, result in attempts])
    recorded = [attempt for attempt, is_held in zip(attempts, held, strict=True) if is_held]
    NotificationAttempt.objects.bulk_create(_attempt_row(job, outcome, now) for job, outcome, _ in recorded)
    delivered = [
        job.notification for job, outcome, _ in recorded if outcome.status is DeliveryStatus.DELIVERED
    ]
    notified = {notification.alert_id for notification in delivered if notification.alert_id}
    notified |= open_in(incidents_of(delivered), locked)
    Alert.objects.filter(Among("id", notified)).update(last_notified=now)
    # Also after a failure: the receiver may be back when the next reminder is due.
    finished = [
        (job.notification, alerts[job.notification.alert_id])
        for job, _, result in recorded
        if result["status"] in _FINISHED and job.notification.alert_id in alerts
    ]
    schedule_follow_ups(ended=finished, now=now)
    tried = [
        (job.notification.destination, leased_at(job.notification), outcome)
        for job, outcome, _ in recorded
        if job.has_message and outcome.fault is not DeliveryFault.WORKER
    ]
    destinations_record(ended=tried, now=now)
    return [(job, outcome) for job, outcome, _ in recorded]


def _result_of(job: Job, alerts: Mapping[str, Alert], outcome: Outcome, now: datetime) -> AttemptResult:
    """Return the new values of the notification: delivered, due again, dropped or failed."""
    notification = job.notification
    latency_ms = outcome.latency_ms if outcome.has_meaningful_latency else None
    if outcome.status is DeliveryStatus.DELIVERED:
        status = NotificationStatus.DELIVERED.value
        return {"latency_ms": latency_ms, "status": status, "reason": None, "delivered": now}
    perhaps_received = notification.perhaps_received or outcome.perhaps_received
    result: AttemptResult = {
        "latency_ms": latency_ms,
        "status": NotificationStatus.FAILED.value,
        "reason": outcome.reason,
        "perhaps_received": perhaps_received,
    }
    # The setting is not read: if it was removed, the next decision drops the retry.
    due = due_notification(notification, alerts.get(notification.alert_id or ""))
    dropped = drop_reason(due, now)
    if dropped and not perhaps_received:
        return {**result, "status": NotificationStatus.DROPPED.value, "reason": dropped.value}
    if not dropped and (retry_at := _next_attempt(notification, outcome, now)) is not None:
        return {**result, "status": NotificationStatus.PENDING.value, "due": retry_at}
    return result


def _next_attempt(notification: Notification, outcome: Outcome, now: datetime) -> datetime | None:
    """Return the time of the next attempt; None if the notification failed for good."""
    if outcome.status is not DeliveryStatus.RETRY:
        return None
    jitter = random.uniform(-1, 1)  # noqa: S311 - spreads retries, protects nothing
    first = notification.first_attempt or now
    retry_at = next_attempt(notification.attempts, first, now, outcome.retry_after, jitter)
    if retry_at is not None and outcome.fault is DeliveryFault.WORKER:
        return now  # no request reached the receiver, so no pause is needed
    return retry_at


def _attempt_row(job: Job, outcome: Outcome, ended: datetime) -> NotificationAttempt:
    # Some durations are secret (`has_meaningful_latency`): the row then has the time of the begin.
    began = ended - timedelta(milliseconds=outcome.latency_ms)
    return NotificationAttempt(
        notification_id=job.notification.id,
        number=job.notification.attempts,
        ended=ended if outcome.has_meaningful_latency else began,
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
