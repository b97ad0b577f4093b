"""The clock that processes follow: that of the database, however the clock of the machine is set."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from opsapi import clock, database_clock
from opsapi.database_clock import DatabaseClock
from tests.each import each
from tests.steps import STEPS

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class SteppedMachine:
    """A machine whose steady clock, and whose database, a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steady = 1000.0
        self.database = START
        self.slow = 0.0
        monkeypatch.setattr(clock, "steady", lambda: self.steady)
        monkeypatch.setattr(database_clock, "database_time", self._answer)

    def _answer(self) -> datetime:
        self.steady += self.slow
        return self.database


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> SteppedMachine:
    """A machine and a database with the same time."""
    return SteppedMachine(monkeypatch)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_step_of_the_machine_moves_nothing_and_is_known(machine: SteppedMachine, step: timedelta) -> None:
    compared = DatabaseClock()
    compared.compare()
    machine.steady += 5
    with time_machine.travel(START + 5 * SECOND + step, tick=False):
        assert clock.now() == START + 5 * SECOND
        assert clock.difference() == step
        assert clock.is_wrong(clock.difference())
    with time_machine.travel(START + 5 * SECOND, tick=False):
        assert clock.difference() == timedelta(0)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_step_of_the_database_is_followed_and_logged(
    machine: SteppedMachine, step: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    compared = DatabaseClock()
    compared.compare()
    machine.steady += 4000
    assert compared.steady_for() == timedelta(seconds=4000)
    machine.database += 4000 * SECOND + step
    compared.compare()
    assert clock.now() == machine.database
    assert compared.steady_for() == timedelta(0)
    assert "stepped" in caplog.text


def test_a_clock_without_a_step_is_not_logged(
    machine: SteppedMachine, caplog: pytest.LogCaptureFixture
) -> None:
    compared = DatabaseClock()
    for _ in range(3):
        compared.compare()
        machine.steady += 15
        machine.database += 15 * SECOND + SECOND / 2
    assert not caplog.records
    assert compared.steady_for() == timedelta(seconds=45)


def test_a_slow_answer_says_nothing_about_the_time(machine: SteppedMachine) -> None:
    compared = DatabaseClock()
    compared.compare()
    machine.slow, machine.database = 3.0, START + timedelta(hours=1)
    compared.compare()
    assert clock.now() == START + 3 * SECOND


def test_before_a_comparison_the_machine_counts_and_nothing_is_known_to_be_steady(
    machine: SteppedMachine,
) -> None:
    with time_machine.travel(START, tick=False):
        assert clock.now() == START
        assert clock.difference() == timedelta(0)
    assert DatabaseClock().steady_for() == timedelta(0)


@each(
    ("difference", "is_wrong"),
    [(timedelta(seconds=30), False), (timedelta(seconds=31), True), (timedelta(seconds=-31), True)],
)
def test_a_clock_is_wrong_from_thirty_seconds_on(difference: timedelta, is_wrong: bool) -> None:
    assert clock.is_wrong(difference) is is_wrong


@each(
    ("difference", "words"),
    [
        (timedelta(seconds=45), "45 s ahead of"),
        (timedelta(seconds=-45), "45 s behind"),
        (timedelta(days=2, hours=4), "2 d 4 h ahead of"),
    ],
)
def test_a_difference_has_words(difference: timedelta, words: str) -> None:
    assert clock.difference_words(difference) == words
