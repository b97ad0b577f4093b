"""Tends the logs of the processes of this machine, beside their moves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Callable

from automation.agent.automation.carried_process import CarriedProcess
from automation.agent.automation.logs import LogWork, tend_process
from automation.agent.automation.problems import AutomationProblems
from automation.agent.automation.progress_reports import ProgressReports
from automation.agent.automation.unit_planner import UnitPlanner
from automation.agent.automation.work import in_thread
from automation.agent.faults import shown
from automation.sections import section

log = logging.getLogger("opsapi.agent")


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
        self._begun: dict[str, Future[LogWork]] = {}
        self._one_at_a_time = threading.Lock()

    def tend(self, process: CarriedProcess) -> None:
        """Note the work that has ended, and begin to rotate, compress and delete logs again.

        Also of a plan that stopped or waits: it interrupts no client.
        """
        begun = self._begun.get(process.name)
        if begun is not None and not begun.done():
            return
        self._begun.pop(process.name, None)
        self._note(process.name, LogWork() if begun is None else begun.result())
        stated = section(process.managed.document, "logRotate")
        if stated and not process.part.is_paused:
            seen, server = self._planner.see(process), self._planner.server(process)
            work = partial(tend_process, seen, stated, server, self._allowed, self._clock())
            self._begun[process.name] = in_thread(partial(self._alone, work), "automation logs")

    def _alone(self, work: Callable[[], LogWork]) -> LogWork:
        with self._one_at_a_time:  # The processes of a machine share its disks and processors.
            return work()

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
