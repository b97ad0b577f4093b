"""Row 6, measured from outside: starts `evaluation` next to the platform, whose worker is suspended."""

import json
import subprocess
import sys

from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.scene import BenchmarkScene
from tests.processes.platform import ROOT

ROW = "signal"
_EVALUATE = "import django; django.setup(); from tests.benchmarks import evaluation; evaluation.main()"


def measure(scene: BenchmarkScene) -> list[Line]:
    """Milliseconds per signal; the limit is the cost next to the fewest configurations."""
    with held_worker(scene):
        done = subprocess.run(
            [sys.executable, "-c", _EVALUATE],
            env=scene.platform.environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
        )
    (fewest, least), *more = json.loads(done.stdout).items()
    return [Line(ROW, name, "ms", cost, least, fewest) for name, cost in more]
