"""Delivery: from a due notification to its outcome.

    claim ─► decide ─► send ─► record

Claim leases the notifications that may be sent next (`engine.claims`). Decide chooses a step for each
notification (`engine.rules`), while its alert and the maintenance windows are locked. Which windows
mute it is found before, without locks and in slices of time (`muting`):

    send      begin an attempt now
    address   write the destination, and release the notification for the next claim. A notification for
              people is replaced by a notification for each of their addresses.
    postpone  release it until a later time, because a window mutes it, its alert is acknowledged, a plan
              changes its host, or no report has confirmed its alert since the platform was away
    drop      DROPPED, with the reason: it is no longer wanted and was certainly not received, or it is a
              one-shot notification and a window mutes it
    give up   FAILED: it is no longer wanted and was perhaps received, or too many attempts have no outcome
    merge     DROPPED, with the notification that has sent the same message to the same address
    remove    delete it: it is the end of an alert and the receiver got no message about the alert, or it is
              about an unimportant change of an incident

Send makes one attempt over the channel, without the database. Record writes the outcome of the attempt and
schedules the next retry or reminder. Retries end an hour after the first attempt. `courier` calls these
functions in a loop.

A lease has a token. If a worker dies or is too slow, its lease ends, and another worker leases the
notification with a new token; later writes of the first worker have no effect. A message whose attempt was
marked as begun counts as perhaps received, and is sent again with the same delivery id.

A message about alerts belongs to an incident, whose open alerts decide whether it is sent
(`incidents.store`). If the incident groups alerts, a `Picture` is the content of the message. A message
about a change is only sent if its picture differs enough from the picture of the last message about the
incident (`incidents.store.last_pictures`).
"""

import logging
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from alerting.configs.models import NotificationSetting
from alerting.destinations.changes import (
    AddressLookup,
    NotificationAddress,
    addresses_write,
    destinations_record,
    last_failure,
)
from alerting.engine.choices import NotificationStatus
from alerting.engine.leases import LAPSES_AT_MOST, LONGEST_ATTEMPT, AttemptResult, TriedAttempt, leased_at
from alerting.engine.ledger import DestinationConfigs, Ledger, NamedDestination
from alerting.engine.messages import with_earlier_messages
from alerting.engine.models import Notification
from alerting.engine.muting import MuteDesk, Muting, begun_versions
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.rules import (
    Costs,
    DeliveryStep,
    DeliveryVerdict,
    DueNotification,
    Mute,
    SentMessages,
    TimeSlice,
    decide_delivery,
    not_retried,
    unwanted_reason,
)
from alerting.engine.schedule import ForPeople, PeopleLookup, recipients_replace, schedule_follow_ups
from alerting.engine.store import due_notification, due_notification_with_setting, merged_notifications
from alerting.incidents.store import (
    IncidentMessage,
    IncidentState,
    IncidentView,
    Member,
    incident_messages,
    incident_states,
    incident_views,
    is_worth_sending,
    with_fleets,
)
from alerting.incidents.topology import Picture
from alerting.reasons import AttemptFailure, NotificationReason
from integrations.channels import CHANNELS
from integrations.channels.delivery import deliver
from integrations.channels.outcome import Outcome, next_attempt
from integrations.channels.stages import WORKER_DELAYED
from integrations.choices import FOLLOWING, ChannelType, DeliveryFault, DeliveryStatus
from integrations.messages import Message
from opsapi.batches import batches
from opsapi.encryption import CannotDecryptError
from opsapi.outbound.errors import NO_ANSWER

logger = logging.getLogger("opsapi.delivery")

DECIDED_IN_TURN = 16
"""Projects take turns of this many notifications."""
OVERDUE = timedelta(seconds=2)
"""The time after which decisions about a message of an incident wait for locks."""
LOCKS_SECONDS = 0.3
"""How long decisions and outcomes about incidents wait for locks. Messages of other projects wait as long."""
REPLACED_AT_ONCE = 200
"""Notifications for people are replaced when they have at least this many addresses together."""

# --- decide ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """An attempt to send a message with `channel_fields`.

    If nothing can be sent, `content` is the outcome: `send` returns it, and `record` writes it like others.
    `number` counts the attempts of the notification. `first_attempt` is the start of its hour of retries.
    `is_taking`: the destination took a message since it was last slowed down. These three are set when the
    attempt begins; `notification` keeps its earlier values.
    """

    notification: Notification
    channel_fields: Mapping[str, str]
    content: Message | Outcome
    number: int = 0
    first_attempt: datetime | None = None
    is_taking: bool = False

    @property
    def has_message(self) -> bool:
        return isinstance(self.content, Message)

    @property
    def changes_messages(self) -> bool:
        """Whether later messages about the alert change the message, which this attempt posts or changes."""
        if not self.has_message or self.notification.alert_id is None:
            return False
        changes = CHANNELS[ChannelType(str(self.notification.channel))].changes_messages
        return changes is not None and changes(self.channel_fields)


class Batch(NamedTuple):
    """Notifications to decide on together; `project` is None if they can be of several projects."""

    project: str | None
    notifications: list[Notification]


def decided_together(claimed: Sequence[Notification], costs: Costs | None = None) -> list[Batch]:
    """Return the notifications in the batches and the order in which to decide on them.

    Notifications with a destination come first, because it can take longer to find the addresses of the
    others. Messages about grouped alerts come last, in a batch for each project, because their decisions
    depend on all open alerts of the incident. Of these, the project with the least `costs` comes first.
    """
    costs = costs or Costs()
    by_batch: dict[tuple[int, str | None], list[Notification]] = {}
    for row in claimed:
        key = (2, row.group_id) if row.is_grouped else (0 if row.destination else 1, None)
        by_batch.setdefault(key, []).append(row)
    in_order = sorted(by_batch, key=lambda key: (key[0], costs.of(key[1] or "")))
    return [Batch(key[1], by_batch[key]) for key in in_order]


def decide(
    claimed: Sequence[Notification],
    *,
    now: datetime,
    muting: Muting | None = None,
    time_slice: TimeSlice | None = None,
    ledger: Ledger = POSTGRESQL,
) -> Iterator[DeliveryAttempt]:
    """Decide on claimed notifications, and yield the attempts to make, all marked as begun.

    The other notifications are addressed, postponed, dropped, removed or given up, or released because
    `muting`, the decisions about maintenance windows, has none for them yet, or because `time_slice` is
    over. Without `muting`, it decides on them first, however long it takes. If a notification causes an
    unexpected error, only its own attempt fails, and it is retried.

    Projects take turns within the time, the project with the least costs first. At least one notification is
    decided.

    Raises:
        DatabaseError, InterfaceError: the database has a transient fault. The attempts that were yielded
            before have begun.
    """
    muting = muting or MuteDesk.undivided().settle(claimed, now=now)
    if undecided := [row for row in claimed if row.id in muting.undecided]:
        ledger.give_back(undecided)
    time_slice = time_slice or TimeSlice.endless()
    decided = [row for row in claimed if row.id not in muting.undecided]
    turn = _Turn(ledger, muting, now, time_slice)
    yield from _decide_in_turn(_projects_in_turn(decided, time_slice.costs), turn)


def _projects_in_turn(claimed: Sequence[Notification], costs: Costs) -> list[Notification]:
    """Return the notifications in the order of decisions: some of each project, then some more of each.

    The project with the least costs comes first.
    """
    by_project: dict[str, list[Notification]] = {}
    for row in claimed:
        by_project.setdefault(row.group_id or "", []).append(row)
    turns = [
        (number, costs.of(group_id), portion)
        for group_id, rows in by_project.items()
        for number, portion in enumerate(batches(rows, DECIDED_IN_TURN))
    ]
    turns.sort(key=lambda turn: turn[:2])
    return [row for *_, portion in turns for row in portion]


@dataclass(frozen=True, slots=True)
class _Turn:
    """What the decisions of a call of `decide` have in common."""

    ledger: Ledger
    muting: Muting
    now: datetime
    time_slice: TimeSlice


def _decide_in_turn(claimed: Sequence[Notification], turn: _Turn) -> Iterator[DeliveryAttempt]:
    if not claimed:
        return
    began = turn.time_slice.now()
    try:
        with turn.ledger.transaction():
            begun = _decide_together(claimed, turn)
    except Exception as error:
        if turn.ledger.is_transient(error):
            raise
        if len(claimed) > 1:
            turn.time_slice.allow_as_much_as_since(began)
            yield from _decide_singly(claimed, turn)
            return
        begun = _mark_begun([_failed_attempt(claimed[0], error)], turn)
    yield from begun


def _decide_singly(claimed: Sequence[Notification], turn: _Turn) -> Iterator[DeliveryAttempt]:
    for place, notification in enumerate(claimed):
        if place and turn.time_slice.is_over():
            turn.ledger.give_back(claimed[place:])
            return
        yield from _decide_in_turn([notification], turn)


def _failed_attempt(notification: Notification, error: Exception) -> DeliveryAttempt:
    logger.error("notification %s cannot be decided on", notification.id, exc_info=error)
    reason = AttemptFailure.UNPROCESSABLE.value.format(error=type(error).__name__)
    return DeliveryAttempt(notification, {}, Outcome(DeliveryStatus.RETRY, reason, 0))


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of decisions, read for all notifications together."""

    incidents: Mapping[str, IncidentView]
    """By id."""
    settings: Mapping[tuple[str, str], NotificationSetting]
    """By setting id and type."""
    mutes: Mapping[str, Mute]
    """By notification id; only muted notifications are in it."""
    planned: Mapping[str, datetime]
    """Until when a notification is about the effects of a plan, by its id."""
    unconfirmed: Mapping[str, datetime]
    """Until when a notification waits for a report, by its id."""
    sent: SentMessages
    lapses: Mapping[str, int]
    """The number of attempts without an outcome, by notification id."""
    channel_fields: DestinationConfigs
    last_pictures: Mapping[str, Picture | None]
    """By notification id: the picture of the last message about the incident; None without a message."""
    merged: Mapping[str, str]
    """The notification that has sent the same message, by notification id."""

    def incident(self, notification: Notification) -> IncidentView | None:
        return self.incidents.get(notification.incident_id or "")

    def setting(self, notification: Notification) -> NotificationSetting | None:
        return self.settings.get((notification.setting_id, notification.type_name))

    def tracks_alerts(self, notification: Notification) -> bool:
        """Whether its receiver tracks alerts, with the configuration of its destination."""
        config = self.channel_fields.get(notification.destination)
        if notification.channel is None or not isinstance(config, Mapping):
            return False
        return CHANNELS[ChannelType(notification.channel)].tracks_alerts(config)


@dataclass(slots=True)
class _ToDo:
    """The work that remains for all notifications together."""

    to_fail: list[DeliveryAttempt] = field(default_factory=list)
    to_send: list[Notification] = field(default_factory=list)
    to_address: list[tuple[Notification, NamedDestination]] = field(default_factory=list)
    for_people: list[ForPeople] = field(default_factory=list)

    @property
    def has_many_addresses(self) -> bool:
        """Whether the notifications for people have REPLACED_AT_ONCE addresses."""
        return sum(len(people.found.addresses) for people in self.for_people) >= REPLACED_AT_ONCE

    def replace_recipients(self, turn: _Turn) -> None:
        """Replace the notifications for people."""
        if self.for_people:
            recipients_replace(self.for_people, now=turn.now, ledger=turn.ledger)
            self.for_people = []


def _decide_together(claimed: Sequence[Notification], turn: _Turn) -> list[DeliveryAttempt]:
    """Write the decisions until the time is over, and return the attempts to make.

    Notifications whose windows have changed since the desk decided are released, and decided again.
    """
    ledger, now, faults = turn.ledger, turn.now, turn.muting.faults
    began = turn.time_slice.now()
    claimed = _with_windows_locked(claimed, turn)
    if not claimed:
        return []
    claimed, members = _with_alerts_locked(claimed, turn)
    if not claimed:
        return []
    facts = _read_facts(claimed, members, turn)
    turn.time_slice.allow_as_much_as_since(began)
    to_do = _ToDo()
    for notification in claimed:
        if notification.id in faults:
            to_do.to_fail.append(_failed_attempt(notification, faults[notification.id]))
    claimed = [notification for notification in claimed if notification.id not in faults]
    _decide_each(claimed, facts, to_do, turn)
    if to_do.to_address:
        # `addresses_write` and `_mark_begun` both lock destinations. All are locked here, in one order, so
        # two workers cannot deadlock.
        to_try = [notification.destination for notification in to_do.to_send]
        ledger.destinations_lock([*to_try, *(destination.id for _, destination in to_do.to_address)])
        addresses_write(to_do.to_address, now=now, ledger=ledger)
    said = incident_messages(to_do.to_send, facts.incidents, facts.last_pictures)
    begun = _mark_begun([*to_do.to_fail, *_build_attempts(to_do.to_send, facts, said, turn)], turn)
    sent = [attempt.notification.id for attempt in begun if attempt.has_message]
    said_now = {row_id: said[row_id].picture for row_id in sent if row_id in said}
    if pictures := {row_id: picture for row_id, picture in said_now.items() if picture}:
        ledger.pictures_keep(pictures)
    return begun


def _with_windows_locked(claimed: Sequence[Notification], turn: _Turn) -> Sequence[Notification]:
    """Lock the windows that the decisions depend on, and return the notifications of unchanged windows.

    A window that another transaction has locked counts as changed.
    """
    versions = turn.muting.versions
    concerned = {row.group_id for row in claimed if row.group_id} & versions.keys()
    if not concerned:
        return claimed
    current = begun_versions(concerned, turn.now, lock=True)
    changed = {group_id for group_id in concerned if current.get(group_id) != versions[group_id]}
    if changed:
        _hold_up([row for row in claimed if row.group_id in changed], turn)
    return [row for row in claimed if row.group_id not in changed]


def _hold_up(notifications: Sequence[Notification], turn: _Turn) -> None:
    """Release notifications on which nothing can be decided at the moment."""
    turn.ledger.give_back(notifications)
    turn.muting.held_up |= {row.id for row in notifications}


def _with_alerts_locked(
    claimed: Sequence[Notification], turn: _Turn
) -> tuple[list[Notification], list[Member]]:
    """Lock the open alerts of incidents until the decisions are written, and release the other notifications.

    The others are about alerts that another transaction has locked. It can end thousands of alerts of a
    project, and messages of other projects do not wait for it. Of the thousands of alerts of an incident,
    evaluation can have some locked at every moment, so decisions about overdue messages of incidents wait
    for LOCKS_SECONDS: they lock one alert after the other meanwhile.

    The order of locks is: windows, alerts, destinations (`_decide_together`, `_mark_begun`), each by id. The
    notifications are already leased, so no other worker locks them.

    A request that ends or acknowledges an alert, or changes or deletes a window, waits for the decision.
    A request that creates a window or changes a configuration does not wait. An attempt that has begun is
    sent, whatever happens in the meantime. If its alert ends, `record` sees the end.
    """
    is_overdue = any(row.is_grouped and row.due < turn.now - OVERDUE for row in claimed)
    members, held_up = turn.ledger.members_lock(claimed, wait=LOCKS_SECONDS if is_overdue else 0)
    if held_up:
        _hold_up([row for row in claimed if row.id in held_up], turn)
    return [row for row in claimed if row.id not in held_up], members


def _read_facts(claimed: Sequence[Notification], members: Sequence[Member], turn: _Turn) -> _Facts:
    """Read the facts of decisions, without a lock; `members` are the locked alerts."""
    ledger = turn.ledger
    pictures = ledger.last_pictures(claimed)
    # To find a destination, only a change is compared with the last picture.
    with_picture = [row for row in claimed if row.destination or row.is_change]
    settings, sent = ledger.settings_of(claimed), ledger.sent_messages(claimed)
    views = incident_views(claimed, members, ledger.incidents)
    return _Facts(
        incidents=with_fleets(views, with_picture, pictures, ledger.fleets_around),
        settings=settings,
        mutes=turn.muting.mutes,
        planned=turn.muting.planned,
        unconfirmed=turn.muting.unconfirmed,
        sent=sent,
        lapses=ledger.lapses_of(claimed),
        channel_fields=ledger.destination_configs({row.destination for row in claimed if row.destination}),
        last_pictures=pictures,
        merged=merged_notifications(
            [row for row in claimed if sent.can_include(_about(row), row.destination, row.setting_id)],
            settings,
            turn.now,
            ledger=ledger,
        ),
    )


def _about(notification: Notification) -> str:
    return notification.alert_id or notification.event_id or ""


def _decide_each(claimed: Sequence[Notification], facts: _Facts, to_do: _ToDo, turn: _Turn) -> None:
    """Decide on notifications, at least one, until the time is over; release the others.

    The time is charged to the projects, the time before only if all notifications are of the same project.
    """
    time_slice, lookups = turn.time_slice, (AddressLookup(facts.channel_fields), PeopleLookup())
    projects = {row.group_id or "" for row in claimed}
    time_slice.charge(projects.pop() if len(projects) == 1 else "")
    of_project = ""
    for place, notification in enumerate(claimed):
        if place and time_slice.is_over():
            turn.ledger.give_back(claimed[place:])
            break
        if of_project != (notification.group_id or "") or to_do.has_many_addresses:
            to_do.replace_recipients(turn)
            time_slice.charge(of_project)
            of_project = notification.group_id or ""
        _decide_one(notification, facts, lookups, to_do, turn)
    to_do.replace_recipients(turn)
    time_slice.charge(of_project)


def _decide_one(
    notification: Notification,
    facts: _Facts,
    lookups: tuple[AddressLookup, PeopleLookup],
    to_do: _ToDo,
    turn: _Turn,
) -> None:
    """Decide on a notification, and write the decision or add the notification to `to_do`."""
    addresses, people = lookups
    incident, setting = facts.incident(notification), facts.setting(notification)
    alert = incident.lead if incident else None
    address = addresses.address_of(notification, alert, setting)
    verdict = decide_delivery(_due(notification, address, facts), turn.now)
    match verdict.step:
        case DeliveryStep.DROP | DeliveryStep.MERGE:
            _drop(notification, verdict, facts, turn)
        case DeliveryStep.REMOVE:
            turn.ledger.remove([notification])
        case DeliveryStep.POSTPONE:
            _postpone(notification, verdict, turn)
        case DeliveryStep.GIVE_UP:
            _give_up(notification, verdict, incident, turn)
        case DeliveryStep.SEND if address.failure:  # nothing can be sent: the attempt has this outcome
            to_do.to_fail.append(DeliveryAttempt(notification, {}, address.failure))
        case DeliveryStep.SEND:
            to_do.to_send.append(notification)
        case DeliveryStep.ADDRESS if address.destination:
            to_do.to_address.append((notification, address.destination))
        case DeliveryStep.ADDRESS if setting:  # for people: a notification for each of their addresses
            to_do.for_people.append(people.of(notification, setting))
        case DeliveryStep.ADDRESS:
            raise AssertionError(f"notification {notification.id} has no destination and no recipients")


def _due(notification: Notification, address: NotificationAddress, facts: _Facts) -> DueNotification:
    incident, setting = facts.incident(notification), facts.setting(notification)
    due = due_notification_with_setting(notification, incident, setting)
    return replace(
        due,
        keeps_state=due.keeps_state or facts.tracks_alerts(notification),
        addressed=address.is_settled,
        perhaps_notified=facts.sent.has_notified(_about(notification), notification.destination),
        lapsed_too_often=facts.lapses.get(notification.id, 0) >= LAPSES_AT_MOST,
        mute=facts.mutes.get(notification.id),
        planned_until=facts.planned.get(notification.id),
        unconfirmed_until=facts.unconfirmed.get(notification.id),
        worth_sending=is_worth_sending(
            notification,
            incident,
            facts.last_pictures.get(notification.id),
            has_minimum=setting is not None and setting.min_severity is not None,
        ),
        merged_into=facts.merged.get(notification.id) if address.is_settled else None,
    )


def _postpone(notification: Notification, verdict: DeliveryVerdict, turn: _Turn) -> None:
    """Release the notification until `verdict.until`. Its hour of retries begins again then.

    Its destination is looked up again, unless the notification was perhaps received, or is an end or an
    acknowledgement, which goes where the opening went.
    """
    keeps_destination = notification.perhaps_received or notification.kind in FOLLOWING
    turn.ledger.release_with(
        [notification],
        due=verdict.until,
        reason=verdict.sentence,
        silenced_by=verdict.window_id,
        first_attempt=None,
        destination=notification.destination if keeps_destination else "",
    )


def _drop(notification: Notification, verdict: DeliveryVerdict, facts: _Facts, turn: _Turn) -> None:
    """Drop the notification. If another notification has sent its message, schedule the next reminder.

    The notification keeps the newest picture that its receiver has seen, in whichever message. The next
    change of the incident is compared with this picture.
    """
    dropped = NotificationStatus.DROPPED.value
    if verdict.step is not DeliveryStep.MERGE:
        # The alert ended while a plan held its message back: the reason stays the plan.
        planned = NotificationReason.PLANNED.value
        is_over = verdict.reason is NotificationReason.ALERT_OVER
        reason = planned if is_over and notification.reason == planned else verdict.sentence
        turn.ledger.release_with([notification], status=dropped, reason=reason)
        return
    changes = {"status": dropped, "reason": verdict.sentence, "merged_into": facts.merged[notification.id]}
    if turn.ledger.release_merged(notification, **changes) and (incident := facts.incident(notification)):
        schedule_follow_ups(ended=[(notification, incident)], now=turn.now, ledger=turn.ledger)


def _give_up(
    notification: Notification, verdict: DeliveryVerdict, incident: IncidentView | None, turn: _Turn
) -> None:
    """Fail the notification; the next reminder of an open alert follows, as after any failure."""
    reason = AttemptFailure.NO_OUTCOME.value
    if verdict.reason:
        reason = not_retried(last_failure(notification) or NO_ANSWER, verdict.reason)
    failed = NotificationStatus.FAILED.value
    if turn.ledger.release_with([notification], status=failed, reason=reason) and incident:
        schedule_follow_ups(ended=[(notification, incident)], now=turn.now, ledger=turn.ledger)


def _build_attempts(
    to_send: Sequence[Notification],
    facts: _Facts,
    said: Mapping[str, IncidentMessage],
    turn: _Turn,
) -> list[DeliveryAttempt]:
    settings = facts.settings.values()
    messages = turn.ledger.messages(to_send, incidents=said, settings=settings, now=turn.now)
    attempts = [
        _build_attempt(notification, facts, messages.get(notification.id)) for notification in to_send
    ]
    changing = [attempt.notification for attempt in attempts if attempt.changes_messages]
    earlier = turn.ledger.earlier_messages(changing) if changing else {}
    return [
        replace(attempt, content=with_earlier_messages(attempt.content, earlier[attempt.notification.id]))
        if isinstance(attempt.content, Message) and attempt.notification.id in earlier
        else attempt
        for attempt in attempts
    ]


def _build_attempt(notification: Notification, facts: _Facts, message: Message | None) -> DeliveryAttempt:
    """Return the attempt. It is retried if the message cannot be built or the fields cannot be decrypted."""
    channel_fields = facts.channel_fields[notification.destination]
    if isinstance(channel_fields, CannotDecryptError):
        logger.error("notification %s cannot be sent: %s", notification.id, channel_fields)
        reason = AttemptFailure.SECRETS_UNREADABLE.value
    elif message is None:
        reason = AttemptFailure.NO_CONTENT.value
        logger.error("notification %s cannot be sent: %s", notification.id, reason)
    else:
        return DeliveryAttempt(notification, channel_fields, message)
    return DeliveryAttempt(notification, {}, Outcome(DeliveryStatus.RETRY, reason, 0))


def _mark_begun(attempts: Sequence[DeliveryAttempt], turn: _Turn) -> list[DeliveryAttempt]:
    """Mark attempts as begun before anything is sent: after a crash they count as perhaps received.

    Return the attempts of notifications whose lease is still valid.
    """
    if not attempts:
        return []
    with turn.ledger.transaction(savepoint=False):
        marked = turn.ledger.mark_begun(
            [attempt.notification for attempt in attempts],
            with_message=[attempt.notification.id for attempt in attempts if attempt.has_message],
            changed=[attempt.notification.id for attempt in attempts if attempt.changes_messages],
            now=turn.now,
        )
        begun = []
        for attempt in attempts:
            if attempt.notification.id in marked:
                number, first = marked[attempt.notification.id]
                begun.append(replace(attempt, number=number, first_attempt=first))
        tried = [attempt.notification.destination for attempt in begun if attempt.has_message]
        taking = turn.ledger.destinations_tried(ids=tried, now=turn.now)
    return [replace(attempt, is_taking=attempt.notification.destination in taking) for attempt in begun]


# --- send -----------------------------------------------------------------------------------------


def send(attempt: DeliveryAttempt, *, now: datetime) -> Outcome:
    """Make one attempt over the channel."""
    notification = attempt.notification
    if isinstance(attempt.content, Outcome):
        return attempt.content
    if notification.lease_until and now > notification.lease_until - LONGEST_ATTEMPT:
        # The lease may end before the answer arrives, and then another worker may send the message again.
        return Outcome(DeliveryStatus.RETRY, WORKER_DELAYED, 0, fault=DeliveryFault.WORKER)
    channel = ChannelType(str(notification.channel))
    return deliver(channel, attempt.channel_fields, attempt.content, now=now)


def longest_attempt(attempt: DeliveryAttempt) -> timedelta:
    """Return the longest time that the attempt can take over its channel."""
    if not attempt.has_message:
        return timedelta()
    return CHANNELS[ChannelType(str(attempt.notification.channel))].longest_attempt


# --- record ---------------------------------------------------------------------------------------

_DELIVERED_OR_FAILED = frozenset({NotificationStatus.DELIVERED.value, NotificationStatus.FAILED.value})


class _EndedAttempt(NamedTuple):
    """`result`: the new values of the notification."""

    attempt: DeliveryAttempt
    outcome: Outcome
    result: AttemptResult

    @property
    def notification(self) -> Notification:
        return self.attempt.notification


_Ended = tuple[DeliveryAttempt, Outcome]


def record(
    ended: Sequence[_Ended], *, now: datetime, wait: float = math.inf, ledger: Ledger = POSTGRESQL
) -> list[_Ended]:
    """Write the outcomes of attempts, and schedule retries and reminders.

    An outcome is ignored if the lease of its notification is no longer valid. An unexpected error concerns
    only the outcome that causes it: the message is sent again when the lease ends.

    Return the outcomes that are not written, because another transaction has locked their alerts for `wait`
    seconds.

    Raises:
        DatabaseError, InterfaceError: the database has a transient fault. Call again with the same
            outcomes.
    """
    try:
        with ledger.transaction():
            recorded, held_up = _record_together(ended, now, ledger, wait=wait)
    except Exception as error:
        if ledger.is_transient(error):
            raise
        if len(ended) > 1:
            return [left for pair in ended for left in record([pair], now=now, wait=wait, ledger=ledger)]
        logger.exception("the outcome of notification %s cannot be recorded", ended[0][0].notification.id)
        return []
    for attempt in recorded:
        _log(attempt.notification, attempt.outcome)
    return held_up


def _record_together(
    ended: Sequence[_Ended], now: datetime, ledger: Ledger, *, wait: float
) -> tuple[list[_EndedAttempt], list[_Ended]]:
    """Write the outcomes of notifications whose lease is still valid.

    Return them, and the outcomes whose alerts are locked.
    """
    notifications = [attempt.notification for attempt, _ in ended]
    # A request that ends an alert takes this lock too: it sees the delivery, or this code sees the end.
    members, about = ledger.members_lock(notifications, wait=wait)
    held_up = [pair for pair in ended if pair[0].notification.id in about]
    ended = [pair for pair in ended if pair[0].notification.id not in about]
    incidents = incident_states([attempt.notification for attempt, _ in ended], members)
    results = [
        _EndedAttempt(attempt, outcome, _result_of(attempt, incidents, outcome, now))
        for attempt, outcome in ended
    ]
    outcomes = [(result.notification, result.result, _tried(result, now)) for result in results]
    written = ledger.attempts_record(outcomes)
    recorded = [result for result, is_written in zip(results, written, strict=True) if is_written]
    _set_last_notified(recorded, incidents, now, ledger)
    _follow_up_finished(recorded, incidents, now, ledger)
    _record_health(recorded, now, ledger)
    return recorded, held_up


def _set_last_notified(
    recorded: Sequence[_EndedAttempt], incidents: Mapping[str, IncidentState], now: datetime, ledger: Ledger
) -> None:
    """Set `last_notified` of the first and the open alerts of the incidents of delivered messages."""
    delivered = [
        ended.notification
        for ended in recorded
        if ended.outcome.status is DeliveryStatus.DELIVERED and ended.notification.incident_id in incidents
    ]
    alerts = {str(notification.alert_id) for notification in delivered}
    for incident_id in {str(notification.incident_id) for notification in delivered}:
        alerts |= {alert.id for alert in incidents[incident_id].open}
    if alerts:
        ledger.set_last_notified(alerts, now=now)


def _follow_up_finished(
    recorded: Sequence[_EndedAttempt], incidents: Mapping[str, IncidentState], now: datetime, ledger: Ledger
) -> None:
    """Schedule reminders, also after a failure: the receiver may be back when they are due."""
    finished = [
        (ended.notification, incident)
        for ended in recorded
        if ended.result["status"] in _DELIVERED_OR_FAILED
        and (incident := incidents.get(ended.notification.incident_id or ""))
    ]
    schedule_follow_ups(ended=finished, now=now, ledger=ledger)


def _record_health(recorded: Sequence[_EndedAttempt], now: datetime, ledger: Ledger) -> None:
    """Write the health of destinations, from the attempts in which a message was sent."""
    tried = [
        (ended.notification.destination, leased_at(ended.notification), ended.outcome)
        for ended in recorded
        if ended.attempt.has_message and ended.outcome.fault is not DeliveryFault.WORKER
    ]
    destinations_record(ended=tried, now=now, ledger=ledger)


def _result_of(
    attempt: DeliveryAttempt, incidents: Mapping[str, IncidentState], outcome: Outcome, now: datetime
) -> AttemptResult:
    """Return the new values of the notification: delivered, due again, dropped or failed."""
    notification = attempt.notification
    latency_ms = outcome.latency_ms if outcome.may_show_latency else None
    if outcome.status is DeliveryStatus.DELIVERED:
        return _delivered(attempt, outcome, latency_ms, now)
    # `_mark_begun` set `perhaps_received` in the row, in case of a crash. Now the outcome is known, so the
    # value from before the attempt counts, which `notification` still has.
    perhaps_received = notification.perhaps_received or outcome.perhaps_received
    failed: AttemptResult = {
        "latency_ms": latency_ms,
        "status": NotificationStatus.FAILED.value,
        "reason": outcome.reason,
        "perhaps_received": perhaps_received,
    }
    if reason := _reason_to_stop(notification, incidents, now):
        if not perhaps_received:
            return {**failed, "status": NotificationStatus.DROPPED.value, "reason": reason.value}
        if outcome.status is DeliveryStatus.RETRY:
            return {**failed, "reason": not_retried(outcome.reason or NO_ANSWER, reason)}
        return failed
    if (retry_at := _retry_at(attempt, outcome, now)) is None:
        return failed
    return {**failed, "status": NotificationStatus.PENDING.value, "due": retry_at}


def _delivered(
    attempt: DeliveryAttempt, outcome: Outcome, latency_ms: int | None, now: datetime
) -> AttemptResult:
    delivered: AttemptResult = {
        "latency_ms": latency_ms,
        "status": NotificationStatus.DELIVERED.value,
        "reason": None,
        "delivered": now,
    }
    if outcome.posted is None or not attempt.changes_messages:
        return delivered
    return {**delivered, "handle": outcome.posted.handle, "in_place": outcome.posted.in_place}


def _reason_to_stop(
    notification: Notification, incidents: Mapping[str, IncidentState], now: datetime
) -> NotificationReason | None:
    """Return why the state of the incident stops retries. The next `decide` reads the setting as well."""
    try:
        due = due_notification(notification, incidents.get(notification.incident_id or ""))
    except (LookupError, ValueError):
        return None  # a later version wrote its kind or channel, so nothing was sent: see `_failed_attempt`
    return unwanted_reason(due, now)


def _retry_at(attempt: DeliveryAttempt, outcome: Outcome, now: datetime) -> datetime | None:
    """Return the time of the next attempt; None if the notification failed for good."""
    if outcome.status is not DeliveryStatus.RETRY:
        return None
    jitter = random.uniform(-1, 1)  # noqa: S311 - spreads retries, protects nothing
    # A receiver that takes other messages refuses because there are too many, whatever the message.
    number = 1 if attempt.is_taking and outcome.asks_for_less else attempt.number
    retry_at = next_attempt(number, attempt.first_attempt or now, now, outcome.retry_after, jitter)
    # A worker that was delayed sent nothing, so the receiver needs no pause.
    return now if retry_at and outcome.fault is DeliveryFault.WORKER else retry_at


def _tried(ended: _EndedAttempt, now: datetime) -> TriedAttempt:
    outcome = ended.outcome
    # If the duration is secret (`may_show_latency`), the row has the start of the attempt instead of its end.
    began = now - timedelta(milliseconds=outcome.latency_ms)
    at = now if outcome.may_show_latency else began
    return TriedAttempt(ended.attempt.number, at, outcome.status.value, outcome.reason)


def _log(notification: Notification, outcome: Outcome) -> None:
    logger.info(
        "%s %s %s",
        notification.kind,
        notification.channel,
        outcome.status.value,
        extra={"delivery": notification.id, "ms": outcome.latency_ms, "reason": outcome.reason or "-"},
    )
