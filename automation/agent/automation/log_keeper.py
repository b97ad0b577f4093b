"""Tends the logs of the processes of this machine, while their moves go on."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Callable

from automation.agent.automation.carried_process import CarriedProcess
from automation.agent.automation.logs import LogWork, tend_process
from automation.agent.automation.problems import AutomationProblems
from automation.agent.automation.progress_reports import ProgressReports
from automation.agent.automation.unit_planner import UnitPlanner
from automation.agent.automation.work import in_thread
from automation.agent.faults import log_unexpected, shown
from automation.sections import section

log = logging.getLogger("opsapi.agent")

_LONG = timedelta(hours=1)
"""Work that takes longer is reported as a problem."""


class LogKeeper:
    """Tends logs in threads of their own: the compression of a large log takes minutes. Not thread-safe."""

    def __init__(
        self,
        planner: UnitPlanner,
        reports: ProgressReports,
        problems: AutomationProblems,
        allowed: Sequence[Path],
        clock: Callable[[], datetime],
    ) -> None:
        """`allowed`: the directories below which the agent may write."""
        self._planner, self._reports, self._problems = planner, reports, problems
        self._allowed, self._clock = allowed, clock
        self._begun: dict[str, tuple[datetime, Future[LogWork]]] = {}

    def tend(self, process: CarriedProcess) -> None:
        """Report the work that has ended, and begin to rotate, compress and delete logs of a process again.

        Logs are tended although the plan has stopped or waits, because this interrupts no client.
        """
        now, work = self._clock(), LogWork()
        if process.name in self._begun:
            began, future = self._begun[process.name]
            if not future.done():
                if now - began > _LONG:
                    self._note(process.name, LogWork(problems=["the work on the logs takes over an hour"]))
                return
            del self._begun[process.name]
            work = _work_of(future)
        self._note(process.name, work)
        stated = section(process.managed.document, "logRotate")
        if stated and not process.part.is_paused:
            seen, server = self._planner.see(process), self._planner.server(process)
            tend = partial(tend_process, seen, stated, server, self._allowed, now)
            self._begun[process.name] = now, in_thread(tend, "automation logs")

    def _note(self, name: str, work: LogWork) -> None:
        for done, paths in (
            ("rotated", work.rotated),
            ("compressed", work.compressed),
            ("deleted", work.deleted),
        ):
            for path in paths:
                log.info("automation: %s: log %s: %s", name, done, shown(path))
        self._reports.progress[name].log_problems = work.problems
        why = "; ".join(work.problems)
        self._problems.report(f"{name}: logRotate", why and f"{name}: logRotate: {why}")


def _work_of(future: Future[LogWork]) -> LogWork:
    error = future.exception()
    if error is None:
        return future.result()
    log_unexpected("automation logs", error)
    return LogWork(problems=[f"an error of the agent: {type(error).__name__}"])
