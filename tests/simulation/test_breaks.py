"""The simulator finds each fault: the code is broken on purpose, one promise at a time.

The seed that found it last time goes first; where that finds nothing any more, all 600 are tried. Without
the break the same seeds find nothing: `test_simulation.py`.
"""

from typing import Any

import pytest

from tests.hostile.budget import LONG
from tests.plugin import SUMMARY
from tests.simulation.breaks import BREAKS, Break
from tests.simulation.runs import run

SEEDS = range(600)


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.name)
def test_it_finds_what_is_broken(
    broken: Break, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    broken.apply(monkeypatch)
    for seed in SEEDS if LONG else [broken.seed, *SEEDS]:
        if broken.promises & {problem.promise for problem in run(seed)}:
            if LONG:
                record_property(SUMMARY, f"seed {seed} finds: {broken.name}")
            return
    pytest.fail(f"{len(SEEDS)} seeds did not find it")
