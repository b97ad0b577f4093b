"""The rules of claims and delivery: shares and order, time slices, what is sent when, and states. Pure."""

import heapq
import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from alerting.engine.choices import NotificationStatus
from alerting.incidents.choices import AlertStatus
from alerting.reasons import AttemptFailure, NotificationReason, window_of
from integrations.choices import ENDS, OPEN_KINDS, MessageKind
from opsapi.clock import AHEAD

Clock = Callable[[], float]
"""A monotonic clock, in seconds."""


class Costs:
    """The seconds of work by name."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def add(self, name: str, seconds: float) -> None:
        """Add seconds to the costs of `name`."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def of(self, name: str) -> float:
        """Return the seconds of `name`; 0 if it has none."""
        return self._seconds.get(name, 0.0)

    def total(self) -> float:
        """Return the seconds of all names together."""
        return sum(self._seconds.values())

    def dearest(self) -> str | None:
        """Return the name with the highest costs; None if there are no costs."""
        return max(self._seconds, key=self._seconds.__getitem__, default=None)


class TimeSlice:
    """The time of a turn, from now until `seconds` have passed or `rows` are to be written.

    Writing follows deciding, so its time is only known when it is too late.
    """

    def __init__(
        self, clock: Clock, seconds: float, costs: Costs | None = None, rows: float = math.inf
    ) -> None:
        """`charge` adds to `costs`, which may be older than the slice."""
        self._clock = clock
        self.began = self.last_look = self._charged = clock()
        self._end = self.began + seconds
        self._rows_left = rows
        self.costs = Costs() if costs is None else costs
        """The seconds of what `charge` was called for, by its name."""

    @classmethod
    def endless(cls) -> "TimeSlice":
        """Return a slice that is never over."""
        return cls(lambda: 0.0, 0.0)

    def now(self) -> float:
        """Look at the clock."""
        return self._clock()

    def is_over(self) -> bool:
        """Look at the clock."""
        self.last_look = self._clock()
        return self.last_look > self._end or self._rows_left <= 0

    def count_rows(self, rows: int) -> None:
        """Count rows that were written or are to be written."""
        self._rows_left -= rows

    def allow_as_much_as_since(self, began: float) -> None:
        """Let the slice last as long again as what began then: reading must not use all of every slice."""
        now = self._clock()
        self._end = max(self._end, now + now - began)

    def charge(self, name: str) -> None:
        """Add the seconds since the last call to the costs of `name`, or to nothing if it is empty."""
        before, self._charged = self._charged, self._clock()
        if name:
            self.costs.add(name, self._charged - before)

    def used(self) -> float:
        """Return the seconds since the slice began."""
        return self._clock() - self.began


class Place(NamedTuple):
    """Where the evaluation of signals continues: a signal, a configuration and the target of an alert.

    Pairs of a configuration and a target are compared in this order, so a place stays right if
    configurations or hosts come and go in between. Empty strings come first.
    """

    signal: int
    config: str = ""
    target: str = ""

    @property
    def is_inside_signal(self) -> bool:
        """Whether a part of the signal has been evaluated."""
        return bool(self.config)


@dataclass(frozen=True, slots=True)
class Progress:
    """The signals that a turn began and did not finish, and where the next turn continues.

    `hosts_after`: the fleet is compared in parts; the next part begins after the host with this id. Empty for
    the first part.
    """

    signals: tuple[int, ...]
    place: Place
    hosts_after: str = ""

    def stored(self) -> dict[str, Any]:
        """Return the JSON that `progress_of` reads."""
        return {"signals": self.signals, "place": self.place, "hostsAfter": self.hosts_after}


def progress_of(stored: Mapping[str, Any]) -> Progress:
    """Return the progress of `Progress.stored`."""
    return Progress(tuple(stored["signals"]), Place(*stored["place"]), stored["hostsAfter"])


YOUNG = timedelta(seconds=1)
"""The age from which a request no longer holds a slot."""
BURST = 8
"""The most requests in progress for each slot, old requests included."""
AT_ONE_DESTINATION = 16
AT_ONE_HOST = 64
"""The most requests of one project in progress at one host."""
DOUBTFUL_AT_ONE_HOST = 4
"""The most of these requests to destinations that fail or have never answered."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A notification that may be sent: due, and the first for its destination and subject.

    `sequence` orders notifications that are due at the same time. `steady`: its destination accepted the
    last message. `host_down`: its host accepted no connection; `tried` is when its destination was last
    tried. `gap` is the least time between two requests at its destination.
    """

    id: str
    destination: str
    project: str | None
    host: str
    due: datetime
    sequence: int
    steady: bool
    host_down: bool = False
    tried: datetime | None = None
    gap: timedelta = timedelta()


class LeasedNotification(NamedTuple):
    """The lease of a notification, and its destination. `leased` is None in rows of earlier versions."""

    destination: str
    project: str | None
    host: str
    until: datetime
    leased: datetime | None
    worker: int | None
    steady: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningRequest:
    """A notification that a worker has been sending since `began`. `mine`: it is this worker."""

    destination: str
    project: str | None
    host: str
    began: datetime
    steady: bool
    mine: bool


def choose(
    candidates: Iterable[Candidate], running: Sequence[RunningRequest], *, slots: int, now: datetime
) -> list[str]:
    """Return the ids of the notifications to send next, the most urgent first."""
    counts = _Round(running, slots, now)
    queues: dict[str | None, deque[Candidate]] = {}
    for candidate in sorted(
        _one_for_each_host_down(candidates), key=lambda waiting: (waiting.due, waiting.sequence)
    ):
        queues.setdefault(candidate.project, deque()).append(candidate)
    turns = [(counts.held[project], queue[0].due, project or "", queue) for project, queue in queues.items()]
    heapq.heapify(turns)
    chosen: list[str] = []
    while turns and len(chosen) < counts.free:
        _, _, name, queue = heapq.heappop(turns)
        candidate = queue.popleft()
        if counts.takes(candidate):
            chosen.append(candidate.id)
        if queue:
            heapq.heappush(turns, (counts.held[candidate.project], queue[0].due, name, queue))
    return chosen


def next_free_slot(began: Iterable[datetime], now: datetime) -> timedelta | None:
    """Return how long until the next request no longer holds a slot; None if none holds a slot."""
    return min((start + YOUNG - now for start in began if now - start < YOUNG), default=None)


class _Round:
    """Counts of the requests in progress, including the candidates chosen already."""

    def __init__(self, running: Sequence[RunningRequest], slots: int, now: datetime) -> None:
        mine = [request for request in running if request.mine]
        self.young = Counter(request.project for request in mine if now - request.began < YOUNG)
        self.held = Counter(request.project for request in mine)
        self._left = slots * BURST - len(mine)
        self._now = now
        self._last: dict[str, datetime] = {}
        for request in running:
            self._last[request.destination] = max(
                request.began, self._last.get(request.destination, request.began)
            )
        self.free = min(slots - self.young.total(), self._left)
        self._of_project = max(1, slots // 2)
        self._destinations = Counter(request.destination for request in running)
        self._of_host = slots * BURST * 3 // 4
        self._mine_at_host = Counter(request.host for request in mine)
        self._mine_at_place = Counter((request.project, request.host) for request in mine)
        self._hosts = Counter(request.host for request in running)
        self._at_host = Counter((request.project, request.host) for request in running)
        self._doubtful_at_host = Counter(
            (request.project, request.host) for request in running if not request.steady
        )

    def takes(self, candidate: Candidate) -> bool:
        """Return whether the limits allow the candidate, and count it if they do."""
        place = (candidate.project, candidate.host)
        if (
            self._destinations[candidate.destination] >= (AT_ONE_DESTINATION if candidate.steady else 1)
            or self._is_too_soon(candidate)
            or self.young[candidate.project] >= self._of_project
            or self.held[candidate.project] >= self._left
            or self._mine_at_place[place] >= self._of_host - self._mine_at_host[candidate.host]
            or (candidate.host_down and self._hosts[candidate.host])
            or self._at_host[place] >= AT_ONE_HOST
            or (not candidate.steady and self._doubtful_at_host[place] >= DOUBTFUL_AT_ONE_HOST)
        ):
            return False
        self._last[candidate.destination] = self._now
        self._destinations[candidate.destination] += 1
        self.young[candidate.project] += 1
        self.held[candidate.project] += 1
        self._left -= 1
        self._mine_at_host[candidate.host] += 1
        self._mine_at_place[place] += 1
        self._hosts[candidate.host] += 1
        self._at_host[place] += 1
        self._doubtful_at_host[place] += not candidate.steady
        return True

    def _is_too_soon(self, candidate: Candidate) -> bool:
        """Whether another request at its destination began less than its gap ago."""
        last = self._last.get(candidate.destination)
        return last is not None and self._now - last < candidate.gap


def _one_for_each_host_down(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keep one candidate for each host that is down: of the destination tried longest ago."""
    probes: dict[str, Candidate] = {}
    rest = []
    for candidate in candidates:
        if not candidate.host_down:
            rest.append(candidate)
            continue
        known = probes.setdefault(candidate.host, candidate)
        if _waits_longer(candidate, known):
            probes[candidate.host] = candidate
    return rest + list(probes.values())


def _waits_longer(candidate: Candidate, other: Candidate) -> bool:
    """Whether its destination was tried longer ago; if never, it waits since its message was due."""
    return (candidate.tried or candidate.due, candidate.due) < (other.tried or other.due, other.due)


_OF_A_RUNNING_ALERT = OPEN_KINDS | {MessageKind.ACKNOWLEDGE}


class DeliveryStep(StrEnum):
    """The steps of a due notification."""

    SEND = "SEND"
    ADDRESS = "ADDRESS"
    """Find its destination: the addresses of people, or the destination in the configuration."""
    MERGE = "MERGE"
    """Another notification has sent the same message to the same address."""
    POSTPONE = "POSTPONE"
    DROP = "DROP"
    GIVE_UP = "GIVE_UP"
    """It was sent and perhaps received, or tried too often: do not send it again."""
    REMOVE = "REMOVE"
    """The end of an alert, if the receiver got no message about it; an unimportant change of an incident."""


@dataclass(frozen=True, slots=True)
class Mute:
    """A maintenance window that mutes notifications until its end; `window_id` is its ID."""

    window_id: str
    until: datetime

    @property
    def reason(self) -> str:
        return NotificationReason.MUTED.value.format(window=self.window_id)


def mute_of_incident(mutes: Iterable[Mute | None]) -> Mute | None:
    """Return, of the mutes of the open alerts, the mute that ends first; None if an alert is not muted."""
    first: Mute | None = None
    for mute in mutes:
        if mute is None:
            return None
        if first is None or (mute.until, mute.window_id) < (first.until, first.window_id):
            first = mute
    return first


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNotification:
    """The facts of a due notification.

    `status` is the alert's, None for a one-shot notification. `config_counts`: the configuration exists and
    is enabled; `setting_counts`: it still has this notification; `recipient_counts`: the address still
    belongs to a recipient. `is_below_minimum`: the severity is lower than the minimum of the notification.
    `perhaps_received`: an attempt was sent and not definitely refused, so the
    notification is never dropped as if nothing was sent. `lapsed_too_often`: too many attempts left no
    outcome. `addressed`: its destination is decided, and still the one that its configuration names.
    `perhaps_notified`: the receiver of an end was, or perhaps was, notified of the alert. `keeps_state`: the
    service tracks the alert itself. `mute`: the maintenance window that mutes it now.
    `planned_until`: until when it is about planned effects of a plan. `worth_sending`: False for an
    unimportant change of an incident. `merged_into`: the notification that has sent the same message to the
    same address.
    """

    kind: MessageKind
    status: AlertStatus | None
    config_counts: bool = True
    setting_counts: bool = True
    recipient_counts: bool = True
    is_below_minimum: bool = False
    perhaps_received: bool = False
    lapsed_too_often: bool = False
    addressed: bool = True
    perhaps_notified: bool = True
    keeps_state: bool = False
    acknowledged_until: datetime | None = None
    mute: Mute | None = None
    planned_until: datetime | None = None
    worth_sending: bool = True
    merged_into: str | None = None


_SINCE_IT_WAS_SENT = frozenset({None, NotificationReason.ALERT_OVER, NotificationReason.NOT_ACKNOWLEDGED})
"""What can have happened since the other notification sent the message: the message is merged anyway."""


@dataclass(frozen=True, slots=True)
class DeliveryVerdict:
    """The step, and the reason to drop, postpone or give up.

    `until` and `silenced_by` belong to POSTPONE. `stopped` belongs to GIVE_UP: why it is not retried. Then
    `reason` is None, and the reason of the last attempt is kept (`not_retried`).
    """

    step: DeliveryStep
    reason: str | None = None
    until: datetime | None = None
    silenced_by: str | None = None
    stopped: NotificationReason | None = None


LONGEST_REASON = 300
"""The maximum length of the reason of a notification or an attempt, in characters."""


def not_retried_words(reason: NotificationReason) -> str:
    """The end of the reason of a failed notification that is no longer retried."""
    return f"; not retried: {reason.not_retried}"


def not_retried(failure: str, reason: NotificationReason | None) -> str:
    """Return the reason of a failed notification: its last failure, and why it is not retried.

    `reason` is None if its retries have ended as they should, or it needs none.
    """
    words = not_retried_words(reason) if reason else ""
    return failure[: LONGEST_REASON - len(words)] + words


def decide_delivery(due: DueNotification, now: datetime) -> DeliveryVerdict:
    """Checks in order: merged, needless, over or outdated, muted, planned, acknowledged, given up, sent."""
    reason = drop_reason(due, now)
    if due.merged_into is not None and not due.perhaps_received and reason in _SINCE_IT_WAS_SENT:
        return DeliveryVerdict(DeliveryStep.MERGE, NotificationReason.MERGED.value)
    if _is_needless(due):
        return DeliveryVerdict(DeliveryStep.REMOVE)
    if reason is not None:
        # A message that may have arrived is not dropped: its receiver gets the end of the alert.
        return (
            DeliveryVerdict(DeliveryStep.GIVE_UP, stopped=reason)
            if due.perhaps_received
            else DeliveryVerdict(DeliveryStep.DROP, reason.value)
        )
    if held_back := _held_back(due, now):
        return held_back
    if due.lapsed_too_often:
        return DeliveryVerdict(DeliveryStep.GIVE_UP, AttemptFailure.NO_OUTCOME.value)
    return DeliveryVerdict(DeliveryStep.SEND if due.addressed else DeliveryStep.ADDRESS)


def drop_reason(due: DueNotification, now: datetime) -> NotificationReason | None:
    """Why it is no longer sent; None if it is."""
    if due.kind in _OF_A_RUNNING_ALERT and due.status is not AlertStatus.OPEN:
        return NotificationReason.ALERT_OVER
    if due.kind not in ENDS and (reason := _not_asked_for(due)):
        return reason
    if due.kind is MessageKind.ACKNOWLEDGE and not _is_acknowledged(due, now):
        return NotificationReason.NOT_ACKNOWLEDGED
    return None


def _is_needless(due: DueNotification) -> bool:
    return not due.perhaps_notified if due.kind in ENDS else not (due.worth_sending or due.perhaps_received)


def repeat_due(interval: timedelta | None, delivered: datetime) -> datetime | None:
    """When the next reminder is due: a fixed interval after the last delivery; None without reminders."""
    return None if interval is None else delivered + interval


def recent_since(interval: timedelta, now: datetime) -> datetime:
    """Return the time after which a message to people is recent: they get no reminder yet."""
    return now - interval / 2


def _not_asked_for(due: DueNotification) -> NotificationReason | None:
    """Why its configuration no longer notifies."""
    if due.kind is MessageKind.INFORM and not due.config_counts:
        return NotificationReason.CONFIG_OFF
    if not due.setting_counts:
        return NotificationReason.NOTIFICATION_REMOVED
    # An acknowledgement goes to receivers of the opening.
    if due.is_below_minimum and due.kind is not MessageKind.ACKNOWLEDGE:
        return NotificationReason.BELOW_MIN_SEVERITY
    return None if due.recipient_counts else NotificationReason.NO_LONGER_RECIPIENT


def _held_back(due: DueNotification, now: datetime) -> DeliveryVerdict | None:
    # Services that track incidents get the end at once: it cancels a call and causes none.
    if due.mute is not None and not (due.keeps_state and due.kind in ENDS):
        return _muted(due, due.mute)
    if due.planned_until is not None and due.planned_until > now and due.kind not in ENDS:
        return _planned(due, due.planned_until)
    if due.kind is MessageKind.UPDATE and _is_acknowledged(due, now):
        return DeliveryVerdict(
            DeliveryStep.POSTPONE, NotificationReason.ACKNOWLEDGED.value, until=due.acknowledged_until
        )
    return None


def _muted(due: DueNotification, mute: Mute) -> DeliveryVerdict:
    """Messages about a running alert and its end can be sent later; one-shot notifications are not kept."""
    if due.kind is MessageKind.INFORM:
        return DeliveryVerdict(DeliveryStep.DROP, mute.reason)
    return DeliveryVerdict(DeliveryStep.POSTPONE, mute.reason, until=mute.until, silenced_by=mute.window_id)


def _planned(due: DueNotification, until: datetime) -> DeliveryVerdict:
    """As `_muted`, for a message about the planned effects of a plan."""
    reason = NotificationReason.PLANNED.value
    if due.kind is MessageKind.INFORM:
        return DeliveryVerdict(DeliveryStep.DROP, reason)
    return DeliveryVerdict(DeliveryStep.POSTPONE, reason, until=until)


def _is_acknowledged(due: DueNotification, now: datetime) -> bool:
    return due.acknowledged_until is not None and due.acknowledged_until > now


def muted_by(silenced_by: str | None, reason: str | None) -> str | None:
    """The ID of the window that mutes or muted a notification; a dropped one has it in its reason."""
    return silenced_by or window_of(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class SameDestination:
    """A notification about an alert or event, among the notifications with the same destination.

    `created` distinguishes messages of one kind: acknowledgements, and changes of an incident. `is_change`:
    the message is about a change of an incident. `interval` is the interval of its reminders. `delivered` is
    None before delivery.
    """

    id: str
    setting_id: str
    kind: MessageKind
    created: datetime
    is_change: bool = False
    interval: timedelta | None = None
    delivered: datetime | None = None

    @property
    def is_reminder(self) -> bool:
        return self.kind is MessageKind.UPDATE and not self.is_change


def merged_into(
    waiting: SameDestination, others: Iterable[SameDestination], now: datetime
) -> SameDestination | None:
    """Return the delivered notification that has sent the message of `waiting`; None if there is none.

    Only notifications of other settings count. Notifications of the same setting are earlier messages.
    """
    same = [
        other
        for other in others
        if other.delivered is not None
        and other.setting_id != waiting.setting_id
        and _says_the_same(waiting, other, other.delivered, now)
    ]
    return max(same, key=lambda other: (other.delivered or now, other.id), default=None)


def _says_the_same(waiting: SameDestination, other: SameDestination, sent: datetime, now: datetime) -> bool:
    if waiting.is_reminder:
        # Settings can have different intervals and delays. A reminder is not sent shortly after another
        # message.
        interval = waiting.interval
        return other.kind in OPEN_KINDS and interval is not None and _is_recent(interval, sent, now)
    if waiting.kind is MessageKind.UPDATE or waiting.kind is MessageKind.ACKNOWLEDGE:
        same = other.kind, other.is_change, other.created
        return same == (waiting.kind, waiting.is_change, waiting.created)
    return other.kind is waiting.kind


def _is_recent(interval: timedelta, sent: datetime, now: datetime) -> bool:
    return recent_since(interval, now) < sent <= now + AHEAD


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The messages about some alerts and events that were, or perhaps were, received."""

    _notified: AbstractSet[tuple[str, str]]
    """Alert or event, and destination, of messages that are not ends; older rows name no destination."""
    _settings: Mapping[tuple[str, str], AbstractSet[str]]
    """The settings of all messages, by alert or event, and destination."""

    @classmethod
    def of(cls, rows: Collection[tuple[str, str, str, bool]]) -> "SentMessages":
        """The messages of these rows: alert or event, destination, setting, and whether it is an end."""
        settings: dict[tuple[str, str], set[str]] = {}
        for about, destination, setting_id, _ in rows:
            settings.setdefault((about, destination), set()).add(setting_id)
        return cls({row[:2] for row in rows if not row[3]}, settings)

    def has_notified(self, about: str, destination: str) -> bool:
        """Whether the destination was, or perhaps was, notified of the alert or event before its end."""
        return not self._notified.isdisjoint({(about, destination), (about, "")})

    def can_include(self, about: str, destination: str, setting_id: str) -> bool:
        """Whether a message of another setting to the destination may be the message of this setting."""
        settings = self._settings.get((about, destination), frozenset())
        return bool(destination) and not settings <= {setting_id}


SHARE_SECONDS: Final = 20.0
"""The seconds of workers' time that a project may use in a minute before the console shows a notice."""
UNIT_SECONDS: Final = 0.5
"""Projects that differ by less than this take equal turns."""
LEAST_COUNTED_SECONDS: Final = 0.1
"""Shorter work is not counted: counting it would take longer than it is worth."""
NOTICE_MINUTES: Final = 10
"""Minutes after an excess in which the console shows a notice, and no further event is recorded."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The seconds that a project used in a minute, and in the minute before.

    `exceeded`: the last minute in which it exceeded its share; None if it never did.
    """

    minute: int = 0
    seconds: float = 0.0
    seconds_before: float = 0.0
    exceeded: int | None = None

    def at(self, now: datetime) -> "Usage":
        """The usage as it counts now."""
        minute = minute_of(now)
        if self.minute == minute:
            return self
        before = self.seconds if self.minute == minute - 1 else 0.0
        return replace(self, minute=minute, seconds=0.0, seconds_before=before)

    def add(self, seconds: float, now: datetime) -> "Usage":
        """The usage after more work, which marks the minute if it exceeds the share."""
        current = self.at(now)
        current = replace(current, seconds=current.seconds + seconds)
        return replace(current, exceeded=current.minute) if current.seconds > SHARE_SECONDS else current

    def has_exceeded(self, now: datetime) -> bool:
        """Whether it exceeded its share in the last NOTICE_MINUTES."""
        return self.exceeded is not None and self.exceeded in noticed_minutes(now)


def minute_of(now: datetime) -> int:
    """The number of the minute."""
    return int(now.timestamp() // 60)


def noticed_minutes(now: datetime) -> range:
    """The minutes in which an excess still causes a notice."""
    minute = minute_of(now)
    return range(minute - NOTICE_MINUTES + 1, minute + 1)


class NotificationState(StrEnum):
    """The values are the words."""

    DELIVERED = "Delivered"
    FAILED = "Failed"
    DROPPED = "Dropped"
    MERGED = "Merged"
    """Another notification has sent the same message."""
    WAITING = "Waiting"
    SCHEDULED = "Scheduled"


def notification_state(
    status: NotificationStatus,
    *,
    kind: MessageKind,
    due: datetime,
    attempts: int,
    is_held: bool,
    is_merged: bool = False,
    now: datetime,
) -> NotificationState:
    """Return the state of a notification.

    A pending notification is scheduled if it is due later, was never attempted and is not held (`is_held`: it
    has a reason to wait). A reminder is scheduled even if it is held.
    """
    match status:
        case NotificationStatus.DELIVERED:
            return NotificationState.DELIVERED
        case NotificationStatus.FAILED:
            return NotificationState.FAILED
        case NotificationStatus.DROPPED:
            return NotificationState.MERGED if is_merged else NotificationState.DROPPED
        case NotificationStatus.PENDING:
            is_to_come = due > now and not attempts and (not is_held or kind is MessageKind.UPDATE)
            return NotificationState.SCHEDULED if is_to_come else NotificationState.WAITING
