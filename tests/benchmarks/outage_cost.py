"""Row 10: the first message about an outage of 1,000 alerts, in 100,000 hosts: starts `outage`.

The limit is the same outage in a project of 1,000 hosts. The worker is stopped.
"""

import json
import subprocess
import sys

from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.scene import BenchmarkScene
from tests.processes.platform import ROOT

ROW = "outage"
_MEASURE = "import django; django.setup(); from tests.benchmarks import outage; outage.main()"


def measure(scene: BenchmarkScene) -> list[Line]:
    """Milliseconds of processor for a message."""
    with held_worker(scene):
        done = subprocess.run(
            [sys.executable, "-c", _MEASURE],
            env=scene.platform.environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
        )
    (_, least), (hosts, cost) = json.loads(done.stdout).items()
    return [
        Line(ROW, f"message about 1,000 alerts, in {int(hosts):,} hosts", "ms", cost, least, "in 1,000 hosts")
    ]
