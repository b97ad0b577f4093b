"""Memory of the running tree by kind of process, after the load of the other rows."""

from collections import defaultdict
from pathlib import Path

from tests.benchmarks.figures import Line
from tests.benchmarks.scene import BenchmarkScene
from tests.processes.platform import command_line, descendants

ROW = "memory"
_KINDS = (("postgres", "PostgreSQL"), ("gunicorn", "web"), ("run_worker", "worker"))
_WEB = "web"
_MIB = 1024


def measure(scene: BenchmarkScene) -> list[Line]:
    """Mebibytes per kind of process and in all; the bare server's next to the web server's."""
    found = by_kind(scene.platform.pid)
    bare = sum(by_kind(scene.bare_pid).values())
    lines = [
        Line(ROW, kind, "MiB", size, bare, "bare web server")
        if kind == _WEB
        else Line(ROW, kind, "MiB", size)
        for kind, size in sorted(found.items())
    ]
    return [*lines, Line(ROW, "all", "MiB", sum(found.values()))]


def by_kind(pid: int) -> dict[str, float]:
    """Kind → mebibytes, of a process and all below it."""
    found: dict[str, float] = defaultdict(float)
    for process in (pid, *descendants(pid)):
        found[kind_of(command_line(process))] += _kibibytes(process) / _MIB
    return dict(found)


def resident(pid: int) -> float:
    """Mebibytes of the resident memory of a process, with what it shares with others."""
    return field(Path(f"/proc/{pid}/status").read_text(), "VmRSS") / _MIB


def kind_of(command: str) -> str:
    """What a process of the platform is for, from its command line."""
    return next((kind for part, kind in _KINDS if part in command), "supervisor")


def _kibibytes(pid: int) -> int:
    """The proportional share if the kernel reports it, otherwise all resident memory."""
    try:
        return field((Path(f"/proc/{pid}/smaps_rollup")).read_text(), "Pss")
    except OSError:  # not this kernel, or not ours to read
        return field((Path(f"/proc/{pid}/status")).read_text(), "VmRSS")


def field(text: str, name: str) -> int:
    """The number of a line `name:   123 kB`; 0 without such a line."""
    found = (line.split() for line in text.splitlines() if line.startswith(f"{name}:"))
    return next((int(parts[1]) for parts in found), 0)
