"""The promises of delivery as invariants of a run: while it goes on, and of what it leaves behind."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from alerting.engine.choices import NotificationStatus
from alerting.engine.claim_rules import AT_ONE_DESTINATION, BURST
from alerting.incidents.choices import AlertStatus
from alerting.models import Notification
from integrations.channels.delivery import UNFORESEEN
from integrations.choices import ENDS, OPEN_KINDS, DeliveryFault, DeliveryStatus, MessageKind
from tests.simulation.plans import ACCEPT_SECONDS, HOUR
from tests.simulation.world import BEGINNING, SimulatedRequest, SimulatedWorld

STARTS_WITHIN = 2.0
BACK_WITHIN = 5.0
MOST_ATTEMPTS = 250
SHORTLY = 60.0
"""No interval of reminders is as short as twice this time, in seconds."""
_ENDED = (NotificationStatus.DELIVERED.value, NotificationStatus.FAILED.value)


class Promise(StrEnum):
    """What delivery promises (docs/architecture.md, "Delivery")."""

    DURABLE = "durable"
    ONE_ID = "one id"
    ORDER = "order"
    FOLLOWED_UP = "what was perhaps received is followed up"
    FAIR = "fair"
    FAULT_IN_ITS_PLACE = "a fault belongs where it happened"
    BACK = "back means back"
    BOUNDED = "bounded"
    ONCE = "an address gets one message"


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken, and by what."""

    promise: Promise
    what: str


class Watch:
    """Looks on while the run goes on."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.world = world
        self.found: list[Violation] = []
        self._asked_to_wait: dict[str, tuple[float, float]] = {}
        self._waits_until: dict[str, float] = {}
        """As long as asked, from when that was recorded: a worker that slept does not know since when."""
        self._last_attempt: dict[str, tuple[float, bool]] = {}
        """At each host: when it was claimed, and whether it found a connection."""
        self._unreachable: dict[str, float] = {}
        self._failing: set[str] = set()
        self._due_back: dict[str, tuple[float, float]] = {}
        self._delivered: dict[tuple[str, str], list[tuple[float, Notification]]] = defaultdict(list)
        """What was delivered about each alert to each address, and when that was recorded."""
        world.watchers.append(self._see)

    def _see(self, what: str, request: SimulatedRequest) -> None:
        if what == "begins":
            self._begins(request)
        else:
            self._recorded(request)

    def _note(self, promise: Promise, what: str, request: SimulatedRequest) -> None:
        notification = request.notification
        about = f"{notification.kind} {notification.id} to {request.receiver.name} at {request.began:.3f}"
        self.found.append(Violation(promise, f"{about}: {what}"))

    def _begins(self, request: SimulatedRequest) -> None:
        self._check_order(request)
        self._check_once(request)
        self._check_bounds(request)
        self._check_fairness(request)
        self._check_places(request)
        self._check_back(request)

    def _check_order(self, request: SimulatedRequest) -> None:
        notification = request.notification
        for other in self.world.in_flight:
            neighbour = other.notification
            same = (neighbour.destination, neighbour.subject) == (
                notification.destination,
                notification.subject,
            )
            if other is not request and same:
                self._note(Promise.ORDER, f"{neighbour.kind} {neighbour.id} is in hand as well", request)

    def _check_once(self, request: SimulatedRequest) -> None:
        """A message that the address perhaps has is tried again; every other message is sent once."""
        notification = request.notification
        if notification.perhaps_received:
            return
        for at, other in self._delivered[str(notification.alert_id), notification.destination]:
            if other.setting_id != notification.setting_id and self._says_the_same(request, at, other):
                self._note(Promise.ONCE, f"{other.kind} {other.id} has said it at {at:.3f}", request)

    @staticmethod
    def _says_the_same(request: SimulatedRequest, at: float, other: Notification) -> bool:
        notification = request.notification
        match notification.kind:
            case MessageKind.UPDATE:
                return other.kind in OPEN_KINDS and request.began - at < SHORTLY
            case MessageKind.ACKNOWLEDGE:
                return (other.kind, other.created) == (notification.kind, notification.created)
        return other.kind == notification.kind

    def _check_bounds(self, request: SimulatedRequest) -> None:
        flying = self.world.in_flight
        mine = sum(other_request.worker == request.worker for other_request in flying)
        at_place = sum(
            other_request.notification.destination == request.notification.destination
            for other_request in flying
        )
        if mine > self.world.plan.slots * BURST:
            self._note(Promise.BOUNDED, f"{mine} requests in hand", request)
        if at_place > AT_ONE_DESTINATION:
            self._note(Promise.BOUNDED, f"{at_place} requests in hand at its destination", request)
        if request.notification.attempts > MOST_ATTEMPTS:
            self._note(Promise.BOUNDED, f"{request.notification.attempts} attempts", request)

    def _check_fairness(self, request: SimulatedRequest) -> None:
        if _project(request.notification) not in self.world.plan.sound:
            return
        late = request.began - self._undisturbed(request.ready, request.began)
        if late > STARTS_WITHIN and self.world.plan.restore is None:
            host = request.receiver.host
            broken = [
                receiver
                for receiver in self.world.plan.receivers
                if receiver.host == host and not receiver.is_sound
            ]
            promise = Promise.FAULT_IN_ITS_PLACE if broken else Promise.FAIR
            self._note(promise, f"it starts after {late:.1f} s", request)

    def _undisturbed(self, since: float, until: float) -> float:
        """From when on no worker was gone, asleep or without a database."""
        ends = [
            interruption.end
            for interruption in self.world.interruptions
            if interruption.start <= until and interruption.end > since
        ]
        return max([since, *ends])

    def _check_places(self, request: SimulatedRequest) -> None:
        host, since = request.receiver.host, self._unreachable.get(request.receiver.host)
        if since is None or request.claimed < since:
            return
        neighbour = [
            other_request
            for other_request in self.world.in_flight
            if other_request is not request
            and other_request.receiver.host == host
            and other_request.claimed >= since
        ]
        if neighbour:
            what = f"{len(neighbour)} more probe {host}, which cannot be connected to"
            self._note(Promise.FAULT_IN_ITS_PLACE, what, request)

    def _check_back(self, request: SimulatedRequest) -> None:
        notification = request.notification
        answered, until = self._asked_to_wait.get(notification.destination, (0.0, 0.0))
        if answered < request.claimed < until:
            self._note(Promise.BACK, f"its receiver asked not to be tried before {until:.1f}", request)
        back, deadline = self._due_back.pop(notification.id, (0.0, request.began))
        # The hour of retries has begun since: the message was held back, for example by a window.
        first = notification.first_attempt
        anew = notification.attempts == 1 or (first and first > BEGINNING + timedelta(seconds=back))
        if request.began > deadline and not anew:
            late = request.began - self._undisturbed(deadline, request.began)
            if late > 0 and request.receiver.accepts_from(back) and not self._host_was_away(request, back):
                self._note(Promise.BACK, f"its receiver is back since {back:.1f}", request)

    def _host_was_away(self, request: SimulatedRequest, since: float) -> bool:
        outages = self.world.plan.outages
        return any(outage.host == request.receiver.host and outage.end > since for outage in outages)

    def _recorded(self, request: SimulatedRequest) -> None:
        outcome, notification = request.outcome, request.notification
        assert outcome is not None
        if outcome.fault is DeliveryFault.WORKER:
            return
        seconds = self.world.seconds
        if outcome.status is DeliveryStatus.DELIVERED:
            about = str(notification.alert_id), notification.destination
            self._delivered[about].append((seconds, notification))
        host = request.receiver.host
        attempt = (request.claimed, outcome.fault is not DeliveryFault.HOST)
        self._last_attempt[host] = max(attempt, self._last_attempt.get(host, attempt))
        if self._last_attempt[host][1]:
            self._unreachable.pop(host, None)
        else:
            self._unreachable.setdefault(host, seconds)
        if outcome.retry_after:
            asked = (seconds, request.ended + outcome.retry_after)
            known = self._asked_to_wait.get(notification.destination, asked)
            self._asked_to_wait[notification.destination] = max(known, asked, key=lambda pause: pause[1])
            waits = max(self._waits_until.get(notification.destination, 0.0), seconds + outcome.retry_after)
            self._waits_until[notification.destination] = waits
        if outcome.status is not DeliveryStatus.DELIVERED:
            self._failing.add(notification.destination)
        elif notification.destination in self._failing:
            self._failing.discard(notification.destination)
            self._expect_the_rest(notification.destination)

    def _expect_the_rest(self, destination: str) -> None:
        """What waits there for another attempt begins soon, at the pace that receiver and slots can take.

        A receiver with a pace has one request in progress: requests on their way come first. Where few
        slots work off what waits for many receivers, each slot takes its share.
        """
        place = self.world.store.place(destination)
        pace = place.pace_ms / 1000 if place else 0.0
        asked = self._waits_until.get(destination, 0.0)
        on_their_way = [
            request.ended
            for request in self.world.in_flight
            if request.notification.destination == destination
        ]
        free = max(on_their_way, default=0.0) if pace else 0.0
        rows = [
            row
            for row in self.world.store.notifications()
            if row.status == NotificationStatus.PENDING.value and row.lease_token is None
        ]
        due = sum(row.due <= self.world.now for row in rows)
        queue = due * ACCEPT_SECONDS[1] / self.world.plan.slots
        deadline = max(self.world.seconds, asked, free) + BACK_WITHIN + 4 * pace + queue
        for row in rows:
            if row.destination == destination and row.first_attempt is not None:
                self._due_back.setdefault(row.id, (self.world.seconds, deadline))


def violations(world: SimulatedWorld, watch: Watch) -> list[Violation]:
    """All that a finished run broke."""
    left = _Left(world)
    checks = [left.durable(), left.one_id(), left.bounded()]
    if world.plan.restore is None:
        checks += [left.order(), left.followed_up()]
    found = watch.found if world.plan.restore is None else []
    return [*found, *(problem for check in checks for problem in check)]


class _Left:
    """What a run left behind: notifications, and all requests in the order in which they arrived."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.world = world
        self.rows = world.store.notifications()
        self.statuses = world.store.statuses()
        self.ends = {
            (row.alert_id, row.destination): row
            for row in self.rows
            if row.kind in ENDS and row.merged_into is None
        }
        self.requests: dict[str, list[SimulatedRequest]] = defaultdict(list)
        self.of_subject: dict[tuple[str, str], list[SimulatedRequest]] = defaultdict(list)
        for request in world.requests:
            self.requests[request.notification.id].append(request)
            if request.reached:
                key = (request.notification.destination, request.notification.subject)
                self.of_subject[key].append(request)

    def durable(self) -> Iterator[Violation]:
        """Each ends with an outcome or a reason, and none is given up before its hour."""
        for row in self.rows:
            waits = row.status == NotificationStatus.PENDING.value
            if waits and not (row.kind == MessageKind.UPDATE and row.due > self.world.now):
                yield Violation(Promise.DURABLE, f"{_named(row)} still waits, {row.due=}, {row.reason=}")
            if row.status in ("FAILED", "DROPPED") and not row.reason:
                yield Violation(Promise.DURABLE, f"{_named(row)} is {row.status} without a reason")
            if row.reason == UNFORESEEN:
                yield Violation(Promise.DURABLE, f"{_named(row)} met an error that nobody foresaw")
            if row.status == "FAILED" and self._given_up_early(row):
                yield Violation(Promise.DURABLE, f"{_named(row)} was given up within its hour: {row.reason}")
        yield from self._unsaid()

    def _unsaid(self) -> Iterator[Violation]:
        """Each alert has its opening for each notification of its configuration."""
        said = {(row.alert_id, row.setting_id) for row in self.rows if row.kind == MessageKind.OPEN}
        settings = defaultdict(set)
        for row in self.rows:
            settings[row.group_id].add(row.setting_id)
        for row in self.rows:
            for setting in settings[row.group_id]:
                if row.kind == MessageKind.OPEN and (row.alert_id, setting) not in said:
                    yield Violation(Promise.DURABLE, f"{row.alert_id} has no opening for {setting}")

    def _given_up_early(self, row: Notification) -> bool:
        tries = self.requests[row.id]
        last = tries[-1] if tries else None
        if last is None or last.outcome is None or last.outcome.status is not DeliveryStatus.RETRY:
            return False
        wanted = row.kind in ENDS or (
            row.kind in OPEN_KINDS and self.statuses[str(row.alert_id)] == AlertStatus.OPEN.value
        )
        first = row.first_attempt
        hour_over = first is not None and (self.world.now - first).total_seconds() >= HOUR
        redirected = any(
            other_row.id != row.id and other_row.sequence == row.sequence for other_row in self.rows
        )
        if not wanted or redirected:
            return False
        since_first = last.ended - ((first or BEGINNING) - BEGINNING).total_seconds()
        return not hour_over or since_first < HOUR - 1

    def one_id(self) -> Iterator[Violation]:
        """What says the same to the same receiver has the same id."""
        ids: dict[tuple[object, ...], set[str]] = defaultdict(set)
        contents: dict[str, set[tuple[object, ...]]] = defaultdict(set)
        for request in self.world.requests:
            row = request.notification
            said = (row.alert_id, row.setting_id, row.destination, row.kind)
            contents[row.id].add((row.alert_id, row.setting_id, row.kind))
            if row.kind in (MessageKind.OPEN, MessageKind.CLOSE):
                ids[said].add(row.id)
        for what, found in ids.items():
            if len(found) > 1:
                yield Violation(Promise.ONE_ID, f"{what} was said as {sorted(found)}")
        for name, said_as in contents.items():
            if len(said_as) > 1:
                yield Violation(Promise.ONE_ID, f"{name} says {sorted(map(str, said_as))}")

    def order(self) -> Iterator[Violation]:
        """The last message a receiver takes is the state, and each opening is ended before the next."""
        for key, arrived in self.of_subject.items():
            yield from self._between_openings(key, arrived)
            taken = [request.notification for request in arrived if request.taken]
            if not taken:
                continue
            last = taken[-1]
            is_open = self.statuses[str(last.alert_id)] == AlertStatus.OPEN.value
            if (last.kind in ENDS) == is_open or (not is_open and last.kind not in ENDS):
                end = self.ends.get((last.alert_id, last.destination))
                if end is None or end.status != NotificationStatus.FAILED.value:
                    end_is = end.status if end else "missing"
                    what = f"{key}: the last message taken is {_named(last)}, its end is {end_is}"
                    yield Violation(Promise.ORDER, what)

    def _between_openings(self, key: tuple[str, str], arrived: list[SimulatedRequest]) -> Iterator[Violation]:
        open_alert = None
        for request in arrived:
            row = request.notification
            if request.refused:
                continue
            if row.kind in ENDS:
                open_alert = None if row.alert_id == open_alert else open_alert
            elif open_alert not in (None, row.alert_id):
                end = self.ends.get((open_alert, row.destination))
                if end is None or end.status != NotificationStatus.FAILED.value:
                    yield Violation(Promise.ORDER, f"{key}: {_named(row)} while {open_alert} is not ended")
                open_alert = row.alert_id
            else:
                open_alert = row.alert_id

    def followed_up(self) -> Iterator[Violation]:
        """What perhaps arrived is not called dropped, and its receiver gets the end."""
        for row in self.rows:
            perhaps = any(request.reached and not request.refused for request in self.requests[row.id])
            if not perhaps or row.kind in ENDS:
                continue
            if row.status == NotificationStatus.DROPPED.value:
                yield Violation(Promise.FOLLOWED_UP, f"{_named(row)} was perhaps received, and dropped")
            if self.statuses[str(row.alert_id)] == AlertStatus.OPEN.value:
                continue
            end = self.ends.get((row.alert_id, row.destination))
            if end is None or end.status not in _ENDED:
                yield Violation(Promise.FOLLOWED_UP, f"{_named(row)} was perhaps received, and never ended")

    def bounded(self) -> Iterator[Violation]:
        """No attempt lasts longer than a lease."""
        for request in self.world.requests:
            if request.ended - request.began > 30:
                yield Violation(
                    Promise.BOUNDED, f"{_named(request.notification)} took {request.ended - request.began} s"
                )


def _project(row: Notification) -> int:
    return int(row.group_id or "0", 16)


def _named(row: Notification) -> str:
    return f"{row.kind} {row.id} ({row.alert_id}, {row.subject}, sequence {row.sequence})"
