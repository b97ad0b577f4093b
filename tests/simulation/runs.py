"""Runs of seeds."""

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from unittest.mock import patch

from django.test import override_settings

from tests.simulation.invariants import Violation, Watch, violations
from tests.simulation.plans import Plan, draw
from tests.simulation.store import MemoryStore
from tests.simulation.stores import Store
from tests.simulation.world import SimulatedWorld

_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run led to."""

    sent: Sequence[tuple[float, str, str, str]]
    """The requests in their order: when each began, its receiver, and its notification's kind and id."""
    rows: Mapping[str, tuple[str, str, str | None, int, str | None]]
    """Kind, status, reason, attempts and `merged_into` of each notification."""


def run(seed: int) -> list[Violation]:
    """One seed in memory: what it broke."""
    return simulate(draw(seed), MemoryStore())


def simulate(plan: Plan, store: Store) -> list[Violation]:
    """A plan against a store: what it broke."""
    return finished(plan, store)[0]


def finished(plan: Plan, store: Store) -> tuple[list[Violation], RunOutcome]:
    """A plan against a store: what it broke, and its outcome. Only the seam to the outside is replaced."""
    world = SimulatedWorld(plan, store)
    watch = Watch(world)
    # Ids of destinations follow from the secret key, and differ from installation to installation.
    with (
        patch("integrations.channels.http.post", world.post),
        override_settings(SECRET_KEY="of the simulation"),
        _same_jitter(plan.seed),
    ):
        world.run()
    sent = [
        (request.began, request.receiver.name, request.notification.kind, request.notification.id)
        for request in world.requests
    ]
    rows = {
        row.id: (row.kind, row.status, row.reason, row.attempts, row.merged_into)
        for row in world.store.notifications()
    }
    return violations(world, watch), RunOutcome(sent, rows)


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
