"""When a host that is reachable is not measured."""

from datetime import UTC, datetime, timedelta
from typing import Any

from automation.addresses import Address
from automation.choices import HostType
from automation.hosts.rules import Measuring, measures, measuring_after, measuring_event, since_late_report
from automation.metrics import Metric
from automation.reports.rules import HostReport
from tests.each import each

NOW = datetime(2099, 1, 1, tzinfo=UTC)
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
SAMPLES = {Metric.CONNECTIONS: [(NOW, 1.0)]}


def said(**changes: Any) -> HostReport:
    """A reachable host without a measurement."""
    facts = {"address": Address("db1", 27017), "type_name": HostType.STANDALONE, "reachable": True}
    return HostReport(**{**facts, **changes})


@each(
    ("report", "expected"),
    [
        (said(), False),
        (said(databases={"orders": {}}), False),
        (said(samples=SAMPLES), True),
        (said(databases={"orders": SAMPLES}), True),
        # The agent's own machine can have values while the server refuses the agent.
        (said(samples=SAMPLES, problem="refused"), False),
        (said(problem="refused"), False),
    ],
)
def test_a_value_and_no_problem_measure_a_host(report: HostReport, expected: bool) -> None:
    assert measures(report) is expected


DOWN, MEASURED = said(reachable=False), said(samples=SAMPLES)
NOT_MEASURED = Measuring(NOW - 9 * MINUTE, not_measured=True)


@each(
    ("before", "report", "after"),
    [
        (Measuring(), MEASURED, Measuring()),
        (Measuring(), said(), Measuring(NOW)),
        (Measuring(), said(problem="refused"), Measuring(NOW)),
        (Measuring(NOW - MINUTE), said(), Measuring(NOW - MINUTE)),
        (Measuring(NOW - 4 * MINUTE + SECOND), said(), Measuring(NOW - 4 * MINUTE + SECOND)),
        (Measuring(NOW - 4 * MINUTE), said(), Measuring(NOW - 4 * MINUTE, not_measured=True)),
        (Measuring(NOW + MINUTE), said(), Measuring(NOW)),
        (Measuring(NOW - MINUTE), MEASURED, Measuring()),
        (Measuring(NOW - 9 * MINUTE), DOWN, Measuring()),
        (NOT_MEASURED, said(), NOT_MEASURED),
        (NOT_MEASURED, MEASURED, Measuring()),
        (NOT_MEASURED, DOWN, Measuring(not_measured=True)),
        (Measuring(not_measured=True), said(), Measuring(NOW, not_measured=True)),
        (Measuring(not_measured=True), MEASURED, Measuring()),
    ],
)
def test_the_newest_observations_decide(before: Measuring, report: HostReport, after: Measuring) -> None:
    kept = measuring_after(before, report, type_name=HostType.STANDALONE, observed=NOW)
    assert kept == after


@each("type_name", list(HostType))
def test_nothing_is_expected_of_arbiters_alone(type_name: HostType) -> None:
    before = Measuring(NOW - 5 * MINUTE)
    after = measuring_after(before, said(), type_name=type_name, observed=NOW)
    assert after.not_measured is (type_name is not HostType.REPLICA_ARBITER)


@each(
    ("before", "after", "event"),
    [
        (False, True, "HOST_NOT_MEASURED"),
        (True, False, "HOST_MEASURED"),
        (False, False, None),
        (True, True, None),
    ],
)
def test_only_an_edge_is_an_event(before: bool, after: bool, event: str | None) -> None:
    assert measuring_event(Measuring(not_measured=before), Measuring(not_measured=after)) == event


@each(
    ("since", "report", "expected"),
    [
        (None, MEASURED, None),
        (NOW - MINUTE, MEASURED, NOW),
        (NOW - MINUTE, said(), NOW - MINUTE),
        (NOW + MINUTE, MEASURED, NOW + MINUTE),
    ],
)
def test_a_late_measurement_shortens_the_time_without_measurements(
    since: datetime | None, report: HostReport, expected: datetime | None
) -> None:
    assert since_late_report(since, report, observed=NOW) == expected
