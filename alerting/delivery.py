"""Delivery: from a notification that is due to what became of it. Read from top to bottom.

    claim ─► decide ─► send ─► record

Claim takes what may go out next in hand (`rules.claim_order`). Decide says under lock what becomes of each
(`rules.delivery_policy`): put off, dropped, addressed, or sent. Send makes one attempt over its channel,
without a database. Record writes down how attempts ended, and what follows: a retry, a repeat.

A crash between two of these steps loses nothing: what was in hand is taken up again as "perhaps received",
under the same delivery id.
"""

import logging
import random
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import connection, transaction

from alerting.choices import DropReason, NotificationStatus
from alerting.messages import message_of
from alerting.models import Alert, Destination, Notification, NotificationAttempt, NotificationSetting
from alerting.models.notifications import LONGEST_RECIPIENT
from alerting.rules.claim_order import AT_ONE_DESTINATION, Candidate, InHand, choose
from alerting.rules.delivery_policy import (
    SECRETS_SEALED,
    Silence,
    Step,
    Verdict,
    decide_delivery,
    drop_reason,
)
from alerting.selectors.credentials import NoCredentialsError, credentials_for, settings_of
from alerting.selectors.due import due_of, held_against
from alerting.selectors.notified import notified_destinations
from alerting.selectors.windows import silences_of
from alerting.services.destinations import (
    destination_config,
    destination_id,
    destination_keep,
    destinations_record,
    destinations_tried,
)
from alerting.services.leases import (
    LAPSES_AT_MOST,
    LEASE,
    lapses_of,
    lease_finish,
    leases_release,
    leases_take,
)
from alerting.services.notification_rows import notifications_insert, redirected_row
from alerting.services.notifications import schedule_follow_up, schedule_repeat
from alerting.services.people import people_replace
from integrations.choices import ENDS, ChannelType, DeliveryStatus, MessageKind
from integrations.delivery import deliver
from integrations.messages import Message
from integrations.outcome import Outcome
from integrations.retry import next_attempt
from opsapi.encryption import CannotDecryptError

logger = logging.getLogger("opsapi.pipeline")

Clock = Callable[[], datetime]

UNDECIDED_AT_ONCE = 200
AT_ONCE = 64
"""So many are claimed to be sent at once: the first of them go out before the last are read."""
_CLAIM_LOCK = 0x6F70636C61696D  # "opclaim": claims of all workers one after the other, so that limits hold


# --- claim ----------------------------------------------------------------------------------------

# What is due and has no destination yet, projects in turn. Deciding is quick and always removes it from here.
_UNDECIDED = """
SELECT id FROM (
    SELECT id, due, row_number() OVER (PARTITION BY group_id ORDER BY due, sequence) AS turn
      FROM alerting_notification
     WHERE status = 'PENDING' AND destination = '' AND lease_token IS NULL AND due <= %(now)s
) AS waiting ORDER BY turn, due LIMIT %(limit)s
"""

# Of each destination that may be tried, what is due and the first for its subject. The destinations for which
# something waits are found one by one in the index, and of each only the first rows are read, so the length of
# their queues does not matter. The subselect, unlike NOT EXISTS, is never planned as a join of whole queues.
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
 WHERE (place.next_try IS NULL OR place.next_try <= %(now)s)
   AND (down.host IS NULL OR down.next_try <= %(now)s)
"""

_IN_HAND = """
SELECT n.destination, n.group_id, coalesce(place.host, ''), n.lease_until, n.worker,
       place.failures = 0 AND place.answered IS NOT NULL
  FROM alerting_notification AS n LEFT JOIN alerting_destination AS place ON place.id = n.destination
 WHERE n.status = 'PENDING' AND n.lease_token IS NOT NULL AND n.destination > ''
"""


@transaction.atomic
def claim(*, worker: int, slots: int, now: datetime, limit: int = AT_ONCE) -> list[Notification]:
    """Take what is to go out next in hand for a worker, the most urgent first.

    What has no destination yet comes with it: no slot is needed to decide on one.
    """
    leases_release(now=now)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_CLAIM_LOCK])
        cursor.execute(_UNDECIDED, {"now": now, "limit": min(UNDECIDED_AT_ONCE, limit * 4)})
        undecided = [row[0] for row in cursor.fetchall()]
        cursor.execute(_CANDIDATES, {"now": now, "most": AT_ONE_DESTINATION})
        candidates = [_candidate(row) for row in cursor.fetchall()]
        cursor.execute(_IN_HAND)
        in_hand = [_in_hand(row, worker) for row in cursor.fetchall()]
    chosen = choose(candidates, in_hand, slots=slots, now=now)[:limit]
    return leases_take(ids=[*chosen, *undecided], worker=worker, now=now) if chosen or undecided else []


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
    """A notification to be sent; with an `outcome` already where it cannot be sent.

    `perhaps_before`: an earlier attempt was perhaps received.
    """

    notification: Notification
    perhaps_before: bool
    config: Mapping[str, str]
    message: Message | None = None
    outcome: Outcome | None = None


def decide(claims: Sequence[Notification], *, now: datetime) -> list[Job]:
    """Decide on what was claimed; all that is not to be sent is done when this returns."""
    perhaps = {one.id: one.perhaps_received for one in claims}
    decided = _decide(claims, now)
    return [_job(one, perhaps[one.id], outcome, now) for one, outcome in decided]


@transaction.atomic
def _decide(claims: Sequence[Notification], now: datetime) -> list[tuple[Notification, Outcome | None]]:
    """What is to be sent, with the outcome where it cannot be.

    What a decision rests on cannot change before it is written down: whoever ends or acknowledges an alert,
    or changes a window, waits and then finds what was decided. Locks are taken in the order window, alert,
    notification, here as elsewhere, and none on projects: those who delete one lock its row last.
    """
    silences = silences_of(claims, now=now)
    alert_ids = [one.alert_id for one in claims if one.alert_id]
    locked = Alert.objects.select_for_update(no_key=True).filter(id__in=alert_ids).order_by("id")
    facts = _Facts(
        alerts={alert.id: alert for alert in locked},
        settings=settings_of(claims),
        silences=silences,
        notified=notified_destinations(alert_ids),
        lapses=lapses_of(claims),
    )
    attempts = [(one, result) for one in claims for result in _decide_one(one, facts, now)]
    return _begin(attempts, now)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What decisions rest on; `notified`: alert and destination of what was, or perhaps was, received."""

    alerts: Mapping[str, Alert]
    settings: Mapping[tuple[str, str], NotificationSetting]
    silences: Mapping[str, Silence]
    notified: Set[tuple[str, str]]
    lapses: Mapping[str, int]

    def were_notified(self, one: Notification) -> bool:
        """Whether its receiver was, or perhaps was, notified of its alert; older rows name no destination."""
        alert_id = one.alert_id or ""
        return not self.notified.isdisjoint({(alert_id, one.destination), (alert_id, "")})


def _decide_one(one: Notification, facts: _Facts, now: datetime) -> Iterable[Outcome | None]:
    """None for an attempt to make, the outcome of one that cannot be made, nothing where there is none."""
    setting = facts.settings.get((one.setting_id, one.type_name))
    alert = facts.alerts.get(one.alert_id or "")
    named, failure = _named_destination(one, setting)
    due = replace(
        held_against(one, alert, setting),
        addressed=bool(one.destination) and named in (one.destination, None),
        was_notified=facts.were_notified(one),
        lapsed_for_good=facts.lapses.get(one.id, 0) >= LAPSES_AT_MOST,
        silence=facts.silences.get(one.id),
    )
    verdict = decide_delivery(due, now)
    if verdict.step is Step.SEND or (verdict.step is Step.ADDRESS and failure):
        return [failure]
    _apply(verdict, one, setting, alert, now)
    return []


def _named_destination(
    one: Notification, setting: NotificationSetting | None
) -> tuple[str | None, Outcome | None]:
    """The destination the configuration names now, and why there is none; None where it does not matter.

    Ends, acknowledgements and addresses of people go where the rest went.
    """
    fixed = one.kind in ENDS or one.kind == MessageKind.ACKNOWLEDGE
    if one.channel is None or (one.destination and fixed):
        return None, None
    try:
        credentials = credentials_for(one, setting)
    except NoCredentialsError as error:
        return None, Outcome(DeliveryStatus.FAILED, error.reason, 0)
    except CannotDecryptError as error:
        # Again later: another machine may have the key, or this one with its next start.
        logger.error("notification %s cannot be sent: %s", one.id, error)
        return None, Outcome(DeliveryStatus.RETRY, SECRETS_SEALED, 0)
    channel = ChannelType(one.channel)
    is_global = setting is not None and setting.config.group_id is None
    config = credentials.config
    return destination_id(group_id=one.group_id, channel=channel, config=config, is_global=is_global), None


def _apply(
    verdict: Verdict,
    one: Notification,
    setting: NotificationSetting | None,
    alert: Alert | None,
    now: datetime,
) -> None:
    match verdict.step:
        case Step.DROP:
            lease_finish(one, status=NotificationStatus.DROPPED.value, reason=verdict.reason)
        case Step.REMOVE:
            Notification.objects.filter(id=one.id, lease_token=one.lease_token).delete()
        case Step.PUT_OFF:
            lease_finish(one, **_put_off(verdict, one))
        case Step.GIVE_UP:
            _give_up(verdict, one, setting, alert, now)
        case Step.ADDRESS if one.channel is None and setting is not None:
            people_replace(notification=one, setting=setting, alert=alert, now=now)
        case Step.ADDRESS:
            _address(one, setting, now)
        case Step.SEND:
            raise AssertionError("sending is not applied here")


def _put_off(verdict: Verdict, one: Notification) -> dict[str, Any]:
    """The hour of retries begins anew, and where it goes is decided anew, unless it was there already."""
    stays = one.perhaps_received or one.kind in ENDS
    return {
        "due": verdict.until,
        "reason": verdict.reason,
        "silenced_by": verdict.silenced_by,
        "first_attempt": None,
        "destination": one.destination if stays else "",
    }


def _give_up(
    verdict: Verdict,
    one: Notification,
    setting: NotificationSetting | None,
    alert: Alert | None,
    now: datetime,
) -> None:
    """As after any failure the next repeat follows while its alert is open."""
    if not lease_finish(one, status=NotificationStatus.FAILED.value, reason=verdict.reason) or alert is None:
        return
    if one.channel is not None:
        schedule_follow_up(notification=one, alert=alert, now=now)
    elif setting is not None:
        schedule_repeat(setting=setting, alert=alert, now=now)


def _address(one: Notification, setting: NotificationSetting | None, now: datetime) -> None:
    """It goes to the destination its configuration names now.

    Where another one perhaps received it already, that one keeps its entry, so that it gets the end as well.
    """
    credentials = credentials_for(one, setting)
    channel = ChannelType(str(one.channel))
    place = destination_keep(
        group_id=one.group_id,
        channel=channel,
        credentials=credentials,
        is_global=setting is not None and setting.config.group_id is None,
        now=now,
    )
    if one.perhaps_received and one.destination:
        if lease_finish(one, status=NotificationStatus.FAILED.value):
            notifications_insert([redirected_row(one, place, credentials.shown, now)])
        return
    shown = credentials.shown[:LONGEST_RECIPIENT]
    moved = {"first_attempt": None} if one.destination else {}
    lease_finish(one, destination=place, recipient=shown, reason=one.reason, **moved)


def _begin(
    attempts: Sequence[tuple[Notification, Outcome | None]], now: datetime
) -> list[tuple[Notification, Outcome | None]]:
    """Write down that attempts begin, before anything leaves: a crash finds them perhaps received.

    Those whose lease lapsed in the meantime are left to whoever took them up.
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


def _job(one: Notification, perhaps_before: bool, outcome: Outcome | None, now: datetime) -> Job:
    """What is needed to send it; a message that cannot be made counts as one that failed and comes again."""
    if outcome is not None:
        return Job(one, perhaps_before, {}, outcome=outcome)
    try:
        config = destination_config(Destination.objects.get(id=one.destination))
        return Job(one, perhaps_before, config, message_of(one, now=now))
    except CannotDecryptError as error:
        logger.error("notification %s cannot be sent: %s", one.id, error)
        reason = SECRETS_SEALED
    except ObjectDoesNotExist as error:
        logger.exception("notification %s cannot be sent", one.id)
        reason = f"the message cannot be made: {type(error).__name__}"
    return Job(one, perhaps_before, {}, outcome=Outcome(DeliveryStatus.RETRY, reason, 0))


# --- send -----------------------------------------------------------------------------------------


def send(job: Job, *, now: datetime) -> Outcome:
    """One attempt; needs no database."""
    if job.outcome is not None or job.message is None:
        return job.outcome or Outcome(DeliveryStatus.FAILED, DropReason.NOTIFICATION_REMOVED.value, 0)
    return deliver(ChannelType(str(job.notification.channel)), job.config, job.message, now=now)


# --- record ---------------------------------------------------------------------------------------


@transaction.atomic
def record(ended: Sequence[tuple[Job, Outcome]], *, clock: Clock) -> None:
    """Write down how attempts ended, and what follows: a retry, a repeat.

    Without effect for a lease that lapsed and was taken up by another worker: that one records.
    """
    now = clock()
    # Whoever ends an alert holds this lock too: it sees the delivery, or we see the end.
    alert_ids = [job.notification.alert_id for job, _ in ended if job.notification.alert_id]
    locked = Alert.objects.select_for_update().filter(id__in=alert_ids).order_by("id")
    alerts = {alert.id: alert for alert in locked}
    recorded = [
        (job, outcome)
        for job, outcome in ended
        if _record_one(job, outcome, alerts.get(job.notification.alert_id or ""), now)
    ]
    NotificationAttempt.objects.bulk_create(_attempt(job, outcome, now) for job, outcome in recorded)
    tried = [(job.notification.destination, outcome) for job, outcome in recorded if job.message is not None]
    destinations_record(ended=tried, now=now)


def _record_one(job: Job, outcome: Outcome, alert: Alert | None, now: datetime) -> bool:
    one = job.notification
    changes = _changes(job, alert, outcome, now)
    latency_ms = outcome.latency_ms if outcome.tells_time else None
    if not lease_finish(one, latency_ms=latency_ms, **changes):
        return False
    logger.info(
        "%s %s %s",
        one.kind,
        one.channel,
        outcome.status.value,
        extra={"delivery": one.id, "ms": outcome.latency_ms, "reason": outcome.reason or "-"},
    )
    if alert is None or changes["status"] in _UNFINISHED:
        return True
    if outcome.status is DeliveryStatus.DELIVERED:
        alert.last_notified = now
        alert.save(update_fields=["last_notified"])
    # A receiver that failed now may be back when the next repeat is due.
    schedule_follow_up(notification=one, alert=alert, now=now)
    return True


_UNFINISHED = (NotificationStatus.PENDING.value, NotificationStatus.DROPPED.value)


def _changes(job: Job, alert: Alert | None, outcome: Outcome, now: datetime) -> dict[str, Any]:
    """What the outcome makes of the row."""
    one = job.notification
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
    if again is None:
        return {**kept, "status": NotificationStatus.FAILED.value}
    return {**kept, "status": NotificationStatus.PENDING.value, "due": again}


def _attempt(job: Job, outcome: Outcome, ended: datetime) -> NotificationAttempt:
    began = ended - timedelta(milliseconds=outcome.latency_ms)
    return NotificationAttempt(
        notification_id=job.notification.id,
        number=job.notification.attempts,
        ended=ended if outcome.tells_time else began,
        status=outcome.status.value,
        reason=outcome.reason,
        latency_ms=outcome.latency_ms if outcome.tells_time else None,
    )


# --- all of it ------------------------------------------------------------------------------------


def deliver_due(*, worker: int, slots: int, clock: Clock, limit: int = AT_ONCE) -> int:
    """One round in the calling thread; answers how many notifications were claimed."""
    claims = claim(worker=worker, slots=slots, now=clock(), limit=limit)
    for job in decide(claims, now=clock()) if claims else ():
        record([(job, send(job, now=clock()))], clock=clock)
    return len(claims)
