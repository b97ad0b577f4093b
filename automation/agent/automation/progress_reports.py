"""The reports of the automation: the progress of the processes of this machine."""

from __future__ import annotations

import json
import uuid
from typing import Any, Callable

from automation.agent.automation.part import MachinePart
from automation.agent.automation.problems import AutomationProblems
from automation.agent.automation.progress import ProcessProgress
from automation.agent.client import Client, NoChallenge, Unreachable

_REPORT_AFTER = 30.0
"""Seconds until progress is reported again, although nothing has changed."""


class ProgressReports:
    """Reports the progress of each process. Not thread-safe."""

    def __init__(
        self,
        client: Client,
        hostname: str,
        version: str,
        problems: AutomationProblems,
        monotonic: Callable[[], float],
    ) -> None:
        """`version` is of the agent."""
        self._client, self._hostname, self._version = client, hostname, version
        self._problems, self._monotonic = problems, monotonic
        self._sent, self._sent_at = b"", float("-inf")
        self.progress: dict[str, ProcessProgress] = {}
        """The progress of the processes of the part, by name."""

    def follow(self, part: MachinePart) -> None:
        """Keep the progress of the processes of this part."""
        self.progress = {
            name: self.progress.get(name) or ProcessProgress(hostname)
            for name, hostname in part.hostnames.items()
            if name in part.processes or name in part.faults
        }
        for name, progress in self.progress.items():
            progress.hostname = part.hostnames[name]
            progress.begin_version(part.version)
            progress.error = part.faults.get(name, progress.error)

    @property
    def is_old(self) -> bool:
        """Whether the last report is so old that it is sent again."""
        return self._monotonic() - self._sent_at > _REPORT_AFTER

    def send(self) -> None:
        """Report the progress if it has changed, or if the last report is old."""
        rows = [progress.document(name) for name, progress in self.progress.items()]
        report: dict[str, Any] = {
            "agentType": "AUTOMATION",
            "hostname": self._hostname,
            "version": self._version,
            "processes": rows,
        }
        body = json.dumps(report).encode()
        if body == self._sent and not self.is_old:
            return
        try:
            answer = self._client.report(body, uuid.uuid4().hex)
        except (Unreachable, NoChallenge) as error:
            self._problems.report("report", f"progress is not reported: {error}")
            return
        if not answer.accepted:
            self._problems.report("report", f"progress is not reported: {answer.detail}")
            return
        self._problems.report("report", "")
        self._sent, self._sent_at = body, self._monotonic()
