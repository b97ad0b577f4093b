"""The noise of alert configurations with a million alerts in four weeks: starts `noisy`.

The worker is stopped.
"""

from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import BenchmarkScene

ROW = "noise"


def measure(scene: BenchmarkScene) -> list[Line]:
    """Milliseconds of the noise of a configuration, and of a page of the list sorted by each figure."""
    alerts = scene.pace.noisy_alerts
    with held_worker(scene):
        found = run_in_own_process(scene.platform, "noisy", alerts)
    against = f"count of {alerts:,} alerts"
    lines = [
        Line(ROW, "of a configuration", "ms", found["single"], found["bare"], against),
        Line(ROW, "list, not sorted by it", "ms", found["page"], found["bare"], against),
    ]
    return [
        *lines,
        *(
            Line(ROW, f"list, sorted by {name}", "ms", milliseconds, found["bare"], against)
            for name, milliseconds in found["sorted"].items()
        ),
    ]
