"""Signals that wait while no worker runs, or arrive in another order than their facts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F, Q
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.configs.changes import alert_config_set_enabled
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert, Notification
from automation.agents.changes import group_timeouts_mark
from automation.choices import HostType
from automation.reports.rules import EventReport
from events.choices import SignalKind
from events.models import Event, Signal
from events.types import EventType
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import evaluate, statuses

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
CONNECTIONS = {
    "metricName": "CONNECTIONS",
    "operator": "GREATER_THAN",
    "threshold": 100.0,
    "units": "RAW",
    "mode": "AVERAGE",
}
SECONDARY = HostType.REPLICA_SECONDARY
DELAYED = [{**WEBHOOK, "delayMin": 5}]
pytestmark = pytest.mark.django_db


def bi_connector(event_type: EventType, created: datetime | None) -> EventReport:
    """Something an agent saw of a BI connector, and when."""
    return EventReport(event_type=event_type, hostname="db1", port=27017, created=created)


def down(created: datetime | None = None) -> EventReport:
    """It went down."""
    return bi_connector(EventType.BI_CONNECTOR_DOWN, created)


def up(created: datetime | None = None) -> EventReport:
    """It came up."""
    return bi_connector(EventType.BI_CONNECTOR_UP, created)


def recorded() -> list[tuple[str, datetime]]:
    """The events of alerts, oldest first."""
    events = Event.objects.filter(alert_id__isnull=False).order_by("created", "id")
    return list(events.values_list("event_type", "created"))


@each(
    ("lasted", "opened"),
    [(5 * MINUTE - SECOND, False), (5 * MINUTE, True), (30 * MINUTE, True)],
    ids=["shorter", "as-long", "longer"],
)
def test_a_condition_that_outlasted_its_delay_was_an_alert(
    project: Project, lasted: timedelta, opened: bool
) -> None:
    config = make_config(project, notifications=DELAYED)
    ingest(project, host_report(reachable=False), now=START)
    ingest(project, host_report(reachable=True), now=START + lasted)
    evaluate(START + 40 * MINUTE)
    assert statuses(config) == ["CLOSED"]
    over = [("HOST_DOWN", START + 5 * MINUTE), ("HOST_UP", START + lasted)]
    assert recorded() == (over if opened else [])
    # Nobody is notified of what is over.
    assert [notification.status for notification in Notification.objects.all()] == (
        ["DROPPED"] if opened else []
    )
    assert Alert.objects.get().resolved == START + lasted


def test_a_changed_configuration_does_not_open_what_ended_in_time(project: Project) -> None:
    config = make_config(project, notifications=DELAYED)
    evaluate(START)
    ingest(project, host_report(reachable=False), now=START)
    evaluate(START)
    assert statuses(config) == ["TRACKING"]
    signal = Signal(created=START + MINUTE, group_id=project.id, kind="config")
    signal.payload = {"alertConfigId": config.id}
    signal.save()
    ingest(project, host_report(reachable=True), now=START + 2 * MINUTE)
    evaluate(START + 40 * MINUTE)
    assert (statuses(config), recorded()) == (["CLOSED"], [])


def test_no_alert_ends_or_changes_before_it_began(project: Project) -> None:
    """A new configuration is compared with the hosts of now, and older signals follow."""
    config = make_config(project)
    make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    ingest(project, host_report(reachable=False), now=START)
    ingest(project, host_report(reachable=True), now=START + MINUTE)
    for value, at in ((200.0, START), (300.0, START + MINUTE)):
        ingest(project, host_report("db2", CONNECTIONS=value), now=at)
    ingest(project, host_report(reachable=False), now=START + 2 * MINUTE)
    evaluate(START + 3 * MINUTE)
    assert sorted(statuses(config)) == ["CLOSED", "OPEN"]
    assert Alert.objects.get(event_type="OUTSIDE_METRIC_THRESHOLD").current_value == 300
    assert not Alert.objects.filter(Q(resolved__lt=F("created")) | Q(updated__lt=F("created"))).exists()


def two_without_a_primary(project: Project) -> None:
    """A replica set without a primary, with one, and without."""
    for minute, type_name in ((0, SECONDARY), (1, HostType.REPLICA_PRIMARY), (2, SECONDARY)):
        member = host_report(type_name=type_name, replica_set_name="rs0")
        ingest(project, member, now=START + minute * MINUTE)


def two_agents_down(project: Project) -> None:
    """An agent that is down, up and down."""
    ingest(project, now=START - 5 * MINUTE)
    for minute in (0, 2):
        moment = START + minute * MINUTE
        group_timeouts_mark(group_id=project.id, limit=moment, now=moment)
        if not minute:
            ingest(project, now=START + MINUTE)


@each(
    ("event_type", "happen"),
    [("NO_PRIMARY", two_without_a_primary), ("MONITORING_AGENT_DOWN", two_agents_down)],
)
def test_signals_that_wait_decide_before_the_comparison_of_a_new_configuration(
    project: Project, event_type: str, happen: Callable[[Project], None]
) -> None:
    make_config(project, eventTypeName=event_type)
    happen(project)
    evaluate(START + 3 * MINUTE)
    lasted = Alert.objects.order_by("created").values_list("created", "resolved")
    assert list(lasted) == [(START, START + MINUTE), (START + 2 * MINUTE, None)]


def test_a_configuration_is_compared_after_the_signals_that_wait_if_these_are_too_many(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.engine.signal_observations.MOST_WAITING_HOSTS", 2)
    ingest(project, host_report("db1", reachable=False), host_report("db2", reachable=False), now=START)
    evaluate(START)
    config = make_config(project)
    ingest(project, host_report("db1", reachable=True), now=START + MINUTE)
    ingest(project, host_report("db3"), host_report("db4"), now=START + MINUTE)
    with CaptureQueriesContext(connection) as captured:
        evaluate_signals(now=START + 2 * MINUTE, clock=lambda: 0.0)
    assert not any("jsonb_array_elements" in query["sql"] for query in captured)
    assert statuses(config) == []
    evaluate(START + 2 * MINUTE)
    assert list(Alert.objects.values_list("facts__hostname", "status")) == [("db2", "OPEN")]


def test_configurations_that_are_compared_later_have_one_signal_each(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.engine.signal_observations.MOST_WAITING_HOSTS", 2)
    monkeypatch.setattr("alerting.engine.evaluation.PAIRS_AT_ONCE", 1)
    ingest(project, host_report("db1"), host_report("db2"), now=START)
    evaluate(START)
    configs = [make_config(project).id for _ in range(3)]
    ingest(project, host_report("db3"), host_report("db4"), host_report("db5"), now=START + MINUTE)
    signals = Signal.objects.filter(kind=SignalKind.CONFIG.value)
    for _ in configs:
        evaluate_signals(now=START + 2 * MINUTE, clock=lambda: 0.0)
        waiting = signals.values_list("payload__alertConfigId", flat=True)
        assert sorted(waiting) == sorted(configs)


def test_a_configuration_disabled_opens_nothing_of_what_it_tracked(project: Project) -> None:
    config = make_config(project, notifications=DELAYED)
    ingest(project, host_report(reachable=False), now=START)
    evaluate(START)
    alert_config_set_enabled(config=config, enabled=False, actor=SYSTEM, now=START + 30 * MINUTE)
    assert (statuses(config), recorded()) == (["CANCELLED"], [])


def test_what_ended_earlier_does_not_close_what_began_later(project: Project) -> None:
    config = make_config(project, eventTypeName="BI_CONNECTOR_DOWN")
    ingest(project, events=[down(START + 10 * MINUTE)], now=START + 11 * MINUTE)
    ingest(project, events=[up(START + 5 * MINUTE)], now=START + 12 * MINUTE)
    evaluate(START + 12 * MINUTE)
    assert statuses(config) == ["OPEN"]
    ingest(project, events=[up(START + 10 * MINUTE)], now=START + 13 * MINUTE)
    evaluate(START + 13 * MINUTE)
    assert statuses(config) == ["CLOSED"]


def test_the_events_of_a_report_count_in_the_order_they_happened(project: Project) -> None:
    config = make_config(project, eventTypeName="BI_CONNECTOR_DOWN")
    events = [down(START + 10 * MINUTE), up(START + 5 * MINUTE), down(START), up(None), down(None)]
    ingest(project, events=events, now=START + 11 * MINUTE)
    evaluate(START + 11 * MINUTE)
    assert statuses(config) == ["CLOSED", "CLOSED", "OPEN"]
    begun = Alert.objects.order_by("created", "id").values_list("created", "resolved")
    assert list(begun) == [
        (START, START + 5 * MINUTE),
        (START + 10 * MINUTE, START + 11 * MINUTE),
        (START + 11 * MINUTE, None),
    ]


@each("created", [None, START], ids=["undated", "in-the-same-second"])
def test_an_ending_closes_what_the_platform_saw_a_moment_later(
    project: Project, created: datetime | None
) -> None:
    """Reports are accepted concurrently, and their times are whole seconds."""
    config = make_config(project, eventTypeName="BI_CONNECTOR_DOWN")
    ingest(project, events=[down()], now=START + SECOND / 2)
    ingest(project, events=[up(created)], now=START)
    evaluate(START + SECOND)
    assert statuses(config) == ["CLOSED"]


def test_alerts_that_open_when_they_end_are_notified_in_the_order_of_their_ends(project: Project) -> None:
    configs = [
        make_config(
            project,
            notifications=DELAYED,
            eventTypeName="TOO_FEW_HEALTHY_MEMBERS",
            threshold={"operator": "LESS_THAN", "threshold": healthy},
        )
        for healthy in range(1, 9)  # eight ids are hardly ever in the order of the ends
    ]
    Signal.objects.bulk_create(
        Signal(
            created=START + healthy * 10 * MINUTE,
            group_id=project.id,
            kind=SignalKind.HOSTS.value,
            payload={
                "hosts": [],
                "replicaSets": [
                    {"replicaSetName": "rs0", "primaries": 1, "healthy": healthy, "unhealthy": 1}
                ],
            },
        )
        for healthy in range(9)
    )
    evaluate(START + 90 * MINUTE)
    opened = Notification.objects.order_by("subject", "sequence").values_list("alert__config_id", flat=True)
    assert list(opened) == [config.id for config in configs]
