"""The process that a move changes, and the access of the move to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Callable

from automation.agent.automation import processes
from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.part import ManagedProcess
from automation.agent.automation.places import ProcessPlaces
from automation.agent.automation.seen_fleet import SeenProcess
from automation.agent.automation.servers import COMMAND_SECONDS, ManagedServer
from automation.agent.automation.work import MoveWork
from automation.agent.engine import ServerAddress

SLOW_COMMAND_SECONDS = 60.0
"""The time limit of a command that a server may carry out slowly."""


class MovedProcess:
    """A process with its server and its files. `see` and `ask` are work of the move, which keeps its turn."""

    def __init__(
        self,
        managed: ManagedProcess,
        server: ManagedServer,
        places: ProcessPlaces,
        *,
        see: Callable[[], SeenProcess],
        work: MoveWork,
        member: Callable[[ServerAddress], ManagedServer],
        check_again: Callable[[], None] = lambda: None,
    ) -> None:
        """`see` observes the process. `work` raises TurnLost, which ends the move.

        `member`: another member of its replica set. `check_again` raises MoveDelayed if the process must not
        be disturbed any more, or TurnLost.
        """
        self.managed, self.server, self.places, self.work = managed, server, places, work
        self.member, self.check_again = member, check_again
        self._see = see

    def see(self) -> SeenProcess:
        """Observe the process. Raises: TurnLost."""
        return self.work.run(self._see)

    def ask(
        self, command: Mapping[str, Any], seconds: float = COMMAND_SECONDS, database: str = "admin"
    ) -> Mapping[str, Any]:
        """The answer of a database of the server. Raises: errors of NOT_ANSWERED. TurnLost."""
        return self.work.run(partial(self.server.ask, command, seconds=seconds, database=database))

    def running_version(self) -> str:
        """The version that runs. Raises: MoveFailed: it is not known. TurnLost."""
        version = self.see().process.version
        if version is None:
            raise MoveFailed("the version of the server is not known")
        return version

    def without_secrets(self, text: str) -> str:
        """The last lines of a text, without secrets of the process and of the section `auth`."""
        return processes.without_secrets(text, self._secret_settings)

    def tail(self, path: Path, start_at: int) -> str:
        """The last lines of a file from this place on, without these secrets."""
        return processes.tail(path, start_at, self._secret_settings)

    @property
    def _secret_settings(self) -> Mapping[str, Any]:
        return {**self.managed.settings, "auth": self.managed.auth}
