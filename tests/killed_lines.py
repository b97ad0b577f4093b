"""Kills a process before it runs a certain line, as a machine can stop at any line."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import Any

Line = tuple[str, int]
"""A file and the number of a line."""


def lines_of(modules: Sequence[ModuleType], action: Callable[[], object]) -> list[Line]:
    """The lines of the modules that the action runs, in their order."""
    lines: dict[Line, None] = {}
    _trace(modules, lines.setdefault, action)
    return list(lines)


def kill_at(line: Line, modules: Sequence[ModuleType], action: Callable[[], object]) -> None:
    """Run the action in a process of its own, which is killed before it runs this line."""

    def see(current: Line) -> None:
        if current == line:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            _trace(modules, see, action)
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status), line


def _trace(
    modules: Sequence[ModuleType], see: Callable[[Line], object], action: Callable[[], object]
) -> None:
    files = {str(module.__file__) for module in modules}

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            see((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
