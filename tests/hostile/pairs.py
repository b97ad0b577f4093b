"""Tries two writes at once and holds what comes of them against both orders."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import DatabaseError

from tests.client import ApiClient
from tests.factories.accesslist import KeyPair
from tests.hostile.console_writes import ConsoleWrite
from tests.hostile.interleaving import Caller, Statement, moments, one_after_the_other, overlapping
from tests.hostile.scene import HostileScene, State
from tests.hostile.writes import Write

Pair = tuple[Write | ConsoleWrite, Write | ConsoleWrite]
Answer = tuple[int, str]
"""Status and error code."""
NOT_FOUND: Answer = (404, "")


@dataclass(frozen=True)
class PairOutcome:
    """What came of two writes: the answer of each, and what is in the database."""

    answers: tuple[Answer, Answer]
    state: State

    @property
    def is_fault(self) -> bool:
        """Whether an answer is that of a server that failed, or of a database that ended a deadlock."""
        return any(status >= 500 for status, _ in self.answers)


LINES = {
    "pairs": "pairs of writes were tried",
    "apart": "of them have no table and no lock in common",
    "interleavings": "interleavings of the others were tried",
    "overlapped": "of them had the second write run inside the transaction of the first",
    "waited": "of these had the second write wait for a lock of the first",
}
"""The name of a count → its words in the summary."""


@dataclass
class Tally:
    """How much was tried."""

    pairs: int = 0
    apart: int = 0
    """Pairs that have no table and no lock in common: there is no moment to try."""
    interleavings: int = 0
    overlapped: int = 0
    """Interleavings in which the second write ran while the first was inside its transaction."""
    waited: int = 0
    """Interleavings of these in which the second write waited for a lock of the first."""


@dataclass
class Pairs:
    """Tries pairs of writes with two callers, each with a key and a database connection of its own."""

    scene: HostileScene
    known: Mapping[str, str]
    keys: tuple[KeyPair, KeyPair]
    alone: dict[str, list[Statement]] = field(default_factory=dict)
    """Write → what it executes when nothing else happens: the same in every scene."""
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._callers = (Caller(), Caller())

    def close(self) -> None:
        """End the threads."""
        for caller in self._callers:
            caller.close()

    def faults(self, pair: Pair) -> Iterator[str]:
        """Every interleaving of the pair that ends as neither order does, or in a fault of the server."""
        self.tally.pairs += 1
        held = {
            first: moments(self._statements(pair[first]), self._statements(pair[1 - first]))
            for first in (0, 1)
        }
        if not any(each.inside for each in held.values()):
            self.tally.apart += 1
            return
        orders = [self._in_turn(pair, first) for first in (0, 1)]
        for first, found in held.items():
            for number, outcome in self._at_moments(pair, first, found.inside):
                if outcome not in expected(orders, first) or outcome.is_fault:
                    yield self._described(pair, first, number, outcome, orders)
            for number in found.after:
                outcome, _ = self._at_once(pair, first, number)
                # The answer contains what the other write changed before, or is a 404.
                if outcome.state != orders[first].state or outcome.is_fault:
                    yield self._described(pair, first, number, outcome, orders)

    def _at_moments(
        self, pair: Pair, first: int, numbers: Sequence[int]
    ) -> Iterator[tuple[int, PairOutcome]]:
        """What comes of the pair when the `first` is held at each of the moments.

        Once the other one waits for a lock, it waits for it at all later moments too: the last one is enough.
        """
        while numbers:
            number, *numbers = numbers
            outcome, waited = self._at_once(pair, first, number)
            yield number, outcome
            if waited:
                numbers = numbers[-1:]

    def _statements(self, write: Write | ConsoleWrite) -> list[Statement]:
        """What the write executes when nothing else happens."""
        if str(write) not in self.alone:
            self.scene.put_back()
            _, (statements,) = one_after_the_other(self._callers[:1], [self._call(write, 0)])
            self.alone[str(write)] = statements
        return self.alone[str(write)]

    def _in_turn(self, pair: Pair, first: int) -> PairOutcome:
        """What comes of the pair when the `first` is answered before the other is sent."""
        self.scene.put_back()
        order = (first, 1 - first)
        answers, _ = one_after_the_other(
            [self._callers[which] for which in order], [self._call(pair[which], which) for which in order]
        )
        return self._outcome(answers, first)

    def _at_once(self, pair: Pair, first: int, number: int) -> tuple[PairOutcome, bool]:
        """What comes of the pair when the `first` is held after that statement; whether the other waited."""
        self.scene.put_back()
        second = 1 - first
        overlap = overlapping(
            (self._callers[first], self._callers[second]),
            (self._call(pair[first], first), self._call(pair[second], second)),
            number,
        )
        self.tally.interleavings += 1
        self.tally.overlapped += overlap.held
        self.tally.waited += overlap.waited
        return self._outcome(overlap.answers, first), overlap.waited

    def _outcome(self, answers: Sequence[Answer], first: int) -> PairOutcome:
        return PairOutcome((answers[first], answers[1 - first]), self.scene.state())

    def _call(self, write: Write | ConsoleWrite, which: int) -> Callable[[], Answer]:
        if isinstance(write, ConsoleWrite):
            return partial(_served, write, self.known)
        return partial(_answer, ApiClient(self.keys[which]), write, self.known)

    def _described(
        self, pair: Pair, first: int, number: int, outcome: PairOutcome, orders: Sequence[PairOutcome]
    ) -> str:
        sql = self._statements(pair[first])[number - 1].sql
        lines = [
            f"{pair[0]}  ‖  {pair[1]}",
            f"  the {('first', 'second')[first]} is held after its statement {number}: {sql[:200]}",
            f"  answers: {outcome.answers}; in turn: {orders[0].answers} or {orders[1].answers}",
        ]
        for order, name in zip(orders, ("first, second", "second, first"), strict=True):
            lines += [f"  not as {name}: {line}" for line in _differences(outcome.state, order.state)]
        return "\n".join(lines)


def _answer(client: ApiClient, write: Write, known: Mapping[str, str]) -> Answer:
    try:
        answer: Any = client.request(write.route.method, write.path(known), write.filled(known), base="")
    except AssertionError as error:
        return 500, f"not promised: {error}"
    if answer.status_code == 404:
        return NOT_FOUND  # which of the things on the path is found missing first is a matter of the moment
    return answer.status_code, answer.json()["errorCode"] if answer.status_code >= 400 else ""


def _served(write: ConsoleWrite, known: Mapping[str, str]) -> Answer:
    try:
        status, code = write.answer(known)
    except DatabaseError as error:
        return 500, f"not promised: {error}"
    return NOT_FOUND if status == 404 else (status, code)


def expected(orders: Sequence[PairOutcome], first: int) -> list[PairOutcome]:
    """Both orders, and the order in which the other write deletes what the first is about to answer.

    The first write is held inside its transaction. When both go on, the other one may end before the first is
    answered.
    """
    in_turn = orders[first]
    other = in_turn.answers[1 - first]
    return [*orders, PairOutcome((NOT_FOUND, other) if first == 0 else (other, NOT_FOUND), in_turn.state)]


def _differences(state: State, other: State) -> Iterator[str]:
    """Rows that are in one of them only."""
    for table in state:
        here, there = list(state[table]), list(other[table])
        for row in state[table]:
            if row in there:
                there.remove(row)
                here.remove(row)
        yield from (f"{table} + {row[:600]}" for row in here)
        yield from (f"{table} − {row[:600]}" for row in there)
