"""Reports that arrive late, twice, in a different order or with wrong clocks: the newest observation decides.

The name of a failed test has its seed. `make faults` runs more seeds.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import transaction

from accesslist.models import Project
from alerting.evaluation import close_over, evaluate_signals, open_tracked
from alerting.models import Alert, AlertConfig
from automation.metrics import Metric
from automation.rules.observed import second_of
from automation.services import ingest as ingestion
from automation.services.agents import held_signals_release
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.hostile.budget import budget
from tests.simulation.arrivals import BEGINNING, LIMIT, LateReport, LateReportPlan, Model, draw

THRESHOLD = {
    "metricName": "CONNECTIONS",
    "operator": "GREATER_THAN",
    "threshold": LIMIT,
    "units": "RAW",
    "mode": "AVERAGE",
}
pytestmark = pytest.mark.django_db


def work(plan: LateReportPlan, arrival: LateReport) -> None:
    """A worker runs once. At the next arrivals there can be no worker."""
    now = arrival.at + timedelta(milliseconds=1)
    held_signals_release(now=now)
    while evaluate_signals(now=now, clock=lambda: 0.0):
        pass
    close_over(now=now)
    open_tracked(now=now)


def report(project: Project, arrival: LateReport) -> None:
    """The report arrives."""
    hosts = [
        replace(
            host_report(seen.host, reachable=seen.reachable),
            samples={} if seen.value is None else {Metric.CONNECTIONS: [(seen.at, seen.value)]},
        )
        for seen in arrival.seen
    ]
    ingest(
        project,
        *hosts,
        agent=arrival.agent,
        observed=arrival.observed,
        waiting=arrival.waiting,
        keep_times=True,
        now=arrival.at,
    )


def violations(project: Project, plan: LateReportPlan) -> list[str]:
    """The differences from the model during a run."""
    model, found = Model(), []
    configs: dict[str, AlertConfig] = {
        "HOST_DOWN": make_config(project),
        "OUTSIDE_METRIC_THRESHOLD": make_config(
            project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=THRESHOLD
        ),
    }
    work(plan, replace(plan.arrivals[0], at=BEGINNING - timedelta(minutes=1)))
    for place, arrival in enumerate(plan.arrivals):
        report(project, arrival)
        model.arrive(arrival)
        if place in plan.works_after or place == len(plan.arrivals) - 1:
            work(plan, arrival)
            found += [f"arrival {place} at {arrival.at}: {what}" for what in _differences(plan, model)]
    assert Alert.objects.filter(config_id__in=[config.id for config in configs.values()]).exists()
    return found


def _differences(plan: LateReportPlan, model: Model) -> list[str]:
    alerts = Alert.objects.filter(status__in=["OPEN", "TRACKING", "CLOSED"])
    rows = [
        (
            alert.facts["hostname"],
            alert.event_type,
            alert.status,
            second_of(alert.created),
            alert.resolved and second_of(alert.resolved),
        )
        for alert in alerts
    ]
    active = {(host, kind): created for host, kind, status, created, _ in rows if status == "OPEN"}
    if any(model.held.values()):
        return []
    if plan.is_alone:
        closed = {(host, kind, begun, end) for host, kind, status, begun, end in rows if status == "CLOSED"}
        expected = set(model.closed)
        return [
            *([f"open {active} instead of {model.open}"] if active != model.open else []),
            *([f"closed {closed - expected} without a reason"] if closed - expected else []),
        ]
    holding = {key for key, holds in model.state().items() if holds}
    return [f"open {set(active)} instead of {holding}"] if set(active) != holding else []


@pytest.mark.parametrize("seed", range(budget(4)))
def test_alerts_follow_from_the_newest_observations(project: Project, seed: int) -> None:
    assert violations(project, draw(seed)) == []


def broken_by(project: Project, seeds: range) -> list[int]:
    """The seeds that find a break; they leave nothing in the tables."""
    broken = []
    for seed in seeds:
        with transaction.atomic():
            if violations(project, draw(seed)):
                broken.append(seed)
            transaction.set_rollback(True)
    return broken


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("is_newest", lambda *_: True),
        ("observation_time", lambda _, now: now),
        ("holds_at", lambda *_: False),
    ],
)
def test_the_simulation_finds_a_break(
    project: Project, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, name, value)
    assert broken_by(project, range(4))
