"""The cost of operations of a project is measured next to another project, whose messages arrive."""

from collections.abc import Callable, Iterator

import pytest

from tests.budgets.operations import OPERATIONS, Bench, Operation
from tests.budgets.site import BudgetSite
from tests.budgets.trial import BudgetTrial
from tests.hostile.budget import LONG
from tests.plugin import SUMMARY
from tests.processes.scenario import RunningSite
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.processes

TRIES = 12 if LONG else 2
SAMPLE = ("list", "search in the console", "events as CSV")
"""Operations whose inputs are never refused by a measurement."""
MOST_DELAY = 2.0
"""Seconds. Asserted only in `make faults`, which runs alone."""


@pytest.fixture(scope="module")
def trial(site: RunningSite) -> Iterator[BudgetTrial]:
    """The platform of this directory, with another project."""
    with HttpReceiver().running() as receiver:
        tried = BudgetSite(site.platform, site.owner, receiver)
        with tried.other() as other:
            yield BudgetTrial(Bench(tried, size=1 if LONG else 50), other)


@pytest.mark.parametrize(
    "operation",
    [operation for operation in OPERATIONS if LONG or operation.name in SAMPLE],
    ids=lambda operation: operation.name,
)
def test_the_dearest_input_is_answered_and_the_other_project_is_notified(
    trial: BudgetTrial, operation: Operation, record_property: Callable[[str, object], None]
) -> None:
    trial.answers.clear()
    findings = trial.search(operation, tries=TRIES, seed=1)
    assert findings.tried, "no input was accepted"
    assert len(findings.tried) + findings.refused <= TRIES
    assert all(status < 500 for status in trial.answers)
    assert all(found.status is not None for found in findings.tried)
    assert trial.other.delays
    if LONG:
        assert findings.dearest
        record_property(
            SUMMARY,
            f"{operation.name}: {findings.dearest.cpu_seconds:.2f} CPU s, other project"
            f" {findings.longest_delay:.2f} s, {findings.dearest.genes}",
        )
        assert findings.longest_delay < MOST_DELAY
