"""A few seeds with the real claim, decide and record, and PostgreSQL: the same plans, the same promises."""

import pytest
from django.db import transaction

from alerting import delivery
from alerting.services import claims
from tests.hostile.budget import LONG
from tests.simulation.invariants import Promise
from tests.simulation.plans import draw
from tests.simulation.postgres import PostgresStore
from tests.simulation.runs import simulate

pytestmark = pytest.mark.django_db


SHARED = 6
"""A seed in whose plan several notifications have one address."""


@pytest.mark.parametrize("seed", range(60) if LONG else [0, 1, SHARED])
def test_the_promises_hold_with_the_real_tables(seed: int) -> None:
    assert simulate(draw(seed, small=True), PostgresStore()) == []


def test_they_find_a_claim_statement_that_looks_at_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    order = "LIMIT 1) IS NULL"
    assert order in claims._CANDIDATES
    no_order = claims._CANDIDATES.replace(order, "LIMIT 0) IS NULL")
    monkeypatch.setattr(claims, "_CANDIDATES", no_order)
    assert any(Promise.ORDER in broken_by(seed) for seed in range(10))


def test_they_find_delivery_that_merges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "merged_notifications", lambda *_: {})
    assert Promise.ONCE in broken_by(SHARED)


def broken_by(seed: int) -> set[Promise]:
    """The promises a seed breaks; it leaves nothing in the tables."""
    with transaction.atomic():
        found = simulate(draw(seed, small=True), PostgresStore())
        transaction.set_rollback(True)
    return {problem.promise for problem in found}
