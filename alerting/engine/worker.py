"""The worker: runs evaluation, delivery and maintenance in threads until it is stopped.

One thread evaluates signals. One thread claims, decides and records deliveries; each message is sent in a
thread of its own, so that a slow receiver costs only a socket. One thread deletes old data, and one packs the
measurements of closed days. One thread detects hosts and agents that stopped reporting. One thread listens
for NOTIFY and wakes evaluation and delivery. One thread holds the lock that shows other workers that this
worker is alive, and one looks for workers that died. One thread watches the progress of the other threads: a
worker with a stuck loop ends, and the supervisor or systemd starts it again.

All work is claimed in the database, so any number of workers on any number of machines share it. Other
workers take over the work of a dead worker within three seconds.
"""

import logging
import math
import os
import secrets
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from accesslist.purge import expired_rows_purge
from alerting.configs.changes import deleted_config_secrets_purge, deleted_configs_purge
from alerting.configs.coverage import second_factors_sweep
from alerting.configs.notification_settings import removed_settings_purge
from alerting.destinations.changes import destinations_trim
from alerting.engine.absence import Absence
from alerting.engine.courier import Courier
from alerting.engine.evaluation import close_over, evaluate_signals, open_tracked
from alerting.engine.leases import (
    PRESENCE_CLASS,
    absent_workers,
    lapsed_leases_release,
    worker_seen,
    worker_stuck,
)
from alerting.engine.progress import LOOK_SECONDS, STUCK_AFTER, LoopProgress
from alerting.engine.purge import alerts_trim, deleted_project_purge, events_trim, failed_signals_trim
from alerting.engine.schedule import notifications_bring_forward
from alerting.engine.stored_times import times_repair
from alerting.engine.workers import WITHOUT_CLOCK
from automation.agents.changes import heartbeats_sweep, held_signals_release
from automation.agents.store import last_sweep
from automation.hosts.changes import deleted_host_purge
from automation.hosts.unreported import unreported_rows_trim
from automation.measurements.changes import measurements_trim
from automation.measurements.days import days_prepare
from automation.measurements.moving import old_measurements_move
from automation.measurements.packer import day_pack_some
from automation.measurements.rollups import rollups_compute_some
from automation.reports.repeats import report_answers_trim
from automation.turns.changes import plans_sweep
from events.choices import Work
from events.log.changes import event_counts_merge
from events.outbox.changes import WAKE_CHANNEL
from opsapi import clock
from opsapi.call_stack import with_room
from opsapi.database_clock import database_clock
from opsapi.logs import first_line
from opsapi.sql import database_time

_CHECK_SECONDS = 0.25
"""Interval of connection checks."""
GONE_AFTER = 4
"""Number of consecutive half-second checks that must miss a worker before it counts as dead.

A live worker that lost its connection has its lock again by then.
"""
_OF_DJANGO = frozenset({"cursor_factory", "context", "prepare_threshold"})


class Presence:
    """The lock of a worker; its leases contain `key`."""

    def __init__(self) -> None:
        self.key = secrets.randbelow(2**31 - 1) + 1
        self._missed: dict[int, int] = {}

    def hold(self, stopping: threading.Event, stamp: Callable[[str], None] = lambda _loop: None) -> None:
        """Hold the lock until `stopping` is set; take it again as soon as a lost database is back.

        `stamp` notes progress.

        PostgreSQL releases the lock when the process dies, because its connection ends. Behind a transaction
        pooler an open transaction keeps the connection.
        """
        while not stopping.is_set():
            # Other threads log that the database is down.
            with suppress(psycopg.Error):
                self._hold_until_stopped(stopping, stamp)
            stamp("present")
            stopping.wait(0.2)

    def take_over(self, *, now: datetime) -> int:
        """Release the leases of dead workers, and return how many.

        A worker counts as gone when GONE_AFTER checks in a row miss it: after the database was away, all
        workers are missed for a moment.
        """
        self._missed = {worker: self._missed.get(worker, 0) + 1 for worker in absent_workers() - {self.key}}
        gone = {worker for worker, times in self._missed.items() if times >= GONE_AFTER}
        return lapsed_leases_release(now=now, absent=gone) if gone else 0

    def _hold_until_stopped(self, stopping: threading.Event, stamp: Callable[[str], None]) -> None:
        in_transaction = settings.OPSAPI_DB_POOLER == "transaction"
        lock = "pg_advisory_xact_lock" if in_transaction else "pg_advisory_lock"
        with own_connection(autocommit=not in_transaction) as held:
            held.execute(f"SELECT {lock}(%s, %s)", [PRESENCE_CLASS, self.key])
            while not stopping.wait(_CHECK_SECONDS):
                stamp("present")
                if held.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
                    return  # Other workers look for the lock on the server that accepts writes.


def own_connection(*, autocommit: bool) -> "psycopg.Connection[tuple[object, ...]]":
    """Open a second connection to Django's database, without prepared statements because of poolers."""
    parameters = connection.get_connection_params()
    wanted = {name: value for name, value in parameters.items() if name not in _OF_DJANGO}
    named = {**wanted, "application_name": f"{wanted['application_name']} worker"}
    return psycopg.connect(**named, autocommit=autocommit, prepare_threshold=None)


logger = logging.getLogger("opsapi.worker")

GATHER_SECONDS = 0.02
"""The least seconds between the starts of two steps, so that work that arrives together is done together."""
GATHER_MORE_SECONDS = 0.05
GATHER_MORE = range(3, 16)
"""GATHER_MORE_SECONDS applies after an evaluation of this many signals: more are on their way, and ten cost
hardly more than one. Deliveries do not wait: a small claim can be all that free slots allow."""
POLL_SECONDS = 1.0
"""The longest delay after a lost wake-up, and the precision of due times."""
OPEN_SECONDS = 0.5
"""The least seconds between two searches for alerts to open or to close: a search after each turn of
evaluation would delay the messages of the turn."""
AWAY_SECONDS = 60.0
"""The interval at which the log reports an unreachable database."""
HEARTBEAT_SECONDS = 15.0
SWEEP_SECONDS = 15.0
"""The interval of searches for heartbeat timeouts: an alert can be late by this time."""
TAKE_OVER_SECONDS = 0.5
"""The interval of checks whether workers with leases are alive."""
HOUSE_SECONDS = 5.0
"""The pause of the deletion of old data when nothing is left."""
PACK_PAUSE_SECONDS = 0.1
"""The pause after each step of packing, for other work."""
_LISTEN_SECONDS = 1.0
STEADY_BEFORE_DELETION = timedelta(hours=1)
"""How long a worker sees the database's clock without a step before it deletes history."""
END_SECONDS = 10.0
"""How long a worker with a stuck loop waits for its other loops before it ends."""
STUCK_STATUS = 70
"""The exit status of a worker in which a loop was stuck (EX_SOFTWARE of sysexits.h)."""

Step = Callable[[], int]
"""Does some work and returns how much it found."""


class Wakeups:
    """Lets threads sleep until there may be work. A wake-up during work is not missed."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.count = 0

    def wake(self) -> None:
        with self._condition:
            self.count += 1
            self._condition.notify_all()

    def wait(self, seen: int, seconds: float) -> None:
        """Sleep up to `seconds`; return immediately if there was a wake-up since the count was `seen`."""
        with self._condition:
            self._condition.wait_for(lambda: self.count != seen, seconds)


class Worker:
    """The threads of one worker process."""

    def __init__(self, name: str, *, end: Callable[[int], object] = os._exit) -> None:
        """`end` ends the process with a status, even if a thread does not stop."""
        self.name = name
        self._end = end
        self._progress = LoopProgress()
        self._stopping = threading.Event()
        self._failing: dict[str, float] = {}
        """The loops whose last step failed, with the monotonic time of the first failure since a success."""
        self._said_away = -math.inf
        """The monotonic time at which the log last said that the database is unreachable."""
        self._finished = threading.Event()
        self._clock_is_wrong = False
        """Whether the log says that the clock of this machine differs from the database's."""
        self._opened = -math.inf
        """The monotonic time of the last search for alerts to open."""
        self._signals = Wakeups()
        self._messages = Wakeups()
        self._presence = Presence()
        self._absence = Absence(last_sweep)
        self._courier = Courier(
            worker=self._presence.key,
            slots=settings.OPSAPI_SENDERS,
            clock=clock.now,
            wake=self._messages.wake,
            absent_since=self._absence.since,
        )

    def run(self, stop_within: Callable[[float], object] | None = None) -> None:
        """Work until stopped; return when the current work is finished.

        `stop_within` waits up to a number of seconds and returns whether to stop. By default, `stop` stops
        the worker.
        """
        stop_within = stop_within or self._stopping.wait
        threads = [
            threading.Thread(
                target=self._repeat,
                args=(self._evaluate, self._signals),
                kwargs={"gather_more": GATHER_MORE},
                name="evaluate",
            ),
            threading.Thread(target=self._every, args=(HOUSE_SECONDS, self._keep_house), name="keep-house"),
            threading.Thread(target=self._every, args=(HOUSE_SECONDS, self._pack), name="pack"),
            # In a thread of its own, so that a heartbeat timeout is notified on time.
            threading.Thread(target=self._every, args=(SWEEP_SECONDS, self._sweep), name="sweep"),
        ]
        threads += [
            threading.Thread(target=self._deliver, name="deliver"),
            threading.Thread(target=self._every, args=(TAKE_OVER_SECONDS, self._take_over), name="take-over"),
        ]
        if settings.OPSAPI_DB_POOLER != "transaction":
            threads.append(threading.Thread(target=self._listen, name="listen"))
        # Until the last delivery has ended; otherwise another worker would take over running deliveries.
        present = threading.Thread(
            target=self._presence.hold, args=(self._finished, self._progress.stamp), name="present"
        )
        self._guarded(self._compare_clocks)
        for thread in (present, *threads):
            thread.start()
        # A daemon, because it ends the process itself if another thread does not end.
        threading.Thread(target=self._watch, args=(threads,), name="watch", daemon=True).start()
        self._guarded(self._beat)
        while not stop_within(HEARTBEAT_SECONDS):
            self._progress.stamp("beat")
            self._guarded(self._beat)
        self.stop()
        for thread in threads:
            thread.join()
        self._finished.set()
        present.join()
        connection.close()

    def stop(self) -> None:
        self._stopping.set()
        self._wake()

    def _watch(self, threads: Sequence[threading.Thread]) -> None:
        """Look at the progress of all loops until stopped, and end the process if one is stuck."""
        while not self._stopping.wait(LOOK_SECONDS):
            loop = self._progress.look()
            if loop is not None:
                self._give_up(loop, threads)

    def _give_up(self, loop: str, threads: Sequence[threading.Thread]) -> None:
        """End the process, because a loop is stuck. Other loops get time to finish their work.

        PostgreSQL releases the locks of the process, and other workers take over its leases.
        """
        logger.critical(
            "%s has been stuck for %d s: this worker ends, so that it is started again. The loop is in %s",
            loop,
            STUCK_AFTER * LOOK_SECONDS,
            self._progress.place_of(loop),
        )
        # Perhaps the database is the cause: then nobody waits for this thread.
        note = threading.Thread(target=self._note_stuck, args=(loop,), name="note", daemon=True)
        note.start()
        self.stop()
        deadline = time.monotonic() + END_SECONDS
        for thread in (note, *(thread for thread in threads if thread.name != loop)):
            thread.join(max(0.0, deadline - time.monotonic()))
        self._end(STUCK_STATUS)

    def _note_stuck(self, loop: str) -> None:
        try:
            worker_stuck(name=self.name, loop=loop, now=clock.now())
        except (DatabaseError, InterfaceError) as error:
            self._note_failure(error)
        connection.close()

    def _wake(self, work: str = "") -> None:
        """Wake the threads for this kind of work; for all work if it is empty."""
        if work != Work.MESSAGES:
            self._signals.wake()
        if work != Work.SIGNALS:
            self._messages.wake()

    def _evaluate(self) -> int:
        """Evaluate signals. Search for alerts to open or to close, at most every OPEN_SECONDS."""
        evaluated = opened = 0
        now = clock.now()
        self._absence.begin_search(now)
        try:
            evaluated = evaluate_signals(now=now, absent_since=self._absence.since())
        finally:  # a project whose evaluation fails keeps no alert of another project from opening
            ended = time.monotonic()
            if ended >= self._opened + OPEN_SECONDS:
                self._opened = ended
                now = clock.now()
                opened = held_signals_release(now=now) + close_over(now=now)
                opened += open_tracked(now=now, absent_since=self._absence.since())
                self._absence.end_search()
                if opened:  # There may be more.
                    self._opened = -math.inf
        return evaluated + opened

    @with_room
    def _deliver(self) -> None:
        """Deliver until stopped; running requests then have a few seconds to end."""
        self._repeat(self._courier.step, self._messages, pause=self._courier.pause)
        self._guarded(self._courier.finish)
        connection.close()

    def _take_over(self) -> bool:
        """Release the leases of dead workers. Return False, because the next check can wait."""
        if self._presence.take_over(now=clock.now()):
            self._messages.wake()
        return False

    def _pack(self) -> bool:
        """Pack some measurements of a closed day, or compute rollups, and return whether there may be more.

        Nothing is packed by a clock with which nothing would be deleted: it may close days too early.
        """
        if clock.is_wrong(clock.difference()) or not _is_steady():
            return False
        now = clock.now()
        more = day_pack_some(now=now) or rollups_compute_some(now=now)
        if more:
            self._stopping.wait(PACK_PAUSE_SECONDS)
        return more

    def _keep_house(self) -> bool:
        """Delete a batch of data that is no longer needed, and return whether there may be more.

        With a wrong clock nothing is deleted. History is deleted only by a clock that has been steady,
        because it cannot be brought back.
        """
        if clock.is_wrong(clock.difference()):
            return False
        return _keep_house(
            with_history=_is_steady(),
            progress=lambda: self._progress.stamp("keep-house"),
        )

    def _sweep(self) -> bool:
        """Find timeouts of agents, hosts, turns and waits of plans, and users without a second factor.

        Return False, because the next check can wait. With a wrong clock, nobody knows the time.
        """
        if clock.is_wrong(clock.difference()):
            return False
        times_repair(clock=self._time_of_sweep)
        heartbeats_sweep(clock=self._time_of_sweep)
        plans_sweep(clock=self._time_of_sweep)
        second_factors_sweep(now=clock.now())
        return False

    def _time_of_sweep(self) -> datetime:
        """Return the time of the database. A sweep asks after each batch, so a long sweep shows progress."""
        self._progress.stamp("sweep")
        return database_time()

    @with_room
    def _repeat(
        self,
        step: Step,
        wakeups: Wakeups,
        *,
        pause: Callable[[float], float] = lambda longest: longest,
        gather_more: Container[int] = (),
    ) -> None:
        """Repeat a step; without work, wait for a wake-up, the poll interval or `pause`."""
        while not self._stopping.is_set():
            self._progress.stamp(threading.current_thread().name)
            seen, began = wakeups.count, time.monotonic()
            done = self._guarded(step)
            if not done:
                wakeups.wait(seen, pause(POLL_SECONDS))
            gather = GATHER_MORE_SECONDS if done in gather_more else GATHER_SECONDS
            self._stopping.wait(began + gather - time.monotonic())
        connection.close()

    @with_room
    def _every(self, seconds: float, step: Step) -> None:
        """Repeat a step while there is more to do, otherwise once every `seconds`."""
        while not self._stopping.is_set():
            self._progress.stamp(threading.current_thread().name)
            if not self._guarded(step):
                self._stopping.wait(seconds)
        connection.close()

    def _guarded(self, step: Step) -> int:
        """Run a step; every error is logged, and the worker continues after a pause."""
        loop = threading.current_thread().name
        try:
            done = step()
        except (DatabaseError, InterfaceError) as error:
            self._note_failure(error)
        except Exception:
            logger.exception("%s: a step failed", loop)
        else:
            self._failing.pop(loop, None)
            if not self._failing:
                self._said_away = -math.inf
            return done
        self._failing.setdefault(loop, clock.steady())
        connection.close()
        return 0

    def _note_failure(self, error: Exception) -> None:
        """Log the error; an unreachable database is logged once in AWAY_SECONDS for all threads."""
        if connection.connection is not None or self._may_say_away():
            logger.error("%s: the database failed: %s", threading.current_thread().name, first_line(error))

    def _may_say_away(self) -> bool:
        """Whether to log that the database is unreachable: once in AWAY_SECONDS for all loops.

        The log reports it earlier if all loops worked in the meantime. A loop can have no connection while
        others have one.
        """
        moment = time.monotonic()
        if moment < self._said_away + AWAY_SECONDS:
            return False
        self._said_away = moment
        return True

    def _longest_failing(self, now: datetime) -> tuple[str, datetime] | None:
        """The other loop that has failed for longest, and since when."""
        this = threading.current_thread().name
        others = [(began, loop) for loop, began in self._failing.copy().items() if loop != this]
        if not others:
            return None
        began, loop = min(others)
        return loop, now - timedelta(seconds=clock.steady() - began)

    def _beat(self) -> bool:
        self._compare_clocks()
        now = clock.now()
        failing = self._longest_failing(now)
        worker_seen(name=self.name, now=now, clock_ahead=clock.difference(), failing=failing)
        if notifications_bring_forward(now=now):
            self._messages.wake()
        return True

    def _compare_clocks(self) -> bool:
        """Compare the clock with the database's, and log when it becomes wrong or right."""
        database_clock.compare()
        difference = clock.difference()
        is_wrong = clock.is_wrong(difference)
        if is_wrong != self._clock_is_wrong:
            self._clock_is_wrong = is_wrong
            words = clock.difference_words(difference)
            if is_wrong:
                logger.error("the clock of this machine is %s the database's: %s", words, WITHOUT_CLOCK)
            else:
                logger.warning("the clock of this machine agrees with the database's again")
        return False

    def _listen(self) -> None:
        """Wake the other threads on every NOTIFY; they poll while listening fails."""
        while not self._stopping.is_set():
            self._progress.stamp("listen")
            try:
                self._listen_until_stopped()
            except psycopg.Error as error:
                if self._may_say_away():
                    logger.warning("listening failed, polling meanwhile: %s", first_line(error))
                self._stopping.wait(POLL_SECONDS)

    def _listen_until_stopped(self) -> None:
        with own_connection(autocommit=True) as listening:
            listening.execute(f"LISTEN {WAKE_CHANNEL}")
            self._wake()
            while not self._stopping.is_set():
                self._progress.stamp("listen")
                for notice in listening.notifies(timeout=_LISTEN_SECONDS):
                    self._wake(notice.payload)


def _is_steady() -> bool:
    """Whether the database's clock was seen for long enough without a step to trust it with history."""
    return database_clock.steady_for() >= STEADY_BEFORE_DELETION


def _keep_house(*, with_history: bool, progress: Callable[[], object] = lambda: None) -> bool:
    """Delete a batch of each kind of data that is no longer needed, and return whether there may be more.

    It runs in a thread of its own, because signals may never end. Traces of failed logins and secrets are
    deleted first. `with_history`: also delete measurements, alerts and events whose retention is
    over. `progress` is called between the steps, and while a step takes longer.
    """
    now = clock.now()
    expired_rows_purge(now=now)
    deleted_config_secrets_purge(now=now)
    progress()
    more = destinations_trim(now=now)
    days_prepare(now=now)
    progress()
    unreported_rows_trim(now=database_time(), progress=progress)
    # Each in each round, so that a project with much to delete delays no other step.
    for step in _steps_of_house(now, with_history=with_history):
        progress()
        more = bool(step()) or more
    return more


def _steps_of_house(now: datetime, *, with_history: bool) -> Iterator[Callable[[], object]]:
    """Yield the steps that delete a batch each. Their result is false if there was nothing to delete."""
    yield partial(deleted_project_purge, now=now)
    yield deleted_host_purge
    yield removed_settings_purge
    yield partial(report_answers_trim, now=now)
    if with_history:
        yield partial(measurements_trim, now=now)
        yield partial(alerts_trim, now=now)
        yield partial(deleted_configs_purge, now=now)
        yield partial(events_trim, now=now)
    yield partial(failed_signals_trim, now=now)
    yield event_counts_merge
    yield old_measurements_move
