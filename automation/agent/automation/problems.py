"""The problems of the automation in the log of the agent."""

from __future__ import annotations

from automation.agent.faults import Problems


class AutomationProblems:
    """Logs a problem once: when it starts, changes or ends."""

    def __init__(self) -> None:
        self._problems = Problems()

    def report(self, about: str, why: str) -> None:
        """Log why something does not work. An empty text ends the problem."""
        self._problems.report(f"automation: {about}", why, f"automation: {why}")
