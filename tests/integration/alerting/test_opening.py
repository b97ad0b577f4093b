"""The alerts of presets open when the page of broken states says."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from accesslist.models import Project
from alerting.configs.preset_configs import presets_create
from alerting.configs.presets import Preset
from alerting.configs.rules import MetricThreshold, ThresholdOperator
from alerting.engine.evaluation import open_tracked
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert
from automation.choices import AgentType, HostType
from automation.metrics import Metric, MetricKind
from automation.reports.changes import report_ingest
from automation.reports.rules import HostReport, Report
from events.types import EVENT_TYPES
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.factories.automation import AGENT, host_report, sweep
from tests.integration.alerting.pipeline import evaluate
from tests.processes.broken_states import is_age
from tests.processes.states_page import INTERVAL, OF_PLANS, ROUND, SWEEP, opens_within

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

THRESHOLDS = {
    preset: threshold for preset in Preset if (threshold := preset.spec.metric_threshold) is not None
}
BEGAN = clock.now()
PRIMARY, SECONDARY = HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY


def outside(threshold: MetricThreshold, lasted: timedelta) -> float:
    """A value that the threshold reports; an age has grown since the fault."""
    limit = threshold.limit
    if is_age(threshold):
        return lasted.total_seconds()
    return limit + 1 if threshold.operator is ThresholdOperator.GREATER_THAN else limit / 2


def hosts(lasted: timedelta | None) -> Sequence[HostReport]:
    """The hosts of a round this long after the fault; None before it."""
    is_broken = lasted is not None
    measured = {Metric.CONNECTIONS: 1.0}
    if lasted is not None:
        is_first = lasted < INTERVAL
        measured |= {
            threshold.metric: outside(threshold, lasted)
            for threshold in THRESHOLDS.values()
            if is_first or threshold.metric.spec.kind is not MetricKind.RATE
        }

    def member(name: str, type_name: HostType, set_name: str, *, reachable: bool = True) -> HostReport:
        return host_report(
            name, type_name=type_name, replica_set_name=set_name, reachable=reachable, CONNECTIONS=1
        )

    return [
        replace(
            host_report("measured"), samples={metric: [(BEGAN, value)] for metric, value in measured.items()}
        ),
        host_report("recovering", type_name=HostType.RECOVERING if is_broken else SECONDARY, CONNECTIONS=1),
        replace(host_report("refused"), problem="Authentication failed")
        if is_broken
        else host_report("refused", CONNECTIONS=1),
        member("a1", PRIMARY, "a", reachable=not is_broken),
        member("a2", SECONDARY, "a"),
        member("b1", PRIMARY, "b"),
        member("b2", PRIMARY if is_broken else SECONDARY, "b"),
    ]


def report(project: Project, now: datetime, seen: Sequence[HostReport], hostname: str = "agent1") -> None:
    """Take the report of an agent."""
    fresh = [
        replace(
            host,
            samples={
                metric: [(now, number) for _, number in values] for metric, values in host.samples.items()
            },
        )
        for host in seen
    ]
    sent = Report(agent_type=AgentType.MONITORING, hostname=hostname, version="1.0", hosts=fresh, events=())
    report_ingest(group_id=project.id, report=sent, actor=AGENT, now=now)


def opened(began: datetime, now: datetime) -> Mapping[Preset, timedelta]:
    """The presets with an open alert, each with the time since the fault."""
    rows = set(Alert.objects.filter(status=AlertStatus.OPEN).values_list("event_type", "metric_name"))
    return {
        preset: now - began
        for preset in Preset
        if (preset.spec.event_type.value, THRESHOLDS[preset].metric if preset in THRESHOLDS else None) in rows
    }


def test_alerts_open_when_the_page_says(project: Project) -> None:
    """The fault comes just after a poll, each round takes as long as it can, and so does each search."""
    presets_create(group_id=project.id, presets=list(Preset), actor=SYSTEM, now=clock.now())
    wanted = {preset for preset in Preset if not EVENT_TYPES[preset.spec.event_type].one_shot} - OF_PLANS
    began = clock.now()
    report(project, began, hosts(None))
    report(project, began, (), hostname="agent2")
    evaluate(began)
    assert not Alert.objects.exists()
    found: dict[Preset, timedelta] = {}
    passed, last = timedelta(), max(map(opens_within, wanted))
    arrives = INTERVAL + ROUND
    while passed < last:
        passed = passed + SWEEP if passed < opens_within(Preset.HOST_NOT_MEASURED) else arrives
        now = began + passed
        if passed == arrives:
            report(project, now, hosts(passed - ROUND - timedelta(seconds=1)))
            arrives += INTERVAL
        sweep(now)
        evaluate(now)
        open_tracked(now=now)
        found = {**opened(began, now), **found}
    assert found.keys() == wanted
    wrong = {
        preset: (str(after), str(opens_within(preset)))
        for preset, after in found.items()
        if not opens_within(preset) - SWEEP <= after <= opens_within(preset)
    }
    assert wrong == {}
