"""Reports that arrive late, twice, in a different order or with wrong clocks: the newest observation decides.

The name of a failed test has its seed. `make faults` runs more seeds.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from accesslist.models import Project
from alerting.configs.changes import alert_config_update
from alerting.engine.evaluation import close_over, evaluate_signals, open_tracked
from alerting.models import Alert, AlertConfig
from automation.agents.changes import held_signals_release
from automation.choices import HostType
from automation.metrics import Metric
from automation.reports import changes as ingestion
from automation.reports.rules import second_of
from opsapi.api.principal import SYSTEM
from tests.factories.alerting import by_column, make_config
from tests.factories.automation import host_report, ingest
from tests.hostile.budget import budget
from tests.simulation.arrivals import (
    BEGINNING,
    KINDS,
    LIMIT,
    PRIMARY,
    LateReport,
    LateReportPlan,
    Model,
    draw,
)

THRESHOLD = {
    "metricName": "CONNECTIONS",
    "operator": "GREATER_THAN",
    "threshold": LIMIT,
    "units": "RAW",
    "mode": "AVERAGE",
}
OF_SET: Mapping[str, Mapping[str, Any]] = {
    "NO_PRIMARY": {},
    "TOO_MANY_UNHEALTHY_MEMBERS": {"threshold": {"operator": "GREATER_THAN", "threshold": 0, "units": "RAW"}},
}
"""The event types about the replica set of the hosts, with the fields of their configurations."""
_ROLES = (HostType.REPLICA_SECONDARY, HostType.REPLICA_PRIMARY)
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
            host_report(
                seen.host,
                reachable=seen.reachable,
                type_name=_ROLES[seen.host == PRIMARY],
                replica_set_name="rs0",
            ),
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
        **{name: make_config(project, eventTypeName=name, **fields) for name, fields in OF_SET.items()},
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
    if any(model.held.values()):
        return []
    alerts = Alert.objects.filter(event_type__in=KINDS, status__in=["OPEN", "TRACKING", "CLOSED"])
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
    if plan.is_alone:
        closed = {(host, kind, begun, end) for host, kind, status, begun, end in rows if status == "CLOSED"}
        expected = set(model.closed)
        return [
            *([f"open {active} instead of {model.open}"] if active != model.open else []),
            *([f"closed {closed - expected} without a reason"] if closed - expected else []),
            *_differences_of_set(model),
        ]
    holding = {key for key, holds in model.state().items() if holds}
    differs = set(active) != holding
    return [*([f"open {set(active)} instead of {holding}"] if differs else []), *_differences_of_set(model)]


def _differences_of_set(model: Model) -> list[str]:
    """The alerts about the replica set that do not follow from the newest observations of its members."""
    opened = Alert.objects.filter(event_type__in=OF_SET, status__in=["OPEN", "TRACKING"])
    active, holding = sorted(opened.values_list("event_type", flat=True)), sorted(model.of_set())
    return [f"open {active} instead of {holding}"] if active != holding else []


def change_violations(project: Project, plan: LateReportPlan) -> list[str]:
    """The differences of an added and a changed configuration from equal configurations of the beginning."""
    measured: dict[str, Any] = {"eventTypeName": "OUTSIDE_METRIC_THRESHOLD", "metricThreshold": THRESHOLD}
    lower = {**measured, "metricThreshold": {**THRESHOLD, "threshold": LIMIT / 4}}
    lowered = by_column({"metricThreshold": lower["metricThreshold"]})
    down, high, low, changing = (make_config(project, **values) for values in ({}, measured, lower, measured))
    pairs: list[tuple[AlertConfig, AlertConfig]] = []
    before: set[str] = set()
    model, found = Model(), []
    work(plan, replace(plan.arrivals[0], at=BEGINNING - timedelta(minutes=1)))
    for place, arrival in enumerate(plan.arrivals):
        report(project, arrival)
        model.arrive(arrival)
        if place == plan.changes_after:
            pairs = [(make_config(project), down), (make_config(project, **measured), high), (changing, low)]
            alert_config_update(config=changing, read=lambda _: lowered, actor=SYSTEM, now=arrival.at)
            before = set(Alert.objects.filter(config_id=changing.id).values_list("id", flat=True))
        if plan.changes_after <= place < plan.works_again_after or place not in {
            *plan.works_after,
            plan.works_again_after,
        }:
            continue
        work(plan, arrival)
        held = {seen.host for some in model.held.values() for seen in some}
        # Of a host with several senders, another sender may have decided.
        waiting = held if plan.is_alone else set()
        is_first = place == plan.works_again_after
        for changed, equal in pairs:
            alerts, expected = (
                [row for row in _rows(config) if row[0] not in before] for config in (changed, equal)
            )
            found += [
                f"arrival {place} at {arrival.at}, {changed.event_type}: {what}"
                for what in [
                    *_other_hosts(alerts, expected, held),
                    *(_unexpected(alerts, expected, waiting, arrival.at) if is_first else ()),
                ]
            ]
    return found


_AlertRow = tuple[str, str, str, datetime, datetime | None]
"""The id, host, status, beginning and end of an alert."""


def _rows(config: AlertConfig) -> list[_AlertRow]:
    alerts = Alert.objects.filter(config_id=config.id, status__in=["OPEN", "TRACKING", "CLOSED"])
    names = ("id", "facts__hostname", "status", "created", "resolved")
    return list(alerts.values_list(*names))


def _other_hosts(alerts: list[_AlertRow], expected: list[_AlertRow], held: set[str]) -> list[str]:
    """Whether alerts of other hosts are active, apart from hosts whose reports wait."""
    active, expected_active = (
        {host for _, host, status, *_ in rows if status != "CLOSED"} - held for rows in (alerts, expected)
    )
    return [f"open {active} instead of {expected_active}"] if active != expected_active else []


def _unexpected(
    alerts: list[_AlertRow], expected: list[_AlertRow], waiting: set[str], now: datetime
) -> list[str]:
    """The alerts that no expected alert contains, or that begin now although reports of their host wait."""
    return [
        f"{host} from {begun} to {end}"
        for _, host, _, begun, end in alerts
        if (host in waiting and begun >= now)
        or not any(
            (host, end) == (other, other_end) and other_begun <= begun
            for _, other, _, other_begun, other_end in expected
        )
    ]


@pytest.mark.parametrize("seed", range(budget(2)))
def test_an_added_or_changed_configuration_raises_the_alerts_of_an_older_one(
    project: Project, seed: int
) -> None:
    assert change_violations(project, draw(seed)) == []


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
