"""What happened to an alert, as its page shows it."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete, alert_config_update
from alerting.insight.timeline_entries import TimelineEntryKind
from alerting.models import Alert
from alerting.reasons import NotificationReason
from automation.choices import HostType
from automation.metrics import Metric, base_unit
from opsapi.clock import time_words
from tests.each import each
from tests.factories.alerting import EMAIL, make_alert, make_config
from tests.factories.automation import host_report, ingest, make_host
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate
from tests.integration.alerting.timelines import (
    ADA,
    HOUR,
    MINUTE,
    NOW,
    acknowledge,
    goes_down,
    kinds,
    metric_alert,
    metric_config,
    timeline,
    window,
)

pytestmark = pytest.mark.django_db


def test_it_shows_everything_from_the_signal_to_the_end(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[EMAIL])
    goes_down(project)
    deliver_all(NOW + MINUTE)
    ingest(project, host_report(), now=NOW + HOUR)
    evaluate(NOW + HOUR)
    deliver_all(NOW + HOUR + MINUTE)
    shown = timeline(now=NOW + 2 * HOUR)
    assert kinds(shown) == [
        TimelineEntryKind.BEGAN,
        TimelineEntryKind.OPENED,
        TimelineEntryKind.NOTIFIED,
        TimelineEntryKind.CLOSED,
        TimelineEntryKind.NOTIFIED,
    ]
    assert [entry.at for entry in shown.entries] == [
        NOW,
        NOW,
        NOW + MINUTE,
        NOW + HOUR,
        NOW + HOUR + MINUTE,
    ]
    assert shown.coming == ()
    assert shown.why_no_notifications is None


def test_it_names_the_event_that_began_it_and_the_condition(project: Project) -> None:
    config = make_config(
        project, matchers=[{"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}]
    )
    goes_down(project)
    shown = timeline()
    assert shown.entries[0].text == "The host db1:27017 is down."
    assert shown.entries[0].reason == f"An agent observed at {time_words(NOW)} that it cannot reach the host"
    assert shown.entries[0].event_id is not None
    assert (shown.config.id, shown.config.words) == (config.id, "Host down, where HOSTNAME starts with “db”")
    assert (shown.config.is_there, shown.config.changed_since) == (True, False)


def test_an_event_of_another_host_did_not_begin_it(project: Project) -> None:
    make_config(project)
    ingest(project, host_report("other"), now=NOW - MINUTE)
    ingest(project, host_report("other", reachable=False), now=NOW)
    alert = make_alert(project, created=NOW, opens=NOW, target_key='["HOST","db1.example.com",27017]')
    began = timeline(alert).entries[0]
    assert (began.kind, began.event_id) == (TimelineEntryKind.BEGAN, None)


def test_it_holds_the_value_against_the_threshold(project: Project) -> None:
    metric_config(project)
    host = make_host(project)
    ingest(project, host_report(CONNECTIONS=1650), now=NOW)
    evaluate(NOW)
    shown = timeline()
    assert (shown.entries[0].text, shown.entries[0].reason) == (
        f"A value of {host.hostname}:27017 crossed its threshold.",
        "Connections was 1,650: above 900",
    )


def test_a_changed_configuration_begins_it_with_what_was_observed_before(project: Project) -> None:
    ingest(project, host_report(CONNECTIONS=1650), now=NOW - HOUR)
    evaluate(NOW - HOUR)
    metric_config(project)
    evaluate(NOW)
    assert timeline().entries[0].reason == (
        "Connections was 1,650: above 900 (observed at 2099-11-21 11:00:00Z)"
    )


def test_a_value_that_is_not_kept_any_more_is_not_created_up(project: Project) -> None:
    config = metric_config(project)
    alert = metric_alert(project, make_host(project), config_id=config.id)
    assert timeline(alert).entries[0].reason == "Connections was above 900; the value is no longer stored"


def test_it_says_who_acknowledged_it_until_when_and_why(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW)
    acknowledge(alert, until=NOW + HOUR, now=NOW + MINUTE, comment="<b>disks</b>")
    acknowledge(alert, until=NOW, now=NOW + 2 * MINUTE)
    seen = [(entry.kind, entry.who, entry.reason) for entry in timeline(alert, now=NOW + HOUR).entries[2:]]
    assert seen == [
        (TimelineEntryKind.ACKNOWLEDGED, "ada", "<b>disks</b>"),
        (TimelineEntryKind.UNACKNOWLEDGED, "ada", None),
    ]


def test_a_lapsed_acknowledgement_is_shown(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW)
    acknowledge(alert, until=NOW + HOUR, now=NOW + MINUTE)
    assert TimelineEntryKind.LAPSED not in kinds(timeline(alert, now=NOW + HOUR))
    later = timeline(alert, now=NOW + HOUR + MINUTE)
    assert (later.entries[-1].kind, later.entries[-1].at) == (TimelineEntryKind.LAPSED, NOW + HOUR)
    assert later.acknowledgement is None


def test_one_that_was_tracked_only_ended_before_it_opened(project: Project) -> None:
    alert = make_alert(project, created=NOW, opens=NOW + HOUR, resolved=NOW + MINUTE, status="CLOSED")
    shown = timeline(alert, now=NOW + HOUR)
    assert kinds(shown) == [TimelineEntryKind.BEGAN, TimelineEntryKind.CLOSED]
    assert shown.entries[-1].text == "The condition ended before it opened."
    assert shown.why_no_notifications is not None


def test_a_deleted_configuration_cancels_it_and_is_still_known(project: Project) -> None:
    config = make_config(project, notifications=[EMAIL])
    goes_down(project)
    alert_config_delete(config=config, actor=ADA, now=NOW + HOUR)
    shown = timeline(now=NOW + 2 * HOUR)
    assert (shown.entries[-1].kind, shown.entries[-1].reason) == (
        TimelineEntryKind.NOT_NOTIFIED,
        NotificationReason.ALERT_OVER.value,
    )
    assert shown.entries[-2].kind is TimelineEntryKind.CANCELLED
    assert shown.entries[-2].who == "ada"
    assert (shown.config.is_there, shown.config.changed_since) == (False, False)


@each(
    ("metric", "before", "after", "ends"),
    [
        ("PG_REPLICATION_LAG_TIME", "REPLICA_SECONDARY", "REPLICA_PRIMARY", True),
        ("PG_REPLICATION_LAG_TIME", "REPLICA_SECONDARY", "STANDALONE", True),
        ("OPLOG_SLAVE_LAG_MASTER_TIME", "SHARD_SECONDARY", "SHARD_PRIMARY", True),
        ("MONGO_MAJORITY_LAG", "REPLICA_PRIMARY", "REPLICA_SECONDARY", True),
        ("OPLOG_SLAVE_LAG_MASTER_TIME", "REPLICA_SECONDARY", "RECOVERING", False),
        ("OPLOG_SLAVE_LAG_MASTER_TIME", "REPLICA_SECONDARY", "REPLICA_SECONDARY", False),
        ("OPLOG_SLAVE_LAG_MASTER_TIME", "REPLICA_SECONDARY", "NO_DATA", False),
        ("CONNECTIONS", "REPLICA_SECONDARY", "REPLICA_PRIMARY", False),
    ],
)
def test_a_new_role_without_the_metric_cancels_it_and_other_absence_does_not(
    project: Project, metric: str, before: str, after: str, ends: bool
) -> None:
    metric_config(project, metric, base_unit(Metric(metric)).value)
    lagging: Any = {metric: 5000.0}
    ingest(project, host_report(type_name=HostType(before), **lagging), now=NOW)
    evaluate(NOW)
    ingest(project, host_report(type_name=HostType(after), SYSTEM_MEMORY_USED=1.0), now=NOW + HOUR)
    evaluate(NOW + HOUR)
    assert Alert.objects.get().status == ("CANCELLED" if ends else "OPEN")
    said = [entry.text for entry in timeline(now=NOW + HOUR).entries if "took a role" in entry.text]
    assert len(said) == ends


@each(
    ("before", "after", "ends"),
    [
        ("OPLOG_SLAVE_LAG_MASTER_TIME", "MONGO_MAJORITY_LAG", True),
        ("OPLOG_MASTER_LAG_TIME_DIFF", "OPLOG_RATE_GB_PER_HOUR", True),
        ("MONGO_MAJORITY_LAG", "OPLOG_SLAVE_LAG_MASTER_TIME", True),
        ("OPLOG_SLAVE_LAG_MASTER_TIME", "OPLOG_MASTER_LAG_TIME_DIFF", False),
        ("OPLOG_SLAVE_LAG_MASTER_TIME", "SYSTEM_MEMORY_USED", False),
        ("CONNECTIONS", "MONGO_MAJORITY_LAG", False),
    ],
)
def test_a_config_server_whose_measurements_show_another_role_has_no_alert_of_the_former_role(
    project: Project, before: str, after: str, ends: bool
) -> None:
    metric_config(project, before, base_unit(Metric(before)).value)
    reports: list[tuple[Any, Any]] = [(NOW, {before: 5000.0}), (NOW + HOUR, {after: 1.0})]
    for moment, measured in reports:
        ingest(project, host_report(type_name=HostType.SHARD_CONFIG, **measured), now=moment)
        evaluate(moment)
    assert Alert.objects.get().status == ("CANCELLED" if ends else "OPEN")
    said = [entry.text for entry in timeline(now=NOW + HOUR).entries if "took a role" in entry.text]
    assert len(said) == ends


def test_a_late_report_of_a_config_server_shows_no_role_of_now(project: Project) -> None:
    metric_config(project, "OPLOG_SLAVE_LAG_MASTER_TIME", "SECONDS")
    config_server: Any = {"type_name": HostType.SHARD_CONFIG}
    ingest(project, host_report(**config_server, OPLOG_SLAVE_LAG_MASTER_TIME=5000.0), now=NOW + HOUR)
    evaluate(NOW + HOUR)
    late = host_report(**config_server, MONGO_MAJORITY_LAG=1.0)
    ingest(project, late, now=NOW + HOUR + MINUTE, observed=NOW)
    evaluate(NOW + HOUR + MINUTE)
    assert Alert.objects.get().status == "OPEN"


def test_a_configuration_that_changed_since_is_shown(project: Project) -> None:
    config = make_config(project)
    goes_down(project)
    changed = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "other"}]
    alert_config_update(config=config, read=lambda _: {"matchers": changed}, actor=ADA, now=NOW + HOUR)
    shown = timeline(now=NOW + 2 * HOUR)
    assert (shown.config.is_there, shown.config.changed_since) == (True, True)


def test_a_window_that_held_notifications_back_is_part_of_it(project: Project) -> None:
    window(project, NOW - HOUR, NOW + HOUR)
    alert = make_alert(project, created=NOW, opens=NOW)
    shown = timeline(alert, now=NOW + 2 * HOUR)
    seen = [(entry.kind, entry.at) for entry in shown.entries if "“new disks”" in entry.text]
    assert seen == [(TimelineEntryKind.MUTED, NOW), (TimelineEntryKind.UNMUTED, NOW + HOUR)]
