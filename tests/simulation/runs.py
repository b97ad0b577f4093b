"""Runs of seeds."""

import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from unittest.mock import patch

from tests.simulation.invariants import Violation, Watch, violations
from tests.simulation.plans import Plan, draw
from tests.simulation.store import MemoryStore
from tests.simulation.stores import Store
from tests.simulation.world import SimulatedWorld

_AT_ONCE = 100


def run(seed: int) -> list[Violation]:
    """One seed in memory: what it broke."""
    return simulate(draw(seed), MemoryStore())


def simulate(plan: Plan, store: Store) -> list[Violation]:
    """A plan against a store: what it broke. Only the seam to the outside is replaced."""
    world = SimulatedWorld(plan, store)
    watch = Watch(world)
    with patch("integrations.channels.http.post", world.post), _same_jitter(plan.seed):
        world.run()
    return violations(world, watch)


def broken_seeds(seeds: Sequence[int]) -> list[str]:
    """The seeds that break a promise, each with the first broken promise."""
    return [f"seed {seed}: {found[0].promise}: {found[0].what}" for seed in seeds if (found := run(seed))]


def broken_seeds_by_all_processors(seeds: Sequence[int]) -> list[str]:
    """As `broken_seeds`, spread over processes."""
    parts = [seeds[start : start + _AT_ONCE] for start in range(0, len(seeds), _AT_ONCE)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("fork")) as processes:
        return [line for lines in processes.map(broken_seeds, parts) for line in lines]


@contextmanager
def _same_jitter(seed: int) -> Iterator[None]:
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)
