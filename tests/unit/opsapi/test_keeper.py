"""Restarting what ends: at once the first time, then more and more slowly."""

import pytest

from opsapi.supervisor.keeper import LONGEST_DELAY, SOUND_AFTER, Keeper, exit_words, restart_delay
from tests.each import each


class Fake:
    """Something that can end, and can fail to start."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.starts = 0
        self.fails = False

    def start(self) -> None:
        """Count the start; fail if `fails` is set."""
        self.starts += 1
        if self.fails:
            raise OSError(12, "Cannot allocate memory")
        self.status = None

    def poll(self) -> int | None:
        """What the test says."""
        return self.status


@each(
    ("deaths", "seconds"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (6, 16), (7, 30), (8, 30), (10_000, 30)]
)
def test_the_delay_grows_with_the_deaths(deaths: int, seconds: float) -> None:
    assert restart_delay(deaths) == seconds


@pytest.fixture
def fake() -> Fake:
    """What is kept."""
    return Fake()


@pytest.fixture
def keeper(fake: Fake) -> Keeper:
    """One that started it at 0."""
    made = Keeper("it", fake)
    made.look(0.0)
    return made


def test_the_first_look_starts_it() -> None:
    fake = Fake()
    assert Keeper("it", fake).look(7.0) == LONGEST_DELAY
    assert fake.starts == 1


def test_a_failed_first_start_is_retried() -> None:
    fake = Fake()
    fake.fails = True
    keeper = Keeper("it", fake)
    assert [keeper.look(7.0), keeper.look(7.0)] == [0.0, 1.0]
    fake.fails = False
    keeper.look(8.0)
    assert fake.starts == 3


def test_a_running_process_is_left_alone(fake: Fake, keeper: Keeper) -> None:
    assert keeper.look(1.0) == LONGEST_DELAY
    assert fake.starts == 1


def test_an_ended_process_is_restarted_at_once(fake: Fake, keeper: Keeper) -> None:
    fake.status = 1
    keeper.look(5.0)
    assert fake.starts == 2


def test_a_process_that_ends_again_waits(fake: Fake, keeper: Keeper) -> None:
    for _ in range(2):
        fake.status = -9
        pause = keeper.look(5.0)
    assert (fake.starts, pause) == (2, 1.0)
    assert keeper.look(5.75) == 0.25
    keeper.look(6.0)
    assert fake.starts == 3


@pytest.mark.parametrize(("ran", "starts"), [(SOUND_AFTER - 1, 2), (SOUND_AFTER, 3)])
def test_a_process_that_ran_long_is_restarted_at_once(
    fake: Fake, keeper: Keeper, ran: float, starts: int
) -> None:
    fake.status = 1
    keeper.look(1.0)
    fake.status = 1
    keeper.look(1.0 + ran)
    assert fake.starts == starts


def test_a_failed_start_is_retried_later(fake: Fake, keeper: Keeper) -> None:
    fake.status, fake.fails = 1, True
    assert keeper.look(1.0) == 1.0
    assert (fake.starts, keeper.look(1.5)) == (2, 0.5)
    fake.fails = False
    assert keeper.look(2.0) == LONGEST_DELAY
    assert fake.starts == 3


@each(("status", "words"), [(0, "exit status 0"), (3, "exit status 3"), (-9, "signal 9")])
def test_an_exit_status_in_words(status: int, words: str) -> None:
    assert exit_words(status) == words
