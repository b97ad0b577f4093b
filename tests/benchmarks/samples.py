"""Reports of 100 hosts with 20 metrics each: the cost of a sample, and its size on disk.

The worker is suspended. The cost of a sample is the processor time of web processes and PostgreSQL, so it is
valid for any number of processes.
"""

from contextlib import closing

from tests.benchmarks.bare_rows import BareRows
from tests.benchmarks.cpu import cpu_seconds
from tests.benchmarks.figures import Line
from tests.benchmarks.fleet import ACCEPTED, HOSTS_PER_REPORT, METRICS, BenchmarkFleet, held_worker
from tests.benchmarks.load import saturate
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import BenchmarkScene

ROW = "samples"
_BYTES_OF_A_NUMBER = 8
_BYTES_LIMIT = 14


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
        table, index = _day(scene)
    return [
        Line(ROW, "accepted by a processor", "1/s", samples / cpu, copied, "bare COPY"),
        Line(ROW, "on disk, first minutes", "bytes", size / samples, _BYTES_OF_A_NUMBER, "its number"),
        Line(ROW, "on disk, a day", "bytes", table + index, _BYTES_LIMIT, "promise"),
        Line(ROW, "on disk, index of a day", "bytes", index, _BYTES_OF_A_NUMBER, "its number"),
    ]


def _day(scene: BenchmarkScene) -> tuple[float, float]:
    """Bytes of a sample in the table and in the index of a whole day."""
    table, index = run_in_own_process(scene.platform, "day", scene.size.fleet_hosts, len(METRICS))
    return table, index
