"""Delivery: from a due notification to its outcome. Begin with `Courier.step`, then read from top to bottom.

    claim ─► decide ─► send ─► record

Claim leases the notifications that may be sent next (`services.claims`). Decide postpones, drops, addresses
or sends each notification (`rules.delivery_policy`), while the rows behind the decision are locked. Send
makes one attempt over the channel, without the database. Record writes the outcome of the attempt and
schedules the next retry or reminder. `courier` calls these steps in a loop.

After a crash another worker takes over the notification. If decide had marked the attempt as begun, the
notification counts as perhaps received, and is sent again with the same delivery id.
"""

import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import InterfaceError, OperationalError, connection, transaction

from alerting.choices import DropReason, NotificationStatus
from alerting.messages import messages_of
from alerting.models import Alert, Notification, NotificationAttempt, NotificationSetting
from alerting.models.notifications import LONGEST_RECIPIENT
from alerting.rules.delivery_policy import (
    SECRETS_UNREADABLE,
    DeliveryStep,
    DeliveryVerdict,
    Mute,
    decide_delivery,
    drop_reason,
)
from alerting.rules.topology import Picture
from alerting.selectors.due_notifications import due_of, held_against, notified_destinations
from alerting.selectors.incidents import (
    IncidentView,
    alerts_behind,
    in_place_of_leads,
    incident_messages,
    incident_mutes,
    incident_views,
    incidents_of,
    leads_of,
    matters,
    open_in,
    said_before,
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
from alerting.services.incidents import said_keep
from alerting.services.leases import (
    LAPSES_AT_MOST,
    LONGEST_ATTEMPT,
    AttemptEnd,
    lapses_of,
    lease_finish,
    leased_at,
    leases_change,
    leases_finish,
)
from alerting.services.notifications import (
    notifications_insert,
    recipients_replace,
    redirected_row,
    schedule_follow_ups,
)
from integrations.choices import ENDS, FOLLOWING, ChannelType, DeliveryStatus
from integrations.delivery import deliver
from integrations.messages import Message
from integrations.outcome import Outcome, next_attempt
from opsapi.encryption import CannotDecryptError
from opsapi.fields import Among
from opsapi.outbound.errors import NO_ANSWER

logger = logging.getLogger("opsapi.delivery")

HELD_UP = "the worker was delayed before it could send the message"


# --- decide ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """A notification to send with `config`, the fields of its channel.

    `perhaps_before`: an earlier attempt perhaps reached the receiver; the notification itself says so of this
    attempt, too. `outcome` is set if the notification cannot be sent.
    """

    notification: Notification
    perhaps_before: bool
    config: Mapping[str, str]
    message: Message | None = None
    outcome: Outcome | None = None


def decide(claims: Sequence[Notification], *, now: datetime) -> Iterator[Job]:
    """Decide on claimed notifications, and yield jobs for the notifications to send.

    The other notifications are postponed, dropped, removed, addressed or failed. An unexpected error fails
    only the notification that causes it.

    Raises:
        OperationalError, InterfaceError: the database failed. The jobs that were yielded before have begun.
    """
    try:
        jobs = _decide(claims, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:  # noqa: BLE001 - decide on each notification separately to find the cause
        if len(claims) > 1:
            for notification in claims:
                yield from decide([notification], now=now)
            return
        jobs = _fail_undecided(claims[0], error, now)
    yield from jobs


@transaction.atomic
def _fail_undecided(notification: Notification, error: Exception, now: datetime) -> list[Job]:
    logger.error("notification %s cannot be decided on", notification.id, exc_info=error)
    failed = Outcome(DeliveryStatus.RETRY, f"the notification cannot be processed: {type(error).__name__}", 0)
    return _begin([Job(notification, notification.perhaps_received, {}, outcome=failed)], now)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of decisions, read for all notifications together.

    `settings` are by setting id and type, `mutes` and `lapses` by notification id, `configs` by
    destination. `notified` has the alert and destination of each message that was perhaps received. The first
    alert of an incident represents it; `said` is what its last message said, by notification id.
    """

    alerts: Mapping[str, Alert]
    settings: Mapping[tuple[str, str], NotificationSetting]
    mutes: Mapping[str, Mute]
    notified: AbstractSet[tuple[str, str]]
    lapses: Mapping[str, int]
    configs: Mapping[str, Mapping[str, str] | CannotDecryptError]
    incidents: Mapping[str, IncidentView]
    said: Mapping[str, Picture | None]
    named: dict[tuple[object, ...], NamedDestination | Outcome] = field(default_factory=dict)
    """Cache of `_named_destination`."""

    def were_notified(self, notification: Notification) -> bool:
        """Whether the receiver was perhaps notified of the alert; older rows name no destination."""
        alert_id = notification.alert_id or ""
        return not self.notified.isdisjoint({(alert_id, notification.destination), (alert_id, "")})


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A decided attempt; `failure` is its outcome if nothing can be sent."""

    notification: Notification
    failure: Outcome | None


@transaction.atomic
def _decide(claims: Sequence[Notification], now: datetime) -> list[Job]:
    """Write all decisions, and return the attempts to make.

    The rows behind a decision stay locked until it is written, so a request that ends or acknowledges an
    alert, or changes a window, waits and then sees the decision. The order of locks is window, alert,
    notification, destination, host, as everywhere, each by id. Projects are not locked: deleting a project
    locks its row last.
    """
    mutes = incident_mutes(claims, now=now)
    alert_ids = [notification.alert_id for notification in claims if notification.alert_id]
    alerts = Alert.objects.select_related("group").filter(alerts_behind(claims))
    locked = list(alerts.select_for_update(no_key=True, of=("self",)).order_by("id"))
    said = said_before(claims)
    facts = _Facts(
        alerts=in_place_of_leads(locked, leads_of(claims)),
        settings=settings_of(claims),
        mutes=mutes,
        notified=notified_destinations(alert_ids),
        lapses=lapses_of(claims),
        configs=destination_configs({claim.destination for claim in claims if claim.destination}),
        incidents=incident_views(incidents_of(claims), locked, said.values()),
        said=said,
    )
    attempts: list[_Attempt] = []
    addressed: list[tuple[Notification, NamedDestination]] = []
    for notification in claims:
        match _decide_one(notification, facts, now):
            case NamedDestination() as destination:
                addressed.append((notification, destination))
            case _Attempt() as attempt:
                attempts.append(attempt)
    _address(addressed, [attempt.notification.destination for attempt in attempts], now)
    to_send = [attempt.notification for attempt in attempts if attempt.failure is None]
    incidents = incident_messages(to_send, facts.incidents, facts.said)
    messages = messages_of(
        to_send, alerts=facts.alerts, settings=facts.settings.values(), now=now, incidents=incidents
    )
    jobs = _begin([_job(attempt, facts, messages) for attempt in attempts], now)
    sent = {job.notification.id for job in jobs if job.outcome is None}
    said_keep({name: said.picture for name, said in incidents.items() if name in sent})
    return jobs


def _decide_one(
    notification: Notification, facts: _Facts, now: datetime
) -> _Attempt | NamedDestination | None:
    """Return the attempt to make, or the destination to address; None if the notification is finished."""
    setting = facts.settings.get((notification.setting_id, notification.type_name))
    alert = facts.alerts.get(notification.alert_id or "")
    named = _named_destination(notification, setting, alert, facts)
    failure = named if isinstance(named, Outcome) else None
    destination = named if isinstance(named, NamedDestination) else None
    due = replace(
        held_against(notification, alert, setting),
        addressed=_is_addressed(notification, destination, facts),
        was_notified=facts.were_notified(notification),
        lapsed_for_good=facts.lapses.get(notification.id, 0) >= LAPSES_AT_MOST,
        mute=facts.mutes.get(notification.id),
        matters=matters(
            notification,
            facts.incidents.get(notification.incident_id or ""),
            facts.said.get(notification.id),
        ),
    )
    verdict = decide_delivery(due, now)
    match verdict.step:
        case DeliveryStep.SEND:
            return _Attempt(notification, failure)
        case DeliveryStep.ADDRESS if failure:
            return _Attempt(notification, failure)
        case DeliveryStep.ADDRESS if destination:
            return destination
        case DeliveryStep.ADDRESS if notification.channel is None and setting:
            recipients_replace(notification=notification, setting=setting, alert=alert, now=now)
        case DeliveryStep.ADDRESS:
            raise AssertionError(f"notification {notification.id} has no destination and no recipients")
        case DeliveryStep.DROP:
            lease_finish(notification, status=NotificationStatus.DROPPED.value, reason=verdict.reason)
        case DeliveryStep.REMOVE:
            Notification.objects.filter(id=notification.id, lease_token=notification.lease_token).delete()
        case DeliveryStep.PUT_OFF:
            lease_finish(notification, **_put_off(verdict, notification))
        case DeliveryStep.GIVE_UP:
            _give_up(verdict, notification, alert, now)
    return None


def _is_addressed(notification: Notification, destination: NamedDestination | None, facts: _Facts) -> bool:
    """Return whether the notification has the destination that the configuration names now.

    If the configuration of this destination cannot be decrypted, the notification is addressed again: that
    stores the configuration with the current key.
    """
    stored = facts.configs.get(notification.destination)
    if stored is None:
        return False
    if destination is None:  # It is fixed, or the configuration names none now.
        return True
    return destination.id == notification.destination and not isinstance(stored, CannotDecryptError)


def _named_destination(
    notification: Notification, setting: NotificationSetting | None, alert: Alert | None, facts: _Facts
) -> NamedDestination | Outcome | None:
    """Return the destination that the configuration names now, or the failure if it names none.

    Return None in two cases: the destination is fixed, because ends and acknowledgements go to the
    destination of the opening, or the notification is for people and has no channel yet.
    """
    is_fixed = notification.kind in FOLLOWING
    if notification.channel is None or (is_fixed and notification.destination in facts.configs):
        return None
    if is_fixed and notification.destination:
        return Outcome(DeliveryStatus.FAILED, DropReason.SECRETS_GONE.value, 0)
    key = (
        notification.setting_id,
        notification.type_name,
        notification.channel,
        notification.group_id,
        notification.recipient,
        notification.kind in ENDS,
    )
    if key not in facts.named:
        facts.named[key] = _look_up_destination(notification, setting, alert)
    return facts.named[key]


def _look_up_destination(
    notification: Notification, setting: NotificationSetting | None, alert: Alert | None
) -> NamedDestination | Outcome:
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


def _put_off(verdict: DeliveryVerdict, notification: Notification) -> dict[str, Any]:
    """Restart the hour of retries, and address the notification again unless its destination is fixed."""
    is_fixed = notification.perhaps_received or notification.kind in FOLLOWING
    return {
        "due": verdict.until,
        "reason": verdict.reason,
        "silenced_by": verdict.silenced_by,
        "first_attempt": None,
        "destination": notification.destination if is_fixed else "",
    }


def _give_up(
    verdict: DeliveryVerdict, notification: Notification, alert: Alert | None, now: datetime
) -> None:
    """Fail the notification; the next reminder of an open alert follows, as after any failure."""
    if lease_finish(notification, status=NotificationStatus.FAILED.value, reason=verdict.reason) and alert:
        schedule_follow_ups(ended=[(notification, alert)], now=now)


def _address(
    addressed: Sequence[tuple[Notification, NamedDestination]], tried: Sequence[str], now: datetime
) -> None:
    """Address notifications to the destinations that their configurations name now.

    The next claim sends them. If the earlier destination perhaps received the message, its row fails and
    stays, so that it gets the end of the alert as well, and a new row goes to the new destination. All
    destinations of the batch, including `tried`, are locked in one order, so two workers cannot deadlock.
    """
    if not addressed:
        return
    destinations_lock([*tried, *(destination.id for _, destination in addressed)])
    destinations_keep([destination for _, destination in addressed], now=now)
    moved: dict[tuple[str, str, str | None, bool], list[Notification]] = {}
    for notification, destination in addressed:
        shown = destination.credentials.shown[:LONGEST_RECIPIENT]
        moves = notification.destination not in {"", destination.id}
        if not (notification.perhaps_received and moves):
            key = (destination.id, shown, notification.reason, moves)
            moved.setdefault(key, []).append(notification)
        elif lease_finish(
            notification, status=NotificationStatus.FAILED.value, reason=notification.reason or NO_ANSWER
        ):
            notifications_insert([redirected_row(notification, destination.id, shown, now)])
    for (destination_key, shown, reason, moves), rows in moved.items():
        restarted = {"first_attempt": None} if moves else {}
        leases_change(rows, destination=destination_key, recipient=shown, reason=reason, **restarted)


def _job(attempt: _Attempt, facts: _Facts, messages: Mapping[str, Message | ObjectDoesNotExist]) -> Job:
    """Return the job of an attempt; a message that cannot be built is retried like a failed attempt."""
    notification, perhaps_before = attempt.notification, attempt.notification.perhaps_received
    if attempt.failure is not None:
        return Job(notification, perhaps_before, {}, outcome=attempt.failure)
    config, message = facts.configs[notification.destination], messages[notification.id]
    if isinstance(config, CannotDecryptError):
        logger.error("notification %s cannot be sent: %s", notification.id, config)
        reason = SECRETS_UNREADABLE
    elif isinstance(message, ObjectDoesNotExist):
        missing = type(message)
        logger.error("notification %s cannot be sent: %s", notification.id, missing.__qualname__)
        reason = f"the message cannot be built: {missing.__name__}"
    else:
        return Job(notification, perhaps_before, config, message)
    return Job(notification, perhaps_before, {}, outcome=Outcome(DeliveryStatus.RETRY, reason, 0))


_BEGIN = """
UPDATE alerting_notification
   SET attempts = attempts + 1, first_attempt = coalesce(first_attempt, %(now)s),
       perhaps_received = perhaps_received OR id = ANY(%(sent)s)
 WHERE id = ANY(%(ids)s) AND lease_token = ANY(%(tokens)s)
RETURNING id, attempts, first_attempt, perhaps_received
"""


def _begin(jobs: Sequence[Job], now: datetime) -> list[Job]:
    """Mark attempts as begun before anything is sent: after a crash they count as perhaps received.

    Return the jobs whose lease is still valid; another worker has the others.
    """
    if not jobs:
        return []
    sent = [job.notification for job in jobs if job.outcome is None]
    parameters: Mapping[str, Any] = {
        "ids": [job.notification.id for job in jobs],
        "tokens": list({job.notification.lease_token for job in jobs}),
        "sent": [notification.id for notification in sent],
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, parameters)
        begun = {row[0]: row[1:] for row in cursor.fetchall()}
    destinations_tried(ids=[notification.destination for notification in sent], now=now)
    for notification in (job.notification for job in jobs if job.notification.id in begun):
        notification.attempts, notification.first_attempt, notification.perhaps_received = begun[
            notification.id
        ]
    return [job for job in jobs if job.notification.id in begun]


# --- send -----------------------------------------------------------------------------------------


def send(job: Job, *, now: datetime) -> Outcome:
    """Make one attempt over the channel; needs no database."""
    if job.outcome is not None or job.message is None:
        return job.outcome or Outcome(DeliveryStatus.FAILED, DropReason.NOTIFICATION_REMOVED.value, 0)
    if job.notification.lease_until and now > job.notification.lease_until - LONGEST_ATTEMPT:
        # The lease may end before the answer arrives, and then another worker sends the next message.
        return Outcome(DeliveryStatus.RETRY, HELD_UP, 0)
    return deliver(ChannelType(str(job.notification.channel)), job.config, job.message, now=now)


# --- record ---------------------------------------------------------------------------------------

_FINISHED = frozenset({NotificationStatus.DELIVERED.value, NotificationStatus.FAILED.value})


def record(ended: Sequence[tuple[Job, Outcome]], *, now: datetime) -> None:
    """Write the outcomes of attempts, and schedule what follows: a retry or a reminder.

    An outcome is ignored if the lease was released meanwhile: the message is sent again with the same
    delivery id. An unexpected error has the same effect, and concerns only the outcome that causes it.

    Raises:
        OperationalError, InterfaceError: the database failed. Call again with the same outcomes.
    """
    try:
        _record(ended, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        if len(ended) > 1:
            for job, outcome in ended:  # record each outcome separately to find the cause
                record([(job, outcome)], now=now)
            return
        logger.exception("the outcome of notification %s cannot be recorded", ended[0][0].notification.id)


@transaction.atomic
def _record(ended: Sequence[tuple[Job, Outcome]], now: datetime) -> None:
    # A request that ends an alert takes this lock too: it sees the delivery, or this code sees the end.
    notifications = [job.notification for job, _ in ended]
    locked = list(Alert.objects.select_for_update().filter(alerts_behind(notifications)).order_by("id"))
    alerts = in_place_of_leads(locked, leads_of(notifications))
    changes = [(job.notification, _changes(job, alerts, outcome, now)) for job, outcome in ended]
    changed = leases_finish(changes)
    recorded = [(job, outcome) for job, outcome in ended if job.notification.id in changed]
    NotificationAttempt.objects.bulk_create(_attempt_row(job, outcome, now) for job, outcome in recorded)
    for job, outcome in recorded:
        _log(job.notification, outcome)
    delivered = [job.notification for job, outcome in recorded if outcome.status is DeliveryStatus.DELIVERED]
    notified = {notification.alert_id for notification in delivered if notification.alert_id}
    notified |= open_in(incidents_of(delivered), locked)
    Alert.objects.filter(Among("id", notified)).update(last_notified=now)
    # Also after a failure: the receiver may be back when the next reminder is due.
    finished = [
        (notification, alerts[notification.alert_id])
        for notification, change in changes
        if notification.id in changed and change["status"] in _FINISHED and notification.alert_id in alerts
    ]
    schedule_follow_ups(ended=finished, now=now)
    tried = [
        (job.notification.destination, leased_at(job.notification), outcome)
        for job, outcome in recorded
        if job.message is not None and outcome.reason != HELD_UP
    ]
    destinations_record(ended=tried, now=now)


def _changes(job: Job, alerts: Mapping[str, Alert], outcome: Outcome, now: datetime) -> AttemptEnd:
    """Return the new values of the notification: delivered, due again, dropped or failed."""
    notification = job.notification
    latency_ms = outcome.latency_ms if outcome.has_meaningful_latency else None
    if outcome.status is DeliveryStatus.DELIVERED:
        status = NotificationStatus.DELIVERED.value
        return {"latency_ms": latency_ms, "status": status, "reason": None, "delivered": now}
    perhaps_received = job.perhaps_before or outcome.perhaps_received
    end: AttemptEnd = {
        "latency_ms": latency_ms,
        "status": NotificationStatus.FAILED.value,
        "reason": outcome.reason,
        "perhaps_received": perhaps_received,
    }
    if dropped := drop_reason(due_of(notification, alerts.get(notification.alert_id or "")), now):
        if perhaps_received:
            return end
        return {**end, "status": NotificationStatus.DROPPED.value, "reason": dropped.value}
    if (due := _next_attempt(notification, outcome, now)) is not None:
        return {**end, "status": NotificationStatus.PENDING.value, "due": due}
    return end


def _next_attempt(notification: Notification, outcome: Outcome, now: datetime) -> datetime | None:
    """Return the time of the next attempt; None if the notification failed for good."""
    if outcome.status is not DeliveryStatus.RETRY:
        return None
    jitter = random.uniform(-1, 1)  # noqa: S311 - spreads retries, protects nothing
    first = notification.first_attempt or now
    due = next_attempt(notification.attempts, first, now, outcome.retry_after, jitter)
    # If the worker was delayed, no request reached the receiver, so no pause is needed.
    return now if due is not None and outcome.reason == HELD_UP else due


def _attempt_row(job: Job, outcome: Outcome, ended: datetime) -> NotificationAttempt:
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
