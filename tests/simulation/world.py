"""One run: a virtual clock, workers that claim, decide, send and record, and receivers with their faults.

Whatever happens is an event at a virtual time; nothing waits, and the same seed gives the same run. Between
any two steps of a worker others may act, and the worker may die or sleep.
"""

import heapq
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from alerting.engine import delivery
from alerting.engine.choices import NotificationStatus
from alerting.engine.claim_rules import next_free_slot
from alerting.engine.leases import LEASE, leased_at
from alerting.models import Notification
from integrations.channels.outcome import Outcome
from opsapi.outbound import OutboundError, OutboundResponse
from opsapi.outbound.errors import OutboundReason
from tests.simulation.plans import (
    ACCEPT_SECONDS,
    HOUR,
    MINUTE,
    TIME_OUT_SECONDS,
    Act,
    Interruption,
    Mode,
    Plan,
    Receiver,
)
from tests.simulation.store import MemoryStore
from tests.simulation.stores import Store

Answer = TypeVar("Answer")
BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)
POLL_SECONDS = 1.0
LONGEST_HOURS = 2.5
"""Within this time after the plan ended everything has come to its end."""


@dataclass(slots=True)
class SimulatedRequest:
    """One attempt, as the receiver and an onlooker see it; times are seconds since the beginning."""

    receiver: Receiver
    notification: Notification
    """As it was when the attempt began."""
    worker: int
    claimed: float
    began: float
    ready: float
    """Since when nothing of its own kept it waiting."""
    ended: float = 0.0
    reached: bool = False
    """The request was written to a connection."""
    taken: bool = False
    outcome: Outcome | None = None
    recorded: bool = False

    @property
    def refused(self) -> bool:
        """The receiver said definitely that it did not take it."""
        return (
            self.outcome is not None and not self.outcome.perhaps_received and self.outcome.reason is not None
        )


def _window_of(number: int, start: datetime, end: float) -> Mapping[str, Any]:
    """The columns of a window that mutes now: once, or the third time and only the first host."""
    dates = {"start": start, "end": BEGINNING + timedelta(seconds=end)}
    if number % 2 == 0:
        return dates
    matcher = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db0"}
    earlier = {name: moment - timedelta(days=2) for name, moment in dates.items()}
    return {
        **earlier,
        "recurrence": {"rrule": "FREQ=DAILY;COUNT=3", "timeZone": "UTC"},
        "matchers": [matcher],
    }


class SimulatedWorld:
    """Runs a plan against a store; `requests` and what `watch` sees is what invariants are held against."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan, self.store = plan, store
        self.rng = random.Random(plan.seed + 1)
        self.seconds = 0.0
        self.requests: list[SimulatedRequest] = []
        self.in_flight: list[SimulatedRequest] = []
        self.interruptions: list[Interruption] = []
        self.alerts: dict[tuple[int, int], str | None] = {}
        """The open alert of each host."""
        self.watchers: list[Callable[[str, SimulatedRequest], None]] = []
        """Called with "begins" or "recorded"."""
        self.events = 0
        self._numbers: dict[tuple[int, int], int] = {}
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._receivers = {receiver.url: receiver for receiver in plan.receivers}
        self._last_end: dict[tuple[str, str], float] = {}
        self._signals: list[Callable[[], None]] = []
        """The evaluation of each signal of the run."""
        self._answer = (0.0, False, False)
        self._over = False
        self._workers = [SimulatedWorker(self, number) for number in range(plan.workers)]
        self._next_key = plan.workers

    @property
    def now(self) -> datetime:
        """The virtual clock."""
        return BEGINNING + timedelta(seconds=self.seconds)

    def at(self, seconds: float, event: Callable[[], None]) -> None:
        """Let it happen then."""
        self.events += 1
        heapq.heappush(self._queue, (seconds, self.events, event))

    def run(self) -> None:
        """From the beginning until nothing is left to do."""
        self.store.prepare(self.plan.settings, self.now)
        for act in self.plan.acts:
            self.at(act.at, partial(self._act, act))
        for worker in self._workers:
            worker.start()
        if restore := self.plan.restore:
            self.at(restore.backup, partial(self._back_up, restore.restored))
        self.at(self.plan.ends + 1, self._ask_whether_over)
        while self._queue and not self._over:
            self.seconds, _, event = heapq.heappop(self._queue)
            event()

    def _ask_whether_over(self) -> None:
        waiting = [
            notification
            for notification in self.store.notifications()
            if notification.status == NotificationStatus.PENDING
        ]
        to_come = [
            notification
            for notification in waiting
            if notification.kind == "alert.update" and notification.due > self.now
        ]
        late = self.seconds > self.plan.ends + LONGEST_HOURS * HOUR
        self._over = late or (not self.in_flight and len(waiting) == len(to_come))
        self.at(self.seconds + MINUTE, self._ask_whether_over)

    # --- what happens to the platform -----------------------------------------------------------

    def _act(self, act: Act) -> None:
        getattr(self, f"_{act.what}")(*act.args)
        self.wake()

    def wake(self) -> None:
        """NOTIFY: workers that have nothing to do look for work; now and then one only with its next poll."""
        for worker in self._workers:
            if self.rng.random() < 0.95:
                worker.wake()
            else:
                self.at(self.seconds + self.rng.uniform(0, POLL_SECONDS), worker.wake)

    def _down(self, project: int, target: int) -> None:
        if self.alerts.get((project, target)) is None:
            number = self._numbers[project, target] = self._numbers.get((project, target), 0) + 1
            alert = self.store.open(project, str(target), number, self.now)
            self.alerts[project, target] = alert
            self._signals.append(partial(self._open_again, project, str(target), number, self.now))

    def _up(self, project: int, target: int) -> None:
        if alert := self.alerts.get((project, target)):
            self.store.close(alert, self.now)
            self.alerts[project, target] = None
            self._signals.append(partial(self._close_again, alert, self.now))

    def _acknowledge(self, project: int, target: int, until: float) -> None:
        if alert := self.alerts.get((project, target)):
            self.store.acknowledge(alert, BEGINNING + timedelta(seconds=until), self.now)

    def _window(self, project: int, number: int, end: float) -> None:
        self.store.window(project, number, _window_of(number, self.now, end), self.now)

    def _window_gone(self, project: int, number: int) -> None:
        self.store.window_gone(project, number, self.now)

    def _redirect(self, setting: int, receiver: Receiver) -> None:
        self._receivers[receiver.url] = receiver
        self.store.redirect(setting, receiver, self.now)

    def _back_up(self, restored: float) -> None:
        assert isinstance(self.store, MemoryStore)
        kept, signals = self.store.backup(), len(self._signals)
        self.at(restored, lambda: self._restore(kept, signals))

    def _restore(self, kept: MemoryStore, signals: int) -> None:
        """The backup is there again; the signals since are evaluated once more."""
        for worker in self._workers:
            worker.die(0.5)
        self.store = kept
        for evaluate in self._signals[signals:]:
            evaluate()

    def _open_again(self, project: int, target: str, number: int, at: datetime) -> None:
        self.store.open(project, target, number, at)

    def _close_again(self, alert: str, at: datetime) -> None:
        self.store.close(alert, at)

    # --- workers --------------------------------------------------------------------------------

    def _die(self, worker: int, away: float) -> None:
        self._workers[worker].trouble = lambda: self._workers[worker].die(away)

    def _sleep(self, worker: int, seconds: float) -> None:
        self._workers[worker].trouble = lambda: self._workers[worker].sleep(seconds)

    def new_key(self) -> int:
        """What the leases of another worker name."""
        self._next_key += 1
        return self._next_key

    def take_over(self, dead: int, since: float) -> None:
        """Another worker, or the next one, finds that one is gone."""
        if any(worker.is_awake for worker in self._workers):
            self.store.release(dead, self.now)
            self.wake()
        else:
            self.at(self.seconds + 0.5, lambda: self.take_over(dead, since))
            self.interruptions.append(Interruption(since, self.seconds + 3.0))

    def database_fails(self) -> str | None:
        """Whether the next transaction fails: "before" it is done, or "after", unknown to its worker."""
        if any(failing.start <= self.seconds <= failing.end for failing in self.plan.failing_database):
            lot = self.rng.random()
            if lot < 0.5:
                # Claimed notifications that no process knows of wait for its lease to lapse.
                self.interruptions.append(Interruption(self.seconds, self.seconds + 32))
                return "before" if lot < 0.3 else "after"
        return None

    # --- receivers ------------------------------------------------------------------------------

    def request(self, worker: int, job: delivery.DeliveryAttempt) -> SimulatedRequest:
        """One attempt, by the real channel up to the outside seam; `ended` says when its outcome is there."""
        notification = job.notification
        claimed = (leased_at(notification) - BEGINNING).total_seconds()
        ready = max(
            (notification.due - BEGINNING).total_seconds(),
            self._last_end.get((notification.destination, notification.subject), 0.0),
        )
        request = SimulatedRequest(
            self._receivers[job.channel_fields["url"]], notification, worker, claimed, self.seconds, ready
        )
        self._answer = (0.0, False, False)
        outcome = delivery.send(job, now=self.now)
        seconds, request.reached, request.taken = self._answer
        request.outcome = replace(outcome, latency_ms=round(seconds * 1000))
        request.ended = self.seconds + seconds
        if not seconds:
            return request
        self.requests.append(request)
        self.in_flight.append(request)
        for watch in self.watchers:
            watch("begins", request)
        return request

    def recorded(self, request: SimulatedRequest) -> None:
        """Its outcome is in the store."""
        notification = request.notification
        request.recorded = True
        self._last_end[notification.destination, notification.subject] = self.seconds
        for watch in self.watchers:
            watch("recorded", request)

    def gone(self, request: SimulatedRequest) -> None:
        """It is over, whatever came of it."""
        if request in self.in_flight:
            self.in_flight.remove(request)

    def post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        total_timeout: float = TIME_OUT_SECONDS,
        body_limit: int = 0,
        owner: str | None = None,
        method: str = "POST",
    ) -> OutboundResponse:
        """In place of `opsapi.outbound.post`: the answer, or the error, with how long it took."""
        receiver = self._receivers[url]
        for outage in self.plan.outages:
            if outage.host == receiver.host and outage.start <= self.seconds < outage.end:
                self._answer = (outage.seconds, False, False)
                raise OutboundError(OutboundReason.NOT_CONNECTED)
        phase = receiver.phase(self.seconds)
        quick, took = self.rng.uniform(*ACCEPT_SECONDS), self.rng.random() < 0.5
        match phase.mode:
            case Mode.ACCEPT:
                self._answer = (quick, True, True)
                return OutboundResponse(200, None, b"")
            case Mode.LATE:
                self._answer = (self.rng.uniform(2, TIME_OUT_SECONDS - 1), True, True)
                return OutboundResponse(200, None, b"")
            case Mode.HANG:
                self._answer = (TIME_OUT_SECONDS, True, took)
                raise OutboundError(OutboundReason.NO_ANSWER, sent=True)
            case Mode.LOSE:
                self._answer = (quick, True, True)
                raise OutboundError(OutboundReason.NO_ANSWER, sent=True)
            case Mode.FAIL:
                self._answer = (quick, True, took)
                return OutboundResponse(500, None, b"")
            case Mode.THROTTLE:
                asked = None if phase.retry_after is None else str(phase.retry_after)
                self._answer = (quick, True, False)
                return OutboundResponse(429, asked, b"")
            case Mode.REFUSE:
                self._answer = (quick, True, False)
                return OutboundResponse(404, None, b"")


class SimulatedWorker:
    """`alerting.engine.courier.Courier` step by step: each step is an event of its own."""

    def __init__(self, world: SimulatedWorld, number: int) -> None:
        self._world = world
        self.key = number + 1
        self.trouble: Callable[[], None] | None = None
        self._life = 0
        self._asleep_until = 0.0
        self._idle_since: int | None = None
        self._is_woken = False
        """Somebody called since its last step began: it does not rest."""
        self._turn = 0
        self._ended: list[tuple[delivery.DeliveryAttempt, SimulatedRequest]] = []

    @property
    def is_awake(self) -> bool:
        """Whether it does anything now."""
        return self._life % 2 == 1 and self._asleep_until <= self._world.seconds

    def start(self) -> None:
        """Begin to work."""
        self._life += 1
        self._next(0.01, self._step)

    def wake(self) -> None:
        """There may be work."""
        self._is_woken = True
        if self._idle_since == self._turn:
            self._idle_since = None
            self._next(self._world.rng.uniform(0.001, 0.01), self._step)

    def die(self, away: float) -> None:
        """Stop here and now; another one with a presence of its own starts later."""
        world, key = self._world, self.key
        if self._life % 2 == 0:
            return
        self._life += 1
        self._ended.clear()
        self._idle_since = None
        world.in_flight = [request for request in world.in_flight if request.worker != key]
        world.interruptions.append(Interruption(world.seconds, world.seconds + 3.0))
        world.at(world.seconds + world.rng.uniform(0.5, 1.5), lambda: world.take_over(key, world.seconds))
        self.key = world.new_key()
        world.at(world.seconds + away, self.start)

    def sleep(self, seconds: float) -> None:
        """Suspend the worker, perhaps for longer than a lease; it keeps its presence lock."""
        now = self._world.seconds
        self._asleep_until = now + seconds
        end = max(self._asleep_until, now + LEASE.total_seconds()) + 2.0
        self._world.interruptions.append(Interruption(now, end))

    def _next(self, seconds: float, step: Callable[[], None]) -> None:
        """The next step of this life; here it may die or sleep."""
        life = self._life

        def event() -> None:
            if self._life != life:
                return
            if self.trouble and self._world.rng.random() < 0.3:
                happens, self.trouble = self.trouble, None
                happens()
                if self._life != life:
                    return
            if self._asleep_until > self._world.seconds:
                late = self._world.rng.uniform(0, 0.001)
                self._world.at(self._asleep_until + late, event)
            else:
                step()

        self._world.at(self._world.seconds + seconds, event)

    def _step(self) -> None:
        self._turn += 1
        self._idle_since = None
        self._is_woken = False
        if self._ended:
            ended = list(self._ended)
            done, _ = self._transaction(lambda: self._record(ended))
            if not done:
                return
            del self._ended[: len(ended)]
        self._next(0.001, self._claim)

    def _record(self, ended: Sequence[tuple[delivery.DeliveryAttempt, SimulatedRequest]]) -> None:
        """What the lease still holds is recorded."""
        store = self._world.store
        held = [request for job, request in ended if store.holds(job.notification)]
        store.record([(job, request.outcome) for job, request in ended if request.outcome], self._world.now)
        for request in held:
            self._world.recorded(request)

    def _claim(self) -> None:
        world = self._world
        done, claims = self._transaction(lambda: world.store.claim(self.key, world.plan.slots, world.now))
        if claims:
            self._next(world.rng.uniform(0.001, 0.005), partial(self._decide, claims))
        elif done:
            self._rest()

    def _decide(self, claims: Sequence[Notification]) -> None:
        done, jobs = self._transaction(lambda: self._world.store.decide(claims, self._world.now))
        if not done:
            return
        for job in jobs or ():
            self._next(self._world.rng.uniform(0.0005, 0.002), partial(self._send, job))
        self._next(0.003, self._step)

    def _send(self, job: delivery.DeliveryAttempt) -> None:
        request = self._world.request(self.key, job)
        self._next(request.ended - request.began, lambda: self._arrive(job, request))
        self._world.at(request.ended, lambda: self._world.gone(request))

    def _arrive(self, job: delivery.DeliveryAttempt, request: SimulatedRequest) -> None:
        self._ended.append((job, request))
        self.wake()

    def _rest(self) -> None:
        """Until a wake-up, or the first poll at which there may be something."""
        if self._is_woken:
            self._next(0.001, self._step)
            return
        world, turn = self._world, self._turn
        self._idle_since = turn
        when = world.store.next_time()
        if when is None:
            return
        mine = (leased_at(request.notification) for request in world.in_flight if request.worker == self.key)
        free = next_free_slot(mine, world.now)
        left = max(POLL_SECONDS, (when - world.now).total_seconds() + world.rng.uniform(0, POLL_SECONDS))
        if free is not None:
            left = min(left, free.total_seconds())
        self._next(left, lambda: self._step() if self._idle_since == turn else None)

    def _transaction(self, work: Callable[[], Answer]) -> tuple[bool, Answer | None]:
        """Whether it was done, and its answer; if the database failed the worker goes on a second later."""
        fails = self._world.database_fails()
        answer = None if fails == "before" else work()
        if fails is not None:
            self._next(POLL_SECONDS, self._step)
        return fails is None, answer if fails is None else None
