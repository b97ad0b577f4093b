"""The deliveries of one worker: claims for its free slots, sends in threads, records the outcomes."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue

from alerting.destinations.changes import next_tries_at_pace
from alerting.engine.claim_rules import next_free_slot
from alerting.engine.claims import claim
from alerting.engine.delivery import (
    LOCKS_SECONDS,
    OVERDUE,
    DeliveryAttempt,
    decide,
    decided_together,
    longest_attempt,
    record,
    send,
)
from alerting.engine.leases import (
    LEASE,
    LONGEST_ATTEMPT,
    PROLONGED_BEFORE,
    leased_at,
    leases_give_back,
    leases_prolong,
)
from alerting.engine.models import Notification
from alerting.engine.muting import REMEMBERED_SECONDS, MuteDesk
from alerting.engine.rules import Costs, TimeSlice
from integrations.channels.outcome import RETRIES_LAST, Outcome
from integrations.choices import DeliveryStatus
from opsapi.call_stack import with_room
from opsapi.outbound.mail import mails_while

NO_THREAD = "this machine could not start to send the message"
DECIDE_SECONDS = 0.3
"""The time after which a claim decides nothing more. Other notifications go back to the queue."""
MARGIN = timedelta(seconds=5)
"""The time that the lease of a message must have left when the message is sent."""
FINISH_SECONDS = 8.0
"""How long a stopping worker waits for running requests; another worker takes over the rest."""
FINISH_LOCKS_SECONDS = 1.0
"""The longest single wait of a stopping worker for locked alerts. Outcomes of other alerts wait as long."""
HELD_UP_SECONDS = 0.2
"""The pause before the next step if other transactions have locked all that was claimed."""


@dataclass(slots=True)
class _LongDelivery:
    """A delivery whose lease is prolonged while it runs, at most until `latest`."""

    notification: Notification
    until: datetime
    latest: datetime

    def is_due(self, now: datetime) -> bool:
        return self.until - PROLONGED_BEFORE <= now <= self.latest


class Courier:
    """Its owner is a single thread, the only one with the database; `engine.claim_rules` defines slots."""

    def __init__(
        self,
        *,
        worker: int,
        slots: int,
        clock: Callable[[], datetime],
        wake: Callable[[], None],
        absent_since: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        """`absent_since`: see `Absence.since`."""
        self._worker = worker
        self._slots = slots
        self._clock = clock
        self._wake = wake
        self._desk = MuteDesk(absent_since=absent_since)
        self._costs = Costs()
        """The seconds that decisions on the messages of each project took lately."""
        self._forget_at = time.monotonic() + REMEMBERED_SECONDS
        self._ended: SimpleQueue[tuple[DeliveryAttempt, Outcome]] = SimpleQueue()
        self._unrecorded: list[tuple[DeliveryAttempt, Outcome]] = []
        self._sending: dict[str, datetime] = {}
        """The deliveries in progress, with the time of their claim."""
        self._long: dict[str, _LongDelivery] = {}
        """The deliveries in progress that can take longer than a lease."""
        self._unrecorded_leases: dict[str, _LongDelivery] = {}
        """The ended deliveries whose outcomes are not recorded yet: without a lease, they are sent again."""
        self._paced: set[str] = set()
        """The destinations that refused a message of this worker and are still paced."""
        self._next_at_pace: datetime | None = None
        self._is_held_up = False
        """Whether another transaction holds up notifications that the last step claimed."""
        self._held_up_since: datetime | None = None
        """Since when there are outcomes that cannot be recorded, or when the last wait for locks began."""

    def step(self) -> int:
        """Record outcomes, then claim and start to send. Returns how much was decided or is being decided.

        Notifications that another transaction holds up do not count: the next step would find them held up.
        """
        self._record()
        self._prolong()
        self._desk.go_on(now=self._clock())
        self._is_held_up = False
        decided = self._claim_and_send()
        if any(not notification.destination for notification in decided):
            self._claim_and_send()  # Most of them have a destination now.
        self._desk.count(now=self._clock())
        if not decided:
            self._look_at_paced()
        return len(decided) + len(self._desk.searching)

    def pause(self, longest: float) -> float:
        """Return the seconds until the next step.

        A request that hangs gives its slot back meanwhile, a paced destination takes its next message, or
        another transaction ends.
        """
        now = self._clock()
        longest = min(longest, HELD_UP_SECONDS) if self._is_held_up else longest
        free = next_free_slot(self._sending.values(), now)
        paced = None if self._next_at_pace is None else max(self._next_at_pace - now, timedelta())
        return min([longest, *(wait.total_seconds() for wait in (free, paced) if wait is not None)])

    def _look_at_paced(self) -> None:
        """Read when paced destinations take their next messages. Other destinations cost no statement."""
        tries = next_tries_at_pace(self._paced) if self._paced else {}
        self._paced = set(tries)
        now = self._clock()
        self._next_at_pace = min((at for at in tries.values() if at and at > now), default=None)

    def finish(self) -> bool:
        """Wait up to FINISH_SECONDS for running requests and locked alerts, and record them. Returns False.

        Messages whose outcomes stay unrecorded are sent again.
        """
        end = time.monotonic() + FINISH_SECONDS
        while self._sending and (left := end - time.monotonic()) > 0:
            try:
                self._note_end(self._ended.get(timeout=left))
            except Empty:
                break
            self._record()
        self._record(wait=FINISH_LOCKS_SECONDS)
        while self._unrecorded and (left := end - time.monotonic()) > 0:
            self._record(wait=min(left, FINISH_LOCKS_SECONDS))
        return False

    def _claim_and_send(self) -> list[Notification]:
        """Claim notifications and start to send. Return the notifications that no transaction holds up."""
        claims = claim(
            worker=self._worker, slots=self._slots, clock=self._clock, without=self._desk.searching
        )
        started: set[str] = set()
        try:
            muting = self._desk.settle(claims, now=self._clock())
            self._forget_costs()
            time_slice, last = TimeSlice(time.monotonic, DECIDE_SECONDS, self._costs), None
            for position, (project, batch) in enumerate(batches := decided_together(claims, self._costs)):
                if last and time_slice.is_over():
                    leases_give_back([row for later in batches[position:] for row in later.notifications])
                    break
                for attempt in decide(batch, now=self._clock(), muting=muting, time_slice=time_slice):
                    started.add(attempt.notification.id)
                    self._start(attempt)
                if last := project:
                    time_slice.charge(project)
        except Exception:
            # Notifications that are not in progress can be claimed again immediately, by any worker.
            leases_give_back([notification for notification in claims if notification.id not in started])
            raise
        self._is_held_up |= bool(muting.held_up)
        return [notification for notification in claims if notification.id not in muting.held_up]

    def _forget_costs(self) -> None:
        if time.monotonic() > self._forget_at:
            self._costs = Costs()
            self._forget_at = time.monotonic() + REMEMBERED_SECONDS

    def _prolong(self) -> None:
        """Prolong the leases of long and of unrecorded deliveries, except leases that have ended."""
        now = self._clock()
        for leases in (self._long, self._unrecorded_leases):
            due = {row_id: lease for row_id, lease in leases.items() if lease.is_due(now)}
            held = leases_prolong([lease.notification for lease in due.values()], now=now) if due else set()
            for row_id, lease in due.items():
                if row_id in held:
                    lease.until = now + LEASE
                else:
                    del leases[row_id]

    def _start(self, attempt: DeliveryAttempt) -> None:
        leased = leased_at(attempt.notification)
        self._sending[attempt.notification.id] = leased
        longest = longest_attempt(attempt)
        if longest > LONGEST_ATTEMPT:
            self._long[attempt.notification.id] = _LongDelivery(
                attempt.notification, leased + LEASE, leased + longest + LEASE
            )
        # One thread for each request, so that a hanging receiver delays no other.
        thread = threading.Thread(target=self._send, args=(attempt,), name="send", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The machine has no more threads. Nothing was sent, so this is no failure of the destination.
            outcome = Outcome(DeliveryStatus.RETRY, NO_THREAD, 0)
            self._ended.put((replace(attempt, content=outcome), outcome))

    @with_room
    def _send(self, attempt: DeliveryAttempt) -> None:
        with mails_while(lambda: self._is_leased(attempt.notification)):
            outcome = send(attempt, now=self._clock())
        self._ended.put((attempt, outcome))
        self._wake()

    def _is_leased(self, notification: Notification) -> bool:
        """Return whether the worker still has the lease of the notification.

        While the worker waits for a mail server, the lease can end: the machine was suspended, or the
        database could not be reached.
        """
        long = self._long.get(notification.id)
        return long is not None and self._clock() <= long.until - MARGIN

    def _record(self, *, wait: float = 0) -> None:
        """Record the ended attempts; they stay if the database fails.

        They stay as well if another transaction has locked their alerts for `wait` seconds. Of the alerts of
        an incident, some can be locked at every moment, so after OVERDUE it waits for LOCKS_SECONDS.
        """
        while not self._ended.empty():
            self._note_end(self._ended.get())
        if self._unrecorded:
            now = self._clock()
            self._unrecorded = record(list(self._unrecorded), now=now, wait=wait)
            if self._unrecorded and self._held_up_since and now >= self._held_up_since + OVERDUE:
                self._unrecorded = record(list(self._unrecorded), now=now, wait=LOCKS_SECONDS)
                self._held_up_since = now
            self._held_up_since = (self._held_up_since or now) if self._unrecorded else None
            left = {attempt.notification.id for attempt, _ in self._unrecorded}
            for row_id in self._unrecorded_leases.keys() - left:
                del self._unrecorded_leases[row_id]

    def _note_end(self, ended: tuple[DeliveryAttempt, Outcome]) -> None:
        attempt, outcome = ended
        self._unrecorded.append(ended)
        leased = leased_at(attempt.notification)
        self._sending.pop(attempt.notification.id, None)
        self._long.pop(attempt.notification.id, None)
        self._unrecorded_leases[attempt.notification.id] = _LongDelivery(
            attempt.notification, leased + LEASE, leased + RETRIES_LAST
        )
        if outcome.asks_for_less:
            self._paced.add(attempt.notification.destination)
