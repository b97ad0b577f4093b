"""The worker: runs the pipeline's steps until it is told to stop.

One thread evaluates; one claims, decides and records deliveries, and each message is sent in a thread of its
own, so that a slow receiver costs a socket; one keeps house; one looks for hosts and agents that have fallen
silent; one listens for NOTIFY and wakes those that evaluate and deliver; one holds the lock by which other
workers know that this one lives. All work is claimed in the database: any number of workers on any number of
machines share it, and what a dead one had in hand another takes up within three seconds.
"""

import logging
import threading
import time
from collections.abc import Callable

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from accesslist.services.housekeeping import traces_trim
from alerting.courier import Courier
from alerting.evaluation import evaluate_signals, open_tracked
from alerting.presence import Presence, own_connection
from alerting.services.configs import deleted_config_secrets_purge
from alerting.services.destinations import destinations_trim
from alerting.services.notification_settings import removed_settings_purge
from alerting.services.purge import deleted_project_purge
from alerting.services.retention import alerts_trim, events_trim, failed_signals_trim
from alerting.services.second_factors import second_factors_sweep
from alerting.services.workers import worker_seen
from automation.services.days import days_prepare
from automation.services.heartbeats import heartbeats_sweep
from automation.services.hosts import deleted_host_purge
from automation.services.measurements import measurements_trim
from automation.services.old_measurements import old_measurements_move
from automation.services.repeats import report_answers_trim
from events.choices import Work
from events.services import WAKE_CHANNEL
from opsapi import clock
from opsapi.faults import first_line

logger = logging.getLogger("opsapi.worker")

GATHER_SECONDS = 0.02
"""How long after a step the next begins at the earliest: what comes close together is done together."""
GATHER_MORE_SECONDS = 0.05
GATHER_MORE = range(3, 16)
"""The same after a step that found so much: more is on its way, and ten cost a step hardly more than one."""
POLL_SECONDS = 1.0
"""How long a wake-up that got lost can delay work, and how exactly due times are kept."""
HEARTBEAT_SECONDS = 15.0
SWEEP_SECONDS = 15.0
"""How often agents and hosts are checked for silence: an alert can be that much late."""
TAKE_OVER_SECONDS = 0.5
"""How often it is asked whether the workers that have something in hand live."""
HOUSE_SECONDS = 5.0
"""How long what nobody needs any more is left alone, once there is none of it."""
_LISTEN_SECONDS = 1.0

Step = Callable[[], int]
"""Answers how much it found to do."""


class Wakeups:
    """Lets threads sleep until there may be work; none that came while they worked is missed."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.count = 0

    def wake(self) -> None:
        """There may be work."""
        with self._condition:
            self.count += 1
            self._condition.notify_all()

    def wait(self, seen: int, seconds: float) -> None:
        """Sleep, unless there was a wake-up since the count was `seen`."""
        with self._condition:
            self._condition.wait_for(lambda: self.count != seen, seconds)


class Worker:
    """The threads of one worker process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._stopping = threading.Event()
        self._away = threading.Event()
        """Whether the log says that there is no connection to be had, and no step has succeeded since."""
        self._finished = threading.Event()
        self._opened = 0.0
        """When it was last looked for alerts to open."""
        self._signals = Wakeups()
        self._messages = Wakeups()
        self._presence = Presence()
        self._courier = Courier(
            worker=self._presence.key,
            slots=settings.OPSAPI_SENDERS,
            clock=clock.now,
            wake=self._messages.wake,
        )

    def run(self, stop_within: Callable[[float], object] | None = None) -> None:
        """Work until told to stop; returns when everything in hand is finished.

        `stop_within` waits so many seconds and answers whether to stop; left out, `stop` tells it.
        """
        stop_within = stop_within or self._stopping.wait
        threads = [
            threading.Thread(target=self._repeat, args=(self._evaluate, self._signals), name="evaluate"),
            threading.Thread(target=self._every, args=(HOUSE_SECONDS, _keep_house), name="keep-house"),
            # In a thread of its own: a silence is told on time, whatever else there is to do.
            threading.Thread(
                target=self._every, args=(SWEEP_SECONDS, _find_heartbeat_timeouts), name="sweep"
            ),
        ]
        threads += [
            threading.Thread(target=self._deliver, name="deliver"),
            threading.Thread(target=self._every, args=(TAKE_OVER_SECONDS, self._take_over), name="take-over"),
        ]
        if settings.OPSAPI_DB_POOLER != "transaction":
            threads.append(threading.Thread(target=self._listen, name="listen"))
        # Until the last delivery ended: else another worker would take up what is still being sent.
        present = threading.Thread(target=self._presence.hold, args=(self._finished,), name="present")
        for thread in (present, *threads):
            thread.start()
        self._guarded(self._beat)
        while not stop_within(HEARTBEAT_SECONDS):
            self._guarded(self._beat)
        self.stop()
        for thread in threads:
            thread.join()
        self._finished.set()
        present.join()
        connection.close()

    def stop(self) -> None:
        """Finish what is in hand and return from `run`."""
        self._stopping.set()
        self._wake()

    def _wake(self, work: str = "") -> None:
        """There may be work of this kind; of any, where none is named."""
        if work != Work.MESSAGES:
            self._signals.wake()
        if work != Work.SIGNALS:
            self._messages.wake()

    def _evaluate(self) -> int:
        """Evaluate signals, and open alerts: while there are signals, as often as when there are none."""
        now, began = clock.now(), time.monotonic()
        evaluated = evaluate_signals(now=now)
        if evaluated and began < self._opened + POLL_SECONDS:
            return evaluated
        self._opened = began
        return open_tracked(now=now) + evaluated

    def _deliver(self) -> None:
        """Deliver until told to stop; what is being sent then has a few seconds to end."""
        self._repeat(self._courier.step, self._messages, self._courier.pause)
        self._guarded(self._courier.finish)
        connection.close()

    def _take_over(self) -> bool:
        """Give back what dead workers had in hand; nothing more to do at once."""
        if self._presence.take_over(now=clock.now()):
            self._messages.wake()
        return False

    def _repeat(
        self, step: Step, wakeups: Wakeups, pause: Callable[[float], float] = lambda longest: longest
    ) -> None:
        """Step after step; when there is nothing to do, at the next wake-up or poll, or after `pause`."""
        while not self._stopping.is_set():
            seen, began = wakeups.count, time.monotonic()
            found = self._guarded(step)
            if not found:
                wakeups.wait(seen, pause(POLL_SECONDS))
            gather = GATHER_MORE_SECONDS if found in GATHER_MORE else GATHER_SECONDS
            self._stopping.wait(began + gather - time.monotonic())
        connection.close()

    def _every(self, seconds: float, step: Step) -> None:
        """Step after step while there is more to do, else one in so many seconds; nothing wakes it."""
        while not self._stopping.is_set():
            if not self._guarded(step):
                self._stopping.wait(seconds)
        connection.close()

    def _guarded(self, step: Step) -> int:
        """One step; whatever goes wrong in it is logged, and the worker goes on after a pause."""
        try:
            found = step()
        except (DatabaseError, InterfaceError) as error:
            self._note_failure(error)
        except Exception:
            logger.exception("%s: a step failed", threading.current_thread().name)
        else:
            self._away.clear()
            return found
        connection.close()
        return 0

    def _note_failure(self, error: Exception) -> None:
        """Log it; that the database is away is logged once for all threads."""
        is_away = connection.connection is None
        if not (is_away and self._away.is_set()):
            logger.error("%s: the database failed: %s", threading.current_thread().name, first_line(error))
        if is_away:
            self._away.set()

    def _beat(self) -> bool:
        worker_seen(name=self.name, now=clock.now())
        return True

    def _listen(self) -> None:
        """Wake the others on every NOTIFY; where listening fails they still poll."""
        while not self._stopping.is_set():
            try:
                self._listen_until_stopped()
            except psycopg.Error as error:
                if not self._away.is_set():
                    logger.warning("listening failed, polling meanwhile: %s", first_line(error))
                self._stopping.wait(POLL_SECONDS)

    def _listen_until_stopped(self) -> None:
        with own_connection(autocommit=True) as listening:
            listening.execute(f"LISTEN {WAKE_CHANNEL}")
            self._wake()
            while not self._stopping.is_set():
                for notice in listening.notifies(timeout=_LISTEN_SECONDS):
                    self._wake(notice.payload)


def _keep_house() -> bool:
    """Take away a batch of what nobody needs any more; answers whether there may be more.

    In a thread of its own, or signals without end would keep it. What strangers leave behind and secrets
    do not wait for the rest.
    """
    now = clock.now()
    traces_trim(now=now)
    deleted_config_secrets_purge(now=now)
    destinations_trim(now=now)
    days_prepare(now=now)
    return (
        deleted_project_purge(now=now)
        or deleted_host_purge()
        or removed_settings_purge()
        or measurements_trim(now=now)
        or report_answers_trim(now=now)
        or alerts_trim(now=now)
        or events_trim(now=now)
        or failed_signals_trim(now=now)
        or old_measurements_move() > 0
    )


def _find_heartbeat_timeouts() -> bool:
    """All who are silent by now, and users without a second factor: it answers that nothing is left."""
    heartbeats_sweep(clock=clock.now)
    second_factors_sweep(now=clock.now())
    return False
