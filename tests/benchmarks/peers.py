"""Measured days in Debian's Prometheus and VictoriaMetrics: bytes of a value; None if it is not installed."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from tests.eventually import eventually
from tests.processes.platform import free_port

Day = Sequence[Sequence[NDArray[np.float64]]]
"""The metrics of each host, with a value for each minute."""
_MINUTE = 60


def prometheus_bytes(day: Day) -> float | None:
    """Bytes of a value in the blocks that Prometheus makes of the day, with their indexes."""
    program = shutil.which("promtool")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        source, blocks = Path(directory, "day"), Path(directory, "blocks")
        with source.open("w") as file:
            file.writelines(_lines(day, 1))
            file.write("# EOF\n")
        command = [program, "tsdb", "create-blocks-from", "openmetrics", "--quiet", str(source), str(blocks)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return _size(blocks) / _values(day)


def victoria_bytes(day: Day) -> float | None:
    """Bytes of a value in the data of VictoriaMetrics after it merged the day, with its index."""
    program = shutil.which("victoria-metrics")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        place = f"127.0.0.1:{free_port()}"
        command = [
            program,
            f"-storageDataPath={directory}",
            f"-httpListenAddr={place}",
            "-retentionPeriod=1y",
            "-loggerLevel=ERROR",
        ]
        with subprocess.Popen(command) as server:
            try:
                eventually(lambda: _answers(place))
                _post(f"http://{place}/api/v1/import/prometheus", "".join(_lines(day, 1_000)).encode())
                _post(f"http://{place}/internal/force_flush")
                _post(f"http://{place}/internal/force_merge")
                eventually(lambda: _is_merged(place))
            finally:
                server.terminate()
        # Its other files are caches.
        return sum(_size(Path(directory, kept)) for kept in ("data", "indexdb")) / _values(day)


def _lines(day: Day, ticks: int) -> Iterator[str]:
    """Each value with its time, in so many ticks of a second, metric by metric."""
    end = int(time.time()) // _MINUTE * _MINUTE
    for metric in range(len(day[0])):
        for host, columns in enumerate(day):
            values = columns[metric].tolist()
            begin = end - len(values) * _MINUTE
            for minute, value in enumerate(values):
                yield f'metric_{metric}{{host="db{host}"}} {value!r} {(begin + minute * _MINUTE) * ticks}\n'


def _values(day: Day) -> int:
    return sum(len(column) for columns in day for column in columns)


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def _post(address: str, body: bytes = b"") -> None:
    with urlopen(Request(address, body, method="POST")):  # noqa: S310 - a server of this process
        """The answer is empty."""


def _answers(place: str) -> bool:
    try:
        _post(f"http://{place}/health")
    except OSError:
        return False
    return True


def _is_merged(place: str) -> bool:
    """Whether no part is merged at the moment, and no rows wait in memory."""
    with urlopen(f"http://{place}/metrics") as answer:
        figures = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if " " in line)
    waiting = ("vm_active_force_merges", 'vm_pending_rows{type="storage"}')
    running = [float(value) for name, value in figures.items() if name.startswith("vm_active_merges")]
    return sum(running) == 0 and all(float(figures.get(name, 0)) == 0 for name in waiting)
