"""More web machines of an installation, each with a clock of its own."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.eventually import eventually
from tests.processes.clock import SteppedClock
from tests.processes.platform import RunningPlatform

_COMMAND = ("-m", "gunicorn", "--config", "python:opsapi.gunicorn_conf", "opsapi.wsgi")
"""The arguments as in opsapi-web.service."""


@contextmanager
def web_machines(platform: RunningPlatform, steps: Sequence[int]) -> Iterator[list[RunningPlatform]]:
    """Running web machines of the platform, each with the number of seconds that its clock is ahead."""
    with ExitStack() as stack:
        machines = [_machine(platform, step, stack) for step in steps]
        for machine in machines:
            machine.launch()
        for machine in machines:
            eventually(machine.answers, message="the web machine answers")
        yield machines
        assert [machine.stop() for machine in machines] == [0] * len(machines)


def _machine(platform: RunningPlatform, step: int, stack: ExitStack) -> RunningPlatform:
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    clock = SteppedClock(directory)
    clock.step(step)
    machine = RunningPlatform(directory, **{**platform.environment, **clock.environment})
    machine.data_dir = platform.data_dir
    machine.environment["OPSAPI_BIND"] = f"127.0.0.1:{machine.port}"
    machine.start_command = [sys.executable, *_COMMAND]
    stack.callback(machine.end)
    return machine
