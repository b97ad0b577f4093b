"""Testing configurations that name people, or leave credentials to integrations."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs import notification_tests
from alerting.models import Notification
from events.wording import in_words
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus
from opsapi.roles import Role
from tests.api.bodies import alert_config, email, global_alert_config, webhook
from tests.client import ApiClient
from tests.factories.accesslist import make_team
from tests.factories.integrations import make_integration
from tests.integration.alerting.pipeline import Outside
from tests.integration.alerting.recipients import make_member
from tests.receivers import HttpReceiver, MailReceiver

pytestmark = pytest.mark.django_db

GROUP = {"typeName": "GROUP", "emailEnabled": True}


def try_out(client: ApiClient, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """How the test of a configuration ended; positions of notifications in place of their ids."""
    made = client.post(path, body)
    assert made.status_code == 201, made.json()
    answer = client.request("POST", f"{path}/{made.json()['id']}/test")
    assert answer.status_code == 200
    results: list[dict[str, Any]] = answer.json()["results"]
    ids = [result.pop("notificationId") for result in results]
    for result in results:
        if "mergedInto" in result:
            result["mergedInto"] = [ids.index(name) for name in result["mergedInto"]]
    return results


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Outside:
    """Receivers that accept every message."""
    receivers = Outside()
    monkeypatch.setattr(notification_tests, "deliver", receivers.deliver)
    return receivers


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's configurations are."""
    return f"/groups/{project.id}/alertConfigs"


def test_each_person_has_a_result(
    project: Project, admin: ApiClient, path: str, mail_receiver: MailReceiver
) -> None:
    make_member(project, "ada")
    make_member(project, "bob")
    results = try_out(admin, path, alert_config(notifications=[GROUP, email()]))
    assert results == [
        {"typeName": "GROUP", "status": "DELIVERED"},
        {"typeName": "EMAIL", "status": "DELIVERED"},
    ]
    addresses = sorted(recipient for mail in mail_receiver.mails for recipient in mail.recipients)
    assert addresses == ["ada@example.com", "bob@example.com", "oncall@example.com"]
    assert not Notification.objects.exists()


def test_a_recipient_without_address_is_a_result(
    project: Project, admin: ApiClient, path: str, mail_receiver: MailReceiver
) -> None:
    make_member(project, "ada")
    make_member(project, "bob", email_address="nowhere")
    results = try_out(admin, path, alert_config(notifications=[GROUP]))
    assert results == [{"typeName": "GROUP", "status": "FAILED", "reason": "the e-mail address is not valid"}]
    assert len(mail_receiver.mails) == 1


def test_without_recipients_the_answer_says_so(project: Project, admin: ApiClient, path: str) -> None:
    (result,) = try_out(admin, path, alert_config(notifications=[GROUP]))
    assert result["status"] == "FAILED"
    assert result["reason"] == "no recipients: no user has the required role"


def test_only_the_first_of_many_people_are_notified(
    project: Project,
    admin: ApiClient,
    path: str,
    mail_receiver: MailReceiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notification_tests, "MOST_RECEIVERS", 4)
    for number in range(5):
        make_member(project, f"user{number}")
    results = try_out(admin, path, alert_config(notifications=[GROUP, email()]))
    assert [result["status"] for result in results] == ["DELIVERED", "DELIVERED"]
    assert len(mail_receiver.mails) == 3


def user(name: str) -> dict[str, Any]:
    """A notification of a user by e-mail."""
    return {"typeName": "USER", "username": name, "emailEnabled": True}


def test_notifications_of_one_person_are_one_message(
    project: Project, admin: ApiClient, path: str, outside: Outside
) -> None:
    ada = make_member(project, "ada")
    ada.grants.create(role=Role.ORG_OWNER.value, org=project.org)
    team = make_team(project, ada)
    make_member(project, "ada2", email_address="ada@EXAMPLE.com")
    reaching = [
        user("ada"),
        {"typeName": "TEAM", "teamId": team.id, "emailEnabled": True},
        GROUP,
        {"typeName": "ORG", "roles": ["ORG_OWNER"], "emailEnabled": True},
        email(emailAddress="ada@example.COM"),
    ]
    results = try_out(admin, path, alert_config(notifications=reaching))
    assert outside.said == [("ada@example.com", "INFORM")]
    assert [result["status"] for result in results] == ["DELIVERED"] * 5
    assert [result.get("mergedInto") for result in results] == [None, [0], [0], [0], [0]]


def test_a_team_is_merged_into_each_notification_of_a_member(
    project: Project, admin: ApiClient, path: str, outside: Outside
) -> None:
    team = make_team(project, *(make_member(project, name) for name in ("ada", "bob", "eve")))
    of_team = {"typeName": "TEAM", "teamId": team.id, "emailEnabled": True}
    body = alert_config(notifications=[user("ada"), user("bob"), of_team, user("eve")])
    results = try_out(admin, path, body)
    assert sorted(to for to, _ in outside.said) == ["ada@example.com", "bob@example.com", "eve@example.com"]
    assert [result.get("mergedInto") for result in results] == [None, None, [0, 1], [2]]


def test_a_failure_at_an_address_is_the_result_of_each_notification_with_the_address(
    project: Project, admin: ApiClient, path: str, outside: Outside
) -> None:
    make_member(project, "ada")
    make_member(project, "bob")
    outside.outcomes["bob@example.com"] = Outcome(DeliveryStatus.FAILED, "the mail server answered 550", 5)
    results = try_out(admin, path, alert_config(notifications=[user("ada"), user("bob"), GROUP]))
    assert len(outside.sent) == 2
    assert [(result["status"], result.get("mergedInto")) for result in results] == [
        ("DELIVERED", None),
        ("FAILED", None),
        ("FAILED", [0, 1]),
    ]


def test_a_notification_that_is_tested_alone_sends_its_message(
    project: Project, admin: ApiClient, path: str, outside: Outside
) -> None:
    make_member(project, "ada")
    made = admin.post(path, alert_config(notifications=[user("ada"), GROUP])).json()
    chosen = made["notifications"][1]["id"]
    answer = admin.request("POST", f"{path}/{made['id']}/test?notificationId={chosen}")
    assert [to for to, _ in outside.said] == ["ada@example.com"]
    assert "mergedInto" not in answer.json()["results"][0]


def test_a_webhook_with_another_secret_gets_its_own_message(owner: ApiClient, outside: Outside) -> None:
    hook = "https://hooks.example.com/in"
    notifications = [
        webhook(webhookUrl=hook),
        webhook(webhookUrl=hook, webhookSecret="another-secret-01234"),
        webhook(webhookUrl=hook),
    ]
    results = try_out(owner, "/globalAlertConfigs", global_alert_config(notifications=notifications))
    assert len(outside.sent) == 2
    assert [result.get("mergedInto") for result in results] == [None, None, [0]]


def test_credentials_left_out_are_the_integrations(
    project: Project, admin: ApiClient, path: str, http_receiver: HttpReceiver
) -> None:
    integration = make_integration(project, "WEBHOOK", url=http_receiver.url("/hook"))
    body = alert_config(notifications=[{"typeName": "WEBHOOK"}])
    assert try_out(admin, path, body) == [{"typeName": "WEBHOOK", "status": "DELIVERED"}]
    (request,) = http_receiver.requests
    assert "X-Ops-Signature" in request.headers
    config_id = admin.get(path).json()["results"][0]["id"]
    integration.delete()
    (result,) = admin.request("POST", f"{path}/{config_id}/test").json()["results"]
    assert (result["status"], result["reason"]) == ("FAILED", "the project has no Webhook integration")


@pytest.mark.parametrize(
    ("notification", "reason"),
    [
        pytest.param(GROUP, "no recipients: an event without a project has no project members", id="people"),
        pytest.param(
            {"typeName": "WEBHOOK"}, "without a project there is no Webhook integration", id="service"
        ),
    ],
)
def test_what_a_global_configuration_takes_from_an_alerts_project_is_named(
    owner: ApiClient, mail_receiver: MailReceiver, notification: dict[str, Any], reason: str
) -> None:
    body = global_alert_config(notifications=[notification, email()])
    results = try_out(owner, "/globalAlertConfigs", body)
    assert results == [
        {"typeName": notification["typeName"], "status": "FAILED", "reason": reason},
        {"typeName": "EMAIL", "status": "DELIVERED"},
    ]
    (mail,) = mail_receiver.mails
    assert mail.message["Subject"] == f"[TEST] Test notification for {in_words(body['eventTypeName'])}"
