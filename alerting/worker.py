"""The worker: runs the pipeline's steps until it is told to stop.

One thread evaluates, several send, so that a slow receiver holds up neither the others nor the
deciding; one keeps house; one looks for who has fallen silent; one listens for NOTIFY and wakes those
that evaluate and send. All work is claimed in the database: any number of workers on any number of
machines share it, and what one leaves behind another takes up.
"""

import logging
import threading
from collections.abc import Callable
from functools import partial

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from accesslist.services.housekeeping import traces_trim
from alerting.answering import Answering
from alerting.pipeline import deliver_due, evaluate_signals, open_tracked
from alerting.services.configs import deleted_config_secrets_purge
from alerting.services.purge import deleted_project_purge
from alerting.services.receivers import receivers_forget
from alerting.services.retention import alerts_trim, events_trim, failed_signals_trim
from alerting.services.settings import removed_settings_purge
from alerting.services.workers import worker_seen
from automation.services.hosts import deleted_host_purge
from automation.services.measurements import measurements_trim
from automation.services.silence import silence_sweep
from events.services import WAKE_CHANNEL
from opsapi import clock
from opsapi.faults import first_line

logger = logging.getLogger("opsapi.worker")

POLL_SECONDS = 1.0
"""How long a wake-up that got lost can delay work, and how exactly due times are kept."""
HEARTBEAT_SECONDS = 15.0
SWEEP_SECONDS = 15.0
"""How much later than decisions 8 says a silence may be found."""
HOUSE_SECONDS = 5.0
"""How long what nobody needs any more is left alone, once there is none of it."""
_LISTEN_SECONDS = 1.0

Step = Callable[[], bool]


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
        self._wakeups = Wakeups()
        self._answering = Answering()

    def run(self, stop_within: Callable[[float], object] | None = None) -> None:
        """Work until told to stop; returns when everything in hand is finished.

        `stop_within` waits so many seconds and answers whether to stop; left out, `stop` tells it.
        """
        stop_within = stop_within or self._stopping.wait
        threads = [
            threading.Thread(target=self._repeat, args=(_evaluate,), name="evaluate"),
            threading.Thread(target=self._every, args=(HOUSE_SECONDS, _keep_house), name="keep-house"),
            # In a thread of its own: a silence is told on time, whatever else there is to do.
            threading.Thread(target=self._every, args=(SWEEP_SECONDS, _look_for_silence), name="sweep"),
        ]
        threads += [
            threading.Thread(target=self._repeat, args=(self._sender(number),), name=f"send-{number}")
            for number in range(settings.OPSAPI_SENDERS)
        ]
        if settings.OPSAPI_DB_POOLER != "transaction":
            threads.append(threading.Thread(target=self._listen, name="listen"))
        for thread in threads:
            thread.start()
        self._guarded(self._beat)
        while not stop_within(HEARTBEAT_SECONDS):
            self._guarded(self._beat)
        self.stop()
        for thread in threads:
            thread.join()
        connection.close()

    def stop(self) -> None:
        """Finish what is in hand and return from `run`."""
        self._stopping.set()
        self._wakeups.wake()

    def _sender(self, number: int) -> Step:
        """The last of several is kept for receivers that answer: however many others hang, those are told."""
        only_answering = 0 < number == settings.OPSAPI_SENDERS - 1
        return partial(deliver_due, clock=clock.now, answering=self._answering, only_answering=only_answering)

    def _repeat(self, step: Step) -> None:
        """Step after step; when there is nothing to do, at the next wake-up or poll."""
        while not self._stopping.is_set():
            seen = self._wakeups.count
            if not self._guarded(step):
                self._wakeups.wait(seen, POLL_SECONDS)
        connection.close()

    def _every(self, seconds: float, step: Step) -> None:
        """Step after step while there is more to do, else one in so many seconds; nothing wakes it."""
        while not self._stopping.is_set():
            if not self._guarded(step):
                self._stopping.wait(seconds)
        connection.close()

    def _guarded(self, step: Step) -> bool:
        """One step; whatever goes wrong in it is logged, and the worker goes on after a pause."""
        try:
            return step()
        except (DatabaseError, InterfaceError) as error:
            logger.error("%s: the database failed: %s", threading.current_thread().name, first_line(error))
        except Exception:
            logger.exception("%s: a step failed", threading.current_thread().name)
        connection.close()
        return False

    def _beat(self) -> bool:
        worker_seen(name=self.name, now=clock.now())
        return True

    def _listen(self) -> None:
        """Wake the others on every NOTIFY; where listening fails they still poll."""
        while not self._stopping.is_set():
            try:
                self._listen_until_stopped()
            except psycopg.Error as error:
                logger.warning("listening failed, polling meanwhile: %s", first_line(error))
                self._stopping.wait(POLL_SECONDS)

    def _listen_until_stopped(self) -> None:
        parameters = connection.get_connection_params()
        wanted = {name: value for name, value in parameters.items() if name in _CONNECTION_PARAMETERS}
        with psycopg.connect(**wanted, autocommit=True) as listening:
            listening.execute(f"LISTEN {WAKE_CHANNEL}")
            self._wakeups.wake()
            while not self._stopping.is_set():
                for _ in listening.notifies(timeout=_LISTEN_SECONDS):
                    self._wakeups.wake()


_CONNECTION_PARAMETERS = frozenset(
    {
        "dbname",
        "user",
        "password",
        "host",
        "port",
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "connect_timeout",
    }
)


def _evaluate() -> bool:
    now = clock.now()
    evaluated = evaluate_signals(now=now)
    opened = open_tracked(now=now)
    return evaluated or opened


def _keep_house() -> bool:
    """Take away a batch of what nobody needs any more; answers whether there may be more.

    In a thread of its own, or signals without end would keep it. What strangers leave behind and secrets
    do not wait for the rest.
    """
    now = clock.now()
    traces_trim(now=now)
    deleted_config_secrets_purge(now=now)
    return (
        deleted_project_purge(now=now)
        or deleted_host_purge()
        or removed_settings_purge()
        or receivers_forget(now=now)
        or measurements_trim(now=now)
        or alerts_trim(now=now)
        or events_trim(now=now)
        or failed_signals_trim(now=now)
    )


def _look_for_silence() -> bool:
    """All who are silent by now: it answers that there is no more to do."""
    silence_sweep(clock=clock.now)
    return False
