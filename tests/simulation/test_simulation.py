"""Delivery simulated: whatever happens, its promises hold. `make faults` runs 100,000 seeds.

Every run has the seeds with which `test_breaks.py` finds what is broken: nothing else makes them fail.
A seed that breaks a promise is printed; `OPSAPI_TEST_SEEDS=1234-1235` runs it alone.
"""

import os
import time
from typing import Any

from tests.hostile.budget import LONG
from tests.plugin import SUMMARY
from tests.simulation.breaks import BREAKS
from tests.simulation.plans import draw
from tests.simulation.runs import broken_seeds, broken_seeds_by_all_processors, finished
from tests.simulation.store import MemoryStore

FIRST, _, LAST = os.environ.get("OPSAPI_TEST_SEEDS", "0-100000" if LONG else "").partition("-")
SEEDS = range(int(FIRST), int(LAST)) if FIRST else sorted({*range(80), *(each.seed for each in BREAKS)})


def test_the_promises_hold_whatever_happens(record_property: Any) -> None:
    began = time.monotonic()
    broken = (broken_seeds_by_all_processors if LONG else broken_seeds)(SEEDS)
    seconds = time.monotonic() - began
    record_property(SUMMARY, f"{len(SEEDS)} seeds of delivery were simulated in {seconds:.0f} s")
    assert broken == []


def test_a_seed_gives_the_same_run_each_time() -> None:
    for seed in range(3):
        first, second = (finished(draw(seed), MemoryStore()) for _ in range(2))
        assert first == second
        assert first[1].sent
