"""The severity and the texts of a configuration in messages."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.changes import alert_config_update
from alerting.configs.notification_tests import alert_config_test
from alerting.models import Alert, AlertConfig, Notification
from alerting.reasons import NotificationReason
from alerting.severities import SEVERITIES, SEVERITY, has_severity, types_of
from automation.reports.rules import EventReport
from events.types import EVENT_TYPES, EventType, Severity, severity_of
from integrations.choices import MessageKind
from integrations.messages import Message
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.alerting import WEBHOOK, make_alert, make_config, make_global_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
WAIT = timedelta(seconds=15)
TEXTS: Mapping[str, Any] = {
    "name": "Primary down",
    "description": "Call the team.",
    "runbookUrl": "https://wiki.example.com/primary",
}
ALERTABLE = [name for name, spec in EVENT_TYPES.items() if spec.alertable]
pytestmark = pytest.mark.django_db


def report(project: Project, at: datetime, *names: str, up: bool = False) -> None:
    """Report hosts of a replica set, down unless they are `up`, and evaluate the report."""
    ingest(project, *(host_report(name, reachable=up, replica_set_name="rs0") for name in names), now=at)
    evaluate(at)


def change(config: AlertConfig, at: datetime, **values: Any) -> None:
    """Change a configuration."""
    alert_config_update(config=config, read=lambda _: values, actor=SYSTEM, now=at)


def sent(outside: Outside) -> list[Message]:
    """The messages in the order in which they were sent."""
    return [message for _, _, message in outside.sent]


@each("event_type", ALERTABLE)
@each("severity", [None, *SEVERITIES])
def test_statements_and_rules_agree_on_the_severity(
    project: Project, event_type: EventType, severity: str | None
) -> None:
    alert = make_alert(project, event_type=event_type.value, severity=severity)
    expected = severity_of(severity, event_type)
    rows = Alert.objects.filter(id=alert.id)
    assert list(rows.values_list(SEVERITY, flat=True)) == [expected]
    assert [name for name in SEVERITIES if rows.filter(has_severity(name)).exists()] == [expected]
    assert (event_type.value in types_of(expected)) is (
        severity is None or severity_of(None, event_type) == expected
    )
    assert alert.effective_severity is expected


def test_messages_have_the_severity_of_the_alert_and_the_texts_of_the_configuration(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, severity="WARNING", **TEXTS)
    report(project, START, "db1")
    deliver_all(START)
    change(config, START + MINUTE, severity="INFO", description="New text.")
    deliver_all(START + 61 * MINUTE)
    report(project, START + 70 * MINUTE, "db1", up=True)
    deliver_all(START + 70 * MINUTE)
    messages = sent(outside)
    assert [message.kind for message in messages] == [MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE]
    assert {message.severity for message in messages} == {Severity.WARNING}
    assert [message.document["severity"] for message in messages] == ["WARNING"] * 3
    assert [message.facts["Description"] for message in messages] == [
        "Call the team.",
        "New text.",
        "New text.",
    ]
    assert [message.links["Runbook"] for message in messages] == [TEXTS["runbookUrl"]] * 3
    assert messages[0].title.startswith("[OPEN] [WARNING] Host down: db1")
    assert messages[0].facts["Configuration"] == "Primary down: Host down"
    assert messages[2].title.startswith("[CLOSED] Host down after 1 h 10 min: db1")


def test_a_message_of_a_global_configuration_has_its_texts(project: Project, outside: Outside) -> None:
    make_global_config(**TEXTS)
    report(project, START, "db1")
    deliver_all(START)
    [message] = sent(outside)
    assert message.facts["Configuration"] == "Primary down: Host down (global)"
    assert (message.facts["Description"], message.links["Runbook"]) == (
        TEXTS["description"],
        TEXTS["runbookUrl"],
    )


def test_an_alert_of_an_earlier_build_is_notified_with_the_severity_of_its_event_type(
    project: Project, outside: Outside
) -> None:
    make_config(project)
    AlertConfig.objects.update(severity=None)
    report(project, START, "db1")
    assert Alert.objects.get().severity == "CRITICAL"
    Alert.objects.update(severity=None)
    deliver_all(START)
    [message] = sent(outside)
    assert (message.severity, message.document["severity"]) == (Severity.CRITICAL, "CRITICAL")
    assert ("Runbook" in message.links, "Description" in message.facts) == (False, False)


@each(("options", "severity"), [({}, Severity.WARNING), ({"severity": "CRITICAL"}, Severity.CRITICAL)])
def test_a_message_about_an_event_has_the_severity_of_the_configuration(
    project: Project, outside: Outside, options: dict[str, Any], severity: Severity
) -> None:
    outside.sent.clear()
    AlertConfig.objects.update(enabled=False)
    make_config(project, eventTypeName="HOST_ROLLBACK", **options, **TEXTS)
    rollback = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
    ingest(project, events=(rollback,), now=START)
    evaluate(START)
    deliver_all(START)
    [message] = sent(outside)
    assert message.severity is severity
    assert message.title.startswith(f"[EVENT] [{severity}] Host rollback: db1")
    assert message.links["Runbook"] == TEXTS["runbookUrl"]


def test_a_test_has_the_severity_info_and_the_texts(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.configs.notification_tests.deliver", outside.deliver)
    config = make_config(project, severity="CRITICAL", **TEXTS)
    alert_config_test(config=config, notification_id=None, actor=SYSTEM, now=START)
    [message] = sent(outside)
    assert (message.severity, message.is_test) == (Severity.INFO, True)
    assert message.title.startswith("[TEST] Test notification for Host down")
    assert message.facts["Configuration"] == "Primary down: Host down"
    assert (message.facts["Description"], message.links["Runbook"]) == (
        TEXTS["description"],
        TEXTS["runbookUrl"],
    )


def test_a_message_of_an_incident_has_the_highest_severity_of_its_open_alerts(
    project: Project, outside: Outside
) -> None:
    config = make_config(
        project, grouping="TOPOLOGY", severity="WARNING", notifications=[{**WEBHOOK, "intervalMin": 10}]
    )
    report(project, START, "db1")
    deliver_all(START + WAIT)
    change(config, START + MINUTE, severity="CRITICAL")
    report(project, START + 2 * MINUTE, "db2", "db3")
    deliver_all(START + 2 * MINUTE + WAIT)
    report(project, START + 3 * MINUTE, "db2", "db3", up=True)
    deliver_all(START + 20 * MINUTE)
    messages = sent(outside)
    incidents: Any = [message.document["incident"] for message in messages]
    assert [message.kind for message in messages] == [
        MessageKind.OPEN,
        MessageKind.UPDATE,
        MessageKind.UPDATE,
    ]
    assert [message.severity for message in messages] == [
        Severity.WARNING,
        Severity.CRITICAL,
        Severity.WARNING,
    ]
    assert [incident["severity"] for incident in incidents] == ["WARNING", "CRITICAL", "WARNING"]
    assert {message.document["severity"] for message in messages} == {"WARNING"}


# --- minimum severity -----------------------------------------------------------------------------

CRITICAL_ONLY = {**WEBHOOK, "webhookUrl": "http://127.0.0.1:9/hooks/critical", "minSeverity": "CRITICAL"}
URGENT = {**WEBHOOK, "webhookUrl": "http://127.0.0.1:9/hooks/urgent", "minSeverity": "WARNING"}


@each(
    ("severity", "hooks"),
    [
        ("INFO", ["abcdefgh"]),
        ("WARNING", ["abcdefgh", "urgent"]),
        ("CRITICAL", ["abcdefgh", "critical", "urgent"]),
    ],
)
def test_a_notification_sends_messages_from_its_minimum_severity_on(
    project: Project, outside: Outside, severity: str, hooks: list[str]
) -> None:
    outside.sent.clear()
    repeated = {"intervalMin": 10}
    notifications = [{**each, **repeated} for each in (WEBHOOK, CRITICAL_ONLY, URGENT)]
    make_config(project, severity=severity, notifications=notifications)
    report(project, START, "db1")
    deliver_all(START)
    deliver_all(START + 10 * MINUTE)
    report(project, START + 15 * MINUTE, "db1", up=True)
    deliver_all(START + 15 * MINUTE)
    assert sorted(url.rpartition("/")[2] for url, _ in outside.said) == sorted(hooks * 3)
    assert [kind for _, kind in outside.said] == [kind for kind in ("OPEN", "UPDATE", "CLOSE") for _ in hooks]
    dropped = Notification.objects.filter(reason=NotificationReason.BELOW_MIN_SEVERITY.value)
    assert {(row.kind, row.status) for row in dropped} <= {("alert.open", "DROPPED")}
    assert dropped.count() == 3 - len(hooks)
    assert Notification.objects.count() == 3 * len(hooks) + dropped.count() + len(hooks)


def test_an_event_below_the_minimum_severity_is_not_sent(project: Project, outside: Outside) -> None:
    make_config(project, eventTypeName="HOST_ROLLBACK", notifications=[CRITICAL_ONLY, URGENT])
    rollback = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
    ingest(project, events=(rollback,), now=START)
    evaluate(START)
    deliver_all(START)
    assert outside.said == [(URGENT["webhookUrl"], "INFORM")]


def test_a_minimum_that_is_set_later_ends_reminders_and_the_end_is_sent(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, severity="WARNING", notifications=[{**WEBHOOK, "intervalMin": 10}])
    report(project, START, "db1")
    deliver_all(START)
    [setting] = config.settings.all()
    later = {**WEBHOOK, "intervalMin": 10, "id": setting.id, "minSeverity": "CRITICAL"}
    change(config, START + MINUTE, notifications=[later])
    deliver_all(START + 30 * MINUTE)
    report(project, START + 31 * MINUTE, "db1", up=True)
    deliver_all(START + 31 * MINUTE)
    assert [kind for _, kind in outside.said] == ["OPEN", "CLOSE"]
    reminder = Notification.objects.get(kind="alert.update")
    assert (reminder.status, reminder.reason) == ("DROPPED", NotificationReason.BELOW_MIN_SEVERITY.value)


def test_an_incident_is_notified_when_its_severity_reaches_the_minimum(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, grouping="TOPOLOGY", severity="WARNING", notifications=[CRITICAL_ONLY])
    report(project, START, "db1")
    deliver_all(START + WAIT)
    report(project, START + MINUTE, "db2")
    deliver_all(START + MINUTE + WAIT)
    assert outside.said == []
    change(config, START + 2 * MINUTE, severity="CRITICAL")
    report(project, START + 3 * MINUTE, "db3")
    deliver_all(START + 3 * MINUTE + WAIT)
    assert [kind for _, kind in outside.said] == ["UPDATE"]
    [message] = sent(outside)
    assert (message.severity, message.headline) == (Severity.CRITICAL, "Host down for 3 min (3 alerts)")
    report(project, START + 4 * MINUTE, "db1", "db2", "db3", up=True)
    deliver_all(START + 4 * MINUTE)
    assert [kind for _, kind in outside.said] == ["UPDATE", "CLOSE"]


def test_a_test_is_sent_whatever_the_minimum(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.configs.notification_tests.deliver", outside.deliver)
    config = make_config(project, notifications=[CRITICAL_ONLY])
    alert_config_test(config=config, notification_id=None, actor=SYSTEM, now=START)
    assert [kind for _, kind in outside.said] == ["INFORM"]
