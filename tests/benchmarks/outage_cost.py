"""The first message about an outage of 1,000 alerts, in 100,000 hosts: starts `outage`.

The limit is the same outage in a project of 1,000 hosts. The worker is stopped.
"""

from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import BenchmarkScene

ROW = "outage"


def measure(scene: BenchmarkScene) -> list[Line]:
    """Milliseconds of processor for a message."""
    with held_worker(scene):
        found = run_in_own_process(scene.platform, "outage")
    (_, least), (hosts, cost) = found.items()
    return [
        Line(ROW, f"message about 1,000 alerts, in {int(hosts):,} hosts", "ms", cost, least, "in 1,000 hosts")
    ]
