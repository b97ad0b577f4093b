"""A packed day of 100 hosts with 20 metrics a minute: starts `packed_days`, and packs it in other programs.

The worker is suspended. Prometheus and VictoriaMetrics are measured if their Debian packages are installed.
"""

from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import held_worker
from tests.benchmarks.measured_day import measured_day
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.peers import prometheus_bytes, victoria_bytes
from tests.benchmarks.scene import BenchmarkScene

ROW = "packed"
_PEERS = {"Prometheus": prometheus_bytes, "VictoriaMetrics": victoria_bytes}
_GOALS = {False: 2.0, True: 1.3}
_WORDS = {False: "as reported", True: "with rounded rates"}
_SECONDS = 1.0


def measure(scene: BenchmarkScene) -> list[Line]:
    """Bytes of a value on disk, next to other programs and the goal, and the processor time of packing."""
    with held_worker(scene):
        found = run_in_own_process(scene.platform, "packed_days")
    lines = []
    for rounded, words in _WORDS.items():
        disk, blocks = found[str(rounded)]["disk"], found[str(rounded)]["blocks"]
        lines.append(Line(ROW, f"block, {words}", "bytes", blocks, _GOALS[rounded], "goal"))
        day = list(measured_day(rounded=rounded))
        for peer, measured in _PEERS.items():
            if taken := measured(day):
                lines.append(Line(ROW, f"on disk, {words}", "bytes", disk, taken, peer))
    seconds = found["False"]["seconds"]
    return [*lines, Line(ROW, "2.9 million values, by the worker", "s", seconds, _SECONDS, "goal")]
