"""Seeds with the real alerts, claims, decisions, outcomes and PostgreSQL: the same plans, the same promises.

`make faults` runs 1,000 seeds over both ledgers.
"""

import pytest
from django.db import transaction

from alerting.engine import delivery, queues
from tests.hostile.budget import LONG
from tests.simulation.invariants import Promise
from tests.simulation.plans import draw
from tests.simulation.postgres import PostgresStore
from tests.simulation.runs import finished, simulate
from tests.simulation.store import MemoryStore

pytestmark = pytest.mark.django_db


SHARED = 6
"""A seed in whose plan several notifications have one address."""
# A seed takes almost a second of processor time, most of it in PostgreSQL and for its statements.
SEEDS = range(1_000 if LONG else 15)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_real_tables_keep_the_promises_and_have_the_outcome_of_the_ledger_in_memory(seed: int) -> None:
    plan = draw(seed, small=True)
    found, outcome = finished(plan, PostgresStore())
    assert found == []
    assert outcome.sent
    assert finished(plan, MemoryStore()) == (found, outcome)


def test_they_find_a_claim_statement_that_looks_at_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    order = "LIMIT 1) IS NULL"
    assert order in queues._CANDIDATES
    no_order = queues._CANDIDATES.replace(order, "LIMIT 0) IS NULL")
    monkeypatch.setattr(queues, "_CANDIDATES", no_order)
    assert any(Promise.ORDER in broken_by(seed) for seed in range(10))


def test_they_find_delivery_that_merges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "merged_notifications", lambda *_, **__: {})
    assert Promise.ONCE in broken_by(SHARED)


def broken_by(seed: int) -> set[Promise]:
    """The promises a seed breaks; it leaves nothing in the tables."""
    with transaction.atomic():
        found = simulate(draw(seed, small=True), PostgresStore())
        transaction.set_rollback(True)
    return {problem.promise for problem in found}
