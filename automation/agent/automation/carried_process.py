"""A process of this machine that the agent brings to the goal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from automation.agent.automation.part import MachinePart, ManagedProcess
from automation.agent.automation.places import ProcessPlaces
from automation.plan.values import GoalUnit


@dataclass(frozen=True)
class CarriedProcess:
    """A process with its files, under a version of the configuration."""

    part: MachinePart
    managed: ManagedProcess
    places: ProcessPlaces

    @property
    def name(self) -> str:
        """The name of the process in the document."""
        return self.managed.goal.name

    @property
    def unit(self) -> GoalUnit:
        """The processes that are planned together with it."""
        return self.managed.unit

    def of_unit(self) -> Iterator[CarriedProcess]:
        """All processes of its unit on this machine."""
        for managed in self.part.of_unit(self.unit):
            yield CarriedProcess(self.part, managed, self.places.of(managed.goal.name))
