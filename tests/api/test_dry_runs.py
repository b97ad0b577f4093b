"""What a configuration would have done with what is recorded, over HTTP."""

from collections.abc import Collection
from datetime import datetime, timedelta
from itertools import chain, repeat
from threading import BoundedSemaphore
from typing import Any

import psycopg
import pytest
from django.db import connection

from accesslist.models import Project, RoleGrant
from alerting import budgets
from alerting.configs.rules import MetricThreshold
from alerting.incidents import fleet_units
from alerting.incidents.topology import FleetUnit
from alerting.insight import dry_run_reading, dry_runs, recorded_events
from alerting.insight.dry_run_alerts import DryRunCut
from alerting.insight.dry_runs import DryRunResult
from alerting.models import Alert, AlertConfig, MaintenanceWindow, Notification
from alerting.reasons import NotificationReason
from automation.measurements.recorded_metrics import RecordedMetric
from automation.metrics import Metric
from automation.models import Host, Measurement
from events.models import Event, Signal
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.roles import Role
from opsapi.sql import execute, fetch_rows
from tests.api import bodies
from tests.api.recipients import client, group, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import UserFactory
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db
LATER = "2999-01-01T00:00:00Z"
MINUTE = timedelta(minutes=1)


class Rehearsal:
    """A project with a record, and dry runs over it."""

    def __init__(self, owner: ApiClient, project: Project) -> None:
        self.owner, self.project = owner, project
        self.now = clock.now().replace(microsecond=0)

    def ago(self, minutes: int) -> datetime:
        return self.now - minutes * MINUTE

    def report(self, minutes: int, name: str = "db1", **changes: Any) -> None:
        """A report of one host, some minutes ago."""
        ingest(self.project, host_report(name, **changes), now=self.ago(minutes))

    def ask(
        self, config: dict[str, Any] | None = None, caller: ApiClient | None = None, **changes: Any
    ) -> Any:
        path = f"/groups/{self.project.id}/alertConfigs/dryRun"
        return (caller or self.owner).post(path, bodies.dry_run(config, **changes))

    def run(self, config: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
        answer = self.ask(config, **changes)
        assert answer.status_code == 200, answer.json()
        document: dict[str, Any] = answer.json()
        return document


@pytest.fixture
def record(owner: ApiClient, project: Project) -> Rehearsal:
    """A project without hosts."""
    return Rehearsal(owner, project)


def limit_found(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Let a dry run find at most so many alerts and events."""
    for module in (dry_run_reading, dry_runs):
        monkeypatch.setattr(module, "MOST_FOUND", most)


def down_for_five_minutes(record: Rehearsal) -> None:
    record.report(30)
    record.report(20, reachable=False)
    record.report(15)


def test_a_host_that_was_down(record: Rehearsal) -> None:
    down_for_five_minutes(record)
    found = record.run()
    assert (found["evaluated"], found["alerts"]["totalCount"]) == (True, 1)
    assert "truncated" not in found
    (alert,) = found["alerts"]["results"]
    assert alert["status"] == "CLOSED"
    assert alert["created"] == alert["opened"] == wire_time(record.ago(20))
    assert alert["resolved"] == wire_time(record.ago(15))
    assert alert["hostnameAndPort"] == "db1:27017"
    assert alert["hostId"] == Host.objects.get().id
    assert found["notifications"] == {"sent": 2, "merged": 0, "muted": 0, "notSent": 0}
    assert [(each["kind"], each["sent"], each["position"]) for each in alert["notifications"]] == [
        ("alert.open", wire_time(record.ago(20)), 0),
        ("alert.close", wire_time(record.ago(15)), 0),
    ]
    (receiver,) = found["receivers"]
    assert (receiver["position"], receiver["recipient"]) == (0, "oncall@example.com")


def test_a_minimum_severity_keeps_messages_back(record: Rehearsal) -> None:
    down_for_five_minutes(record)
    notifications = [bodies.email(minSeverity="CRITICAL"), bodies.email(emailAddress="other@example.com")]
    found = record.run(bodies.alert_config(severity="WARNING", notifications=notifications))
    (alert,) = found["alerts"]["results"]
    shown = [(each["position"], each["kind"], each.get("reason")) for each in alert["notifications"]]
    reason = NotificationReason.BELOW_MIN_SEVERITY.value
    assert sorted(shown, key=str) == [
        (0, "alert.open", reason),
        (1, "alert.close", None),
        (1, "alert.open", None),
    ]
    assert found["notifications"] == {"sent": 2, "merged": 0, "muted": 0, "notSent": 1}
    by_default = record.run(bodies.alert_config(notifications=notifications))
    assert by_default["notifications"]["notSent"] == 0


def test_a_longer_delay_would_have_kept_it_quiet(record: Rehearsal) -> None:
    down_for_five_minutes(record)
    found = record.run(bodies.alert_config(notifications=[bodies.email(delayMin=6)]))
    assert (found["alerts"]["totalCount"], found["alerts"]["neverOpened"]) == (0, 1)
    assert found["notifications"]["sent"] == 0


def test_a_condition_that_was_true_at_the_start(record: Rehearsal) -> None:
    down_for_five_minutes(record)
    found = record.run(period=None, start=wire_time(record.ago(18)))
    (alert,) = found["alerts"]["results"]
    assert (alert["created"], alert["resolved"]) == (wire_time(record.ago(18)), wire_time(record.ago(15)))
    after = record.run(period=None, start=wire_time(record.ago(14)), end=wire_time(record.ago(1)))
    assert after["alerts"]["totalCount"] == 0


def test_a_host_that_is_still_down_is_reminded_of(record: Rehearsal) -> None:
    record.report(150)
    record.report(130, reachable=False)
    hourly = bodies.alert_config(notifications=[bodies.email(intervalMin=60)])
    (alert,) = record.run(hourly)["alerts"]["results"]
    assert alert["status"] == "OPEN"
    assert "resolved" not in alert
    assert [each["kind"] for each in alert["notifications"]] == ["alert.open", *["alert.update"] * 2]


def test_a_deleted_host_ends_its_alert(record: Rehearsal) -> None:
    record.report(30)
    record.report(20, reachable=False)
    host = Host.objects.get()
    assert record.owner.delete(f"/groups/{record.project.id}/hosts/{host.id}").status_code == 204
    (alert,) = record.run()["alerts"]["results"]
    assert alert["status"] == "CANCELLED"


def test_measured_values_and_their_threshold(record: Rehearsal) -> None:
    for minutes, number in ((40, 90.0), (30, 110.0), (25, 130.0), (20, 100.0)):
        record.report(minutes, CONNECTIONS=number)
    (alert,) = record.run(bodies.metric_config())["alerts"]["results"]
    assert (alert["created"], alert["resolved"]) == (wire_time(record.ago(30)), wire_time(record.ago(20)))
    assert alert["startValue"] == {"number": 110.0, "units": "RAW"}
    assert alert["currentValue"] == {"number": 100.0, "units": "RAW"}


def test_an_alert_without_end_has_the_last_value(record: Rehearsal) -> None:
    for minutes, number in ((40, 110.0), (30, 120.0), (25, 130.0)):
        record.report(minutes, CONNECTIONS=number)
    (alert,) = record.run(bodies.metric_config(), period="PT35M")["alerts"]["results"]
    assert alert["status"] == "OPEN"
    assert (alert["startValue"]["number"], alert["currentValue"]["number"]) == (110.0, 130.0)


def test_matchers_choose_hosts(record: Rehearsal) -> None:
    for name in ("db1", "db2"):
        record.report(30, name, CONNECTIONS=200.0)
    matcher = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "DB2"}
    found = record.run(bodies.metric_config() | {"matchers": [matcher]})
    assert [each["hostnameAndPort"] for each in found["alerts"]["results"]] == ["db2:27017"]
    assert "CURRENT_FACTS" in [limit["code"] for limit in found["limits"]]


def test_a_maintenance_window_mutes(record: Rehearsal) -> None:
    record.report(30)
    record.report(20, reachable=False)
    window = MaintenanceWindow.objects.create(
        group=record.project,
        alert_types=["HOST"],
        start=record.ago(25),
        end=record.ago(10),
        created=record.ago(25),
        updated=record.ago(25),
    )
    found = record.run()
    (shown,) = found["alerts"]["results"][0]["notifications"]
    assert (shown["due"], shown["sent"]) == (wire_time(record.ago(20)), wire_time(record.ago(10)))
    assert shown["maintenanceWindowId"] == window.id
    assert found["notifications"]["muted"] == 1


def test_a_maintenance_window_mutes_hosts_by_label(record: Rehearsal) -> None:
    for name, labels in (("db1", {"env": "staging"}), ("db2", {"env": "production"})):
        ingest(record.project, host_report(name), labels=labels, now=record.ago(30))
        record.report(20, name, reachable=False)
    MaintenanceWindow.objects.create(
        group=record.project,
        alert_types=["HOST"],
        start=record.ago(25),
        end=record.ago(10),
        matchers=[{"fieldName": "LABEL", "operator": "EQUALS", "value": "env=staging"}],
        created=record.ago(25),
        updated=record.ago(25),
    )
    found = record.run()
    assert found["notifications"]["muted"] == 1
    (muted,) = [
        alert["hostnameAndPort"]
        for alert in found["alerts"]["results"]
        if "maintenanceWindowId" in alert["notifications"][0]
    ]
    assert muted == "db1:27017"


def test_an_event_that_opens_no_alert_is_notified(record: Rehearsal) -> None:
    record.report(30)
    found = record.run(bodies.alert_config(eventTypeName="NEW_HOST"))
    assert (found["alerts"]["totalCount"], found["events"]["totalCount"]) == (0, 1)
    (event,) = found["events"]["results"]
    assert event["eventId"] == Event.objects.get(event_type="NEW_HOST").id
    assert [each["kind"] for each in event["notifications"]] == ["alert.inform"]


def test_an_event_of_the_organization_is_notified_as_of_the_project(record: Rehearsal) -> None:
    name, org_id = "ORG_API_KEY_ADDED", record.project.org_id
    Event.objects.filter(event_type=name).delete()
    for org in (org_id, bodies.HOST_ID):
        Event.objects.create(created=record.ago(20), event_type=name, org_id=org, details={})
    found = record.run(bodies.alert_config(eventTypeName=name))
    assert found["events"]["totalCount"] == 1
    assert found["events"]["results"][0]["eventId"] == Event.objects.get(event_type=name, org_id=org_id).id


def test_a_deleted_agent_ends_its_alert(record: Rehearsal) -> None:
    facts = {"hostname": "agent1", "sourceTypeName": "MONITORING"}
    for minutes, name in ((30, "MONITORING_AGENT_DOWN"), (20, "AGENT_DELETED_AUDIT")):
        Event.objects.create(
            created=record.ago(minutes), event_type=name, group_id=record.project.id, details=facts
        )
    (alert,) = record.run(bodies.alert_config(eventTypeName="MONITORING_AGENT_DOWN"))["alerts"]["results"]
    assert (alert["status"], alert["resolved"]) == ("CANCELLED", wire_time(record.ago(20)))


def test_events_about_alerts_are_no_conditions(record: Rehearsal) -> None:
    record.report(30)
    make_alert_event = Event.objects.create(
        created=record.ago(20),
        event_type="HOST_DOWN",
        group_id=record.project.id,
        alert_id=bodies.HOST_ID,
        details={"hostname": "db1", "port": 27017},
    )
    assert make_alert_event.alert_id
    assert record.run()["alerts"]["totalCount"] == 0


@each(
    ("event_type", "changes", "code"),
    [
        (
            "TOO_FEW_HEALTHY_MEMBERS",
            {"threshold": {"operator": "LESS_THAN", "threshold": 2}},
            "NOT_RECORDED",
        ),
        ("USERS_WITHOUT_MULTI_FACTOR_AUTH", {}, "NOT_RECORDED"),
        ("ORG_PUBLIC_API_ACCESS_LIST_REQUIRED", {}, "NOT_PRODUCED"),
    ],
)
def test_it_says_what_it_cannot_evaluate(
    record: Rehearsal, event_type: str, changes: dict[str, Any], code: str
) -> None:
    found = record.run(bodies.alert_config(eventTypeName=event_type, **changes))
    assert found["evaluated"] is False
    assert [limit["code"] for limit in found["limits"]] == [code]
    assert found["alerts"]["totalCount"] == 0


def test_it_says_what_it_leaves_out(record: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    def limits(config: dict[str, Any] | None = None, **changes: Any) -> list[str]:
        return [limit["code"] for limit in record.run(config, **changes)["limits"]]

    down_for_five_minutes(record)
    assert "MEASUREMENTS_BEING_MOVED" not in limits(bodies.metric_config())
    Measurement.objects.create(host=Host.objects.get(), reported=record.ago(5), metrics={})
    assert "MEASUREMENTS_BEING_MOVED" in limits(bodies.metric_config())
    since: dict[str, Any] = {"period": None, "start": wire_time(record.ago(5))}
    assert "CURRENT_FACTS" in limits(bodies.alert_config(grouping="TOPOLOGY"))
    assert not {"EARLIER_EVENTS_LEFT_OUT", "CURRENT_FACTS"} & set(limits(**since))
    monkeypatch.setattr(recorded_events, "MOST_EARLIER", 1)
    assert "EARLIER_EVENTS_LEFT_OUT" in limits(**since)


def an_outage(record: Rehearsal) -> None:
    """Two members of a replica set are down for five minutes; another host is down a minute later."""
    for name, facts in (("db1", {"replica_set_name": "rs0"}), ("db2", {"replica_set_name": "rs0"})):
        record.report(30, name, **facts)
        record.report(20, name, reachable=False, **facts)
        record.report(15, name, **facts)
    record.report(30, "db3")
    record.report(19, "db3", reachable=False)


def test_the_alerts_of_an_outage_are_notified_together(record: Rehearsal) -> None:
    an_outage(record)
    alone = record.run()
    assert alone["notifications"]["sent"] == 5
    assert not any("firstAlert" in alert for alert in alone["alerts"]["results"])
    found = record.run(bodies.alert_config(grouping="TOPOLOGY", groupWaitSec=30))
    first, second, third = found["alerts"]["results"]
    assert [alert["firstAlert"] for alert in (first, second, third)] == [0, 0, 2]
    assert [alert["created"] for alert in (first, second, third)] == [
        alert["created"] for alert in alone["alerts"]["results"]
    ]
    wait = timedelta(seconds=30)
    assert [(each["kind"], each["sent"]) for each in first["notifications"]] == [
        ("alert.open", wire_time(record.ago(20) + wait)),
        ("alert.close", wire_time(record.ago(15))),
    ]
    assert (second["notificationCount"], second["notifications"]) == (0, [])
    assert [each["sent"] for each in third["notifications"]] == [wire_time(record.ago(19) + wait)]
    assert found["notifications"] == {"sent": 3, "merged": 0, "muted": 0, "notSent": 0}


def test_an_outage_that_is_over_within_the_wait_is_not_sent(record: Rehearsal) -> None:
    down_for_five_minutes(record)
    found = record.run(bodies.alert_config(grouping="TOPOLOGY", groupWaitSec=300))
    (shown,) = found["alerts"]["results"][0]["notifications"]
    assert ("sent" in shown, shown["reason"]) == (False, NotificationReason.ALERT_OVER.value)


def test_too_many_messages_about_an_incident_cut_it(
    record: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = three_reminders(record) | {"grouping": "TOPOLOGY", "groupWaitSec": 0}
    monkeypatch.setattr(dry_runs, "MOST_MESSAGES", 6)
    found = record.run(config)
    assert found["truncated"] == {"reason": "NOTIFICATIONS", "completeUntil": wire_time(record.ago(100))}
    assert found["notifications"]["sent"] == 6


@each("grouping", ["NONE", "TOPOLOGY"])
def test_many_messages_about_one_alert_end_with_the_time(record: Rehearsal, grouping: str) -> None:
    three_reminders(record)
    seconds = iter(range(10_000))
    found = dry_runs.dry_run(
        group_id=record.project.id,
        values={
            "event_type": "HOST_DOWN",
            "notifications": [bodies.email(delayMin=0, intervalMin=10)] * 9,
            "grouping": grouping,
        },
        start=record.ago(200),
        end=record.now,
        clock=lambda: next(seconds) / 10,
    )
    assert found.cut is DryRunCut.TIME
    assert record.ago(130) < found.until < record.now
    assert 0 < len(found.all_messages) < 100
    assert all(message.due <= found.until for message in found.all_messages)


@pytest.mark.slow
@each("grouping", ["NONE", "TOPOLOGY"])
def test_without_time_for_messages_the_alerts_are_still_answered(record: Rehearsal, grouping: str) -> None:
    an_outage(record)
    MaintenanceWindow.objects.create(
        group=record.project,
        alert_types=["HOST"],
        start=record.ago(25),
        end=record.ago(10),
        matchers=[{"fieldName": "LABEL", "operator": "EQUALS", "value": "env=staging"}],
        created=record.ago(25),
        updated=record.ago(25),
    )
    cuts = [ends_after(record, readings, grouping) for readings in range(60)]
    without = [each for each in cuts if each.cut and len(each.alerts) == 3 and not each.all_messages]
    assert without
    assert {each.until for each in without} == {record.now}
    assert cuts[-1].cut is None


def ends_after(record: Rehearsal, readings: int, grouping: str) -> DryRunResult:
    """The dry run whose time is over after so many readings of its clock."""
    times = chain(repeat(0.0, readings), repeat(100.0))
    return dry_runs.dry_run(
        group_id=record.project.id,
        values={
            "event_type": "HOST_DOWN",
            "notifications": [bodies.email(delayMin=0)],
            "grouping": grouping,
        },
        start=record.ago(40),
        end=record.now,
        clock=lambda: next(times),
    )


def test_repeated_alerts_of_a_host_do_not_make_its_labels_shared(
    record: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[str]] = []

    def labels_of_a_part(group_id: str, labels: Collection[FleetUnit]) -> frozenset[FleetUnit]:
        asked.append({label.name for label in labels})
        return fleet_units.labels_of_a_part(group_id, labels)

    monkeypatch.setattr(dry_runs, "labels_of_a_part", labels_of_a_part)
    for name, labels in (
        ("db1", {"rack": "1", "region": "eu", "tier": "hot"}),
        ("db2", {"region": "eu", "tier": "hot"}),
        ("db3", {"region": "eu"}),
    ):
        for ago in (30, 20):
            ingest(record.project, host_report(name), labels=labels, now=record.ago(ago))
            record.report(ago - 2, name, reachable=False)
    record.run(bodies.alert_config(grouping="TOPOLOGY"))
    assert asked.pop() == {"region=eu", "tier=hot"}
    monkeypatch.setattr(dry_runs, "_MOST_LABELS", 1)
    record.run(bodies.alert_config(grouping="TOPOLOGY"))
    assert asked.pop() == {"region=eu"}


def test_grouping_leaves_events_that_open_no_alert_as_they_are(record: Rehearsal) -> None:
    record.report(30)
    found = record.run(bodies.alert_config(eventTypeName="NEW_HOST", grouping="TOPOLOGY"))
    (event,) = found["events"]["results"]
    assert [each["due"] for each in event["notifications"]] == [event["created"]]


def alerts_of_a_minute(record: Rehearsal, *peaks: float) -> None:
    """Alerts with these peaks, one after another, five minutes apart."""
    for place, peak in enumerate(peaks):
        record.report(100 - 5 * place, CONNECTIONS=peak)
        record.report(99 - 5 * place, CONNECTIONS=1.0)


def test_a_delay_and_a_threshold_that_halve_the_alerts_are_suggested(record: Rehearsal) -> None:
    alerts_of_a_minute(record, 110.0, 120.0, 300.0, 400.0)
    found = record.run(bodies.metric_config())
    assert found["suggestions"] == [
        {"delayMin": 2, "alerts": 0, "comparedAlerts": 4},
        {"threshold": 120.0, "units": "RAW", "alerts": 2, "comparedAlerts": 4},
    ]
    quieter = record.run(bodies.metric_config(threshold=120))
    assert quieter["alerts"]["totalCount"] == 2


def test_no_threshold_is_suggested_that_loses_a_long_alert(record: Rehearsal) -> None:
    record.report(120, CONNECTIONS=105.0)
    record.report(108, CONNECTIONS=1.0)
    alerts_of_a_minute(record, 110.0, 120.0, 300.0)
    assert record.run(bodies.metric_config())["suggestions"] == [
        {"delayMin": 2, "alerts": 1, "comparedAlerts": 4}
    ]


def test_the_highest_value_within_an_alert_counts(record: Rehearsal) -> None:
    for minutes, number in ((130, 105.0), (125, 500.0), (120, 105.0), (115, 1.0)):
        record.report(minutes, CONNECTIONS=number)
    alerts_of_a_minute(record, 110.0, 120.0, 300.0)
    found = record.run(bodies.metric_config())["suggestions"]
    assert {"threshold": 120.0, "units": "RAW", "alerts": 2, "comparedAlerts": 4} in found


def test_nothing_is_suggested_for_few_alerts(record: Rehearsal) -> None:
    alerts_of_a_minute(record, 110.0, 120.0, 300.0)
    assert "suggestions" not in record.run(bodies.metric_config())


def test_a_delay_is_suggested_for_events(record: Rehearsal) -> None:
    record.report(60)
    for minutes in (50, 40, 30, 20):
        record.report(minutes, reachable=False)
        record.report(minutes - 4, reachable=True)
    assert record.run()["suggestions"] == [{"delayMin": 5, "alerts": 0, "comparedAlerts": 4}]
    late = bodies.alert_config(notifications=[bodies.email(delayMin=4)])
    assert record.run(late)["suggestions"] == [{"delayMin": 5, "alerts": 0, "comparedAlerts": 4}]


def test_too_many_values_are_not_read_for_a_threshold(
    record: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerts_of_a_minute(record, 110.0, 120.0, 300.0, 400.0)
    monkeypatch.setattr(dry_runs, "MOST_VALUES", 3)
    assert record.run(bodies.metric_config())["suggestions"] == [
        {"delayMin": 2, "alerts": 0, "comparedAlerts": 4}
    ]
    monkeypatch.setattr(dry_runs, "MOST_VALUES", 4)
    assert len(record.run(bodies.metric_config())["suggestions"]) == 2


def test_nobody_is_notified_without_people(record: Rehearsal) -> None:
    down_for_five_minutes(record)
    nobody = {"typeName": "GROUP", "roles": ["GROUP_OWNER"], "emailEnabled": True, "delayMin": 0}
    found = record.run(bodies.alert_config(notifications=[nobody]))
    (shown,) = found["alerts"]["results"][0]["notifications"]
    assert shown["reason"].startswith("no recipients")
    assert "sent" not in shown
    assert [each["recipientCount"] for each in found["receivers"]] == [0]


def test_people_are_counted_and_their_addresses_are_not_shown(record: Rehearsal) -> None:
    down_for_five_minutes(record)
    for number in range(3):
        user = UserFactory.create(
            email_address=f"private{number}@example.com", mobile_number=f"+1555010020{number}"
        )
        RoleGrant.objects.create(user=user, project=record.project, role=Role.GROUP_READ_ONLY)
    people = {"typeName": "GROUP", "roles": ["GROUP_READ_ONLY"], "delayMin": 0}
    config = bodies.alert_config(notifications=[people | {"emailEnabled": True, "smsEnabled": True}])
    monitor = client(group(Role.GROUP_MONITORING_ADMIN, record.project))
    answer = record.ask(config, caller=monitor)
    assert {each["channel"]: each["recipientCount"] for each in answer.json()["receivers"]} == {
        "EMAIL": 3,
        "SMS": 3,
    }
    text = answer.content.decode()
    assert "private" not in text
    assert "+1555" not in text


def test_nothing_is_written(record: Rehearsal) -> None:
    down_for_five_minutes(record)
    Signal.objects.all().delete()
    kept = (Alert, AlertConfig, Notification, Event, Signal)
    before = [model.objects.count() for model in kept]
    record.run()
    assert [model.objects.count() for model in kept] == before


def test_the_configuration_is_validated_as_when_it_is_created(record: Rehearsal) -> None:
    wrong = bodies.metric_config(units="MINUTES") | {"notifications": [{"typeName": "EMAIL", "delayMin": -1}]}
    created = record.owner.post(f"/groups/{record.project.id}/alertConfigs", wrong)
    asked = record.ask(wrong)
    assert asked.status_code == created.status_code == 400
    assert asked.json()["errorCode"] == created.json()["errorCode"]
    assert [bad["field"] for bad in asked.json()["badFields"]] == [
        f"config.{bad['field']}" for bad in created.json()["badFields"]
    ]


@each(
    ("changes", "field", "code"),
    [
        ({"period": None}, "period", "MISSING_ATTRIBUTE"),
        ({"period": None, "end": "2026-11-21T07:26:14Z"}, "start", "MISSING_ATTRIBUTE"),
        ({"period": "P1M"}, "period", "INVALID_ATTRIBUTE"),
        ({"period": "P367D"}, "period", "INVALID_ATTRIBUTE"),
        ({"start": "2026-11-21T07:26:14Z"}, "start", "INVALID_ATTRIBUTE"),
        ({"period": None, "start": LATER}, "start", "INVALID_ATTRIBUTE"),
        ({"period": None, "start": "2020-01-01T00:00:00Z", "end": LATER}, "end", "INVALID_ATTRIBUTE"),
        ({"period": None, "start": "0001-01-01T00:00:00Z"}, "start", "INVALID_ATTRIBUTE"),
        ({"other": 1}, "other", "INVALID_ATTRIBUTE"),
    ],
)
def test_a_wrong_time_range_is_refused(
    record: Rehearsal, changes: dict[str, Any], field: str, code: str
) -> None:
    answer = record.ask(**changes)
    assert refusal(answer)[:2] == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]


def test_measurements_that_are_not_kept_cannot_be_asked_for(record: Rehearsal, settings: Any) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 3
    settings.OPSAPI_MEASUREMENT_PT5M_DAYS = settings.OPSAPI_MEASUREMENT_PT1H_DAYS = 0
    assert record.ask(bodies.metric_config(), period="P4D").status_code == 400
    assert record.ask(bodies.metric_config(), period="P3D").status_code == 200


def test_a_year_can_be_asked_for_where_rollups_are_kept(record: Rehearsal) -> None:
    assert record.ask(bodies.metric_config(), period="P366D").status_code == 200
    assert record.ask(bodies.metric_config(), period="P367D").status_code == 400


@each("role", [Role.GROUP_MONITORING_ADMIN, Role.GROUP_OWNER])
def test_who_may_write_configurations_may_ask(record: Rehearsal, role: Role) -> None:
    caller = client(group(role, record.project))
    assert record.ask(caller=caller).status_code == 200


@each("role", [Role.GROUP_READ_ONLY, Role.GROUP_USER_ADMIN])
def test_others_may_not(record: Rehearsal, role: Role) -> None:
    caller = client(group(role, record.project))
    assert record.ask(caller=caller).status_code == 403


def test_it_is_cut_when_its_time_is_over(record: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    for minutes in range(3000, 0, -300):
        record.report(minutes, CONNECTIONS=200.0 if minutes % 600 else 1.0)
    whole = record.run(bodies.metric_config(), period="P3D")
    monkeypatch.setattr(dry_runs, "_READING_SECONDS", 0.0)
    cut = record.run(bodies.metric_config(), period="P3D")
    assert whole["alerts"]["totalCount"] == 5
    assert cut["truncated"] == {"reason": "TIME", "completeUntil": cut["start"]}
    assert cut["alerts"]["totalCount"] == 0


def test_what_it_found_until_the_cut_is_complete(record: Rehearsal) -> None:
    for minutes in range(3000, 0, -300):
        record.report(minutes, CONNECTIONS=200.0 if minutes % 600 else 1.0)
    begin, ticks = record.ago(3100), iter(range(1000))
    found = dry_runs.dry_run(
        group_id=record.project.id,
        values={
            "event_type": "OUTSIDE_METRIC_THRESHOLD",
            "metric_threshold": {
                "metricName": "CONNECTIONS",
                "operator": "GREATER_THAN",
                "threshold": 100,
                "units": "RAW",
            },
            "notifications": [bodies.email(delayMin=0)],
        },
        start=begin,
        end=record.now,
        clock=lambda: next(ticks) / 10,
    )
    assert found.cut is not None
    assert begin < found.until < record.now
    assert all(alert.created <= found.until for alert in found.alerts)
    # It is complete before `until`; an alert at exactly that time may be among the alerts or not.
    assert sum(alert.created < found.until for alert in found.alerts) == sum(
        begin <= record.ago(minutes) < found.until for minutes in range(2700, 0, -600)
    )


def test_a_slow_statement_is_cancelled(record: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(*_: Any, **__: Any) -> list[int]:
        execute("SELECT pg_sleep(60)")
        return []

    record.report(30, CONNECTIONS=200.0)
    monkeypatch.setattr(RecordedMetric, "sources_beyond", sleep)
    monkeypatch.setattr(dry_runs, "_READING_SECONDS", 0.3)
    found = record.run(bodies.metric_config())
    assert found["truncated"]["reason"] == "TIME"
    assert fetch_rows("SHOW statement_timeout") == [("0",)]


def test_two_at_a_time_run_in_a_project(record: Rehearsal) -> None:
    def slots(command: str, places: range) -> None:
        for place in places:
            key = [budgets.LOCK_CLASS, f"{record.project.id} {place}"]
            other.execute(f"SELECT pg_advisory_{command}(%s, hashtext(%s))", key)

    record.report(30)
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        slots("lock", range(2))
        full = record.ask()
        slots("unlock", range(1))
        free = record.ask()
    assert refusal(full)[:2] == (429, "RATE_LIMITED")
    assert full["Retry-After"] == "5"
    assert free.status_code == 200


def test_some_of_the_threads_of_a_process_run_them(
    record: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = BoundedSemaphore(1)
    monkeypatch.setattr(budgets, "_slots", places)
    with places:
        assert record.ask().status_code == 429
    assert record.ask().status_code == 200
    assert record.ask({"eventTypeName": "HOST_DOWN"}).status_code == 400
    assert record.ask().status_code == 200


def test_too_many_alerts_cut_it(record: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    for minutes in range(30, 0, -1):
        record.report(minutes, reachable=bool(minutes % 2))
    fourth = record.run()["alerts"]["results"][3]
    limit_found(monkeypatch, 3)
    found = record.run()
    assert found["truncated"] == {"reason": "ALERTS", "completeUntil": fourth["opened"]}
    assert found["alerts"]["totalCount"] == 3


def test_too_many_events_of_one_time_cut_it(record: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    for minutes in (30, 20, 20, 20, 10):
        Event.objects.create(
            created=record.ago(minutes), event_type="NEW_HOST", group_id=record.project.id, details={}
        )
    limit_found(monkeypatch, 2)
    found = record.run(bodies.alert_config(eventTypeName="NEW_HOST"))
    assert found["truncated"] == {"reason": "ALERTS", "completeUntil": wire_time(record.ago(20))}
    assert found["events"]["totalCount"] == 2


def crossing_each_minute(record: Rehearsal) -> dict[str, Any]:
    """The values of a configuration for which 40 reports of one hour start or end an alert."""
    for minutes in range(50, 10, -1):
        record.report(minutes, CONNECTIONS=1.0 if minutes % 2 else 200.0)
    threshold = {"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 100, "units": "RAW"}
    return {
        "event_type": "OUTSIDE_METRIC_THRESHOLD",
        "metric_threshold": threshold,
        "notifications": [bodies.email(delayMin=0)],
    }


def counted_folds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The reports that are folded from now on, two between checks."""
    folded: list[Any] = []

    verdict_on = MetricThreshold.verdict_on

    def counted(threshold: Any, values: Any) -> Any:
        if not folded or folded[-1] is not values:  # Evaluation compares the values of a report again.
            folded.append(values)
        return verdict_on(threshold, values)

    monkeypatch.setattr(MetricThreshold, "verdict_on", counted)
    monkeypatch.setattr(dry_run_reading, "_FOLDED_AT_ONCE", 2)
    return folded


def test_time_that_is_over_within_a_part_leaves_time_for_messages(
    record: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, folded = crossing_each_minute(record), counted_folds(monkeypatch)
    found = dry_runs.dry_run(
        group_id=record.project.id,
        values=values,
        start=record.ago(55),
        end=record.now,
        clock=lambda: 100.0 if len(folded) >= 9 else 0.0,
    )
    assert found.cut is DryRunCut.TIME
    assert len(folded) <= 10
    assert record.ago(45) <= found.until <= record.ago(40)
    assert found.alerts
    assert all(alert.messages for alert in found.alerts)


def test_hosts_are_compared_until_the_time_is_over(
    record: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = crossing_each_minute(record)
    compared: list[Any] = []

    def matched(*call: Any) -> bool:
        compared.append(call)
        return True

    monkeypatch.setattr(dry_run_reading, "matches", matched)
    (host,) = Host.objects.filter(group=record.project)
    monkeypatch.setattr(dry_run_reading, "sources_of_hosts", lambda _: dict.fromkeys(range(100), host))
    found = dry_runs.dry_run(
        group_id=record.project.id,
        values=values,
        start=record.ago(55),
        end=record.now,
        clock=lambda: 100.0 if len(compared) >= 3 else 0.0,
    )
    assert (found.cut, found.until) == (DryRunCut.TIME, found.start)
    assert len(compared) == 3


def test_reading_stops_within_a_part_when_enough_is_found(
    record: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, folded = crossing_each_minute(record), counted_folds(monkeypatch)
    limit_found(monkeypatch, 3)
    found = dry_runs.dry_run(group_id=record.project.id, values=values, start=record.ago(55), end=record.now)
    assert found.cut is DryRunCut.ALERTS
    assert len(found.alerts) == 3
    assert len(folded) <= 10


def test_a_read_of_many_hosts_is_short() -> None:
    start = clock.now()
    end = start + 60 * MINUTE
    recorded = RecordedMetric(Metric.CONNECTIONS, frozenset())
    assert list(recorded.parts_between(start, end, 1)) == [(start, end)]
    many = list(recorded.parts_between(start, end, 20_000))
    assert many[0] == (start, start + 2 * MINUTE)
    assert many[-1][1] == end
    assert all(finish - begin <= 2 * MINUTE for begin, finish in many)


def test_each_statement_has_the_time_that_is_left() -> None:
    seconds = iter(range(100))
    budget = budgets.Budget(50.0, lambda: float(next(seconds)))
    with budget.statement():
        left = []
        for _ in range(2):
            left += fetch_rows("SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'")
    [(first,), (second,)] = left
    assert 0 < second < first < 50_000


def three_reminders(record: Rehearsal) -> dict[str, Any]:
    """A configuration with messages 130, 120, 110, … minutes ago about the one alert, to two receivers."""
    record.report(150)
    record.report(130, reachable=False)
    notifications = [
        bodies.email(emailAddress=f"{name}@example.com", delayMin=0, intervalMin=10)
        for name in ("ada", "eve")
    ]
    return bodies.alert_config(notifications=notifications)


def test_too_many_messages_about_one_alert_cut_it(record: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    config = three_reminders(record)
    monkeypatch.setattr(dry_runs, "MOST_MESSAGES", 6)
    found = record.run(config)
    assert found["truncated"] == {"reason": "NOTIFICATIONS", "completeUntil": wire_time(record.ago(100))}
    (alert,) = found["alerts"]["results"]
    assert alert["notificationCount"] == found["notifications"]["sent"] == 6
    assert {each["sent"] for each in alert["notifications"]} == {
        wire_time(record.ago(minutes)) for minutes in (130, 120, 110)
    }


def test_no_alert_of_a_cut_answer_waits_for_its_delay(
    record: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minutes, name in ((60, "db1"), (57, "db2"), (54, "db3"), (51, "db4")):
        record.report(minutes + 1, name)
        record.report(minutes, name, reachable=False)
    monkeypatch.setattr(dry_runs, "MOST_MESSAGES", 2)
    found = record.run(bodies.alert_config(notifications=[bodies.email(delayMin=5)]))
    until = wire_time(record.ago(49))
    assert found["truncated"] == {"reason": "NOTIFICATIONS", "completeUntil": until}
    assert {alert["status"] for alert in found["alerts"]["results"]} == {"OPEN"}
    assert all(alert["opened"] <= until for alert in found["alerts"]["results"])
