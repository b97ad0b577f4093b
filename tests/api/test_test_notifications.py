"""POST …/alertConfigs/{id}/test: the answer says whether notifications arrive."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from threading import BoundedSemaphore
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, connection
from pytest_django import Settings

from accesslist.models import Project
from accesslist.projects.changes import project_delete
from alerting.configs import notification_tests
from alerting.models import Alert, AlertConfig, Notification, NotificationSetting, SetupMark
from alerting.reasons import AttemptFailure
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.outbound.errors import UNREACHABLE
from tests.api.bodies import SECRET, alert_config, email, webhook
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory
from tests.processes.platform import free_port
from tests.receivers import HttpReceiver, MailReceiver

WRONG_DOCUMENT = b'{"error": "what the receiver answered"}'
START = datetime(2099, 3, 4, 5, 6, 7, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's configurations are."""
    return f"/groups/{project.id}/alertConfigs"


def make(admin: ApiClient, path: str, *notifications: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A configuration with these notifications, as answered."""
    answer = admin.post(path, alert_config(notifications=list(notifications), **changes))
    assert answer.status_code == 201
    document: dict[str, Any] = answer.json()
    return document


def try_out(admin: ApiClient, path: str, *notifications: dict[str, Any]) -> list[dict[str, Any]]:
    """How the test of a configuration with these notifications ended, without the ids."""
    made = make(admin, path, *notifications)
    answer = admin.request("POST", f"{path}/{made['id']}/test")
    assert answer.status_code == 200
    results: list[dict[str, Any]] = answer.json()["results"]
    assert [result.pop("notificationId") for result in results] == [
        notification["id"] for notification in made["notifications"]
    ]
    return results


def config_of_receivers(receiver: HttpReceiver, path: str = "/hook") -> dict[str, Any]:
    """A notification by webhook to the receiver."""
    return webhook(webhookUrl=receiver.url(path))


def test_it_is_delivered_by_every_channel(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, mail_receiver: MailReceiver
) -> None:
    assert try_out(admin, path, email(), config_of_receivers(http_receiver)) == [
        {"typeName": "EMAIL", "status": "DELIVERED"},
        {"typeName": "WEBHOOK", "status": "DELIVERED"},
    ]
    assert len(mail_receiver.mails) == len(http_receiver.requests) == 1


def test_a_failure_of_the_database_does_not_hide_that_it_was_delivered(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        if http_receiver.requests:
            raise OperationalError("the server ended")
        return execute(sql, *arguments)

    with connection.execute_wrapper(fails):
        results = try_out(admin, path, config_of_receivers(http_receiver))
    assert results == [{"typeName": "WEBHOOK", "status": "DELIVERED"}]
    assert not SetupMark.objects.exists()
    assert "OperationalError" in "".join(
        record.getMessage() for record in caplog.records if record.name == "opsapi.testing"
    )


def test_a_test_counts_also_if_the_project_is_deleted_while_it_is_sent(
    admin: ApiClient, path: str, project: Project, http_receiver: HttpReceiver
) -> None:
    """As after a test and then the deletion."""

    def deletes(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        if http_receiver.requests and not deleted:
            deleted.append(project.id)
            project_delete(group_id=project.id, actor=SYSTEM, now=clock.now())
        return execute(sql, *arguments)

    deleted: list[str] = []
    with connection.execute_wrapper(deletes):
        results = try_out(admin, path, config_of_receivers(http_receiver))
    assert results == [{"typeName": "WEBHOOK", "status": "DELIVERED"}]
    assert deleted == [project.id]
    assert SetupMark.objects.get().group_id == project.id


def test_a_mail_says_that_it_is_a_test_and_of_what(
    admin: ApiClient, path: str, project: Project, mail_receiver: MailReceiver
) -> None:
    try_out(admin, path, email())
    (mail,) = mail_receiver.mails
    assert mail.recipients == ("oncall@example.com",)
    subject = f"[TEST] Test notification for Host down (project {project.name})"
    assert mail.message["Subject"] == subject
    assert mail.message["X-Ops-Event"] == "alert.inform"
    for kind in ("plain", "html"):
        part = mail.message.get_body((kind,))
        assert part is not None
        text = part.get_content()
        assert "Test notification for Host down" in text
        assert "Test: no action needed" in text
        assert "HOST_DOWN" in text
        assert f"/admin/alerting/alertconfig/{AlertConfig.objects.get().id}/change/" in text


def test_a_webhook_gets_the_event_that_records_the_test(
    admin: ApiClient, path: str, project: Project, http_receiver: HttpReceiver
) -> None:
    try_out(admin, path, config_of_receivers(http_receiver), config_of_receivers(http_receiver, "/other"))
    first, other = sorted(http_receiver.requests, key=lambda request: request.path)
    document = json.loads(first.body)
    event = admin.get(f"/groups/{project.id}/events/{document['id']}").json()
    assert (event["eventTypeName"], event["publicKey"]) == (
        "ALERT_CONFIG_TESTED_AUDIT",
        admin.key and admin.key.public_key,
    )
    page = f"http://127.0.0.1:8000/admin/events/event/{document['id']}/change/"
    assert {"rel": "urn:opsapi:rel:console", "href": page} in document["links"]
    assert "urn:opsapi:rel:console" not in [link["rel"] for link in event["links"]]
    for shown in (document, event):
        shown.pop("links"), shown.pop("diffs", None)
    assert document == event
    assert first.headers["X-Ops-Event"] == "alert.inform"
    assert first.headers["X-Ops-Signature"].startswith("t=")
    assert first.headers["X-Ops-Delivery"] != other.headers["X-Ops-Delivery"]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (500, "the receiver answered 500"),
        (404, "the receiver answered 404"),
        (302, "the receiver answered 302; redirects are not followed"),
    ],
)
def test_a_refusal_is_reported_without_the_text_of_the_receiver(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, status: int, reason: str
) -> None:
    http_receiver.answer(status, {"Location": "http://example.com/elsewhere"}, WRONG_DOCUMENT)
    failed = {"typeName": "WEBHOOK", "status": "FAILED", "reason": reason}
    assert try_out(admin, path, config_of_receivers(http_receiver)) == [failed]
    assert len(http_receiver.requests) == 1


def test_the_code_of_a_mail_server_is_shown_and_its_text_is_in_the_log_of_the_server(
    admin: ApiClient, path: str, mail_receiver: MailReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    mail_receiver.recipient_answer = "550 what the receiver answered"
    failed = {
        "typeName": "EMAIL",
        "status": "FAILED",
        "reason": "the mail server answered 550",
    }
    assert try_out(admin, path, email()) == [failed]
    assert "what the receiver answered" in caplog.text


def test_the_name_of_an_error_of_slack_is_in_the_log_of_the_server(
    admin: ApiClient,
    path: str,
    http_receiver: HttpReceiver,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.OPSAPI_CHAT_BASE_URL = http_receiver.url("")
    http_receiver.answer(200, {}, b'{"ok": false, "error": "channel_not_found"}')
    [result] = try_out(admin, path, {"typeName": "CHAT_SERVICE", "apiToken": "xoxb-1", "channelName": "ops"})
    assert (result["status"], result["reason"]) == ("FAILED", "the Slack channel does not exist")
    assert "channel_not_found" in caplog.text


def test_a_refused_address_reads_the_same_as_one_that_does_not_answer(
    admin: ApiClient, path: str, http_receiver: HttpReceiver
) -> None:
    closed, guarded = f"http://127.0.0.1:{free_port()}/", http_receiver.url(host="[::1]")
    results = try_out(admin, path, *(webhook(webhookUrl=url) for url in (closed, guarded)))
    assert results == [{"typeName": "WEBHOOK", "status": "FAILED", "reason": UNREACHABLE}] * 2


def test_one_that_fails_does_not_keep_the_others(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, mail_receiver: MailReceiver
) -> None:
    http_receiver.answer(503)
    results = try_out(admin, path, config_of_receivers(http_receiver), email())
    assert [result["status"] for result in results] == ["FAILED", "DELIVERED"]


def test_all_are_sent_at_the_same_time(admin: ApiClient, path: str, http_receiver: HttpReceiver) -> None:
    all_there = threading.Barrier(3)

    def behaviour(handler: Any) -> None:
        all_there.wait(30)
        handler.send_response(200)
        handler.end_headers()

    http_receiver.behave(behaviour)
    results = try_out(admin, path, *(config_of_receivers(http_receiver, f"/{number}") for number in range(3)))
    assert [result["status"] for result in results] == ["DELIVERED"] * 3


def test_a_disabled_configuration_can_be_tested(
    admin: ApiClient, path: str, http_receiver: HttpReceiver
) -> None:
    made = make(admin, path, config_of_receivers(http_receiver), enabled=False)
    answer = admin.request("POST", f"{path}/{made['id']}/test")
    assert answer.json()["results"][0]["status"] == "DELIVERED"
    assert admin.get(f"{path}/{made['id']}").json() == made


def test_it_leaves_an_event_and_nothing_else(
    admin: ApiClient, path: str, http_receiver: HttpReceiver
) -> None:
    made = make(admin, path, config_of_receivers(http_receiver))
    Signal.objects.all().delete()
    before = set(Event.objects.values_list("id", flat=True))
    admin.request("POST", f"{path}/{made['id']}/test", REMOTE_ADDR="192.0.2.7")
    event = Event.objects.exclude(id__in=before).get()
    assert event.event_type == "ALERT_CONFIG_TESTED_AUDIT"
    assert (event.details["alertConfigId"], event.details["remoteAddress"]) == (made["id"], "192.0.2.7")
    assert event.diffs == []
    assert not any(model.objects.exists() for model in (Alert, Notification, Signal))


def test_no_secret_is_in_answer_event_or_log(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    http_receiver.answer(500, {}, json.dumps({"error": f"/{SECRET} is wrong"}).encode())
    made = make(
        admin,
        path,
        config_of_receivers(http_receiver, f"/{SECRET}"),
        webhook(webhookUrl=f"http://[::1]/{SECRET}"),
    )
    with caplog.at_level("DEBUG"):
        answer = admin.request("POST", f"{path}/{made['id']}/test")
    assert http_receiver.requests[0].path == f"/{SECRET}"
    shown = answer.content.decode() + str(list(Event.objects.values())) + caplog.text
    assert "the receiver answered 500: /****** is wrong" in caplog.text
    assert SECRET not in shown


def test_secrets_that_cannot_be_opened_fail_with_that_reason(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    made = make(admin, path, config_of_receivers(http_receiver))
    NotificationSetting.objects.update(secrets="not encrypted by us")
    (result,) = admin.request("POST", f"{path}/{made['id']}/test").json()["results"]
    assert result["reason"] == AttemptFailure.SECRETS_UNREADABLE.value
    assert http_receiver.requests == []


def test_one_notification_is_tested_and_no_other(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, mail_receiver: MailReceiver
) -> None:
    made = make(admin, path, email(), config_of_receivers(http_receiver), config_of_receivers(http_receiver))
    chosen = made["notifications"][1]["id"]
    answer = admin.request("POST", f"{path}/{made['id']}/test?notificationId={chosen}")
    assert answer.status_code == 200
    assert answer.json()["results"] == [
        {"notificationId": chosen, "typeName": "WEBHOOK", "status": "DELIVERED"}
    ]
    assert (len(http_receiver.requests), mail_receiver.mails) == (1, [])


def test_a_notification_the_configuration_has_not_is_not_tested(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, settings: Settings
) -> None:
    settings.OPSAPI_RATE_TEST_NOTIFICATIONS = 1
    made, other = (make(admin, path, config_of_receivers(http_receiver)) for _ in range(2))
    before = Event.objects.count()
    for wrong, status, code in (
        ("a" * 24, 404, "NOTIFICATION_NOT_FOUND"),
        (other["notifications"][0]["id"], 404, "NOTIFICATION_NOT_FOUND"),
        ("1", 400, "INVALID_QUERY_PARAMETER"),
    ):
        answer = admin.request("POST", f"{path}/{made['id']}/test?notificationId={wrong}")
        assert (answer.status_code, answer.json()["errorCode"]) == (status, code)
    assert http_receiver.requests == []
    assert Event.objects.count() == before
    assert admin.request("POST", f"{path}/{made['id']}/test").status_code == 200


@pytest.mark.parametrize("body", [None, b"", {"enabled": False}, b"nonsense"])
def test_a_body_is_not_looked_at(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, body: object
) -> None:
    made = make(admin, path, config_of_receivers(http_receiver))
    answer = admin.request("POST", f"{path}/{made['id']}/test", body, content_type="text/plain")
    assert answer.status_code == 200
    assert admin.get(f"{path}/{made['id']}").json() == made


def test_a_deleted_configuration_is_not_tested(
    admin: ApiClient, path: str, http_receiver: HttpReceiver
) -> None:
    made = make(admin, path, config_of_receivers(http_receiver))
    admin.delete(f"{path}/{made['id']}")
    answer = admin.request("POST", f"{path}/{made['id']}/test")
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "ALERT_CONFIG_NOT_FOUND")
    assert http_receiver.requests == []


class TestThrottle:
    """So many tests a minute and project; how many notifications each has is all the same."""

    @pytest.fixture(autouse=True)
    def _limit(self, settings: Settings) -> None:
        settings.OPSAPI_RATE_TEST_NOTIFICATIONS = 2

    def test_more_than_the_limit_are_refused_and_nothing_is_sent(
        self, owner: ApiClient, path: str, http_receiver: HttpReceiver
    ) -> None:
        with time_machine.travel(START, tick=False):
            first, other = (
                make(owner, path, *(config_of_receivers(http_receiver, hook) for hook in ("/one", "/two")))
                for _ in range(2)
            )
            for made in (first, other):
                assert owner.request("POST", f"{path}/{made['id']}/test").status_code == 200
            before = Event.objects.count()
            answer = owner.request("POST", f"{path}/{first['id']}/test")
        assert (answer.status_code, answer.json()["errorCode"]) == (429, "RATE_LIMITED")
        assert answer.headers["Retry-After"] == "60"
        assert len(http_receiver.requests) == 4
        assert Event.objects.count() == before

    def test_another_project_has_a_limit_of_its_own(
        self, owner: ApiClient, http_receiver: HttpReceiver
    ) -> None:
        for project in ProjectFactory.create_batch(3):
            there = f"/groups/{project.id}/alertConfigs"
            made = make(owner, there, config_of_receivers(http_receiver))
            assert owner.request("POST", f"{there}/{made['id']}/test").status_code == 200

    def test_what_is_refused_for_another_reason_does_not_count(
        self, admin: ApiClient, reader: ApiClient, path: str, http_receiver: HttpReceiver
    ) -> None:
        made = make(admin, path, config_of_receivers(http_receiver))
        test = f"{path}/{made['id']}/test"
        for caller, refused, status in (
            (reader, test, 403),
            (admin, f"{path}/{'a' * 24}/test", 404),
            (admin, f"{test}?pretty=x", 400),
        ):
            for _ in range(3):
                assert caller.request("POST", refused).status_code == status
        assert admin.request("POST", test).status_code == 200

    def test_zero_is_no_limit(
        self, admin: ApiClient, path: str, http_receiver: HttpReceiver, settings: Settings
    ) -> None:
        settings.OPSAPI_RATE_TEST_NOTIFICATIONS = 0
        made = make(admin, path, config_of_receivers(http_receiver))
        for _ in range(12):
            assert admin.request("POST", f"{path}/{made['id']}/test").status_code == 200


def test_more_tests_than_a_process_takes_at_once_are_refused(
    admin: ApiClient, path: str, http_receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = BoundedSemaphore(1)
    monkeypatch.setattr(notification_tests, "_places", places)
    made = make(admin, path, config_of_receivers(http_receiver))
    with places:
        answer = admin.request("POST", f"{path}/{made['id']}/test")
    assert (answer.status_code, answer.json()["errorCode"]) == (429, "RATE_LIMITED")
    assert answer["Retry-After"] == str(notification_tests.FULL_RETRY_SECONDS)
    assert not http_receiver.requests
    for _ in range(2):
        assert admin.request("POST", f"{path}/{made['id']}/test").status_code == 200
