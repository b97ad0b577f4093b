"""The newest observation decides, whenever reports arrive. After a backlog, only remaining faults notify."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.coverage import config_evaluate
from alerting.engine.evaluation import close_over, evaluate_signals, open_tracked
from alerting.insight.message_explanations import delivery_facts
from alerting.models import Alert, AlertConfig, Notification
from automation.agents import changes as agent_changes
from automation.agents.changes import held_signals_release
from automation.choices import HostType
from automation.hosts.changes import host_change
from automation.measurements.store import newest_measurements
from automation.metrics import Metric
from automation.models import Host, Reading
from automation.reports.rules import HOLD, EventReport, HostReport
from events.choices import SignalKind
from events.models import Event, Signal
from events.outbox.changes import signal_holders
from events.types import EventType
from integrations.choices import MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.ids import new_id
from tests.each import each
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest, process_report, sweep
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, statuses

NOW = datetime(2099, 3, 4, 15, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
CONNECTIONS = {
    "metricName": "CONNECTIONS",
    "operator": "GREATER_THAN",
    "threshold": 1.0,
    "units": "RAW",
    "mode": "AVERAGE",
}
MEMBERS: dict[str, Any] = {"type_name": HostType.REPLICA_SECONDARY, "replica_set_name": "rs0"}
PRIMARY: dict[str, Any] = {"type_name": HostType.REPLICA_PRIMARY, "replica_set_name": "rs0"}
pytestmark = pytest.mark.django_db


def work(now: datetime) -> None:
    """The work of a worker once a second."""
    held_signals_release(now=now)
    evaluate(now)
    close_over(now=now)
    open_tracked(now=now)
    deliver_all(now)


def backlog(
    project: Project, reachable: Sequence[bool], *, now: datetime = NOW, agent: str = "agent1"
) -> None:
    """The reports of a host, one a minute, that an agent sends now; the last was observed now."""
    for place, is_up in enumerate(reachable):
        waiting = len(reachable) - 1 - place
        ingest(
            project,
            host_report(reachable=is_up),
            observed=now - waiting * MINUTE,
            waiting=waiting,
            now=now,
            agent=agent,
        )


def sampled(*samples: tuple[datetime, float]) -> HostReport:
    """A host with these numbers of connections."""
    return replace(host_report(), samples={Metric.CONNECTIONS: list(samples)})


def watched(project: Project, **changes: Any) -> AlertConfig:
    """A configuration, and a host that is up."""
    config = make_config(project, **changes)
    ingest(project, host_report(), now=NOW - HOUR)
    work(NOW - HOUR)
    return config


# --- the newest observation decides ---------------------------------------------------------------


def test_a_new_configuration_waits_for_a_report_with_its_metric(project: Project) -> None:
    ingest(project, host_report(CONNECTIONS=5.0), now=NOW)
    ingest(project, host_report(OPCOUNTER_QUERY=5.0), now=NOW + MINUTE)
    work(NOW + MINUTE)
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    config_evaluate(config=config, projects=Project.objects.filter(id=project.id), now=NOW + 2 * MINUTE)
    work(NOW + 2 * MINUTE)
    assert statuses(config) == []
    ingest(project, host_report(CONNECTIONS=5.0), now=NOW + 3 * MINUTE)
    work(NOW + 3 * MINUTE)
    assert statuses(config) == ["OPEN"]


def test_an_older_state_changes_nothing(project: Project) -> None:
    config = make_config(project)
    ingest(project, host_report(version="7.0.2", uptime_seconds=900), now=NOW)
    before = Host.objects.values().get()
    ingest(
        project,
        host_report(
            reachable=False,
            version="7.0.1",
            uptime_seconds=5,
            type_name=HostType.RECOVERING,
            replica_set_name="rs0",
            databases=["old"],
        ),
        observed=NOW - MINUTE,
        agent="agent2",
        now=NOW + MINUTE,
    )
    evaluate(NOW + MINUTE)
    assert Host.objects.values().get() == before
    assert statuses(config) == []
    assert set(Event.objects.values_list("event_type", flat=True)) == {
        "NEW_HOST",
        "NEW_AGENT",
        "ALERT_CONFIG_ADDED_AUDIT",
    }


def test_an_older_sample_is_stored_and_neither_opens_nor_closes(project: Project) -> None:
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    ingest(project, host_report(CONNECTIONS=5), now=NOW)
    ingest(project, host_report(CONNECTIONS=0.05), observed=NOW - 2 * MINUTE, now=NOW + SECOND)
    evaluate(NOW + SECOND)
    assert statuses(config) == ["OPEN"]
    assert Alert.objects.get().current_value == 5
    assert Reading.objects.count() == 2
    ingest(project, host_report(CONNECTIONS=0), now=NOW + MINUTE)
    ingest(project, host_report(CONNECTIONS=9), observed=NOW + SECOND, now=NOW + MINUTE)
    evaluate(NOW + MINUTE)
    assert statuses(config) == ["CLOSED"]
    host = Host.objects.get()
    [(_, value)] = next(iter(newest_measurements([host.id])[host.id].samples.values()))
    assert value == 0


@each(("newest", "older"), [(0, 5), (5, 0)])
def test_an_older_sample_of_the_newest_report_decides_about_no_new_configuration(
    project: Project, newest: float, older: float
) -> None:
    ingest(project, sampled((NOW - MINUTE, newest)), now=NOW - MINUTE, keep_times=True)
    report = replace(
        host_report(),
        samples={Metric.CONNECTIONS: [(NOW - 2 * MINUTE, older)], Metric.OPCOUNTER_CMD: [(NOW, 1)]},
    )
    ingest(project, report, now=NOW, keep_times=True)
    evaluate(NOW)
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    evaluate(NOW + SECOND)
    assert statuses(config) == []
    # A host with another address is compared again.
    host_id = Host.objects.get().id
    host_change(group_id=project.id, host_id=host_id, changes={"port": 27018}, actor=SYSTEM, now=NOW)
    evaluate(NOW + SECOND)
    assert statuses(config) == []


def test_an_older_report_decides_about_a_metric_that_nobody_measured_since(project: Project) -> None:
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    ingest(project, host_report(OPCOUNTER_CMD=1), now=NOW)
    ingest(project, host_report(reachable=False, CONNECTIONS=5), observed=NOW - MINUTE, now=NOW + SECOND)
    evaluate(NOW + SECOND)
    assert statuses(config) == ["OPEN"]
    assert Alert.objects.get().created == NOW - MINUTE
    assert not Host.objects.get().down


def test_samples_far_from_their_report_decide_by_their_own_time(project: Project) -> None:
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    ingest(project, sampled((NOW - 9 * HOUR, 5.0)), now=NOW, keep_times=True)
    evaluate(NOW)
    assert statuses(config) == ["OPEN"]
    [reading] = Reading.objects.all()
    assert (reading.reported, reading.age) == (NOW - 9 * HOUR, 0)


def test_a_sample_that_is_newer_than_its_report_decides_by_its_own_time(project: Project) -> None:
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    early, late = NOW - 100 * SECOND, NOW - 20 * SECOND
    ingest(project, sampled((NOW - 10 * SECOND, 5.0)), observed=early, now=NOW, keep_times=True)
    ingest(project, sampled((NOW - 50 * SECOND, 0.0)), observed=late, now=NOW + SECOND, keep_times=True)
    work(NOW + SECOND)
    assert statuses(config) == ["OPEN"]
    ingest(project, sampled((NOW - 10 * SECOND, 0.0)), observed=late, now=NOW + 2 * SECOND, keep_times=True)
    work(NOW + 2 * SECOND)
    assert statuses(config) == ["CLOSED"]


def test_of_a_series_in_a_report_the_newest_sample_decides(project: Project) -> None:
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    ingest(project, sampled((NOW, 0.0), (NOW - MINUTE, 90.0)), now=NOW, keep_times=True)
    evaluate(NOW)
    assert statuses(config) == []
    later = NOW + MINUTE
    ingest(project, sampled((NOW, 90.0), (later, 4.0), (later, 2.0)), now=later, keep_times=True)
    evaluate(NOW + MINUTE)
    assert Alert.objects.get().current_value == 3


def test_of_equal_times_the_report_that_arrives_later_decides(project: Project) -> None:
    ingest(project, host_report(), now=NOW + timedelta(milliseconds=700))
    ingest(project, host_report(reachable=False), observed=NOW, now=NOW + timedelta(milliseconds=900))
    assert Host.objects.get().down
    ingest(project, host_report(), observed=NOW, agent="agent2", now=NOW + SECOND)
    assert not Host.objects.get().down


def test_a_report_from_the_future_counts_from_its_arrival(project: Project) -> None:
    ingest(project, host_report(reachable=False), observed=NOW + 4 * MINUTE, now=NOW)
    config = make_config(project)
    evaluate(NOW)
    assert Alert.objects.get().created <= NOW + SECOND
    ingest(project, host_report(), agent="agent2", now=NOW + SECOND)
    evaluate(NOW + SECOND)
    assert statuses(config) == ["CLOSED"]


def test_an_observation_that_is_stored_ahead_says_nothing(project: Project) -> None:
    ingest(project, host_report(), now=NOW)
    Host.objects.update(observed=NOW + HOUR, measured=NOW + HOUR)
    ingest(project, host_report(reachable=False), now=NOW + MINUTE)
    assert Host.objects.get().down
    assert Host.objects.get().observed == NOW + MINUTE


def test_events_and_alerts_have_the_time_of_observation(project: Project) -> None:
    config = watched(project)
    ingest(project, host_report(reachable=False), observed=NOW - 10 * MINUTE, now=NOW)
    work(NOW)
    assert statuses(config) == ["OPEN"]
    assert Alert.objects.get().created == NOW - 10 * MINUTE
    down = Event.objects.get(event_type="HOST_DOWN", alert_id=None)
    assert down.created == NOW - 10 * MINUTE


def test_delays_begin_with_the_observation(project: Project) -> None:
    config = watched(project, notifications=[{**WEBHOOK, "delayMin": 5}])
    ingest(project, host_report(reachable=False), observed=NOW - 4 * MINUTE, now=NOW)
    work(NOW)
    assert statuses(config) == ["TRACKING"]
    work(NOW + MINUTE)
    assert statuses(config) == ["OPEN"]


def test_the_state_of_a_process_is_that_of_its_newest_observation(project: Project) -> None:
    ingest(project, processes=[process_report(goal_version=5)], now=NOW)
    ingest(project, processes=[process_report(goal_version=4)], observed=NOW - MINUTE, now=NOW + SECOND)
    [status] = project.process_statuses.all()
    assert (status.goal_version, status.reported) == (5, NOW)
    ingest(project, processes=[process_report(goal_version=3)], observed=NOW, now=NOW + SECOND)
    assert project.process_statuses.get().goal_version == 3


def test_the_version_of_an_agent_is_that_of_its_newest_report(project: Project) -> None:
    ingest(project, version="2.0", now=NOW)
    ingest(project, version="1.0", observed=NOW - MINUTE, now=NOW + 2 * SECOND)
    agent = project.agents.get()
    assert (agent.version, agent.last_report) == ("2.0", NOW + 2 * SECOND)


# --- a backlog --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reachable", "expected"),
    [
        ([True, False, False, True], []),
        ([False, True, False, True], []),
        ([True, False, False], ["OPEN"]),
        ([False, True, False, False], ["OPEN"]),
    ],
    ids=["over", "over-twice", "holds", "began-again"],
)
def test_people_hear_only_of_what_holds_at_the_end(
    project: Project, outside: Outside, reachable: Sequence[bool], expected: list[str]
) -> None:
    config = watched(project)
    backlog(project, reachable)
    work(NOW)
    work(NOW + SECOND)
    assert statuses(config) == expected
    assert [kind.name for kind in outside.kinds] == ["OPEN"] * len(expected)
    for alert in Alert.objects.all():
        assert alert.created == NOW - MINUTE
    # The history has everything.
    changes = sum(before != after for before, after in zip([True, *reachable], reachable, strict=False))
    assert Event.objects.filter(event_type__in=["HOST_DOWN", "HOST_UP"], alert_id=None).count() == changes


def test_nothing_is_decided_while_reports_wait(project: Project, outside: Outside) -> None:
    config = watched(project)
    ingest(project, host_report(reachable=False), observed=NOW - HOUR / 2, waiting=3, now=NOW)
    ingest(project, host_report("db2", reachable=False), agent="agent2", now=NOW)
    work(NOW + 10 * SECOND)
    assert [alert.facts["hostname"] for alert in Alert.objects.all()] == ["db2"]
    work(NOW + HOLD - SECOND)
    assert len(statuses(config)) == 1
    work(NOW + HOLD)
    work(NOW + HOLD + SECOND)
    assert sorted(alert.facts["hostname"] for alert in Alert.objects.filter(status="OPEN")) == ["db1", "db2"]
    # The next reports wait for nothing.
    ingest(project, host_report(), observed=NOW - MINUTE, waiting=1, now=NOW + HOLD + 2 * SECOND)
    work(NOW + HOLD + 3 * SECOND)
    assert sorted(statuses(config)) == ["CLOSED", "OPEN"]


@pytest.mark.parametrize(
    ("reachable", "expected"), [([True, False], ["OPEN"]), ([True, True], ["CLOSED"])], ids=["again", "over"]
)
def test_an_open_alert_ends_only_if_it_is_over_at_the_end(
    project: Project, outside: Outside, reachable: Sequence[bool], expected: list[str]
) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False), now=NOW - HOUR)
    work(NOW - HOUR)
    ingest(project, host_report(reachable=reachable[0]), observed=NOW - MINUTE, waiting=1, now=NOW)
    work(NOW)
    assert statuses(config) == ["OPEN"]
    ingest(project, host_report(reachable=reachable[1]), waiting=0, now=NOW + SECOND)
    work(NOW + SECOND)
    work(NOW + 2 * SECOND)
    assert statuses(config) == expected
    said = [kind.name for kind in outside.kinds if kind is not MessageKind.UPDATE]
    assert said == ["OPEN", *(["CLOSE"] if expected == ["CLOSED"] else [])]
    if expected == ["CLOSED"]:
        assert Alert.objects.get().resolved == NOW - MINUTE


def test_an_alert_whose_end_was_released_by_time_is_closed(project: Project) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False), now=NOW - HOUR)
    work(NOW - HOUR)
    ingest(project, host_report(), observed=NOW - MINUTE, waiting=1, now=NOW)
    work(NOW + HOLD)
    work(NOW + HOLD + SECOND)
    assert statuses(config) == ["CLOSED"]
    assert Alert.objects.get().resolved == NOW - MINUTE


def test_a_backlog_in_many_turns_of_evaluation_opens_nothing_that_is_over(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = watched(project)
    monkeypatch.setattr("alerting.engine.turns.SIGNALS_AT_ONCE", 1)
    monkeypatch.setattr("alerting.engine.turns.HOSTS_AT_ONCE", 1)
    for place in range(6):
        ingest(
            project,
            host_report(reachable=place % 2 == 1),
            observed=NOW - (5 - place) * MINUTE,
            waiting=5 - place,
            now=NOW,
        )
    while evaluate_signals(now=NOW, clock=lambda: 0.0):
        close_over(now=NOW)
        open_tracked(now=NOW)
        deliver_all(NOW)
    work(NOW + SECOND)
    assert (statuses(config), outside.kinds) == ([], [])


def test_only_the_newest_report_says_whether_others_wait(project: Project) -> None:
    config = watched(project)
    ingest(project, host_report("db2"), waiting=0, now=NOW)
    ingest(project, host_report("db2"), observed=NOW - 5 * MINUTE, waiting=7, now=NOW + SECOND)
    ingest(project, host_report(reachable=False), now=NOW + 2 * SECOND)
    work(NOW + 2 * SECOND)
    assert statuses(config) == ["OPEN"]


def test_messages_of_a_late_report_are_due_when_it_arrives(project: Project, outside: Outside) -> None:
    config = watched(project)
    make_config(project, eventTypeName="HOST_ROLLBACK")
    rollback = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1.example.com", port=27017)
    down = host_report(reachable=False)
    ingest(project, down, observed=NOW - HOUR + MINUTE, now=NOW, events=(rollback,))
    work(NOW)
    ingest(project, host_report(), observed=NOW - HOUR + 2 * MINUTE, now=NOW + SECOND)
    work(NOW + SECOND)
    assert statuses(config) == ["CLOSED"]
    assert len(outside.sent) == 3
    messages = Notification.objects.exclude(kind="alert.update")
    assert sorted(messages.values_list("kind", "due", "created")) == [
        ("alert.close", NOW + SECOND, NOW + SECOND),
        ("alert.inform", NOW, NOW),
        ("alert.open", NOW, NOW),
    ]
    alert = Alert.objects.get()
    assert (alert.created, alert.resolved) == (NOW - HOUR + MINUTE, NOW - HOUR + 2 * MINUTE)
    assert not delivery_facts(alert).config_changed


def test_any_report_can_say_that_no_report_waits(project: Project) -> None:
    config = watched(project)
    ingest(project, host_report(reachable=False), waiting=2, now=NOW)
    ingest(project, host_report(), observed=NOW - MINUTE, waiting=1, now=NOW + SECOND)
    work(NOW + SECOND)
    assert statuses(config) == []
    ingest(project, host_report(), observed=NOW - 2 * MINUTE, waiting=0, now=NOW + 2 * SECOND)
    work(NOW + 2 * SECOND)
    assert statuses(config) == ["OPEN"]


def test_hosts_of_an_agent_whose_clock_was_set_back_have_no_timeout(project: Project) -> None:
    now = clock.now()
    config = make_config(project)
    ingest(project, host_report(), now=now - 5 * MINUTE)
    ingest(project, host_report(), observed=now - 10 * MINUTE, now=now)
    sweep(now + SECOND)
    work(now + SECOND)
    assert statuses(config) == []
    assert Host.objects.get().last_report == now


def test_a_report_that_does_not_say_it_releases_nothing(project: Project) -> None:
    """Requests for leases are reports as well, and are sent at once."""
    config = watched(project)
    ingest(project, host_report(reachable=False), observed=NOW - 5 * MINUTE, waiting=1, now=NOW)
    ingest(project, now=NOW + SECOND)
    work(NOW + SECOND)
    assert statuses(config) == []
    ingest(project, host_report(), observed=NOW, waiting=0, now=NOW + 2 * SECOND)
    work(NOW + 2 * SECOND)
    work(NOW + 3 * SECOND)
    assert statuses(config) == []


def test_a_newer_report_of_another_agent_decides_at_once(project: Project, outside: Outside) -> None:
    config = watched(project)
    ingest(project, host_report(reachable=False), observed=NOW - 5 * MINUTE, waiting=2, now=NOW)
    ingest(project, host_report(), agent="agent2", now=NOW + SECOND)
    ingest(project, host_report(reachable=False), observed=NOW - 4 * MINUTE, waiting=0, now=NOW + 2 * SECOND)
    work(NOW + 2 * SECOND)
    work(NOW + 3 * SECOND)
    assert (statuses(config), outside.kinds) == ([], [])


@each(("last", "expected"), [({}, ["OPEN"]), ({"CONNECTIONS": 0}, [])], ids=["not-measured", "over"])
def test_a_configuration_that_is_added_while_reports_wait_decides_after_them(
    project: Project, last: dict[str, Any], expected: list[str]
) -> None:
    ingest(project, host_report(CONNECTIONS=5), now=NOW - HOUR)
    work(NOW - HOUR)
    ingest(project, host_report(reachable=False), observed=NOW - 5 * MINUTE, waiting=1, now=NOW)
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    work(NOW)
    assert statuses(config) == []
    ingest(project, host_report(**last), observed=NOW - MINUTE, waiting=0, now=NOW + SECOND)
    work(NOW + SECOND)
    work(NOW + 2 * SECOND)
    assert statuses(config) == expected


def test_a_configuration_waits_once_for_the_reports_of_an_agent(project: Project) -> None:
    """Also if several turns compare it meanwhile."""
    ingest(project, host_report(CONNECTIONS=5), now=NOW - HOUR)
    work(NOW - HOUR)
    ingest(project, host_report(reachable=False), observed=NOW - 5 * MINUTE, waiting=1, now=NOW)
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    waiting = Signal.objects.filter(kind=SignalKind.CONFIG.value).exclude(held_by=None)
    for _ in range(2):
        work(NOW)
        assert waiting.count() == 1
        config_evaluate(config=config, projects=Project.objects.filter(id=project.id), now=NOW)


def test_a_configuration_is_compared_after_an_agent_that_holds_too_many_reports(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.engine.signal_observations.MOST_WAITING_HOSTS", 1)
    ingest(project, host_report("db1", reachable=False), agent="agent2", now=NOW - HOUR)
    work(NOW - HOUR)
    for minute in (5, 4):
        ingest(project, host_report("db2"), observed=NOW - minute * MINUTE, waiting=minute, now=NOW)
    config = make_config(project)
    work(NOW)
    held = Signal.objects.filter(kind=SignalKind.CONFIG.value).exclude(held_by=None)
    assert (held.count(), statuses(config)) == (1, [])
    ingest(project, host_report("db2"), observed=NOW, waiting=0, now=NOW + SECOND)
    work(NOW + SECOND)
    work(NOW + 2 * SECOND)
    assert statuses(config) == ["OPEN"]


@each(("newer", "expected"), [({}, ("CLOSED", 5)), ({"CONNECTIONS": 9}, ("OPEN", 9))], ids=["none", "newer"])
def test_a_sample_that_waited_decides_unless_another_agent_has_a_newer_sample(
    project: Project, newer: dict[str, Any], expected: tuple[str, float]
) -> None:
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=CONNECTIONS)
    ingest(project, host_report(CONNECTIONS=5), now=NOW - HOUR)
    work(NOW - HOUR)
    ingest(project, host_report(CONNECTIONS=0), observed=NOW - 5 * MINUTE, waiting=1, now=NOW)
    ingest(project, host_report(**newer), agent="agent2", now=NOW + SECOND)
    ingest(project, observed=NOW - 4 * MINUTE, waiting=0, now=NOW + 2 * SECOND)
    work(NOW + 2 * SECOND)
    work(NOW + 3 * SECOND)
    assert Alert.objects.filter(config_id=config.id).values_list("status", "current_value").get() == expected


def test_a_replica_set_waits_for_the_reports_about_its_members(project: Project, outside: Outside) -> None:
    config = make_config(project, eventTypeName="MULTIPLE_PRIMARIES")
    work(NOW - HOUR)
    ingest(project, host_report("db1", **PRIMARY), now=NOW - HOUR)
    ingest(project, host_report("db2", **MEMBERS), agent="agent2", now=NOW - HOUR)
    # db2 took over while agent1 could not report.
    ingest(project, host_report("db1", **PRIMARY), observed=NOW - 30 * MINUTE, waiting=1, now=NOW)
    ingest(project, host_report("db2", **PRIMARY), agent="agent2", now=NOW + SECOND)
    work(NOW + SECOND)
    assert statuses(config) == []
    ingest(project, host_report("db1", **MEMBERS), observed=NOW, waiting=0, now=NOW + 2 * SECOND)
    work(NOW + 2 * SECOND)
    work(NOW + 3 * SECOND)
    assert (statuses(config), outside.kinds) == ([], [])


def test_no_host_times_out_while_newer_reports_of_its_agent_wait(project: Project) -> None:
    now = clock.now()  # The database accepts no sweep in the future.
    config = make_config(project)
    ingest(project, host_report(), host_report("db2"), now=now - HOUR)
    work(now - HOUR)
    ingest(project, host_report("db2"), observed=now - 30 * MINUTE, waiting=9, now=now)
    Host.objects.filter(hostname="db1").update(last_report=now - HOUR)
    project.agents.update(returned=None)
    sweep(now + SECOND)
    work(now + SECOND)
    assert statuses(config) == []
    ingest(project, host_report("db2"), observed=now, waiting=0, now=now + 2 * SECOND)
    sweep(now + 15 * SECOND)
    work(now + 15 * SECOND)
    assert statuses(config) == ["OPEN"]


def test_signals_of_an_agent_that_was_deleted_are_released(project: Project) -> None:
    config = watched(project)
    ingest(project, host_report(reachable=False), observed=NOW - 5 * MINUTE, waiting=1, now=NOW)
    project.agents.all().delete()
    assert held_signals_release(now=NOW + SECOND) == 1
    assert not Signal.objects.exclude(held_by=None).exists()
    work(NOW + SECOND)
    assert statuses(config) == ["OPEN"]


def test_signals_are_released_in_steps_the_agents_with_few_first(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_changes, "SIGNALS_RELEASED_AT_ONCE", 4)
    agents = {new_id(): number for number in (5, 2, 3, 1)}
    for agent, number in agents.items():
        for _ in range(number):
            row = {"created": NOW, "group_id": project.id, "kind": "hosts", "payload": {}}
            Signal.objects.create(**row, held_by=agent, agent_id=agent)
    assert signal_holders() == set(agents)
    assert [held_signals_release(now=NOW) for _ in range(3)] == [1 + 2 + 3, 5, 0]
    assert not Signal.objects.exclude(held_by=None).exists()


def test_a_waiting_alert_about_another_host_opens_in_time(project: Project) -> None:
    config = make_config(project, notifications=[{**WEBHOOK, "delayMin": 5}])
    ingest(project, host_report(), host_report("db3"), now=NOW - HOUR)
    work(NOW - HOUR)
    ingest(project, host_report("db2", reachable=False), agent="agent2", now=NOW - 5 * MINUTE)
    ingest(project, host_report("db3", reachable=False), now=NOW - 5 * MINUTE)
    work(NOW - 5 * MINUTE)
    assert statuses(config) == ["TRACKING", "TRACKING"]
    ingest(project, host_report(), host_report("db3"), observed=NOW - 4 * MINUTE, waiting=1, now=NOW)
    work(NOW)
    assert [alert.facts["hostname"] for alert in Alert.objects.filter(status="OPEN")] == ["db2"]
    assert not Notification.objects.exclude(alert__facts__hostname="db2").exists()


@each("waiting", [1, None], ids=["released", "never-held"])
def test_only_alerts_about_hosts_of_an_agent_wait_for_its_late_reports(
    project: Project, waiting: int | None
) -> None:
    config = make_config(project, notifications=[{**WEBHOOK, "delayMin": 5}])
    began = NOW - 5 * MINUTE
    for moment, reachable in ((NOW - HOUR, True), (began, False)):
        ingest(project, host_report("db1", reachable=reachable, **MEMBERS), now=moment)
        ingest(project, host_report("db2", reachable=reachable), agent="agent2", now=moment)
        work(moment)
    assert statuses(config) == ["TRACKING", "TRACKING"]
    up = host_report("db1", **MEMBERS)
    ingest(project, up, observed=began + MINUTE, waiting=waiting, now=NOW)
    ingest(project, up, observed=NOW, waiting=waiting and 0, now=NOW + SECOND)
    assert not Signal.objects.exclude(held_by=None).exists()
    open_tracked(now=NOW + SECOND)
    assert [alert.facts["hostname"] for alert in Alert.objects.filter(status="OPEN")] == ["db2"]
    work(NOW + SECOND)
    work(NOW + 2 * SECOND)
    assert sorted(statuses(config)) == ["CLOSED", "OPEN"]
    of_alerts = Event.objects.exclude(alert_id=None).values_list("details__hostname", flat=True)
    assert "db1" not in of_alerts


def test_an_alert_that_outlasted_its_delay_waits_for_no_late_report_of_another_agent(
    project: Project,
) -> None:
    config = make_config(project, notifications=[{**WEBHOOK, "delayMin": 5}])
    for moment, reachable in ((NOW - HOUR, True), (NOW - 20 * MINUTE, False)):
        for number in (1, 2):
            host = host_report(f"db{number}", reachable=reachable)
            ingest(project, host, agent=f"agent{number}", now=moment)
        evaluate(moment)
    for number in (1, 2):
        ingest(project, host_report(f"db{number}"), agent=f"agent{number}", now=NOW)
    # An earlier observation of the first agent, which may say when db1 was up again.
    ingest(project, host_report("db3"), observed=NOW - 18 * MINUTE, now=NOW)
    evaluate(NOW)
    assert statuses(config) == ["CLOSED", "CLOSED"]
    opened = Event.objects.exclude(alert_id=None).filter(event_type="HOST_DOWN")
    assert [event.details["hostname"] for event in opened] == ["db2"]


def test_a_reported_event_begins_nothing_of_which_a_newer_end_is_known(project: Project) -> None:
    config = make_config(project, eventTypeName="BI_CONNECTOR_DOWN")

    def connector(event_type: EventType, created: datetime, hostname: str = "db1") -> EventReport:
        return EventReport(event_type=event_type, hostname=hostname, port=27017, created=created)

    ingest(project, events=[connector(EventType.BI_CONNECTOR_UP, NOW - 5 * MINUTE)], now=NOW)
    late = [
        connector(EventType.BI_CONNECTOR_DOWN, NOW - 10 * MINUTE),
        connector(EventType.BI_CONNECTOR_DOWN, NOW - 10 * MINUTE, "db2"),
    ]
    ingest(project, events=late, now=NOW + SECOND)
    evaluate(NOW + SECOND)
    assert [alert.facts["hostname"] for alert in Alert.objects.filter(config_id=config.id)] == ["db2"]
    ingest(project, events=[connector(EventType.BI_CONNECTOR_DOWN, NOW - MINUTE)], now=NOW + 2 * SECOND)
    evaluate(NOW + 2 * SECOND)
    assert len(statuses(config)) == 2


def test_alerts_about_any_target_wait_for_a_released_event_that_can_end_them(project: Project) -> None:
    config = make_config(
        project, eventTypeName="CLUSTER_MONGOS_IS_MISSING", notifications=[{**WEBHOOK, "delayMin": 5}]
    )
    missing, present = (
        EventReport(event_type=kind, cluster_name="c", created=NOW - minutes * MINUTE)
        for kind, minutes in (
            (EventType.CLUSTER_MONGOS_IS_MISSING, 30),
            (EventType.CLUSTER_MONGOS_IS_PRESENT, 20),
        )
    )
    for event in (missing, present):
        ingest(project, host_report(), events=[event], observed=NOW - 10 * MINUTE, waiting=1, now=NOW)
    assert held_signals_release(now=NOW + HOLD + SECOND)
    last = Signal.objects.get(payload__eventTypeName=EventType.CLUSTER_MONGOS_IS_PRESENT.value)
    waiting = Signal.objects.filter(id__gte=last.id)
    later = list(waiting)
    waiting.delete()
    evaluate(NOW + HOLD + SECOND)
    assert statuses(config) == ["TRACKING"]
    Signal.objects.bulk_create(later)
    assert open_tracked(now=NOW + HOLD + SECOND) == 0


def test_a_change_of_versions_waits_with_the_other_reports_of_the_agent(project: Project) -> None:
    behind, down = make_config(project, eventTypeName="VERSION_BEHIND"), make_config(project)
    hosts = [host_report(name, version="7.0.1") for name in ("db1", "db2")]
    ingest(project, *hosts, now=NOW - HOUR)
    work(NOW - HOUR)
    updated, other = replace(hosts[0], version="7.0.2"), replace(hosts[1], reachable=False)
    ingest(project, updated, other, observed=NOW - 2 * MINUTE, waiting=1, now=NOW)
    work(NOW)
    work(NOW + SECOND)
    assert statuses(behind) + statuses(down) == []
    both = [replace(host, version="7.0.2") for host in hosts]
    ingest(project, *both, observed=NOW, waiting=0, now=NOW + 2 * SECOND)
    for second in range(3, 6):
        work(NOW + second * SECOND)
    assert "OPEN" not in statuses(behind) + statuses(down)
    assert not Notification.objects.exists()


def test_a_version_is_behind_since_a_newer_version_was_observed(project: Project) -> None:
    make_config(project, eventTypeName="VERSION_BEHIND")
    hosts = [host_report(name, version="7.0.1") for name in ("db1", "db2")]
    ingest(project, *hosts, now=NOW - HOUR)
    work(NOW - HOUR)
    ingest(project, replace(hosts[0], version="7.0.2"), now=NOW)
    work(NOW)
    assert Alert.objects.get().created == NOW


def test_a_late_report_dates_a_version_that_is_behind(project: Project) -> None:
    make_config(project, eventTypeName="VERSION_BEHIND")
    hosts = [host_report(name, version="7.0.1") for name in ("db1", "db2")]
    ingest(project, *hosts, now=NOW - HOUR)
    work(NOW - HOUR)
    late = [replace(hosts[0], version="7.0.2"), hosts[1]]
    ingest(project, *late, observed=NOW - 5 * MINUTE, now=NOW)
    work(NOW)
    assert Alert.objects.get().created == NOW - 5 * MINUTE
    event = Event.objects.get(event_type=EventType.VERSION_BEHIND.value, alert_id=None)
    assert event.created == NOW - 5 * MINUTE
