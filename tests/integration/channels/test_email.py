"""EMAIL against a real mail server."""

import socket
from datetime import timedelta
from email.utils import parsedate_to_datetime
from html import escape

import pytest
from pytest_django import Settings

from integrations.channels.base import DeliveryError
from integrations.channels.email import EMAIL, send
from integrations.choices import DeliveryFault, MessageKind
from integrations.messages import Message
from opsapi.outbound.mail import mails_within
from tests.receivers import MailReceiver, ReceivedMail
from tests.unit.integrations.messages import NOW, lines_of, make_message, named_everywhere

CONFIG = {"emailAddress": "oncall@example.com"}


def sent(receiver: MailReceiver, message: Message) -> ReceivedMail:
    """The mail as the server got it."""
    send(CONFIG, message, now=NOW)
    return receiver.mails[-1]


def part(mail: ReceivedMail, kind: str) -> str:
    """The text of one alternative."""
    body = mail.message.get_body((kind,))
    assert body is not None
    return str(body.get_content())


def failure_of(config: dict[str, str]) -> DeliveryError:
    """Why sending there fails."""
    with pytest.raises(DeliveryError) as caught:
        send(config, make_message(), now=NOW)
    return caught.value


def test_it_sends_text_and_html_to_one_recipient(mail_receiver: MailReceiver) -> None:
    config = "https://ops.example/admin/configs/1"
    runbook = "https://wiki.example.com/runbooks/1"
    link = "https://ops.example/admin/alerts/1?a=1&b=2"
    message = make_message(
        link=link, config_link=config, runbook_url=runbook, description="Call the <b>team</b>."
    )
    mail = sent(mail_receiver, message)
    assert mail.recipients == ("oncall@example.com",)
    assert mail.message["To"] == "oncall@example.com"
    assert mail.message["From"] == "Ops <ops@platform.example>"
    assert mail.message.get_content_type() == "multipart/alternative"
    # Django folds an encoded subject after its name; unfolding it leaves one blank.
    assert mail.message["Subject"] == "[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments)"
    assert part(mail, "plain").splitlines() == [
        "[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments)",
        "",
        *lines_of(message),
        "Description: Call the <b>team</b>.",
        "",
        "Open the alert: https://ops.example/admin/alerts/1?a=1&b=2",
        f"Runbook: {runbook}",
        f"Alert configuration: {config}",
        "",
    ]
    html = part(mail, "html")
    assert '<a href="https://ops.example/admin/alerts/1?a=1&amp;b=2"' in html
    assert f'<a href="{config}"' in html
    assert f'<a href="{runbook}"' in html
    assert all(escape(value) in html for value in message.facts.values())


@pytest.mark.parametrize("kind", sorted(EMAIL.kinds))
def test_a_mail_of_every_kind_is_complete(mail_receiver: MailReceiver, kind: MessageKind) -> None:
    message = make_message(kind=kind)
    html = part(sent(mail_receiver, message), "html")
    assert message.state in html
    assert "background: #" in html
    assert "prefers-color-scheme: dark" in html


def test_it_marks_itself_as_automatic_and_is_dated_when_it_is_sent(mail_receiver: MailReceiver) -> None:
    headers = sent(mail_receiver, make_message(occurred_at=NOW - timedelta(hours=20))).message
    assert headers["Auto-Submitted"] == "auto-generated"
    assert headers["X-Auto-Response-Suppress"] == "All"
    assert headers["X-Ops-Event"] == "alert.open"
    assert parsedate_to_datetime(headers["Date"]) == NOW


def test_it_has_the_same_message_id_on_a_retry(mail_receiver: MailReceiver) -> None:
    first, second = sent(mail_receiver, make_message()), sent(mail_receiver, make_message())
    assert first.message["Message-ID"] == "<6740a1b2c3d4e5f607080910@platform.example>"
    assert second.message["Message-ID"] == first.message["Message-ID"]


def test_it_threads_the_mails_of_one_alert(mail_receiver: MailReceiver) -> None:
    opened = sent(mail_receiver, make_message(delivery_id="1" * 24)).message
    closed = sent(mail_receiver, make_message(delivery_id="2" * 24, kind=MessageKind.CLOSE)).message
    other = sent(mail_receiver, make_message(thread_key="f" * 24)).message
    assert opened["References"] == closed["References"] == closed["In-Reply-To"]
    assert opened["Message-ID"] != closed["Message-ID"]
    assert other["References"] != opened["References"]


def test_no_name_gets_a_header_or_markup_of_its_own(mail_receiver: MailReceiver) -> None:
    hostile = "x\r\nBcc: thief@example.com\r\n\r\n<script>alert(1)</script>\u2028\x00"
    mail = sent(mail_receiver, make_message(**named_everywhere(hostile)))
    assert mail.recipients == ("oncall@example.com",)
    assert mail.message["Bcc"] is None
    assert "\n" not in mail.message["Subject"]
    assert "<script>" not in part(mail, "html")
    assert "\nBcc:" not in part(mail, "plain")


@pytest.mark.parametrize(
    "address",
    [
        "oncall@example.com\r\nBcc: thief@example.com",
        "oncall@example.com, thief@example.com",
        "no address",
        "",
    ],
)
def test_it_refuses_what_is_not_one_address(mail_receiver: MailReceiver, address: str) -> None:
    failure = failure_of({"emailAddress": address})
    assert (failure.reason, failure.retryable) == ("the e-mail address is not valid", False)
    assert mail_receiver.mails == []


@pytest.mark.parametrize(
    ("recipient_answer", "data_answer", "reason", "retryable"),
    [
        ("450 mailbox busy", "250 OK", "the mail server answered 450", True),
        ("499 odd", "250 OK", "the mail server answered 499", True),
        ("500 odd", "250 OK", "the mail server answered 500", False),
        ("550 no such user", "250 OK", "the mail server answered 550", False),
        ("250 OK", "451 try later", "the mail server answered 451", True),
        ("250 OK", "554 looks like spam", "the mail server answered 554", False),
    ],
)
def test_it_says_why_the_server_refused(
    mail_receiver: MailReceiver, recipient_answer: str, data_answer: str, reason: str, retryable: bool
) -> None:
    mail_receiver.recipient_answer, mail_receiver.data_answer = recipient_answer, data_answer
    failure = failure_of(CONFIG)
    assert (failure.reason, failure.retryable) == (reason, retryable)
    assert mail_receiver.mails == []


@pytest.mark.parametrize(
    ("recipient_answer", "data_answer", "of_the_server"),
    [
        ("450 mailbox busy", "250 OK", False),
        ("452 mailbox full", "250 OK", False),
        ("550 no such user", "250 OK", False),
        ("250 OK", "451 try later", False),
        ("250 OK", "554 looks like spam", False),
        ("421 closing", "250 OK", True),
        ("250 OK", "421 closing", True),
    ],
)
def test_a_mailbox_that_takes_no_mail_is_no_failure_of_the_server(
    mail_receiver: MailReceiver, recipient_answer: str, data_answer: str, of_the_server: bool
) -> None:
    mail_receiver.recipient_answer, mail_receiver.data_answer = recipient_answer, data_answer
    assert (failure_of(CONFIG).fault is DeliveryFault.HOST) is of_the_server


def test_a_server_that_is_away_is_tried_again(mail_receiver: MailReceiver, settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.EMAIL_PORT = server.getsockname()[1]
    failure = failure_of(CONFIG)
    assert (failure.reason, failure.retryable) == ("the mail server could not be reached", True)
    assert failure.fault is DeliveryFault.HOST


def test_a_server_without_the_tls_asked_for_is_tried_again(
    mail_receiver: MailReceiver, settings: Settings
) -> None:
    settings.EMAIL_USE_TLS = True
    failure = failure_of(CONFIG)
    assert (failure.reason, failure.retryable) == ("the mail server does not offer STARTTLS", True)
    assert failure.fault is DeliveryFault.HOST
    assert mail_receiver.mails == []


def test_somebody_who_waits_for_a_mail_waits_for_a_limited_time(mail_receiver: MailReceiver) -> None:
    mail_receiver.never_answers = True
    with mails_within(0.1):
        failure = failure_of(CONFIG)
    assert (failure.reason, failure.perhaps_received) == ("the mail server did not answer (RCPT)", False)


def test_it_names_itself_to_the_server(mail_receiver: MailReceiver, settings: Settings) -> None:
    settings.OPSAPI_EMAIL_HELO = "ops.platform.example"
    send(CONFIG, make_message(), now=NOW)
    assert mail_receiver.names == ["ops.platform.example"]
