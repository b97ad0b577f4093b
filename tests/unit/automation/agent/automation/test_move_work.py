"""The work of a move: its turn is renewed meanwhile, and nothing begins after the turn is lost."""

from threading import Event
from typing import cast

import pytest

from automation.agent.automation.failures import MoveFailed, TurnLost
from automation.agent.automation.turns import MOVE_SECONDS, HeldTurn, TurnAsker
from automation.agent.automation.work import MoveWork
from automation.agent.client import Client, PlatformAnswer, Unreachable
from tests.unit.automation.agent.automation.test_turn_asker import (
    AWAY,
    GRANTED,
    MOVE,
    OVER,
    RENEWED,
    AnsweringPlatform,
    StandingClock,
)

LONGEST = 600.0
"""Seconds; only a test that fails waits as long."""


def no_turn(_: str) -> None:
    """Keep nothing: the move has no turn."""


class _RenewedWork:
    """The work of a move with a turn. Each look at the turn is ten seconds after the one before."""

    def __init__(self, *answers: PlatformAnswer | Unreachable) -> None:
        self.clock = StandingClock()
        self.platform = AnsweringPlatform(GRANTED, *answers)
        asker = TurnAsker(cast("Client", self.platform), "db1.example.com", self.clock)
        turn = asker.ask(MOVE, 2, "ask")
        assert isinstance(turn, HeldTurn)
        self.asker, self.turn = asker, turn
        self.answered = Event()
        """The platform has no more answers."""
        self.work = MoveWork(self._keep, self.clock, pause=0.0)

    def _keep(self, step: str) -> None:
        if self.answered.is_set():
            return
        try:
            self.asker.keep(self.turn, step)
        finally:
            self.clock.seconds += 10
            if not self.platform.answers:
                self.answered.set()


def test_a_turn_is_renewed_while_a_command_takes_long() -> None:
    made = _RenewedWork(RENEWED, RENEWED, RENEWED, RENEWED)
    assert made.work.run(lambda: made.answered.wait(LONGEST))
    assert made.platform.requests[1:] == [{"id": "t1", "fence": 7}] * 4


def test_a_turn_that_is_lost_meanwhile_ends_the_move_after_the_command_has_ended() -> None:
    made, ended = _RenewedWork(RENEWED, OVER), list[str]()

    def command() -> None:
        made.answered.wait(LONGEST)
        ended.append("first")

    with pytest.raises(TurnLost):
        made.work.run(command)
    assert ended == ["first"]


def test_a_platform_that_is_away_too_long_ends_the_move() -> None:
    made = _RenewedWork(AWAY, AWAY, AWAY)
    with pytest.raises(TurnLost):
        made.work.run(lambda: made.answered.wait(LONGEST))


def test_no_work_begins_without_the_turn() -> None:
    made, begun = _RenewedWork(OVER), list[str]()
    made.clock.seconds = 10
    with pytest.raises(TurnLost):
        made.work.run(lambda: begun.append("command"))
    assert begun == []


def test_an_error_of_the_work_is_the_error_of_the_move() -> None:
    with pytest.raises(ZeroDivisionError):
        MoveWork(no_turn, pause=0.0).run(lambda: 1 // 0)


def test_a_condition_is_waited_for_as_long_as_a_move_can_take() -> None:
    clock, looks = StandingClock(), list[float]()

    def is_there() -> bool:
        looks.append(clock.seconds)
        clock.seconds += MOVE_SECONDS / 2
        return False

    with pytest.raises(MoveFailed, match="it does not come back"):
        MoveWork(no_turn, clock, pause=0.0).wait(is_there, "it does not come back")
    assert looks == [0, MOVE_SECONDS / 2, MOVE_SECONDS]


def test_a_condition_that_becomes_true_ends_the_wait() -> None:
    answers = [False, False, True]
    MoveWork(no_turn, StandingClock(), pause=0.0).wait(lambda: answers.pop(0), "it does not come back")
    assert answers == []
