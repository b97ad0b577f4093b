"""From signal to notification, on a real database."""

import logging
from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete, alert_config_set_enabled
from alerting.engine.evaluation import evaluate_signals, open_tracked
from alerting.engine.turns import SIGNALS_AT_ONCE
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert, Notification
from automation.reports.rules import EventReport
from events.models import Event, Signal
from events.types import EventType
from integrations.choices import MessageKind
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, statuses

pytestmark = pytest.mark.django_db


def test_a_host_down_opens_an_alert_and_up_closes_it(project: Project, outside: Outside) -> None:
    config = make_config(project, notifications=[WEBHOOK, EMAIL])
    ingest(project, host_report(reachable=False))
    evaluate()
    assert statuses(config) == ["OPEN"]
    assert deliver_all() == 2
    ingest(project, host_report(reachable=True))
    evaluate()
    assert statuses(config) == ["CLOSED"]
    deliver_all()
    assert outside.kinds == [MessageKind.OPEN, MessageKind.OPEN, MessageKind.CLOSE, MessageKind.CLOSE]
    assert Signal.objects.count() == 0


def test_one_alert_however_often_it_is_reported(project: Project) -> None:
    config = make_config(project)
    for _ in range(3):
        ingest(project, host_report(reachable=False))
    evaluate()
    assert statuses(config) == ["OPEN"]


def test_down_and_up_between_two_evaluations_is_an_alert_that_opened_and_closed(project: Project) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False))
    ingest(project, host_report(reachable=True))
    evaluate()
    assert statuses(config) == ["CLOSED"]


def test_a_new_config_opens_what_holds_already(project: Project) -> None:
    ingest(project, host_report(reachable=False, CONNECTIONS=500))
    evaluate()
    down = make_config(project)
    threshold = {
        "metricName": "CONNECTIONS",
        "operator": "GREATER_THAN",
        "threshold": 1,
        "units": "RAW",
        "mode": "AVERAGE",
    }
    high = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=threshold)
    evaluate()
    assert statuses(down) == ["OPEN"]
    assert statuses(high) == ["OPEN"]
    assert Alert.objects.get(config_id=high.id).current_value == 500


def test_a_delayed_alert_is_tracked_and_opens_when_its_delay_has_passed(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, notifications=[{**WEBHOOK, "delayMin": 5}, {**EMAIL, "delayMin": 10}])
    ingest(project, host_report(reachable=False))
    evaluate()
    assert statuses(config) == ["TRACKING"]
    assert Notification.objects.count() == 0
    assert Event.objects.filter(alert_id__isnull=False).count() == 0
    started = Alert.objects.get().created
    assert not open_tracked(now=started + timedelta(minutes=4, seconds=59))
    assert open_tracked(now=started + timedelta(minutes=5))
    assert statuses(config) == ["OPEN"]
    assert deliver_all(started + timedelta(minutes=5)) == 1
    assert deliver_all(started + timedelta(minutes=10)) == 1


def test_an_alert_that_ends_while_tracked_notifies_nobody(project: Project, outside: Outside) -> None:
    config = make_config(project, notifications=[{**WEBHOOK, "delayMin": 5}])
    ingest(project, host_report(reachable=False))
    ingest(project, host_report(reachable=True))
    evaluate()
    assert statuses(config) == ["CLOSED"]
    assert not open_tracked(now=clock.now() + timedelta(hours=1))
    assert outside.sent == []
    assert Event.objects.filter(alert_id__isnull=False).count() == 0


def test_a_threshold_opens_keeps_its_value_current_and_closes(project: Project) -> None:
    threshold = {
        "metricName": "CACHE_USED_BYTES",
        "operator": "GREATER_THAN",
        "threshold": 1,
        "units": "KILOBYTES",
        "mode": "AVERAGE",
    }
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=threshold)
    for value, expected in ((1024, []), (1025, ["OPEN"]), (4096, ["OPEN"]), (1, ["CLOSED"])):
        ingest(project, host_report(CACHE_USED_BYTES=value))
        evaluate()
        assert statuses(config) == expected
    events = Event.objects.filter(alert_id__isnull=False).order_by("created", "id")
    assert [event.event_type for event in events] == ["OUTSIDE_METRIC_THRESHOLD", "INSIDE_METRIC_THRESHOLD"]
    assert events[0].details["currentValue"] == {"number": 1025.0, "units": "BYTES"}


def test_a_metric_missing_from_a_report_leaves_its_alert_alone(project: Project) -> None:
    threshold = {
        "metricName": "CONNECTIONS",
        "operator": "GREATER_THAN",
        "threshold": 1,
        "units": "RAW",
        "mode": "AVERAGE",
    }
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=threshold)
    ingest(project, host_report(CONNECTIONS=5))
    ingest(project, host_report(OPCOUNTER_CMD=5))
    ingest(project, host_report())
    evaluate()
    assert statuses(config) == ["OPEN"]


def test_a_matcher_keeps_other_hosts_out(project: Project) -> None:
    matcher = {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "DB1"}
    config = make_config(project, matchers=[matcher])
    ingest(project, host_report("db1", reachable=False), host_report("db2", reachable=False))
    evaluate()
    alert = Alert.objects.get(config_id=config.id)
    assert alert.facts["hostname"] == "db1"


def test_other_projects_configs_see_nothing(project: Project) -> None:
    from_elsewhere = make_config(Project.objects.create(name="other", org=project.org, created=clock.now()))
    ingest(project, host_report(reachable=False))
    evaluate()
    assert statuses(from_elsewhere) == []


def test_a_one_shot_notification_opens_nothing(project: Project, outside: Outside) -> None:
    make_config(project, eventTypeName="HOST_ROLLBACK")
    ingest(
        project,
        host_report(),
        events=(EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017),),
    )
    evaluate()
    deliver_all()
    assert Alert.objects.count() == 0
    ((_, _, message),) = outside.sent
    assert message.kind is MessageKind.INFORM
    assert message.document["eventTypeName"] == "HOST_ROLLBACK"


def test_reported_events_open_and_close(project: Project) -> None:
    config = make_config(project, eventTypeName="OPLOG_BEHIND")
    for event_type, expected in ((EventType.OPLOG_BEHIND, ["OPEN"]), (EventType.OPLOG_CURRENT, ["CLOSED"])):
        ingest(project, events=(EventReport(event_type=event_type, replica_set_name="rs0"),))
        evaluate()
        assert statuses(config) == expected


def test_disabling_cancels_and_enabling_opens_again(project: Project) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    alert_config_set_enabled(config=config, enabled=False, actor=SYSTEM, now=clock.now())
    assert statuses(config) == ["CANCELLED"]
    alert_config_set_enabled(config=config, enabled=True, actor=SYSTEM, now=clock.now())
    evaluate()
    assert statuses(config) == ["CANCELLED", "OPEN"]


def test_disabling_leaves_alone_what_is_over(project: Project) -> None:
    config = make_config(project)
    for reachable in (False, True):
        ingest(project, host_report(reachable=reachable))
    evaluate()
    alert_config_set_enabled(config=config, enabled=False, actor=SYSTEM, now=clock.now())
    assert statuses(config) == ["CLOSED"]


def test_an_alert_whose_end_waits_to_be_evaluated_does_not_open(project: Project) -> None:
    config = make_config(project, notifications=[{**WEBHOOK, "delayMin": 10}])
    start = clock.now()
    ingest(project, host_report(reachable=False), now=start)
    evaluate()
    ingest(project, host_report(reachable=True), now=start + timedelta(minutes=5))
    assert not open_tracked(now=start + timedelta(minutes=30))
    evaluate()
    assert statuses(config) == ["CLOSED"]
    assert Notification.objects.count() == 0


def test_a_reporters_clock_that_is_ahead_begins_no_alert_in_the_future(project: Project) -> None:
    config = make_config(project, eventTypeName="OPLOG_BEHIND")
    ahead = clock.now().replace(microsecond=0) + timedelta(minutes=4)
    event = EventReport(event_type=EventType.OPLOG_BEHIND, replica_set_name="rs0", created=ahead)
    ingest(project, events=(event,))
    evaluate()
    assert Alert.objects.get(config_id=config.id).created <= clock.now()
    assert Event.objects.get(event_type="OPLOG_BEHIND", alert_id=None).created == ahead


def test_matchers_see_what_the_fleet_knows_of_a_reported_host(project: Project, outside: Outside) -> None:
    matcher = {"fieldName": "TYPE_NAME", "operator": "EQUALS", "value": "STANDALONE"}
    make_config(project, eventTypeName="HOST_ROLLBACK", matchers=[matcher])
    event = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
    ingest(project, host_report(), events=(event,))
    evaluate()
    deliver_all()
    assert outside.kinds == [MessageKind.INFORM]


def test_a_target_too_long_for_an_index_is_an_alert_like_any_other(project: Project) -> None:
    config = make_config(project, eventTypeName="OPLOG_BEHIND")
    name = "\U0001f4a5" * 200
    event = EventReport(
        event_type=EventType.OPLOG_BEHIND, replica_set_name=name, cluster_name=name, shard_name=name
    )
    ingest(project, events=(event,))
    evaluate()
    assert statuses(config) == ["OPEN"]


def test_the_debug_log_says_what_was_decided_and_why(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False))
    with caplog.at_level(logging.DEBUG, "opsapi.evaluation"):
        evaluate()
    assert f"START for configuration {config.id}: HOLDS" in caplog.messages


def test_a_config_that_cannot_be_evaluated_does_not_stop_the_others(project: Project) -> None:
    broken = make_config(project, matchers=[{"fieldName": "HOSTNAME", "operator": "REGEX", "value": "("}])
    config = make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    assert (statuses(config), statuses(broken)) == (["OPEN"], [])


def test_a_config_deleted_meanwhile_cannot_be_deleted_again(project: Project) -> None:
    config = make_config(project)
    alert_config_delete(config=config, actor=SYSTEM, now=clock.now())
    with pytest.raises(ApiError) as refused:
        alert_config_delete(config=config, actor=SYSTEM, now=clock.now())
    assert refused.value.code is ErrorCode.ALERT_CONFIG_NOT_FOUND


def test_a_signal_that_cannot_be_evaluated_is_set_aside_and_stops_no_other(project: Project) -> None:
    config = make_config(project)
    Signal.objects.create(
        created=datetime(2026, 1, 1, tzinfo=UTC), group_id=project.id, kind="hosts", payload={}
    )
    ingest(project, host_report(reachable=False))
    evaluate()
    assert statuses(config) == ["OPEN"]
    assert Signal.objects.get().failed is not None


def test_an_alert_event_is_no_signal_of_its_own(project: Project) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    assert Event.objects.filter(event_type="HOST_DOWN").count() == 2
    assert Signal.objects.count() == 0


def test_statuses_are_the_four_of_the_contract() -> None:
    assert [status.value for status in AlertStatus] == ["TRACKING", "OPEN", "CLOSED", "CANCELLED"]


@pytest.mark.slow
def test_a_project_with_a_backlog_delays_itself_only(project: Project) -> None:
    """The project that was served longest ago is next, whatever waits for the others."""
    other: Project = ProjectFactory.create()
    config = make_config(other)
    evaluate()
    now = clock.now()
    for number in range(3 * SIGNALS_AT_ONCE):
        ingest(project, host_report(reachable=bool(number % 2)), now=now)
    assert evaluate_signals(now=now)
    ingest(other, host_report(reachable=False), now=now)
    assert evaluate_signals(now=now + timedelta(seconds=1))
    assert statuses(config) == ["OPEN"]
    assert Signal.objects.filter(group_id=project.id).exists()


def test_a_signal_evaluated_again_says_the_same_under_the_same_ids(project: Project) -> None:
    """As after a restore: what the first evaluation wrote is gone, and the signal is there again."""
    make_config(project, notifications=[WEBHOOK, EMAIL])
    evaluate()
    ingest(project, host_report(reachable=False))
    signals = list(Signal.objects.all())
    evaluate()
    alerts = set(Alert.objects.values_list("id", flat=True))
    notifications = set(Notification.objects.values_list("id", flat=True))
    Alert.objects.all().delete()
    Signal.objects.bulk_create(signals)
    evaluate()
    assert set(Alert.objects.values_list("id", flat=True)) == alerts
    assert set(Notification.objects.values_list("id", flat=True)) == notifications
    assert len(alerts) == 1
    assert len(notifications) == 2
