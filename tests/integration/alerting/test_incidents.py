"""One outage, one incident: the messages of grouped alerts, from the first to the end."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from copy import copy
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.configs import locks
from alerting.configs.changes import alert_config_delete, alert_config_update
from alerting.destinations.changes import destinations_trim
from alerting.engine.choices import IncidentPart
from alerting.engine.courier import Courier
from alerting.engine.delivery import DeliveryAttempt, decided_together
from alerting.engine.evaluation import close_over, open_tracked
from alerting.engine.leases import lapsed_leases_release
from alerting.engine.purge import alerts_trim
from alerting.incidents.changes import alert_acknowledge
from alerting.incidents.models import GROUPED as GROUPED_ALERTS
from alerting.incidents.store import is_worth_sending, last_pictures
from alerting.incidents.topology import Picture
from alerting.models import Alert, AlertConfig, Destination, Incident, Notification, NotificationSetting
from alerting.reasons import NotificationReason
from alerting.windows.changes import window_create
from integrations.channels import opsgenie, pagerduty, splunk_on_call
from integrations.channels.outcome import Outcome
from integrations.choices import ENDS, DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.clock import time_words
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.each import each
from tests.factories.accesslist import ProjectFactory, UserFactory
from tests.factories.alerting import WEBHOOK, make_alert, make_config, make_global_config, make_notification
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, begin, deliver_all, evaluate, statuses

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
WAIT = 15 * SECOND
GROUPED: Mapping[str, Any] = {"grouping": "TOPOLOGY"}
SET: Mapping[str, Any] = {"replica_set_name": "rs0"}
PAGER = {"typeName": "PAGER_SERVICE", "serviceKey": "0123456789abcdef0123456789abcdef", "delayMin": 0}
OPEN, UPDATE, CLOSE = MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE
LOST = Outcome(DeliveryStatus.RETRY, "no answer", 5, perhaps_received=True)
pytestmark = pytest.mark.django_db


@pytest.fixture
def config(project: Project) -> AlertConfig:
    return make_config(project, **GROUPED)


def report(project: Project, at: datetime, *names: str, up: bool = False, **facts: Any) -> None:
    """Report hosts, down unless they are `up`, and evaluate that."""
    facts = {**SET, **facts}
    ingest(project, *(host_report(name, reachable=up, **facts) for name in names), now=at)
    evaluate(at)


def said(outside: Outside) -> list[tuple[MessageKind, int, str | None]]:
    """The kind of each message, the number of open alerts, and the root."""
    found = []
    for _, _, message in outside.sent:
        incident: Any = message.document["incident"]
        found.append((message.kind, incident["alertCount"], incident.get("root")))
    return found


# --- from the first message to the end ------------------------------------------------------------


def test_an_outage_is_one_message_and_one_end(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report(project, START, "db1", "db2", "db3")
    deliver_all(START + WAIT - SECOND)
    assert outside.sent == []
    deliver_all(START + WAIT)
    report(project, START + MINUTE, "db1", "db2", "db3", up=True)
    assert statuses(config) == ["CLOSED"] * 3
    deliver_all(START + MINUTE)
    deliver_all(START + 60 * MINUTE)
    assert said(outside) == [(OPEN, 3, "replica set rs0"), (CLOSE, 0, None)]
    opened, closed = (message for _, _, message in outside.sent)
    assert opened.thread_key == closed.thread_key == Incident.objects.get().id
    assert opened.target == "replica set rs0"


def test_an_incident_ends_when_the_last_end_was_observed(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report(project, START, "db1", "db2")
    report(project, START, "db3", "db4")
    deliver_all(START + WAIT)
    # The agent of two hosts sends its reports ten minutes later.
    report(project, START + 4 * MINUTE, "db3", "db4", up=True)
    now = START + 10 * MINUTE
    hosts = [host_report(name, **SET) for name in ("db1", "db2")]
    for minute in (2, 3):
        ingest(project, *hosts, observed=START + minute * MINUTE, waiting=3 - minute, now=now)
        evaluate(now)
        close_over(now=now)
    assert statuses(config) == ["CLOSED"] * 4
    deliver_all(now)
    assert Incident.objects.get().ended == START + 4 * MINUTE
    closed = outside.sent[-1][-1]
    assert closed.kind is CLOSE
    assert closed.occurred_at == START + 4 * MINUTE
    assert closed.known["Until"] == time_words(START + 4 * MINUTE)
    assert closed.known["Duration"] == "4 min"
    assert Notification.objects.filter(kind=CLOSE.value, created=now).exists()


def test_alerts_are_opened_and_listed_as_without_grouping(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    alone = make_config(project)
    report(project, START, "db1", "db2")
    report(project, START + SECOND, "db1", up=True)

    def listed(of: AlertConfig) -> list[tuple[str, str, datetime]]:
        rows = Alert.objects.filter(config_id=of.id).order_by("target_key")
        return [(alert.target_key, alert.status, alert.created) for alert in rows]

    assert listed(config) == listed(alone)
    assert sorted(statuses(config)) == ["CLOSED", "OPEN"]


def test_an_outage_that_is_over_within_the_wait_is_not_notified(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report(project, START, "db1", "db2")
    report(project, START + WAIT / 2, "db1", "db2", up=True)
    deliver_all(START + MINUTE)
    assert outside.sent == []
    assert set(Notification.objects.values_list("reason", flat=True)) == {
        NotificationReason.ALERT_OVER.value,
        NotificationReason.IN_INCIDENT.value,
    }


def test_the_wait_is_that_of_the_configuration(project: Project, outside: Outside) -> None:
    make_config(project, **GROUPED, groupWaitSec=0)
    report(project, START, "db1")
    deliver_all(START)
    assert said(outside) == [(OPEN, 1, None)]
    assert outside.sent[0][2].headline == "Host down"


def test_a_setting_with_a_delay_gets_the_incident_at_that_time(project: Project, outside: Outside) -> None:
    late = {**WEBHOOK, "webhookUrl": "http://127.0.0.1:9/hooks/late-late", "delayMin": 5}
    make_config(project, **GROUPED, notifications=[WEBHOOK, late])
    report(project, START, "db1")
    deliver_all(START + WAIT)
    report(project, START + MINUTE, "db2", "db3")
    deliver_all(START + MINUTE + WAIT)
    deliver_all(START + 5 * MINUTE)
    assert said(outside) == [
        (OPEN, 1, None),
        (UPDATE, 3, "replica set rs0"),
        (OPEN, 3, "replica set rs0"),
    ]


def test_alerts_that_open_after_a_delay_share_an_incident(project: Project, outside: Outside) -> None:
    config = make_config(project, **GROUPED, notifications=[{**WEBHOOK, "delayMin": 5}])
    report(project, START, "db1", "db2")
    assert open_tracked(now=START + 5 * MINUTE) == 2
    deliver_all(START + 5 * MINUTE + WAIT)
    assert said(outside) == [(OPEN, 2, "replica set rs0")]
    assert statuses(config) == ["OPEN"] * 2


def test_a_global_configuration_has_an_incident_in_each_project(project: Project, outside: Outside) -> None:
    other_project = ProjectFactory.create()
    make_global_config(**GROUPED)
    for group in (project, other_project):
        report(group, START, "db1", "db2")
    deliver_all(START + WAIT)
    assert said(outside) == [(OPEN, 2, "replica set rs0")] * 2
    assert {row.group_id for row in Incident.objects.all()} == {project.id, other_project.id}


def test_every_service_with_incidents_gets_one_key(project: Project, outside: Outside) -> None:
    make_config(project, **GROUPED, notifications=[PAGER])
    report(project, START, "db1", "db2")
    deliver_all(START + WAIT)
    report(project, START + MINUTE, "db1", "db2", up=True)
    deliver_all(START + MINUTE)
    incident = Incident.objects.get().id
    messages = [message for _, _, message in outside.sent]
    pages = [pagerduty.build_request(outside.sent[0][1], message, base_url="") for message in messages]
    assert [(page.document["event_action"], page.document["dedup_key"]) for page in pages] == [
        ("trigger", incident),
        ("resolve", incident),
    ]
    calls = [splunk_on_call.build_request({"apiKey": "k"}, message, base_url="") for message in messages]
    assert {call.document["entity_id"] for call in calls} == {incident}
    alerts = [opsgenie.build_request({"apiKey": "k"}, message, base_url="") for message in messages]
    assert alerts[0].document["alias"] == incident
    assert f"/v2/alerts/{incident}/close" in alerts[1].url


def test_messages_say_what_is_down_and_for_how_long(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    names = [f"db{number}" for number in range(1, 8)]
    report(project, START, *names)
    deliver_all(START + WAIT)
    report(project, START + 12 * MINUTE, *names, up=True)
    deliver_all(START + 12 * MINUTE)
    opened, closed = (message for _, _, message in outside.sent)
    assert opened.title == f"[OPEN] [CRITICAL] Host down (7 alerts): replica set rs0 (project {project.name})"
    assert opened.facts["Root"] == "replica set rs0"
    assert opened.facts["Open alerts"].startswith("7: ")
    assert opened.facts["Open alerts"].endswith(" and 2 more")
    assert closed.what == "Host down after 12 min"
    assert closed.target in {f"{name}:27017" for name in names}


# --- labels ---------------------------------------------------------------------------------------


def report_labelled(
    project: Project, at: datetime, fleet: Mapping[str, Mapping[str, str]], *, up: bool = False
) -> None:
    """Report hosts with labels, each by an agent of its own."""
    for name, labels in fleet.items():
        ingest(project, host_report(name, reachable=up), agent=f"mon-{name}", labels=labels, now=at)
    evaluate(at)


REGIONS: Mapping[str, Mapping[str, str]] = {
    name: {"env": "production", "region": region}
    for region in ("eu", "us")
    for name in (f"{region}1", f"{region}2")
}


def of_region(region: str) -> Mapping[str, Mapping[str, str]]:
    return {name: labels for name, labels in REGIONS.items() if labels["region"] == region}


def test_an_outage_of_the_hosts_with_a_label_is_one_incident(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report_labelled(project, START - MINUTE, REGIONS, up=True)
    for number, (name, labels) in enumerate(of_region("eu").items()):
        report_labelled(project, START + number * SECOND, {name: labels})
    deliver_all(START + WAIT)
    assert said(outside) == [(OPEN, 2, "hosts with region=eu")]


def test_outages_of_two_regions_are_two_incidents(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report_labelled(project, START - MINUTE, REGIONS, up=True)
    report_labelled(project, START, REGIONS)
    deliver_all(START + WAIT)
    assert Counter(said(outside)) == Counter(
        [(OPEN, 2, "hosts with region=eu"), (OPEN, 2, "hosts with region=us")]
    )


@each("others, incidents", [(1, 1), (0, 3)], ids=["three of four hosts", "all hosts"])
def test_a_label_of_more_than_three_quarters_of_the_hosts_relates_nothing(
    project: Project, config: AlertConfig, others: int, incidents: int
) -> None:
    labelled = {f"db{number}": {"env": "production"} for number in range(3)}
    rest = {f"test{number}": {"env": "test"} for number in range(others)}
    report_labelled(project, START - MINUTE, {**labelled, **rest}, up=True)
    report_labelled(project, START, labelled)
    assert Incident.objects.count() == incidents


def test_a_label_relates_alerts_within_the_wait(project: Project, config: AlertConfig) -> None:
    report_labelled(project, START - MINUTE, REGIONS, up=True)
    for number, (name, labels) in enumerate(of_region("eu").items()):
        report_labelled(project, START + 2 * number * WAIT, {name: labels})
    assert Incident.objects.count() == 2


def test_an_incident_of_before_labels_still_grows(project: Project, config: AlertConfig) -> None:
    report_labelled(project, START - MINUTE, REGIONS, up=True)
    report_labelled(project, START, {"eu1": REGIONS["eu1"]})
    incident = Incident.objects.get()
    incident.units = [key for key in incident.units if not key.startswith("LABEL:")]
    incident.save()
    report_labelled(project, START + SECOND, {"eu2": REGIONS["eu2"]})
    assert Incident.objects.count() == 2
    report_labelled(project, START + 2 * SECOND, {"eu1": REGIONS["eu1"]}, up=True)
    report_labelled(project, START + 3 * SECOND, {"eu1": REGIONS["eu1"]})
    assert Incident.objects.count() == 2


# --- changes that matter --------------------------------------------------------------------------


@pytest.mark.slow
def test_only_changes_that_matter_are_notified(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report(project, START - MINUTE, *(f"db{number}" for number in range(1, 8)), up=True)
    report(project, START, "db1", "db2")
    deliver_all(START + WAIT)
    for number, name in enumerate(("db3", "db4", "db5", "db6", "db7"), 1):
        report(project, START + number * MINUTE, name)
        deliver_all(START + number * MINUTE + WAIT)
    report(project, START + 8 * MINUTE, "db1", "db2", up=True)
    deliver_all(START + 8 * MINUTE + WAIT)
    assert said(outside) == [
        (OPEN, 2, None),
        (UPDATE, 4, None),
        (UPDATE, 7, "replica set rs0"),
    ]
    assert not Notification.objects.filter(status="PENDING", part__isnull=False).exists()


def test_a_root_that_recovered_is_notified_once(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report(project, START - MINUTE, "db1", "db2", "db3", "db4", up=True)
    report(project, START, "db1")
    report(project, START + SECOND, "db2", "db3")
    deliver_all(START + WAIT)
    for number, name in enumerate(("db1", "db2"), 1):
        report(project, START + number * MINUTE, name, up=True)
        deliver_all(START + number * MINUTE + WAIT)
    report(project, START + 5 * MINUTE, "db3", up=True)
    deliver_all(START + 5 * MINUTE)
    assert said(outside) == [(OPEN, 3, None), (UPDATE, 2, None), (CLOSE, 0, None)]


def test_reminders_continue_when_the_first_alert_is_over(project: Project, outside: Outside) -> None:
    make_config(project, **GROUPED, notifications=[{**WEBHOOK, "intervalMin": 5}])
    report(project, START - MINUTE, "db1", "db2", "db3", up=True)
    report(project, START, "db1")
    report(project, START + SECOND, "db2")
    deliver_all(START + WAIT)
    report(project, START + MINUTE, "db1", up=True)
    deliver_all(START + MINUTE + WAIT)
    deliver_all(START + 6 * MINUTE)
    deliver_all(START + 12 * MINUTE)
    assert outside.kinds == [OPEN, UPDATE, UPDATE, UPDATE]
    report(project, START + 13 * MINUTE, "db2", up=True)
    deliver_all(START + 30 * MINUTE)
    assert outside.kinds[4:] == [CLOSE]


def test_an_incident_is_acknowledged_when_all_its_open_alerts_are(project: Project, outside: Outside) -> None:
    make_config(project, **GROUPED, notifications=[{**PAGER, "intervalMin": 5}])
    report(project, START, "db1", "db2")
    deliver_all(START + WAIT)
    until = START + 60 * MINUTE
    for number, alert in enumerate(Alert.objects.order_by("id"), 1):
        alert_acknowledge(
            alert_id=alert.id,
            group_id=project.id,
            until=until,
            comment=None,
            actor=SYSTEM,
            now=START + MINUTE,
        )
        deliver_all(START + MINUTE)
        assert outside.kinds.count(MessageKind.ACKNOWLEDGE) == (1 if number == 2 else 0)
    deliver_all(START + 30 * MINUTE)
    assert outside.kinds == [OPEN, MessageKind.ACKNOWLEDGE]
    assert Notification.objects.get(status="PENDING").reason == NotificationReason.ACKNOWLEDGED.value
    assert len({message.thread_key for _, _, message in outside.sent}) == 1


def test_a_window_for_some_hosts_does_not_hold_back_the_others(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    def mute(*names: str) -> None:
        for name in names:
            window_create(
                group_id=project.id,
                values={
                    "start": START - MINUTE,
                    "end": START + 60 * MINUTE,
                    "alert_types": ["HOST"],
                    "matchers": [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": name}],
                },
                actor=SYSTEM,
                now=START - MINUTE,
            )

    mute("db1", "db2")
    report(project, START, "db1", "db2")
    deliver_all(START + WAIT)
    assert outside.sent == []
    report(project, START + MINUTE, "db3")
    deliver_all(START + MINUTE + WAIT)
    assert said(outside) == [(OPEN, 3, "replica set rs0")]


def test_notified_people_get_updates_and_the_end(project: Project, outside: Outside) -> None:
    for name in ("ada", "bob"):
        user = UserFactory.create(email_address=f"{name}@example.com", password=None)
        user.grants.create(role=Role.GROUP_OWNER.value, project=project)
    group = {"typeName": "GROUP", "emailEnabled": True, "smsEnabled": False, "delayMin": 0, "intervalMin": 60}
    make_config(project, **GROUPED, notifications=[group])
    report(project, START, "db1")
    deliver_all(START + WAIT)
    report(project, START + MINUTE, "db2", "db3")
    deliver_all(START + MINUTE + WAIT)
    report(project, START + 3 * MINUTE, "db1", "db2", "db3", up=True)
    deliver_all(START + 3 * MINUTE)
    assert Counter(outside.said) == Counter(
        (f"{name}@example.com", kind) for name in ("ada", "bob") for kind in ("OPEN", "UPDATE", "CLOSE")
    )


def test_the_last_of_all_other_messages_counts_as_said(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report(project, START, "db1", "db2")
    first = Notification.objects.get(alert_id=Incident.objects.get().lead_id)
    messages: list[tuple[int, datetime | None, int | None, str | None]] = [
        (7, START, 1, "FIRST"),
        (8, START + MINUTE, 2, "CLUSTER:c"),
        (9, START + MINUTE, 3, "AGENT:a"),
        (9, START + MINUTE, 3, "AGENT:a"),
        (10, None, 4, "MACHINE:m"),
        (11, START + 2 * MINUTE, None, None),
    ]
    rows = [copy(first) for _ in messages]
    for row, (sequence, attempted, alerts, root) in zip(rows, messages, strict=True):
        row.id, row.sequence, row.first_attempt = new_id(), sequence, attempted
        row.said_members, row.said_root, row.status = alerts, root, "DELIVERED"
    rows[4].perhaps_received, rows[4].status = True, "PENDING"
    rows.append(copy(first))
    rows[-1].id, rows[-1].sequence, rows[-1].first_attempt = new_id(), 12, START + 3 * MINUTE
    rows[-1].said_members, rows[-1].said_root, rows[-1].status = 5, "CLUSTER:refused", "FAILED"
    rows[-1].kind = "alert.update"
    Notification.objects.bulk_create(rows)
    last, before = Picture(3, "AGENT:a"), Picture(2, "CLUSTER:c")
    said = last_pictures([first, *rows])
    assert [said[row.id] for row in (first, *rows)] == [last, last, last, before, before, last, last, last]
    assert last_pictures([first])[first.id] == last
    Notification.objects.filter(id__in=[row.id for row in rows]).delete()
    assert last_pictures([first])[first.id] is None


def test_a_receiver_that_refused_the_first_message_gets_the_next_change(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    outside.outcome = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 5)
    report(project, START, "db1")
    deliver_all(START + WAIT)
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 7)
    report(project, START + MINUTE, "db2", "db3")
    deliver_all(START + MINUTE + WAIT)
    assert outside.kinds == [OPEN, UPDATE]


# --- what must not be lost ------------------------------------------------------------------------


def test_grouping_that_is_turned_off_notifies_of_all_open_alerts(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report(project, START - MINUTE, *(f"db{number}" for number in range(9)), up=True)
    report(project, START, "db1", "db2")
    deliver_all(START + WAIT)
    report(project, START + MINUTE, "db3")
    deliver_all(START + MINUTE + WAIT)
    assert said(outside) == [(OPEN, 2, None)]
    now = START + 2 * MINUTE
    alert_config_update(config=config, read=lambda _: {"grouping": "NONE"}, actor=SYSTEM, now=now)
    deliver_all(now)
    assert said(outside)[1:] == [(UPDATE, 3, None)]
    report(project, now, "db4")
    deliver_all(now)
    assert "incident" not in outside.sent[2][2].document
    report(project, now + MINUTE, "db1", "db2", "db3", "db4", up=True)
    deliver_all(now + MINUTE)
    assert outside.kinds[3:] == [CLOSE, CLOSE]


def test_grouping_that_is_turned_off_during_the_wait_loses_nothing(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report(project, START, "db1", "db2")
    alert_config_update(config=config, read=lambda _: {"grouping": "NONE"}, actor=SYSTEM, now=START)
    deliver_all(START + WAIT)
    assert said(outside) == [(OPEN, 2, "replica set rs0")]


def test_grouping_that_is_turned_on_leaves_alerts_of_before_alone(project: Project, outside: Outside) -> None:
    config = make_config(project)
    report(project, START, "db1")
    deliver_all(START)
    alert_config_update(config=config, read=lambda _: {"grouping": "TOPOLOGY"}, actor=SYSTEM, now=START)
    report(project, START + MINUTE, "db2")
    deliver_all(START + 2 * MINUTE)
    report(project, START + 3 * MINUTE, "db1", "db2", up=True)
    deliver_all(START + 3 * MINUTE)
    assert Counter(outside.kinds) == {OPEN: 2, CLOSE: 2}
    assert Incident.objects.filter(GROUPED_ALERTS).count() == 1


def test_a_deleted_configuration_ends_its_incident_once(project: Project, outside: Outside) -> None:
    config = make_config(project, **GROUPED, notifications=[PAGER])
    report(project, START, "db1", "db2")
    deliver_all(START + WAIT)
    alert_config_delete(config=config, actor=SYSTEM, now=START + MINUTE)
    deliver_all(START + MINUTE)
    assert outside.kinds == [OPEN, MessageKind.CANCEL]
    assert Incident.objects.get().ended == START + MINUTE


def test_the_messages_of_a_lasting_incident_are_kept(
    project: Project, config: AlertConfig, outside: Outside, settings: Any
) -> None:
    settings.OPSAPI_ALERT_RETENTION_DAYS = 1
    report(project, START - MINUTE, "db1", "db2", "db3", up=True)
    report(project, START, "db1", "db2")
    deliver_all(START + WAIT)
    lead = Incident.objects.get().lead_id
    name = Alert.objects.get(id=lead).facts["hostname"]
    report(project, START + MINUTE, name, up=True)
    deliver_all(START + MINUTE + WAIT)
    much_later = START + timedelta(days=3)
    assert not alerts_trim(now=much_later)
    destinations_trim(now=much_later)
    assert Destination.objects.get().config is not None
    report(project, much_later, "db1", "db2", up=True)
    deliver_all(much_later)
    assert outside.kinds[-1] == CLOSE
    for _ in range(9):
        alerts_trim(now=much_later + timedelta(days=3))
    assert not Alert.objects.exists()
    assert not Incident.objects.exists()


def test_no_alert_joins_an_incident_that_an_older_version_left_open(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    report(project, START, "db1")
    deliver_all(START + WAIT)
    Alert.objects.update(status="CLOSED", resolved=START + MINUTE)  # as workers without grouping do
    report(project, START + 2 * MINUTE, "db2")
    deliver_all(START + 2 * MINUTE + WAIT)
    assert Incident.objects.count() == 2
    assert outside.kinds == [OPEN, OPEN]


# --- whatever happens -----------------------------------------------------------------------------

NAMES = [f"{kind}{number}" for kind in "ab" for number in range(4)]
OTHER = {**WEBHOOK, "webhookUrl": "http://127.0.0.1:9/hooks/other-other"}
ANSWERS = [Outcome(DeliveryStatus.DELIVERED, None, 7)] * 3 + [
    LOST,
    Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5),
    Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 5),
]


def crash(now: datetime) -> None:
    """Let a worker die after it has begun attempts, and release its leases."""
    held = begin(now)
    if held:
        lapsed_leases_release(now=now, absent={1})


def run(project: Project, config: AlertConfig, outside: Outside, draw: Random) -> datetime:
    """Hosts go and come, receivers answer as they like, workers die, and grouping is turned off and on."""
    now, down = START, dict.fromkeys(NAMES, False)
    report(project, now - MINUTE, *NAMES, up=True)
    for _ in range(draw.randint(4, 14)):
        now += draw.choice([SECOND, 5 * SECOND, WAIT, MINUTE])
        outside.outcome = draw.choice(ANSWERS)
        match draw.choice(["hosts", "hosts", "hosts", "deliver", "deliver", "crash", "switch"]):
            case "hosts":
                up = draw.random() < 0.4
                names = draw.sample(NAMES, draw.randint(1, 4))
                report_two_sets(project, now, names, up=up)
                down |= dict.fromkeys(names, not up)
            case "deliver":
                deliver_all(now)
            case "crash":
                crash(now)
            case _:
                other = "NONE" if draw.random() < 0.5 else "TOPOLOGY"
                switch(config, other, now)
    return now


def switch(config: AlertConfig, grouping: str, now: datetime) -> None:
    alert_config_update(config=config, read=lambda _: {"grouping": grouping}, actor=SYSTEM, now=now)


def report_two_sets(project: Project, at: datetime, names: Sequence[str], *, up: bool) -> None:
    for name in names:
        ingest(project, host_report(name, reachable=up, replica_set_name=f"rs{name[0]}"), now=at)
    evaluate(at)


def drain(project: Project, outside: Outside, now: datetime) -> datetime:
    outside.outcome = ANSWERS[0]
    for _ in range(8):
        now += 10 * MINUTE
        deliver_all(now)
    return now


@pytest.mark.slow
@each("seed", range(12))
def test_whatever_happens_ends_are_sent_to_the_notified_receivers(
    project: Project, outside: Outside, seed: int
) -> None:
    config = make_config(project, **GROUPED, notifications=[WEBHOOK, OTHER])
    outside.sent.clear()
    now = drain(project, outside, run(project, config, outside, Random(seed)))
    opened = Alert.objects.filter(config_id=config.id, status="OPEN")
    for alert in opened:
        assert_notified(alert, config)
    report_two_sets(project, now, NAMES, up=True)
    drain(project, outside, now)
    assert not Notification.objects.filter(status="PENDING").exists()
    for alert in Alert.objects.filter(config_id=config.id):
        assert alert.status == "CLOSED"
        assert_logged(alert, config)
    assert not Incident.objects.filter(ended=None).exists()
    assert_ends_match(outside)


def assert_notified(alert: Alert, config: AlertConfig) -> None:
    """An alert that is open has a message that was sent, of its own or of its incident."""
    lead = Incident.objects.get(id=alert.incident_id).lead_id if alert.incident_id else alert.id
    for setting in NotificationSetting.objects.filter(config=config):
        sent = Notification.objects.filter(alert_id=lead, setting_id=setting.id, attempts__gt=0)
        assert sent.exists(), (alert.id, setting.id)


def assert_logged(alert: Alert, config: AlertConfig) -> None:
    """Each alert has a line for each setting, which names its incident if it has one."""
    for setting in NotificationSetting.objects.filter(config=config):
        rows = Notification.objects.filter(alert=alert, setting_id=setting.id)
        assert rows.exists()
        assert {row.incident_id for row in rows} == {alert.incident_id}
        lead_id = Incident.objects.get(id=alert.incident_id).lead_id
        in_incident = {row.reason == NotificationReason.IN_INCIDENT.value for row in rows}
        assert in_incident == {alert.id != lead_id}


def assert_ends_match(outside: Outside) -> None:
    """Every receiver that perhaps was said of an alert or incident got one end, and nobody else."""
    received = Q(status="DELIVERED") | Q(perhaps_received=True)
    ids = set(Notification.objects.filter(received).values_list("id", flat=True))
    begun: set[tuple[str, str]] = set()
    ends: dict[tuple[str, str], set[str]] = {}
    for _, address, message in outside.sent:
        key = (next(iter(address.values())), message.thread_key)
        if message.kind in ENDS:
            ends.setdefault(key, set()).add(message.delivery_id)
        elif message.delivery_id in ids:
            begun.add(key)
    assert begun == ends.keys()
    assert [key for key, messages in ends.items() if len(messages) > 1] == []


class Killed:
    """Fails the statement with this number, as the death of the process does: nothing later happens."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, execute: Any, *arguments: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise OperationalError("the process was killed")
        return execute(*arguments)


def killed(number: int, step: Callable[[], object]) -> bool:
    """Make the step, which is killed at this statement; answers whether it was, and not over before."""
    killer = Killed(number)
    with suppress(OperationalError), transaction.atomic(), connection.execute_wrapper(killer):
        step()
    return killer.left <= 0


def outage(project: Project, kill: Callable[[Callable[[], object]], object]) -> None:
    """An outage in which each step is killed once and repeated."""
    steps: Sequence[tuple[datetime, Callable[[datetime], object]]] = (
        (START, evaluate),
        (START + WAIT, deliver_all),
        (START + MINUTE, evaluate),
        (START + MINUTE + WAIT, deliver_all),
        (START + 2 * MINUTE, evaluate),
        (START + 2 * MINUTE, deliver_all),
    )
    hosts = {START: ["db1"], START + MINUTE: ["db2", "db3"], START + 2 * MINUTE: ["db1", "db2", "db3"]}
    for at, step in steps:
        if step is evaluate:
            up = at == START + 2 * MINUTE
            ingest(project, *(host_report(name, reachable=up, **SET) for name in hosts[at]), now=at)
        kill(partial(step, at))
        step(at)


def state() -> tuple[list[Any], list[Any], list[Any]]:
    rows = Notification.objects.order_by("id").values_list("id", "status", "kind", "part", "said_members")
    alerts = Alert.objects.order_by("id").values_list("id", "status", "incident_id")
    return list(rows), list(alerts), list(Incident.objects.order_by("id").values_list("id", "ended"))


@pytest.mark.slow
@each("number", range(1, 54, 4))
def test_a_step_that_is_killed_at_any_statement_changes_nothing(
    project: Project, outside: Outside, number: int
) -> None:
    config = make_config(project, **GROUPED, notifications=[PAGER])
    assert config.grouping == "TOPOLOGY"
    with transaction.atomic():
        kills: list[bool] = []
        outage(project, lambda step: kills.append(killed(number, step)))
        after = {(kind, alerts) for kind, alerts, _ in said(outside)}
        logged = [(row[1:], alert[1]) for row, alert in zip(*state()[:2], strict=False)]
        assert any(kills)
        transaction.set_rollback(True)
    outside.sent.clear()
    outage(project, lambda _: None)
    assert (
        {(kind, alerts) for kind, alerts, _ in said(outside)} == after == {(OPEN, 1), (UPDATE, 3), (CLOSE, 0)}
    )
    assert sorted(map(str, logged)) == sorted(
        str((row[1:], alert[1])) for row, alert in zip(*state()[:2], strict=False)
    )


def test_without_grouping_each_alert_is_an_incident_written_in_sets(
    project: Project, outside: Outside
) -> None:
    """A statement begins all incidents, and a statement ends them, whatever their number."""
    make_config(project, notifications=[PAGER])
    names = [f"db{number}" for number in range(7)]
    with CaptureQueriesContext(connection) as queries:
        report(project, START, *names)
        report(project, START + MINUTE, *names, up=True)
    writes = [found["sql"].split()[0] for found in queries if "alerting_incident" in found["sql"]]
    assert writes == ["INSERT", "UPDATE"]
    deliver_all(START + MINUTE)
    for incident in Incident.objects.select_related("lead"):
        assert (incident.id, incident.ended) == (incident.lead_id, START + MINUTE)
        assert incident.lead.incident_id == incident.id
    assert Incident.objects.count() == len(names)
    assert set(Notification.objects.values_list("incident_id", "alert_id")) == {
        (incident.id, incident.id) for incident in Incident.objects.all()
    }


def test_an_alert_opens_under_the_lock_of_its_project_whatever_its_grouping(project: Project) -> None:
    make_alert(project, status="TRACKING", created=START, opens=START)
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, hashtext(%s))", [locks._LOCK_CLASS, project.id])
        assert open_tracked(now=START) == 0
        # A closed connection releases its locks a moment later.
        cursor.execute("SELECT pg_advisory_unlock_all()")
    assert open_tracked(now=START) == 1


@pytest.mark.parametrize(("first_attempt", "worth"), [(START, True), (None, False)])
def test_a_change_that_was_tried_is_compared_again_after_it_was_held_back(
    first_attempt: datetime | None, worth: bool
) -> None:
    tried = Notification(part=IncidentPart.CHANGE.value, attempts=1, first_attempt=first_attempt)
    assert is_worth_sending(tried, None, None) is worth


def test_a_worker_decides_on_incidents_last_project_by_project(project: Project) -> None:
    other: Project = ProjectFactory.create()

    def message(of: Project, destination: str = "", **changes: str) -> Notification:
        return make_notification(of, alert=make_alert(of), destination=destination, **changes)

    first = message(other, incident_id="0" * 24)
    claimed = [
        message(project, incident_id="1" * 24),
        first,
        message(project),
        message(project, destination="2" * 24, incident_id="1" * 24),
        message(other, destination="2" * 24),
    ]
    batches = [[claimed.index(row) for row in batch] for _, batch in decided_together(claimed)]
    assert batches == [[4], [2], [0, 3], [1]]


def test_projects_with_incidents_wait_for_the_next_step_if_a_step_takes_long(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step decides on one incident and releases the leases of the others, so each gets its turn."""
    monkeypatch.setattr("alerting.engine.courier.DECIDE_SECONDS", -1.0)
    projects = [project, *(ProjectFactory.create() for _ in range(2))]
    for each_project in projects:
        make_notification(each_project, alert=make_alert(each_project), incident_id=new_id())
    plain = make_notification(project, alert=make_alert(project))
    decided: list[list[str]] = []

    def decide(batch: Sequence[Notification], **_: object) -> Iterator[DeliveryAttempt]:
        decided.append([row.id for row in batch])
        yield from ()

    monkeypatch.setattr("alerting.engine.courier.decide", decide)
    courier = Courier(worker=1, slots=8, clock=clock.now, wake=lambda: None)
    assert len(courier._claim_and_send()) == 4
    assert decided[0] == [plain.id]
    assert len(decided) == 2
    assert Notification.objects.filter(lease_token=None).count() == 2
