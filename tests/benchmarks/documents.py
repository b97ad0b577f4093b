"""The cost of publishing an automation document of 100, 1,000 and 5,000 processes.

It covers all work of a PUT except the database: parse, check, restore secrets, fill in defaults, redact, find
changes and effects. The cost is linear: a process costs the same in any document.
"""

import time
from typing import Any

from automation.desired_state.document.changes import effects, process_changes
from automation.desired_state.document.publish import completed, document_faults
from automation.desired_state.document.secrets import redacted, restored
from automation.desired_state.document.text import read, write
from opsapi.clock import parse_time
from tests.benchmarks.figures import Line
from tests.benchmarks.scene import BenchmarkScene
from tests.factories.documents import build, document, full_process, version

ROW = "document"
COUNTS = (100, 1_000, 5_000)
_ROUNDS = 3
_NOW = parse_time("2099-11-21T12:00:00Z")


def measure(_scene: BenchmarkScene | None = None) -> list[Line]:
    """Microseconds of the processor per process; the limit is the cost in the smallest document."""
    texts = {count: (write(_document(count, "east")), write(_document(count, "west"))) for count in COUNTS}
    # In turn, so that all see the same machine; the best round is the least disturbed.
    rounds = [{count: _microseconds(*texts[count]) / count for count in COUNTS} for _ in range(_ROUNDS)]
    best = {count: min(round_[count] for round_ in rounds) for count in COUNTS}
    fewest, *more = COUNTS
    return [
        Line(
            ROW, f"per process, {count:,} of them", "µs", best[count], best[fewest], f"per process, {fewest}"
        )
        for count in more
    ]


def _microseconds(stored_text: str, sent_text: str) -> float:
    """The time of a PUT that replaces the first document with the second and changes every process."""
    stored = read(stored_text)
    begin = time.process_time()
    sent = read(sent_text)
    faults = document_faults(sent, stored)
    put_back, unknown = restored(sent, stored)
    new = completed(put_back, stored)
    sizes = len(write(redacted(new))), len(process_changes(stored, new)), len(effects(stored, new, _NOW))
    took = (time.process_time() - begin) * 1_000_000
    if faults or unknown or sizes[1] != len(new["processes"]) or sizes[2] != len(new["processes"]):
        raise RuntimeError(f"the benchmark's documents are wrong: {faults[:1]} {unknown[:1]} {sizes}")
    return took


def _document(count: int, cluster: str) -> dict[str, Any]:
    """A version and a build for every ten processes, and a secret in each process."""
    many = range(max(count // 10, 1))
    versions = [version(name=f"7.0.{number}", builds=[build(bits=64)]) for number in many]
    processes = [
        full_process(
            name=f"db_{number}",
            hostname=f"db{number}.example.com",
            version=f"7.0.{number % len(versions)}",
            cluster=f"{cluster}_{number // 10}",
            args2_6={"net": {"port": 27017}, "security": {"ldap": {"bind": {"queryPassword": "x" * 20}}}},
        )
        for number in range(count)
    ]
    return document(databaseVersions=versions, processes=processes)
