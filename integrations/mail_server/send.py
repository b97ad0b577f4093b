"""Sends a test message, and says exactly what the mail server answered."""

import smtplib
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction

from accesslist.services.locks import actor_lock_shared
from accesslist.throttles import throttle
from events.services import event_record
from events.types import EventType
from integrations.channels.email import TOTAL_SECONDS, ended_after
from integrations.messages import printable
from opsapi.api.principal import Actor

_LONGEST_ANSWER = 300


@dataclass(frozen=True, slots=True)
class MailServerTest:
    """The result of a test message; `fault` is None if the mail server accepted it."""

    to: str
    fault: str | None = None


def mail_server_test(*, to: str, sent_from: str, actor: Actor, now: datetime) -> MailServerTest:
    """Send a message to one address; it waits for the mail server, at most 20 s.

    `sent_from`: the URL of the platform, for the text. The answer of the server is quoted, because only
    Global Owners see it.

    Raises:
        ApiError: RATE_LIMITED, after OPSAPI_RATE_TEST_NOTIFICATIONS messages in a minute.
    """
    throttle("test messages of the mail server", settings.OPSAPI_RATE_TEST_NOTIFICATIONS, now)
    with transaction.atomic():
        actor_lock_shared(actor)
        event_record(event_type=EventType.MAIL_SERVER_TESTED_AUDIT, actor=actor, now=now)
    mail = EmailMessage(
        subject="[TEST] Ops API can send e-mail",
        body=f"This is a test of the mail server, sent by {actor.name} from {sent_from}.\n",
        to=[to],
        headers={"Auto-Submitted": "auto-generated"},
    )
    connection = get_connection()
    try:
        with ended_after(TOTAL_SECONDS, connection), connection:
            connection.send_messages([mail])
    except (OSError, ValueError) as error:  # The exceptions of smtplib are OSErrors.
        return MailServerTest(to, printable(_fault(error), _LONGEST_ANSWER))
    return MailServerTest(to)


def _fault(error: OSError | ValueError) -> str:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, answer = next(iter(error.recipients.values()))
        return f"The mail server answered {code} {_text(answer)}"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"The mail server answered {error.smtp_code} {_text(error.smtp_error)}"
    if isinstance(error, TimeoutError):
        return "The mail server did not answer in time."
    if isinstance(error, UnicodeError):  # Its text quotes a part of the log-in.
        return "Sending failed: the log-in or an address contains characters that SMTP cannot send."
    reason = error.strerror if isinstance(error, OSError) else None
    return f"Sending failed: {reason or str(error) or type(error).__name__}"


def _text(answer: bytes | str) -> str:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer
