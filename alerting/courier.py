"""The deliveries of one worker: claims for its free slots, sends in threads, records the outcomes."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from queue import Empty, SimpleQueue

from alerting.delivery import Clock, Job, claim, decide, record, send
from alerting.services.leases import leases_give_back
from integrations.choices import DeliveryStatus
from integrations.outcome import Outcome

NO_THREAD = "this machine could not begin to send it"
GATHER_SECONDS = 0.02
FINISH_SECONDS = 8.0
"""How long a stopping worker waits for requests on their way; another worker takes over the rest."""


class Courier:
    """Used by one thread, the only one with the database; `rules.claim_order` says what a slot is."""

    def __init__(self, *, worker: int, slots: int, clock: Clock, wake: Callable[[], None]) -> None:
        self._worker = worker
        self._slots = slots
        self._clock = clock
        self._wake = wake
        self._ended: SimpleQueue[tuple[Job, Outcome]] = SimpleQueue()
        self._unrecorded: list[tuple[Job, Outcome]] = []
        self._sending = 0

    def step(self) -> bool:
        """Record outcomes, then claim and begin to send; return whether more may be due."""
        self._record()
        claims = claim(worker=self._worker, slots=self._slots, now=self._clock())
        # Notifications with a destination leave first: addressing the rest may take longer.
        ready = [one for one in claims if one.destination]
        rest = [one for one in claims if not one.destination]
        begun: set[str] = set()
        try:
            for some in filter(None, (ready, rest)):
                for job in decide(some, now=self._clock()):
                    begun.add(job.notification.id)
                    self._begin(job)
        except Exception:
            # Notifications that are not on their way can be claimed again at once, by any worker.
            leases_give_back([one for one in claims if one.id not in begun])
            raise
        return bool(claims)

    def finish(self) -> bool:
        """Wait up to FINISH_SECONDS for requests on their way, and record them; return False."""
        end = time.monotonic() + FINISH_SECONDS
        while self._sending and (left := end - time.monotonic()) > 0:
            try:
                self._unrecorded.append(self._ended.get(timeout=left))
            except Empty:
                break
            self._sending -= 1
            self._record()
        return False

    def _begin(self, job: Job) -> None:
        self._sending += 1
        # One thread for each request, so that a hanging receiver delays no other.
        thread = threading.Thread(target=self._send, args=(job,), name="send", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The machine has no more threads: nothing was sent, and the destination is not at fault.
            outcome = Outcome(DeliveryStatus.RETRY, NO_THREAD, 0)
            self._ended.put((replace(job, message=None), outcome))

    def _send(self, job: Job) -> None:
        self._ended.put((job, send(job, now=self._clock())))
        self._wake()

    def _record(self) -> None:
        """Record the ended attempts; they stay if the database fails.

        The first waits for others that end soon: a transaction costs as much for one outcome as for some.
        """
        end = time.monotonic() + GATHER_SECONDS
        while True:
            others = self._unrecorded and self._sending
            left = max(end - time.monotonic(), 0.0) if others else 0.0
            try:
                self._unrecorded.append(self._ended.get(block=left > 0, timeout=left or None))
            except Empty:
                break
            self._sending -= 1
        ended = list(self._unrecorded)
        if ended:
            record(ended, clock=self._clock)
            self._unrecorded.clear()
