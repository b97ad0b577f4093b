"""Row 7: reports of 100 hosts with 20 metrics each: what a sample costs, and the room it takes.

The worker stands still meanwhile. What a sample costs is the processor's time of the web processes and of
PostgreSQL, so that it holds for any number of them.
"""

from contextlib import closing

from tests.benchmarks.bare_rows import BareRows
from tests.benchmarks.cpu import cpu_seconds
from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import ACCEPTED, HOSTS_PER_REPORT, METRICS, BenchmarkFleet, held_worker
from tests.benchmarks.load import saturate
from tests.benchmarks.scene import BenchmarkScene

ROW = "samples"
_BYTES_OF_A_NUMBER = 8


def measure(scene: BenchmarkScene) -> list[Line]:
    """Samples accepted in a second of one processor, and bytes on disk of each, indexes included."""
    fleet = BenchmarkFleet(scene)
    with closing(BareRows(scene.platform.data_dir)) as bare, held_worker(scene):
        fleet.report_all()
        size, cpu = bare.readings_size(), cpu_seconds([scene.platform.pid])
        load = saturate(
            scene.address,
            fleet.requests(HOSTS_PER_REPORT),
            connections=scene.pace.connections,
            seconds=scene.pace.fleet_seconds,
            status=ACCEPTED,
        )
        cpu, size = cpu_seconds([scene.platform.pid]) - cpu, bare.readings_size() - size
        samples = len(load.latencies) * HOSTS_PER_REPORT * len(METRICS)
        copied = bare.samples_copied_per_second(len(METRICS))
    return [
        Line(ROW, "accepted by a processor", "1/s", samples / cpu, copied, "bare COPY"),
        Line(ROW, "on disk", "bytes", size / samples, _BYTES_OF_A_NUMBER, "its number"),
    ]
