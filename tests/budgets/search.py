"""The search for the most expensive input of an operation that the platform accepts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

_DRAWS = 20

Genes = dict[str, Any]
"""The choices that make an input."""
Choices = Mapping[str, Sequence[Any]]
"""The possible values of each choice, approximately the cheapest first."""


@dataclass(frozen=True, slots=True)
class TriedInput:
    """An accepted input and what it cost: processor seconds, MiB, and the other project's longest delay.

    The processor seconds include the reports of the other project.
    """

    genes: Genes
    cpu_seconds: float
    seconds: float
    memory: float
    delay: float
    finished: bool
    status: int | None


@dataclass(slots=True)
class Findings:
    """The findings about an operation."""

    tried: list[TriedInput] = field(default_factory=list)
    refused: int = 0

    @property
    def dearest(self) -> TriedInput | None:
        """The input that took the most processor time."""
        return max(self.tried, key=lambda found: found.cpu_seconds, default=None)

    @property
    def longest_delay(self) -> float:
        """The longest delay of the other project with any input, in seconds."""
        return max((found.delay for found in self.tried), default=0.0)


Try = Callable[[Genes], TriedInput | None]
"""Tries an input; None if it is refused."""


def search(choices: Choices, attempt: Try, *, tries: int, seed: int) -> Findings:
    """Begins with the largest input. Then changes of the most expensive input and random inputs take turns.

    If an input is refused, each of its choices is tried again with the next smaller value.
    """
    return _InputSearch(choices, attempt, seed).run(tries)


class _InputSearch:
    def __init__(self, choices: Choices, attempt: Try, seed: int) -> None:
        self._choices, self._attempt = choices, attempt
        self._random = Random(seed)
        self._waiting = [{name: values[-1] for name, values in choices.items()}]
        self._seen: list[Genes] = []
        self._findings = Findings()

    def run(self, tries: int) -> Findings:
        for number in range(tries):
            genes = self._next(number)
            if genes is None:
                break
            self._seen.append(genes)
            found = self._attempt(genes)
            if found is None:
                self._findings.refused += 1
                smaller = [each for each in self._smaller(genes) if each not in self._seen]
                self._waiting[:0] = smaller
            else:
                self._waiting.clear()
                self._findings.tried.append(found)
        return self._findings

    def _next(self, number: int) -> Genes | None:
        """An input that was not tried yet; None if there is none."""
        if self._waiting:
            return self._waiting.pop(0)
        for _ in range(_DRAWS):
            genes = {name: self._random.choice(values) for name, values in self._choices.items()}
            if (dearest := self._findings.dearest) and number % 2:
                changed = self._random.choice(list(self._choices))
                genes = {**dearest.genes, changed: genes[changed]}
            if genes not in self._seen:
                return genes
        return None

    def _smaller(self, genes: Genes) -> Iterator[Genes]:
        for name, values in self._choices.items():
            if place := values.index(genes[name]):
                yield {**genes, name: values[place - 1]}
