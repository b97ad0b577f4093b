"""Compares the clock of this process with the database's, which decides: all machines share it."""

import logging
import threading
from datetime import timedelta

from django.db import Error, connection

from opsapi import clock
from opsapi.logs import first_line
from opsapi.sql import database_time

logger = logging.getLogger("opsapi.clock")

EVERY_SECONDS = 15.0
"""The interval of comparisons. A step of the database's clock takes effect after at most this time."""
_SLOWEST = 1.0
"""The longest statement in seconds whose answer says what the time is."""
_STEP = timedelta(seconds=1)
"""A difference from the expected time that is larger is a step of the database's clock."""


class DatabaseClock:
    """The comparisons of one process."""

    def __init__(self) -> None:
        self._comparing = threading.Lock()
        self._compared: float | None = None
        self._stepped: float | None = None

    def compare(self) -> None:
        """Compare now. An answer that takes longer than a second is not used, except for the first.

        Raises: Error of Django: the database failed.
        """
        before = clock.steady()
        moment = database_time()
        after = clock.steady()
        self._compared = after
        if clock.follows_database() and after - before > _SLOWEST:
            return
        step = clock.follow(moment, (before + after) / 2)
        if self._stepped is None:
            self._stepped = after
        if abs(step) > _STEP:
            self._stepped = after
            words = clock.difference_words(step)
            logger.warning("the clock of the database stepped: it is %s the expected time", words)

    def compare_at_start(self) -> None:
        """Compare, and close the connection. Without the database, the machine's clock counts for now."""
        try:
            self.compare()
        except Error as error:
            logger.warning("the clocks could not be compared: %s", first_line(error))
        finally:
            connection.close()

    def compare_if_due(self) -> None:
        """Compare after EVERY_SECONDS, if this thread has a connection and no other thread compares.

        A fault of the database is logged, and the next call tries again.
        """
        is_due = self._compared is None or clock.steady() - self._compared >= EVERY_SECONDS
        if not is_due or connection.connection is None or not self._comparing.acquire(blocking=False):
            return
        try:
            self.compare()
        except Error as error:
            logger.warning("the clocks could not be compared: %s", first_line(error))
        finally:
            self._comparing.release()

    def steady_for(self) -> timedelta:
        """How long this process has seen the database's clock without a step; zero before a comparison."""
        return timedelta(0) if self._stepped is None else timedelta(seconds=clock.steady() - self._stepped)


database_clock = DatabaseClock()
"""The comparisons of this process."""
