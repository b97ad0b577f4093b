"""Faults under a mixed load: no message is lost, and none is delivered under a second id."""

from collections.abc import Callable

import pytest

from tests.hostile.budget import LONG
from tests.plugin import SUMMARY
from tests.processes.fault_runs import HEAD, Fault, run_fault
from tests.processes.faults import FAULTS, SHORT

pytestmark = pytest.mark.processes

INJECTED = FAULTS if LONG else (SHORT,)


@pytest.mark.parametrize("fault", INJECTED, ids=lambda fault: fault.name)
def test_a_fault_loses_no_message_and_repeats_none_under_a_second_id(
    fault: Fault, record_property: Callable[[str, object], None]
) -> None:
    row = run_fault(fault)
    record_property(SUMMARY, f"{HEAD}\n{row}" if fault is INJECTED[0] else str(row))
    assert (row.tally.lost, row.tally.second_ids) == (0, 0)
