"""A few seeds with the real claim, decide and record, and PostgreSQL: the same plans, the same promises."""

import pytest

from tests.hostile.budget import budget
from tests.simulation.plans import draw
from tests.simulation.postgres import PostgresStore
from tests.simulation.runs import simulate

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("seed", range(budget(10)))
def test_the_promises_hold_with_the_real_tables(seed: int) -> None:
    assert simulate(draw(seed, small=True), PostgresStore()) == []
