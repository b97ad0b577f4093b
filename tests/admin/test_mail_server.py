"""The page of the mail server: what is set, and what a test message meets."""

import pytest
from django.conf import LazySettings
from django.test import Client

from accesslist.models import Project, User
from events.types import EventType
from opsapi.roles import Role
from tests.admin.operators import browser_with
from tests.admin.rows import fill
from tests.admin.writing import leaves_events, post
from tests.client import ApiClient
from tests.processes.platform import free_port
from tests.receivers import MailReceiver, mail_receiver

__all__ = ["mail_receiver"]

pytestmark = pytest.mark.django_db

CHANNELS = "/admin/channels/"
PAGE = "/admin/mail-server/"
TO = "ada@example.com"


def test_an_accepted_message_is_said_and_recorded(
    console: Client, operator: User, mail_receiver: MailReceiver
) -> None:
    with leaves_events(operator, EventType.MAIL_SERVER_TESTED_AUDIT):
        test = post(console, PAGE, address=TO).context["test"]
    assert (test.to, test.fault) == (TO, None)
    (mail,) = mail_receiver.mails
    assert mail.recipients == (TO,)
    assert mail.message["From"] == "Ops <ops@platform.example>"
    assert mail.message["Subject"].startswith("[TEST]")


def test_a_refusal_is_shown_with_the_answer_of_the_server(
    console: Client, mail_receiver: MailReceiver
) -> None:
    mail_receiver.recipient_answer = "550 5.1.1 no such mailbox"
    answer = post(console, PAGE, address=TO)
    assert "550 5.1.1 no such mailbox" in answer.context["test"].fault
    assert "550 5.1.1 no such mailbox" in answer.content.decode()
    mail_receiver.recipient_answer, mail_receiver.data_answer = "250 OK", "554 5.7.1 <b>spam</b>"
    answer = post(console, PAGE, address=TO)
    assert "554 5.7.1" in answer.context["test"].fault
    assert "<b>spam" not in answer.content.decode()


def test_a_server_that_does_not_listen_is_named_so(console: Client, settings: LazySettings) -> None:
    settings.EMAIL_BACKEND = "opsapi.outbound.mail.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    fault = post(console, PAGE, address=TO).context["test"].fault
    assert fault == "The mail server could not be reached: connection refused"


def test_a_wrong_address_is_refused_and_nothing_is_sent(
    console: Client, operator: User, mail_receiver: MailReceiver
) -> None:
    for address in ("", "nowhere", "a@example.com\r\nBcc: eve@example.com", "x" * 300 + "@example.com"):
        with leaves_events(operator):
            assert list(post(console, PAGE, address=address).context["form"].errors) == ["address"]
    assert mail_receiver.offered == []


def test_messages_are_limited(console: Client, mail_receiver: MailReceiver, settings: LazySettings) -> None:
    settings.OPSAPI_RATE_TEST_NOTIFICATIONS = 1
    post(console, PAGE, address=TO)
    assert post(console, PAGE, address=TO).context["form"].non_field_errors()
    assert len(mail_receiver.mails) == 1


def test_the_settings_are_shown_without_the_password(console: Client, settings: LazySettings) -> None:
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_USE_TLS = "mail.example.com", 587, True
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "opsuser", "hunter2"
    answer = console.get(PAGE)
    assert answer.context["is_default"] is False
    assert answer.context["settings"]["Mail server"] == "smtp+tls://mail.example.com:587"
    page = answer.content.decode()
    assert "opsuser" in page
    assert "hunter2" not in page


def test_the_default_is_said_to_be_no_mail_server(console: Client) -> None:
    answer = console.get(PAGE)
    assert answer.context["is_default"] is True
    assert "EMAIL_URL=" in answer.content.decode()


def test_the_set_up_continues_until_an_agent_has_reported(console: Client, project: Project) -> None:
    answer = console.get(PAGE)
    assert answer.context["is_setup"] is True
    pages = [answer.context["next_url"], "/admin/automation/agent/add/"]
    owner = browser_with(Role.GROUP_OWNER, project=project)
    for page in pages:
        assert console.get(page).context["form"].is_setup is True
        assert owner.get(page).context["form"].is_setup is False
    fill(project)
    assert console.get(PAGE).context["is_setup"] is False
    for page in pages:
        assert console.get(page).context["form"].is_setup is False


def test_only_global_owners_see_it(project: Project) -> None:
    for role in (Role.GLOBAL_READ_ONLY, Role.GLOBAL_USER_ADMIN, Role.GLOBAL_MONITORING_ADMIN):
        browser = browser_with(role)
        refused = browser.get(PAGE)
        assert refused.status_code == 403
        assert "Ask a user with the role Global owner (GLOBAL_OWNER)" in refused.content.decode()
        assert PAGE not in browser.get(CHANNELS).content.decode()
        assert post(browser, PAGE, address=TO).status_code == 302
    assert PAGE in browser_with(Role.GLOBAL_OWNER).get(CHANNELS).content.decode()


def test_the_test_is_an_event_of_the_installation(
    console: Client, owner: ApiClient, mail_receiver: MailReceiver
) -> None:
    post(console, PAGE, address=TO)
    (event,) = owner.get("/globalEvents?eventType=MAIL_SERVER_TESTED_AUDIT").json()["results"]
    assert event["username"] == "ada"
