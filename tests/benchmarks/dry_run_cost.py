"""Dry runs over days of measurements of 1,000 hosts, a report a minute: starts `recorded`.

Few hosts cross the first threshold; all hosts cross the second twice an hour. The worker is stopped.
"""

from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import BenchmarkScene

ROW = "dry run"


def measure(scene: BenchmarkScene) -> list[Line]:
    """Seconds of a dry run, and how many days of it are complete."""
    days = scene.pace.recorded_days
    with held_worker(scene):
        found = run_in_own_process(scene.platform, "recorded", days)
    return [
        Line(ROW, f"{days} days, few cross the threshold", "s", found["quiet"], found["bare"], "bare count"),
        Line(ROW, "of these are complete", "days", found["quietDays"], days, "days asked for"),
        Line(
            ROW, f"{days} days, all cross it all the time", "s", found["noisy"], found["bound"], "its bound"
        ),
        Line(ROW, "of these are complete", "days", found["noisyDays"], days, "days asked for"),
    ]
