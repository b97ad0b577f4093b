"""Turns of databases: every ten minutes, in a round as many as time allows, each sample once."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from automation.agent.engine import DATABASES_EVERY, DatabaseTurns, Sample

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class ServerOfDatabases:
    """A server with databases, each of which takes a second to measure."""

    def __init__(self, *names: str) -> None:
        self.names, self.time, self.asked = list(names), 1000.0, 0
        self.fails_at = ""

    def clock(self) -> float:
        """Its seconds."""
        return self.time

    def list(self) -> Sequence[str]:
        """What databases there are."""
        self.asked += 1
        return self.names

    def measure(self, name: str, _: float) -> Sequence[Sample]:
        """One of them."""
        if name == self.fails_at:
            raise ConnectionError(name)
        self.time += 1
        return [Sample("DATABASE_STORAGE_SIZE", self.time, NOW)]


def measured(turns: DatabaseTurns, server: ServerOfDatabases, seconds: float = 5.0) -> list[str] | None:
    """The databases that were measured in a round; None if there is nothing to report."""
    turns.take(server.clock, seconds, server.list, server.measure)
    found = turns.take_samples()
    return None if found is None else [name for name, samples in found.items() if samples]


def test_databases_without_time_in_a_round_are_measured_in_the_next() -> None:
    turns, server = DatabaseTurns(), ServerOfDatabases("a", "b", "c")
    assert [measured(turns, server, 2.0) for _ in range(3)] == [["a", "b"], ["c"], None]


def test_all_are_measured_again_after_ten_minutes() -> None:
    turns, server = DatabaseTurns(), ServerOfDatabases("a", "b")
    assert measured(turns, server) == ["a", "b"]
    server.time += DATABASES_EVERY - 3
    assert measured(turns, server) is None
    server.time += 3
    assert measured(turns, server) == ["a", "b"]
    assert server.asked == 2


def test_a_fault_ends_the_round_and_loses_nothing_that_was_measured() -> None:
    turns, server = DatabaseTurns(), ServerOfDatabases("a", "b", "c")
    server.fails_at = "b"
    with pytest.raises(ConnectionError):
        measured(turns, server)
    assert list((turns.take_samples() or {})["a"])
    server.fails_at = ""
    assert measured(turns, server) == ["c"]  # b had its turn


def test_a_database_that_is_gone_is_reported_by_a_list_without_it() -> None:
    turns, server = DatabaseTurns(), ServerOfDatabases("a", "b")
    measured(turns, server)
    server.names, server.time = ["a"], server.time + DATABASES_EVERY
    turns.take(server.clock, 5.0, server.list, server.measure)
    assert list(turns.take_samples() or {}) == ["a"]
