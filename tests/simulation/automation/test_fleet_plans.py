"""Plans of automation configurations simulated: whatever happens, they destroy nothing and say why they wait.

`make faults` runs 1,000,000 seeds, or the seeds of `OPSAPI_TEST_FLEET_SEEDS`, such as `0-20000`. A seed that
breaks a promise is printed, and `OPSAPI_TEST_FLEET_SEEDS=1234-1235` runs it alone.
"""

import os
import time
from typing import Any

import pytest

from automation.agent.automation.seen_fleet import SeenProcess
from automation.plan import planner
from tests.hostile.budget import LONG
from tests.plugin import SUMMARY
from tests.simulation.automation.breaks import PLAN_BREAKS
from tests.simulation.automation.fleet import FleetPromise
from tests.simulation.automation.runs import broken_fleets, broken_fleets_by_all_processors, fleet_run
from tests.simulation.automation.separate import broken_separate_fleets

FIRST, _, LAST = os.environ.get("OPSAPI_TEST_FLEET_SEEDS", "0-1000000" if LONG else "").partition("-")
ORDINARY = 10_000
"""The seeds of a minute or two."""
MENDED = {
    105_056,
    108_419,
    111_510,
    116_960,
    155_697,
    159_199,
    173_779,
    180_488,
    300_676,
    301_697,
}
"""Seeds that long runs found."""
SEEDS = (
    range(int(FIRST), int(LAST))
    if FIRST
    else sorted({*range(ORDINARY), *MENDED, *(b.seed for b in PLAN_BREAKS)})
)


SEPARATE_SEEDS = range(100_000) if LONG else [*range(120), 389, 713, 727, 932, 2042]
"""The seeds in which each machine has an agent of its own."""


def test_no_plan_breaks_a_promise(record_property: Any) -> None:
    began = time.monotonic()
    broken = (broken_fleets_by_all_processors if LONG else broken_fleets)(SEEDS)
    seconds = time.monotonic() - began
    rate = len(SEEDS) / max(seconds, 0.001)
    record_property(SUMMARY, f"{len(SEEDS)} seeds of plans in {seconds:.0f} s, {rate:.0f} a second")
    assert broken == []


def test_no_agent_of_several_breaks_a_promise_by_its_own_plan() -> None:
    assert broken_separate_fleets(SEPARATE_SEEDS) == []


def test_an_agent_that_takes_unknown_needs_for_none_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "need_elsewhere", lambda *_: None)
    found = broken_separate_fleets(range(20))
    assert any(FleetPromise.PRIMARY_LAST in line for line in found)


def test_a_process_that_left_the_replica_set_is_not_asked_for_the_states_of_its_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed = 1420
    assert broken_separate_fleets([seed]) == []
    monkeypatch.setattr(SeenProcess, "knows", property(lambda seen: (bool(seen.of_set.config),)))
    assert broken_separate_fleets([seed])


def test_a_seed_gives_the_same_fleet_each_time() -> None:
    for seed in range(5):
        assert fleet_run(seed) == fleet_run(seed)


def test_some_runs_end_at_the_goal_and_others_with_a_reason() -> None:
    outcomes = [fleet_run(seed) for seed in range(60)]
    assert any(not outcome.reasons and outcome.moves for outcome in outcomes)
    assert any(outcome.reasons for outcome in outcomes)
