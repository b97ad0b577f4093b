"""The work of a move: its turn is renewed while the work runs, and no work begins without the turn."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait
from typing import Callable, TypeVar

from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.turns import MOVE_SECONDS

Result = TypeVar("Result")
_PAUSE = 0.1


class MoveWork:
    """The work of a move, piece by piece. A move does nothing to a server except by `run`."""

    def __init__(
        self,
        keep: Callable[[str], None],
        monotonic: Callable[[], float] = time.monotonic,
        pause: float = _PAUSE,
    ) -> None:
        """`keep` renews the turn if it is time, and gets the name of a new step.

        It raises TurnLost if the turn is not held any more. Only the thread of the caller calls it. `pause`:
        the seconds between two calls.
        """
        self._keep, self._monotonic, self._pause = keep, monotonic, pause

    def begin(self, step: str) -> None:
        """Begin a step. Raises: TurnLost."""
        self._keep(step)

    def run(self, work: Callable[[], Result]) -> Result:
        """Do a piece of work in a thread of its own, and renew the turn meanwhile.

        Raises: errors of the work. TurnLost: the work does not begin, or it has ended without the turn.
        """
        self._keep("")
        ended = in_thread(work, "automation move")
        try:
            while not wait([ended], self._pause).done:
                self._keep("")
        finally:  # A server finishes a command that it has got. Nothing else begins before that.
            wait([ended])
        return ended.result()

    def wait(self, condition: Callable[[], bool], failure: str, seconds: float = MOVE_SECONDS) -> None:
        """Wait until the condition is true. Raises: MoveFailed with the text: it is not true in this time."""
        self.repeat(lambda: self.run(condition), failure, seconds)

    def repeat(self, attempt: Callable[[], bool], failure: str, seconds: float = MOVE_SECONDS) -> None:
        """Repeat an attempt, which does its own pieces of work, until it succeeds. Raises: as `wait`."""
        end = self._monotonic() + seconds
        while not attempt():
            if self._monotonic() > end:
                raise MoveFailed(failure)
            time.sleep(self._pause)


def in_thread(work: Callable[[], Result], name: str) -> Future[Result]:
    """Begin the work in a thread with this name. An agent that ends does not wait for it."""
    ended: Future[Result] = Future()
    threading.Thread(target=_settle, args=(work, ended), name=name, daemon=True).start()
    return ended


def _settle(work: Callable[[], Result], ended: Future[Result]) -> None:
    try:
        ended.set_result(work())
    except BaseException as error:  # noqa: BLE001 - the caller gets it.
        ended.set_exception(error)
