"""One message in Slack for an alert, from its opening to its end, with a Slack on loopback."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete
from alerting.engine import delivery
from alerting.engine.claims import claim
from alerting.engine.notification_log import alert_notifications
from alerting.engine.resource import LoggedNotificationDocument
from alerting.incidents.changes import alert_acknowledge
from alerting.models import Alert, AlertConfig, Notification
from integrations.choices import MessageKind
from integrations.credentials.changes import integration_put
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration
from tests.fake_slack import FakeSlack
from tests.integration.alerting.pipeline import SLOTS, WORKER, deliver_all, evaluate
from tests.receivers import LOOPBACK, HttpReceiver

pytestmark = pytest.mark.django_db

TOKEN = "xoxb-0123456789"
START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
IN_PLACE: dict[str, Any] = {
    "typeName": "CHAT_SERVICE",
    "apiToken": TOKEN,
    "channelName": "#oncall",
    "updateInPlace": True,
    "delayMin": 0,
    "intervalMin": 60,
}
ONE_UPDATE = ["postMessage", "update"]
TWO_POSTS = ["postMessage", "postMessage"]
UPDATE_REFUSED = ["postMessage", "update", "postMessage"]


@pytest.fixture
def slack(settings: Settings) -> Any:
    """The Slack that the settings name."""
    with HttpReceiver().running() as receiver:
        settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
        settings.OPSAPI_CHAT_BASE_URL = receiver.url("")
        yield FakeSlack(receiver, TOKEN)


def report(project: Project, now: datetime, *hosts: str, up: bool, **facts: Any) -> None:
    names = hosts or ("db1.example.com",)
    ingest(project, *(host_report(name, reachable=up, **facts) for name in names), now=now)
    evaluate(now)


def opened(project: Project, *notifications: dict[str, Any], **changes: Any) -> AlertConfig:
    """A host is down at START, and all that is due was sent."""
    config = make_config(project, notifications=notifications or (IN_PLACE,), **changes)
    report(project, START, up=False)
    deliver_all(START)
    return config


def acknowledge(project: Project, now: datetime, until: datetime) -> None:
    alert = Alert.objects.get()
    alert_acknowledge(
        alert_id=alert.id, group_id=project.id, until=until, comment="on it", actor=SYSTEM, now=now
    )
    deliver_all(now)


def end(project: Project, now: datetime) -> None:
    report(project, now, up=True)
    deliver_all(now)


def outcomes() -> list[tuple[str, str, bool]]:
    """Kind, status and `in_place` of what was sent, in order."""
    rows = Notification.objects.filter(status__in=("DELIVERED", "FAILED")).order_by("sequence")
    return [(row.kind, row.status, row.in_place) for row in rows]


def test_opening_acknowledgement_and_end_are_one_message_that_changes(
    project: Project, slack: FakeSlack
) -> None:
    opened(project)
    assert (len(slack.messages), slack.colours) == (1, ["danger"])
    assert slack.texts[0].startswith("[OPEN] ")
    acknowledge(project, START + MINUTE, START + HOUR)
    assert (len(slack.messages), slack.colours) == (1, ["warning"])
    assert slack.texts[0].startswith("[ACKNOWLEDGED] ")
    end(project, START + 5 * MINUTE)
    assert (len(slack.messages), slack.colours) == (1, ["good"])
    assert slack.texts[0].startswith("[CLOSED] ")
    assert slack.methods == ["postMessage", "update", "update"]
    facts = slack.facts()
    since = facts.index("Since: 2099-03-04 05:00:00Z")
    assert facts[since + 1] == "Until: 2099-03-04 05:05:00Z"
    assert facts[since + 3 : since + 5] == [
        "Acknowledged at: 2099-03-04 05:01:00Z",
        "Acknowledged until: 2099-03-04 06:00:00Z",
    ]
    assert outcomes() == [
        (MessageKind.OPEN, "DELIVERED", False),
        (MessageKind.ACKNOWLEDGE, "DELIVERED", True),
        (MessageKind.CLOSE, "DELIVERED", True),
    ]


def test_a_reminder_changes_the_message_and_is_repeated_in_its_thread_and_the_channel(
    project: Project, slack: FakeSlack
) -> None:
    opened(project)
    deliver_all(START + HOUR)
    assert slack.methods == ["postMessage", "update", "postMessage"]
    [reply] = slack.replies
    [first, _] = slack.messages
    assert (reply["channel"], reply["thread_ts"], reply["reply_broadcast"]) == (*first, True)
    assert reply["text"].startswith("[STILL OPEN] ")
    end(project, START + 2 * HOUR - MINUTE)
    assert slack.messages[first]["text"].startswith("[CLOSED] ")
    assert len(slack.messages) == 2


def test_a_cancelled_alert_is_shown_as_such(project: Project, slack: FakeSlack) -> None:
    config = opened(project)
    alert_config_delete(config=config, actor=SYSTEM, now=START + MINUTE)
    deliver_all(START + MINUTE)
    assert slack.texts[0].startswith("[CANCELLED] ")
    assert (slack.methods, slack.colours) == (ONE_UPDATE, ["#808080"])


def test_an_incident_is_one_message(project: Project, slack: FakeSlack) -> None:
    make_config(project, notifications=[IN_PLACE], grouping="TOPOLOGY")
    hosts = ("db1", "db2", "db3")
    report(project, START, *hosts, up=False, replica_set_name="rs0")
    deliver_all(START + MINUTE)
    report(project, START + 2 * MINUTE, *hosts, up=True, replica_set_name="rs0")
    deliver_all(START + 2 * MINUTE)
    assert (slack.methods, len(slack.messages)) == (ONE_UPDATE, 1)
    assert slack.texts[0].startswith("[CLOSED] ")


def test_the_next_alert_of_the_target_is_a_message_of_its_own(project: Project, slack: FakeSlack) -> None:
    opened(project)
    end(project, START + MINUTE)
    report(project, START + 2 * MINUTE, up=False)
    deliver_all(START + 2 * MINUTE)
    assert [text.partition("]")[0] for text in slack.texts] == ["[CLOSED", "[OPEN"]


def test_without_the_option_each_message_is_posted(project: Project, slack: FakeSlack) -> None:
    opened(project, {name: value for name, value in IN_PLACE.items() if name != "updateInPlace"})
    acknowledge(project, START + MINUTE, START + HOUR)
    end(project, START + 5 * MINUTE)
    assert slack.methods == TWO_POSTS
    assert all("attachments" not in message for message in slack.messages.values())
    assert [*Notification.objects.values_list("handle", "in_place").distinct()] == [(None, False)]


def test_after_a_lost_answer_the_end_is_a_message_of_its_own(project: Project, slack: FakeSlack) -> None:
    slack.loses_answers = True
    opened(project)
    slack.loses_answers = False
    report(project, START + timedelta(seconds=1), up=True)
    deliver_all(START + timedelta(seconds=1))
    assert slack.methods == TWO_POSTS
    assert [text.partition("]")[0] for text in slack.texts] == ["[OPEN", "[CLOSED"]


def test_after_a_lost_answer_a_cancelled_alert_is_shown_too(project: Project, slack: FakeSlack) -> None:
    slack.loses_answers = True
    config = opened(project)
    slack.loses_answers = False
    alert_config_delete(config=config, actor=SYSTEM, now=START + timedelta(seconds=1))
    deliver_all(START + timedelta(seconds=1))
    assert slack.texts[-1].startswith("[CANCELLED] ")


def test_a_lost_answer_of_a_change_is_made_good_by_the_next_attempt(
    project: Project, slack: FakeSlack
) -> None:
    opened(project)
    slack.loses_answers = True
    end(project, START + MINUTE)
    slack.loses_answers = False
    deliver_all(START + 2 * MINUTE)
    assert slack.methods == ["postMessage", "update", "update"]
    assert len(slack.messages) == 1


def test_a_deleted_message_is_posted_again_and_changed_from_then_on(
    project: Project, slack: FakeSlack
) -> None:
    opened(project)
    slack.delete_all()
    acknowledge(project, START + MINUTE, START + HOUR)
    assert slack.methods == UPDATE_REFUSED
    end(project, START + 5 * MINUTE)
    assert slack.methods == [*UPDATE_REFUSED, "update"]
    assert (len(slack.messages), slack.colours) == (1, ["good"])
    assert outcomes()[1] == (MessageKind.ACKNOWLEDGE, "DELIVERED", False)


@each(
    ("error", "methods", "status"),
    [
        ("cant_update_message", UPDATE_REFUSED, "DELIVERED"),
        ("edit_window_closed", UPDATE_REFUSED, "DELIVERED"),
        ("is_inactive", UPDATE_REFUSED, "DELIVERED"),
        ("channel_not_found", UPDATE_REFUSED, "DELIVERED"),
        ("some_new_error", UPDATE_REFUSED, "DELIVERED"),
        ("token_revoked", ONE_UPDATE, "FAILED"),
        ("missing_scope", ONE_UPDATE, "FAILED"),
        ("ratelimited", ONE_UPDATE, "PENDING"),
        ("update_failed", ONE_UPDATE, "PENDING"),
    ],
)
def test_what_an_error_of_a_change_means(
    project: Project, settings: Settings, error: str, methods: list[str], status: str
) -> None:
    with HttpReceiver().running() as receiver:
        settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
        settings.OPSAPI_CHAT_BASE_URL = receiver.url("")
        slack = FakeSlack(receiver, TOKEN)
        opened(project)
        slack.refused["chat.update"] = error
        end(project, START + MINUTE)
        assert slack.methods == methods
        assert Notification.objects.get(kind=MessageKind.CLOSE).status == status


def test_a_channel_that_is_gone_fails_with_the_reason_of_the_new_message(
    project: Project, slack: FakeSlack
) -> None:
    opened(project)
    slack.refused = {"chat.update": "is_inactive", "chat.postMessage": "is_archived"}
    end(project, START + MINUTE)
    row = Notification.objects.get(kind=MessageKind.CLOSE)
    assert (row.status, row.reason) == ("FAILED", "the channel is archived: is_archived")


def test_a_reminder_whose_reply_is_refused_failed(project: Project, slack: FakeSlack) -> None:
    opened(project)
    slack.refused["chat.postMessage"] = "restricted_action"
    deliver_all(START + HOUR)
    row = Notification.objects.get(kind=MessageKind.UPDATE, status="FAILED")
    assert (slack.methods[1:], row.in_place) == (["update", "postMessage"], False)


def test_an_integration_has_the_option_for_its_notifications(project: Project, slack: FakeSlack) -> None:
    stored = {"apiToken": TOKEN, "channelName": "oncall", "updateInPlace": True}
    make_integration(project, "CHAT_SERVICE", **stored)
    opened(project, {"typeName": "CHAT_SERVICE", "delayMin": 0})
    end(project, START + MINUTE)
    assert slack.methods == ONE_UPDATE


def test_a_notification_can_refuse_the_option_of_the_integration(project: Project, slack: FakeSlack) -> None:
    stored = {"apiToken": TOKEN, "channelName": "oncall", "updateInPlace": True}
    make_integration(project, "CHAT_SERVICE", **stored)
    opened(project, {"typeName": "CHAT_SERVICE", "updateInPlace": False, "delayMin": 0})
    end(project, START + MINUTE)
    assert slack.methods == TWO_POSTS


def test_with_a_new_token_reminders_are_new_messages_and_every_message_ends(
    project: Project, slack: FakeSlack
) -> None:
    stored = {"apiToken": TOKEN, "channelName": "oncall", "updateInPlace": True}
    make_integration(project, "CHAT_SERVICE", **stored)
    opened(project, {"typeName": "CHAT_SERVICE", "delayMin": 0, "intervalMin": 60})
    new_token = "xoxb-new-9876543210"
    new = {**stored, "apiToken": new_token}
    integration_put(
        group_id=project.id,
        integration_type="CHAT_SERVICE",
        read=lambda _: new,
        actor=SYSTEM,
        now=START + MINUTE,
    )
    slack.token = new_token
    deliver_all(START + HOUR)
    assert slack.methods == TWO_POSTS
    end(project, START + HOUR + MINUTE)
    closed = Notification.objects.filter(kind=MessageKind.CLOSE)
    assert sorted(closed.values_list("status", "in_place")) == [("DELIVERED", True), ("FAILED", False)]


def test_a_message_of_an_earlier_version_is_followed_by_messages_of_their_own(
    project: Project, slack: FakeSlack
) -> None:
    opened(project)
    Notification.objects.filter(kind=MessageKind.OPEN).update(handle=None)
    end(project, START + MINUTE)
    assert slack.methods == TWO_POSTS


def test_the_end_is_shown_though_it_was_scheduled_while_the_opening_was_sent(
    project: Project, slack: FakeSlack
) -> None:
    config = make_config(project, notifications=[IN_PLACE])
    report(project, START, up=False)
    attempt = begun()
    alert_config_delete(config=config, actor=SYSTEM, now=START)
    delivery.record([(attempt, delivery.send(attempt, now=START))], now=START)
    deliver_all(START)
    assert (slack.methods, slack.colours) == (ONE_UPDATE, ["#808080"])


def begun() -> delivery.DeliveryAttempt:
    """The attempt to send the opening, which has begun."""
    for _ in range(2):
        claims = claim(worker=WORKER, slots=SLOTS, clock=lambda: START)
        for attempt in delivery.decide(claims, now=START):
            return attempt
    raise AssertionError("nothing is sent")


def test_two_notifications_of_a_channel_are_one_message(project: Project, slack: FakeSlack) -> None:
    opened(project, IN_PLACE, {**IN_PLACE, "channelName": "oncall"})
    acknowledge(project, START + MINUTE, START + HOUR)
    end(project, START + 5 * MINUTE)
    assert slack.methods == ["postMessage", "update", "update"]


def test_the_log_names_the_notifications_that_changed_a_message(project: Project, slack: FakeSlack) -> None:
    opened(project)
    end(project, START + MINUTE)
    rows = alert_notifications(Alert.objects.get().id, with_recipients=True).order_by("sequence")
    facts = [LoggedNotificationDocument.facts(row) for row in LoggedNotificationDocument.rows(rows)]
    sent = {entry["kind"]: entry for entry in facts if entry["status"] == "DELIVERED"}
    assert "updatedInPlace" not in sent["alert.open"]
    assert sent["alert.close"]["updatedInPlace"] is True


@each(
    "posted",
    [{"ok": True}, {"ok": True, "channel": "C1", "ts": 5}, {"ok": True, "channel": "C 1", "ts": "1"}],
)
def test_a_message_without_a_usable_name_is_not_changed(
    project: Project, settings: Settings, posted: dict[str, Any]
) -> None:
    with HttpReceiver().running() as receiver:
        settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
        settings.OPSAPI_CHAT_BASE_URL = receiver.url("")
        slack = FakeSlack(receiver, TOKEN)
        slack.answers_posts = posted
        opened(project)
        assert Notification.objects.get(kind=MessageKind.OPEN).handle == ""
        end(project, START + MINUTE)
        assert slack.methods == TWO_POSTS


def test_only_messages_that_are_changed_need_another_statement(project: Project, slack: FakeSlack) -> None:
    without = {name: value for name, value in IN_PLACE.items() if name != "updateInPlace"}

    def statements(notification: dict[str, Any], host: str) -> list[str]:
        config = make_config(project, notifications=[notification])
        report(project, START, host, up=False)
        with CaptureQueriesContext(connection) as queries:
            deliver_all(START)
        alert_config_delete(config=config, actor=SYSTEM, now=START)
        deliver_all(START)
        return [query["sql"] for query in queries]

    # The first message of each finds its destination.
    statements(without, "db1")
    statements(IN_PLACE, "db1")
    ordinary, changed = statements(without, "db1"), statements(IN_PLACE, "db1")
    assert not any("array_agg(handle" in statement for statement in ordinary)
    assert len(changed) == len(ordinary) + 1
