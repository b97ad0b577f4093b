"""The cost of a signal: starts `evaluation` next to the platform, whose worker is suspended."""

from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import BenchmarkScene

ROW = "signal"


def measure(scene: BenchmarkScene) -> list[Line]:
    """Milliseconds per signal; the limit is the cost next to the fewest configurations."""
    with held_worker(scene):
        found = run_in_own_process(scene.platform, "evaluation")
    (fewest, least), *more = found.items()
    return [Line(ROW, name, "ms", cost, least, fewest) for name, cost in more]
