"""Upgrades a data directory and is killed at a step: `python -m … killed_upgrade <data directory> <step>`."""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any

from opsapi.embedded import upgrade as upgrade_module
from opsapi.embedded.cluster import DatabaseCluster, client_failure, find_binaries
from opsapi.embedded.layout import Layout
from opsapi.embedded.owner import server_owner
from opsapi.embedded.server import Server
from tests.eventually import SHORTEST_PAUSE, eventually
from tests.integration.embedded.sql import ask
from tests.processes.platform import descendants

STEPS = (
    "start 0",
    "pg_dump",
    "initdb",
    "start 1",
    "pg_restore",
    "vacuumdb",
    "rename 0",
    "rename 1",
    "rename 2",
    "remove 1",
)
"""Programs while they run; the numbers count the calls, and the process dies before this call."""
_RESTORED = "SELECT count(*) FROM pg_class WHERE relname = 'host_1'"


class DyingUpgrade:
    """An upgrade that dies at a step."""

    def __init__(self, data_dir: Path, step: str, *, is_alone: bool) -> None:
        """`is_alone`: what it has started lives on; otherwise everything is killed."""
        self._layout, self._draft = Layout(data_dir), Layout(data_dir / "upgrade")
        self._step, self._is_alone = step, is_alone
        self._run = DatabaseCluster._run
        self._reached: dict[str, Callable[[], object]] = {
            "pg_dump": lambda: (self._draft.data_dir / "database.dump").stat().st_size,
            "pg_restore": lambda: ask(self._draft, _RESTORED),
            "vacuumdb": lambda: True,
            "initdb": (self._draft.home / "data.new" / "PG_VERSION").exists,
        }

    def run(self) -> None:
        """Upgrade until the step."""
        upgrade_module.client_failure = self._client  # type: ignore[attr-defined,assignment]
        DatabaseCluster._run = self._create  # type: ignore[method-assign,assignment]
        Server.wait_ready = self._dying("start", Server.wait_ready)  # type: ignore[method-assign]
        upgrade_module._rename = self._dying("rename", upgrade_module._rename)
        upgrade_module._remove = self._dying("remove", upgrade_module._remove)
        upgrade_module.upgrade(self._layout, durable=False)

    def _client(self, program: Path, *arguments: str, environment: Mapping[str, str]) -> str | None:
        if program.name == self._step:
            Popen([program, "--no-password", *arguments], env=environment)
            self._die_in_program()
        return client_failure(program, *arguments, environment=environment)

    def _create(self, program: str, *arguments: str, text: str = "") -> None:
        cluster = DatabaseCluster(self._draft, server_owner(), find_binaries(), durable=False)
        if program == self._step:
            command = [str(cluster.binaries / program), *arguments]
            cluster._popen(command, signal.SIGKILL, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
            self._die_in_program()
        self._run(cluster, program, *arguments, text=text)

    def _dying(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        calls = count()

        def instead(*arguments: Any) -> Any:
            if f"{name} {next(calls)}" == self._step:
                self._die()
            return call(*arguments)

        return instead

    def _die_in_program(self) -> None:
        eventually(self._reached[self._step], longest_pause=SHORTEST_PAUSE)
        self._die()

    def _die(self) -> None:
        for pid in () if self._is_alone else descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    DyingUpgrade(Path(sys.argv[1]), sys.argv[2], is_alone=sys.argv[3:] == ["alone"]).run()
