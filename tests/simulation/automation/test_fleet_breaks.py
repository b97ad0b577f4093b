"""The simulator of fleets finds each fault: the plan is broken on purpose, one rule at a time.

The seed that found it last time goes first; where that finds nothing any more, all of `SEEDS` are tried.
Without the break the same seeds find nothing: `test_fleet_plans.py`.
"""

from typing import Any

import pytest

from tests.hostile.budget import LONG
from tests.plugin import SUMMARY
from tests.simulation.automation.breaks import PLAN_BREAKS, PlanBreak
from tests.simulation.automation.runs import fleet_run

SEEDS = range(4_000)


@pytest.mark.parametrize("broken", PLAN_BREAKS, ids=lambda broken: broken.name)
def test_it_finds_the_fault(broken: PlanBreak, monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    broken.apply(monkeypatch)
    for seed in SEEDS if LONG else [broken.seed, *SEEDS]:
        if broken.promises & {promise for promise, _ in fleet_run(seed).broken}:
            if LONG:
                record_property(SUMMARY, f"seed {seed} finds: {broken.name}")
            return
    pytest.fail(f"{len(SEEDS)} seeds did not find it")
