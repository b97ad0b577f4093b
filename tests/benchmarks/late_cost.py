"""The cost of a backlog: starts `late_reports` next to the platform, whose worker is suspended."""

from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import BenchmarkScene

ROW = "late reports"
MINUTES = 60


def measure(scene: BenchmarkScene) -> list[Line]:
    """Milliseconds per report of 100 hosts, with its evaluation. The limit is a report without a wait."""
    with held_worker(scene):
        found = run_in_own_process(scene.platform, "late_reports", MINUTES)
    return [Line(ROW, "a report of a backlog of an hour", "ms", found["late"], found["live"], "live")]
