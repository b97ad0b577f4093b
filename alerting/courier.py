"""A worker's deliveries: claims as much as there are slots, sends each in a thread, records what ended."""

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
FINISH_SECONDS = 8.0
"""How long the worker waits for what is being sent when it stops; another worker takes up the rest."""


class Courier:
    """Called by one thread, which alone uses the database; `slots` is as `rules.claim_order` counts them."""

    def __init__(self, *, worker: int, slots: int, clock: Clock, wake: Callable[[], None]) -> None:
        self._worker = worker
        self._slots = slots
        self._clock = clock
        self._wake = wake
        self._ended: SimpleQueue[tuple[Job, Outcome]] = SimpleQueue()
        self._unrecorded: list[tuple[Job, Outcome]] = []
        self._sending = 0

    def step(self) -> bool:
        """Record what ended, claim and begin to send what is due; answers whether there may be more."""
        recorded = self._record()
        claims = claim(worker=self._worker, slots=self._slots, now=self._clock())
        # What is ready leaves first: to decide where the rest goes may take longer.
        ready = [one for one in claims if one.destination]
        rest = [one for one in claims if not one.destination]
        begun: set[str] = set()
        try:
            for some in filter(None, (ready, rest)):
                for job in decide(some, now=self._clock()):
                    begun.add(job.notification.id)
                    self._begin(job)
        except Exception:
            # What is not being sent is nobody's then: the next step, or another worker, has it at once.
            leases_give_back([one for one in claims if one.id not in begun])
            raise
        return bool(recorded or claims)

    def finish(self) -> bool:
        """Wait a few seconds for what is being sent, and record it; answers that there is no more to do."""
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
        # A thread for each message while it lasts: a receiver that hangs keeps no other waiting.
        thread = threading.Thread(target=self._send, args=(job,), name="send", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # This machine has no more threads: nothing left it, and the destination is not at fault.
            outcome = Outcome(DeliveryStatus.RETRY, NO_THREAD, 0)
            self._ended.put((replace(job, message=None), outcome))

    def _send(self, job: Job) -> None:
        self._ended.put((job, send(job, now=self._clock())))
        self._wake()

    def _record(self) -> int:
        """Record all that ended; what the database does not take now is kept for the next time."""
        while True:
            try:
                self._unrecorded.append(self._ended.get_nowait())
            except Empty:
                break
            self._sending -= 1
        ended = list(self._unrecorded)
        if ended:
            record(ended, clock=self._clock)
            self._unrecorded.clear()
        return len(ended)
