"""Delivery: from a due notification to its outcome. Read from top to bottom.

    claim ─► decide ─► send ─► record

Claim leases the notifications that may go out next (`rules.claim_order`). Decide puts off, drops, addresses
or sends each notification (`rules.delivery_policy`), while it holds their locks. Send makes one attempt over
the channel, without the database. Record writes the outcome of the attempt and schedules what follows: a
retry or a reminder.

A crash between two steps loses nothing: another worker takes over the notification as "perhaps received",
under the same delivery id.
"""

import logging
import random
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper

from alerting.choices import DropReason, NotificationStatus
from alerting.messages import messages_of
from alerting.models import Alert, Destination, Notification, NotificationAttempt, NotificationSetting
from alerting.models.notifications import LONGEST_RECIPIENT
from alerting.rules.claim_order import AT_ONE_DESTINATION, Candidate, InHand, choose
from alerting.rules.delivery_policy import (
    SECRETS_UNREADABLE,
    DeliveryStep,
    DeliveryVerdict,
    Silence,
    decide_delivery,
    drop_reason,
)
from alerting.selectors.credentials import NoCredentialsError, credentials_for, settings_of
from alerting.selectors.due_notifications import due_of, held_against
from alerting.selectors.notified_receivers import notified_destinations
from alerting.selectors.windows import silences_of
from alerting.services.destinations import (
    NamedDestination,
    destination_configs,
    destination_id,
    destinations_keep,
    destinations_lock,
    destinations_record,
    destinations_tried,
)
from alerting.services.leases import (
    LAPSES_AT_MOST,
    LEASE,
    LONGEST_ATTEMPT,
    is_lapsed,
    lapses_of,
    lease_finish,
    leased_at,
    leases_change,
    leases_finish,
    leases_release,
    leases_take,
)
from alerting.services.notification_rows import notifications_insert, redirected_row
from alerting.services.notifications import schedule_follow_ups, schedule_reminders
from alerting.services.recipients import recipients_replace
from integrations.choices import ENDS, ChannelType, DeliveryStatus, MessageKind
from integrations.delivery import deliver
from integrations.messages import Message
from integrations.outcome import Outcome
from integrations.retry import next_attempt
from opsapi.encryption import CannotDecryptError
from opsapi.fields import Among
from opsapi.outbound.errors import NO_ANSWER

logger = logging.getLogger("opsapi.pipeline")

Clock = Callable[[], datetime]

UNDECIDED_AT_ONCE = 200
AT_ONCE = 64
"""The most notifications in one claim: the first are sent before the last are read."""
LONGEST_PAUSE = timedelta(hours=2)
"""Retry-After is honoured up to an hour, so a longer pause means that the clock has stepped back."""
HELD_UP = "the worker was delayed before it could send the message"
_CLAIM_LOCK = 0x6F70636C61696D  # "opclaim": claims of all workers one after the other, so that limits hold


# --- claim ----------------------------------------------------------------------------------------

# Statistics of a queue are old as soon as they are taken. Where they say that the table is small, PostgreSQL
# would scan all of it for each candidate: 174,000 scans for 600 messages of a young installation. Every step
# of a claim has its index. A worker that stands still in a claim loses its lock: all others wait for it.
_BEGIN_CLAIM = """
SELECT pg_advisory_xact_lock(%s), set_config('idle_in_transaction_session_timeout', '10s', true),
       set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)
"""

# Due notifications without a destination, projects in turn. Deciding is quick, and afterwards a notification
# has a destination, another time or an end.
_UNDECIDED = """
WITH undecided AS MATERIALIZED (
    SELECT id, group_id, due, sequence FROM alerting_notification
     WHERE status = 'PENDING' AND destination = '' AND lease_token IS NULL AND due <= %(now)s ORDER BY due
)
SELECT id FROM (
    SELECT id, due, row_number() OVER (PARTITION BY group_id ORDER BY due, sequence) AS turn FROM undecided
) AS waiting ORDER BY turn, due LIMIT %(limit)s
"""

# For each destination that may be tried, the due notifications that are the first for their subject. The
# recursion steps through the index from one destination to the next and reads only the first rows of each, so
# the length of a queue does not matter. PostgreSQL could plan NOT EXISTS as a join of whole queues; it never
# does so with the subselect.
_CANDIDATES = """
WITH RECURSIVE waiting(destination) AS (
    (SELECT destination FROM alerting_notification
      WHERE status = 'PENDING' AND destination > '' AND lease_token IS NULL
      ORDER BY destination LIMIT 1)
    UNION ALL
    SELECT (SELECT n.destination FROM alerting_notification AS n
             WHERE n.status = 'PENDING' AND n.destination > '' AND n.lease_token IS NULL
               AND n.destination > waiting.destination
             ORDER BY n.destination LIMIT 1)
      FROM waiting WHERE waiting.destination IS NOT NULL
)
SELECT first.id, place.id, place.group_id, place.host, first.due,
       place.failures = 0 AND place.answered IS NOT NULL AND place.pace_ms = 0,
       down.host IS NOT NULL, place.tried
  FROM waiting
  JOIN alerting_destination AS place ON place.id = waiting.destination
  LEFT JOIN alerting_unreachablehost AS down ON down.host = place.host
 CROSS JOIN LATERAL (
       SELECT n.id, n.due FROM alerting_notification AS n
        WHERE n.status = 'PENDING' AND n.destination > '' AND n.lease_token IS NULL
          AND n.destination = place.id AND n.due <= %(now)s
          AND (SELECT other.id FROM alerting_notification AS other
                WHERE other.status = 'PENDING' AND other.destination > ''
                  AND other.destination = n.destination AND other.subject = n.subject
                  AND (other.lease_token IS NOT NULL
                       OR ((other.sequence, other.id) < (n.sequence, n.id)
                           AND (other.due <= %(now)s OR other.first_attempt IS NOT NULL)))
                LIMIT 1) IS NULL
        ORDER BY n.due
        LIMIT CASE WHEN place.failures = 0 AND place.answered IS NOT NULL THEN %(most)s ELSE 1 END) AS first
 WHERE (place.next_try IS NULL OR place.next_try <= %(now)s OR place.next_try > %(clock_stepped_back)s)
   AND (down.host IS NULL OR down.next_try <= %(now)s OR down.next_try > %(clock_stepped_back)s)
"""

_IN_HAND = """
SELECT n.destination, n.group_id, coalesce(place.host, ''), n.lease_until, n.worker,
       place.failures = 0 AND place.answered IS NOT NULL
  FROM alerting_notification AS n LEFT JOIN alerting_destination AS place ON place.id = n.destination
 WHERE n.status = 'PENDING' AND n.lease_token IS NOT NULL
"""


@transaction.atomic
def claim(*, worker: int, slots: int, now: datetime, limit: int = AT_ONCE) -> list[Notification]:
    """Lease the next notifications for a worker, the most urgent first.

    Due notifications without a destination are included beyond the free slots: deciding needs no slot.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN_CLAIM, [_CLAIM_LOCK])
        in_hand = _read_in_hand(cursor, now)
        cursor.execute(_UNDECIDED, {"now": now, "limit": min(UNDECIDED_AT_ONCE, limit * 4)})
        undecided = [row[0] for row in cursor.fetchall()]
        cursor.execute(
            _CANDIDATES, {"now": now, "most": AT_ONE_DESTINATION, "clock_stepped_back": now + LONGEST_PAUSE}
        )
        candidates = [_candidate(row) for row in cursor.fetchall()]
    held = [_in_hand(row, worker) for row in in_hand if row[0]]
    chosen = choose(candidates, held, slots=slots, now=now)[:limit]
    return leases_take(ids=[*chosen, *undecided], worker=worker, now=now) if chosen or undecided else []


def _read_in_hand(cursor: CursorWrapper, now: datetime) -> list[Sequence[Any]]:
    """Read what workers have in hand, after what lapsed was given back."""
    cursor.execute(_IN_HAND)
    rows: list[Sequence[Any]] = cursor.fetchall()
    if any(is_lapsed(row[3], now) for row in rows):
        leases_release(now=now)
        cursor.execute(_IN_HAND)
        rows = cursor.fetchall()
    return rows


def _candidate(row: Sequence[Any]) -> Candidate:
    notification, destination, project, host, due, steady, host_down, tried = row
    return Candidate(
        id=notification,
        destination=destination,
        project=project,
        host=host,
        due=due,
        steady=steady,
        host_down=host_down,
        tried=tried,
    )


def _in_hand(row: Sequence[Any], worker: int) -> InHand:
    destination, project, host, until, holder, steady = row
    return InHand(
        destination=destination,
        project=project,
        host=host,
        began=until - LEASE,
        steady=bool(steady),
        mine=holder == worker,
    )


# --- decide ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """A notification to send. `outcome` is set if it cannot be sent.

    `perhaps_before`: the receiver perhaps received an earlier attempt.
    """

    notification: Notification
    perhaps_before: bool
    config: Mapping[str, str]
    message: Message | None = None
    outcome: Outcome | None = None


def decide(claims: Sequence[Notification], *, now: datetime) -> list[Job]:
    """Decide on claimed notifications and return those to send; the others are finished.

    An unexpected error fails only the notification that raises it. Errors of the database are raised.
    """
    try:
        return _decide(claims, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:  # one of the notifications caused it: find it
        if len(claims) > 1:
            return [job for one in claims for job in decide([one], now=now)]
        logger.exception("notification %s cannot be decided on", claims[0].id)
        reason = f"the message cannot be built: {type(error).__name__}"
        failed = Outcome(DeliveryStatus.RETRY, reason, 0)
        with transaction.atomic():
            begun = _begin([(claims[0], failed)], now)
        return [Job(one, one.perhaps_received, {}, outcome=failed) for one, _ in begun]


@transaction.atomic
def _decide(claims: Sequence[Notification], now: datetime) -> list[Job]:
    """Return the attempts to make, and write every other decision.

    The facts of a decision are locked until it is written: a request that ends or acknowledges an alert, or
    changes a window, waits and then finds the decision. Locks are taken in the order window, alert,
    notification, as everywhere. Projects are not locked: deleting a project locks its row last.
    """
    silences = silences_of(claims, now=now)
    alert_ids = [one.alert_id for one in claims if one.alert_id]
    alerts = Alert.objects.select_related("group").filter(Among("id", set(alert_ids)))
    locked = alerts.select_for_update(no_key=True, of=("self",)).order_by("id")
    facts = _Facts(
        alerts={alert.id: alert for alert in locked},
        settings=settings_of(claims),
        silences=silences,
        notified=notified_destinations(alert_ids),
        lapses=lapses_of(claims),
        configs=destination_configs({one.destination for one in claims if one.destination}),
    )
    attempts: list[tuple[Notification, Outcome | None]] = []
    addressed: list[tuple[Notification, NamedDestination]] = []
    for one in claims:
        match _decide_one(one, facts, now):
            case NamedDestination() as place:
                addressed.append((one, place))
            case _Attempt(failure):
                attempts.append((one, failure))
    _address(addressed, [one.destination for one, _ in attempts], now)
    wanted = [one for one, failure in attempts if failure is None]
    messages = messages_of(wanted, alerts=facts.alerts, settings=facts.settings.values(), now=now)
    perhaps = {one.id: one.perhaps_received for one in claims}
    jobs = {one.id: _job(one, perhaps[one.id], failure, facts, messages) for one, failure in attempts}
    begun = _begin([(one, jobs[one.id].outcome) for one, _ in attempts], now)
    return [jobs[one.id] for one, _ in begun]


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of decisions; `notified` has alert and destination of each message perhaps received."""

    alerts: Mapping[str, Alert]
    settings: Mapping[tuple[str, str], NotificationSetting]
    silences: Mapping[str, Silence]
    notified: Set[tuple[str, str]]
    lapses: Mapping[str, int]
    configs: Mapping[str, Mapping[str, str] | CannotDecryptError]
    places: dict[tuple[object, ...], NamedDestination | Outcome] = field(default_factory=dict)
    """The place of each setting's notifications, or the reason why there is none; looked up once."""

    def were_notified(self, one: Notification) -> bool:
        """Whether the receiver was perhaps notified of the alert; older rows name no destination."""
        alert_id = one.alert_id or ""
        return not self.notified.isdisjoint({(alert_id, one.destination), (alert_id, "")})


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt to make; `failure` is set if it cannot be made."""

    failure: Outcome | None


def _decide_one(one: Notification, facts: _Facts, now: datetime) -> _Attempt | NamedDestination | None:
    """Return the attempt to make, or the place to address; None if the notification is finished."""
    setting = facts.settings.get((one.setting_id, one.type_name))
    alert = facts.alerts.get(one.alert_id or "")
    named = _named_place(one, setting, alert, facts)
    failure = named if isinstance(named, Outcome) else None
    place = named if isinstance(named, NamedDestination) else None
    due = replace(
        held_against(one, alert, setting),
        addressed=one.destination in facts.configs and (place is None or one.destination == place.id),
        was_notified=facts.were_notified(one),
        lapsed_for_good=facts.lapses.get(one.id, 0) >= LAPSES_AT_MOST,
        silence=facts.silences.get(one.id),
    )
    verdict = decide_delivery(due, now)
    if verdict.step is DeliveryStep.SEND or (verdict.step is DeliveryStep.ADDRESS and failure):
        return _Attempt(failure)
    if verdict.step is DeliveryStep.ADDRESS and place is not None:
        return place
    _apply(verdict, one, setting, alert, now)
    return None


def _named_place(
    one: Notification, setting: NotificationSetting | None, alert: Alert | None, facts: _Facts
) -> NamedDestination | Outcome | None:
    """The place that the configuration names now, or the reason why there is none.

    None if the place is fixed or unknown: ends and acknowledgements go to the destination of the beginning,
    and a notification for people has no channel yet.
    """
    fixed = one.kind in ENDS or one.kind == MessageKind.ACKNOWLEDGE
    if one.channel is None or (fixed and one.destination in facts.configs):
        return None
    if fixed and one.destination:
        return Outcome(DeliveryStatus.FAILED, DropReason.SECRETS_GONE.value, 0)
    key = (one.setting_id, one.type_name, one.channel, one.group_id, one.recipient, one.kind in ENDS)
    if key not in facts.places:
        facts.places[key] = _look_up_place(one, setting, alert)
    return facts.places[key]


def _look_up_place(
    one: Notification, setting: NotificationSetting | None, alert: Alert | None
) -> NamedDestination | Outcome:
    try:
        credentials = credentials_for(one, setting)
    except NoCredentialsError as error:
        return Outcome(DeliveryStatus.FAILED, error.reason, 0)
    except CannotDecryptError as error:
        # Retried, because another machine may have the key, or this machine after a restart.
        logger.error("notification %s cannot be sent: %s", one.id, error)
        return Outcome(DeliveryStatus.RETRY, SECRETS_UNREADABLE, 0)
    channel = ChannelType(str(one.channel))
    of_global = setting is not None and setting.config.group_id is None
    is_global = alert.is_global if alert else of_global
    config = credentials.config
    found = destination_id(group_id=one.group_id, channel=channel, config=config, is_global=is_global)
    return NamedDestination(found, one.group_id, channel, credentials, is_global)


def _apply(
    verdict: DeliveryVerdict,
    one: Notification,
    setting: NotificationSetting | None,
    alert: Alert | None,
    now: datetime,
) -> None:
    match verdict.step:
        case DeliveryStep.DROP:
            lease_finish(one, status=NotificationStatus.DROPPED.value, reason=verdict.reason)
        case DeliveryStep.REMOVE:
            Notification.objects.filter(id=one.id, lease_token=one.lease_token).delete()
        case DeliveryStep.PUT_OFF:
            lease_finish(one, **_put_off(verdict, one))
        case DeliveryStep.GIVE_UP:
            _give_up(verdict, one, setting, alert, now)
        case DeliveryStep.ADDRESS if one.channel is None and setting is not None:
            recipients_replace(notification=one, setting=setting, alert=alert, now=now)
        case DeliveryStep.ADDRESS | DeliveryStep.SEND:
            raise AssertionError(f"{verdict.step} is handled by the caller")


def _put_off(verdict: DeliveryVerdict, one: Notification) -> dict[str, Any]:
    """Restart the hour of retries, and address it again later unless the destination is fixed."""
    stays = one.perhaps_received or one.kind in ENDS
    return {
        "due": verdict.until,
        "reason": verdict.reason,
        "silenced_by": verdict.silenced_by,
        "first_attempt": None,
        "destination": one.destination if stays else "",
    }


def _give_up(
    verdict: DeliveryVerdict,
    one: Notification,
    setting: NotificationSetting | None,
    alert: Alert | None,
    now: datetime,
) -> None:
    """Fail the notification; while its alert is open the next reminder follows, as after any failure."""
    if not lease_finish(one, status=NotificationStatus.FAILED.value, reason=verdict.reason) or alert is None:
        return
    if one.channel is not None:
        schedule_follow_ups(ended=[(one, alert)], now=now)
    elif setting is not None:
        schedule_reminders(notified=[(setting, alert)], now=now)


def _address(
    addressed: Sequence[tuple[Notification, NamedDestination]], tried: Sequence[str], now: datetime
) -> None:
    """Address notifications to the destinations that their configurations name now.

    If another destination perhaps received a notification already, the old row stays, so that this receiver
    gets the end as well, and a new row goes to the new destination. All destinations of the batch, including
    `tried`, are locked in one order, so that two workers cannot deadlock.
    """
    if not addressed:
        return
    destinations_lock([*tried, *(place.id for _, place in addressed)])
    destinations_keep([place for _, place in addressed], now=now)
    moved: dict[tuple[str, str, str | None, bool], list[Notification]] = {}
    for one, place in addressed:
        shown = place.credentials.shown[:LONGEST_RECIPIENT]
        if not (one.perhaps_received and one.destination):
            moved.setdefault((place.id, shown, one.reason, bool(one.destination)), []).append(one)
        elif lease_finish(one, status=NotificationStatus.FAILED.value, reason=one.reason or NO_ANSWER):
            notifications_insert([redirected_row(one, place.id, shown, now)])
    for (place_id, shown, reason, again), rows in moved.items():
        anew = {"first_attempt": None} if again else {}
        leases_change(rows, destination=place_id, recipient=shown, reason=reason, **anew)


def _begin(
    attempts: Sequence[tuple[Notification, Outcome | None]], now: datetime
) -> list[tuple[Notification, Outcome | None]]:
    """Write that attempts begin, before anything is sent: after a crash they count as perhaps received.

    Return those whose lease still holds; another worker has the rest.
    """
    if not attempts:
        return []
    sent = [one.id for one, outcome in attempts if outcome is None]
    values: dict[str, Any] = {
        "ids": [one.id for one, _ in attempts],
        "tokens": list({one.lease_token for one, _ in attempts}),
        "sent": sent,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, values)
        begun = {row[0]: row[1:] for row in cursor.fetchall()}
    for one, _ in attempts:
        if one.id in begun:
            one.attempts, one.first_attempt, one.perhaps_received = begun[one.id]
    destinations_tried(ids=[one.destination for one, _ in attempts if one.id in sent], now=now)
    return [(one, outcome) for one, outcome in attempts if one.id in begun]


_BEGIN = """
UPDATE alerting_notification
   SET attempts = attempts + 1, first_attempt = coalesce(first_attempt, %(now)s),
       perhaps_received = perhaps_received OR id = ANY(%(sent)s)
 WHERE id = ANY(%(ids)s) AND lease_token = ANY(%(tokens)s)
RETURNING id, attempts, first_attempt, perhaps_received
"""


def _job(
    one: Notification,
    perhaps_before: bool,
    failure: Outcome | None,
    facts: _Facts,
    messages: Mapping[str, Message | ObjectDoesNotExist],
) -> Job:
    """Return the job of an attempt; a message that cannot be made is retried like a failed attempt."""
    if failure is not None:
        return Job(one, perhaps_before, {}, outcome=failure)
    config, message = facts.configs.get(one.destination), messages[one.id]
    if isinstance(config, CannotDecryptError):
        logger.error("notification %s cannot be sent: %s", one.id, config)
        reason = SECRETS_UNREADABLE
    elif config is None or isinstance(message, ObjectDoesNotExist):
        gone = type(message if isinstance(message, ObjectDoesNotExist) else Destination.DoesNotExist())
        logger.error("notification %s cannot be sent: %s", one.id, gone.__qualname__)
        reason = f"the message cannot be built: {gone.__name__}"
    else:
        return Job(one, perhaps_before, config, message)
    return Job(one, perhaps_before, {}, outcome=Outcome(DeliveryStatus.RETRY, reason, 0))


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


@transaction.atomic
def record(ended: Sequence[tuple[Job, Outcome]], *, clock: Clock) -> None:
    """Write the outcomes of attempts, and schedule what follows: a retry or a reminder.

    Does nothing for a notification that another worker has taken over: that worker records it.
    """
    now = clock()
    # A request that ends an alert takes this lock too: it sees the delivery, or this code sees the end.
    alert_ids = {job.notification.alert_id for job, _ in ended if job.notification.alert_id}
    locked = Alert.objects.select_for_update().filter(Among("id", alert_ids)).order_by("id")
    alerts = {alert.id: alert for alert in locked}
    changes = [(job.notification, _changes(job, alerts, outcome, now)) for job, outcome in ended]
    changed = leases_finish(changes)
    recorded = [(job, outcome) for job, outcome in ended if job.notification.id in changed]
    NotificationAttempt.objects.bulk_create(_attempt(job, outcome, now) for job, outcome in recorded)
    for job, outcome in recorded:
        _log(job.notification, outcome)
    delivered = {
        job.notification.alert_id for job, outcome in recorded if outcome.status is DeliveryStatus.DELIVERED
    }
    Alert.objects.filter(Among("id", [one for one in delivered if one])).update(last_notified=now)
    # Also after a failure: the receiver may be back when the next reminder is due.
    finished = [one for one, changed_to in changes if one.id in changed and changed_to["status"] in _FINISHED]
    schedule_follow_ups(
        ended=[(one, alerts[one.alert_id]) for one in finished if one.alert_id in alerts], now=now
    )
    tried = [
        (job.notification.destination, leased_at(job.notification), outcome)
        for job, outcome in recorded
        if job.message is not None and outcome.reason != HELD_UP
    ]
    destinations_record(ended=tried, now=now)


def _log(one: Notification, outcome: Outcome) -> None:
    logger.info(
        "%s %s %s",
        one.kind,
        one.channel,
        outcome.status.value,
        extra={"delivery": one.id, "ms": outcome.latency_ms, "reason": outcome.reason or "-"},
    )


_FINISHED = frozenset({NotificationStatus.DELIVERED.value, NotificationStatus.FAILED.value})


def _changes(job: Job, alerts: Mapping[str, Alert], outcome: Outcome, now: datetime) -> dict[str, Any]:
    """The new values of the row."""
    latency_ms = outcome.latency_ms if outcome.has_meaningful_latency else None
    return {"latency_ms": latency_ms, **_what_follows(job, alerts, outcome, now)}


def _what_follows(job: Job, alerts: Mapping[str, Alert], outcome: Outcome, now: datetime) -> dict[str, Any]:
    one = job.notification
    alert = alerts.get(one.alert_id or "")
    perhaps = job.perhaps_before or outcome.perhaps_received
    if outcome.status is DeliveryStatus.DELIVERED:
        return {"status": NotificationStatus.DELIVERED.value, "reason": None, "delivered": now}
    kept = {"perhaps_received": perhaps, "reason": outcome.reason}
    if dropped := drop_reason(due_of(one, alert), now):
        if perhaps:
            return {**kept, "status": NotificationStatus.FAILED.value}
        return {**kept, "status": NotificationStatus.DROPPED.value, "reason": dropped.value}
    again = None
    if outcome.status is DeliveryStatus.RETRY:
        jitter = random.uniform(-1, 1)  # noqa: S311 - spreads retries, protects nothing
        again = next_attempt(one.attempts, one.first_attempt or now, now, outcome.retry_after, jitter)
        if again is not None and outcome.reason == HELD_UP:
            again = now  # no request reached the receiver, so it needs no pause
    if again is None:
        return {**kept, "status": NotificationStatus.FAILED.value}
    return {**kept, "status": NotificationStatus.PENDING.value, "due": again}


def _attempt(job: Job, outcome: Outcome, ended: datetime) -> NotificationAttempt:
    began = ended - timedelta(milliseconds=outcome.latency_ms)
    return NotificationAttempt(
        notification_id=job.notification.id,
        number=job.notification.attempts,
        ended=ended if outcome.has_meaningful_latency else began,
        status=outcome.status.value,
        reason=outcome.reason,
        latency_ms=outcome.latency_ms if outcome.has_meaningful_latency else None,
    )
