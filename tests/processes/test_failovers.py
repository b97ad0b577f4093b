"""Failovers of a real cluster under load: no report or message is lost, and no message gets a second id."""

from collections.abc import Callable

import pytest

from tests.hostile.budget import LONG
from tests.plugin import SUMMARY
from tests.processes.failovers import (
    CUT_OFF,
    HEAD,
    KILLED,
    LIST,
    PROXY,
    SESSIONS,
    SWITCHOVER,
    TRANSACTIONS,
    DatabaseRoute,
    Kind,
    run_failover,
)

pytestmark = [pytest.mark.processes, pytest.mark.patroni]

SHORT = ((KILLED, LIST),)
ALL = tuple(
    (kind, route) for route in (LIST, PROXY, SESSIONS, TRANSACTIONS) for kind in (KILLED, CUT_OFF, SWITCHOVER)
)
TRIED = ALL if LONG else SHORT


@pytest.mark.parametrize(
    ("kind", "route"), TRIED, ids=[f"{kind.name}, {route.name}" for kind, route in TRIED]
)
def test_a_failover_loses_nothing_and_repeats_no_message_under_a_second_id(
    kind: Kind, route: DatabaseRoute, record_property: Callable[[str, object], None]
) -> None:
    row = run_failover(kind, route)
    record_property(SUMMARY, f"{HEAD}\n{row}" if (kind, route) == TRIED[0] else str(row))
    assert row.accepted > 0
    assert row.replay == "401 stale=true"
    assert (row.lost, row.tally.lost, row.tally.second_ids) == (0, 0, 0)
