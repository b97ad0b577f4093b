"""E-mail (EMAIL): text and HTML to one address, threaded by alert (RFC 5322, RFC 3834)."""

import logging
import smtplib
from collections.abc import Mapping
from datetime import datetime
from email.utils import format_datetime, parseaddr

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.template.loader import render_to_string

from integrations.channels.base import Channel, ChannelField, DeliveryError
from integrations.choices import ChannelType, DeliveryFault, MessageKind
from integrations.messages import Message
from opsapi.api.fields import EmailAddress, Flag
from opsapi.outbound.errors import NO_ANSWER
from opsapi.outbound.mail import AUTOMATIC, TOTAL_SECONDS, ended_after

logger = logging.getLogger(__name__)

_CLOSING = 421
"""The server closes the connection after any command (RFC 5321 3.8)."""
_OF_ONE_MAIL = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError)
_COLOURS: Mapping[MessageKind, str] = {
    MessageKind.OPEN: "#c62828",
    MessageKind.UPDATE: "#c62828",
    MessageKind.CLOSE: "#2e7d32",
    MessageKind.INFORM: "#1565c0",
}
_TEST_COLOUR = "#5f6368"
"""The colour of the band and the button; white text is readable on it in light and dark mode."""
_INVALID_ADDRESS = "the e-mail address is not valid"


def build_email(
    config: Mapping[str, str], message: Message, *, sender: str, now: datetime
) -> EmailMultiAlternatives:
    """The mail as sent at `now`.

    Message-ID is the same on every retry. All mails of an alert refer to the same root, which is never sent:
    mail programs show them as a thread, even if some are missing.
    """
    colour = _TEST_COLOUR if message.is_test else _COLOURS[message.kind]
    context = {"message": message, "facts": message.facts, "links": message.links, "colour": colour}
    mail = EmailMultiAlternatives(
        subject=message.title,
        body=render_to_string("notifications/email.txt", context),
        from_email=sender,
        to=[config["emailAddress"]],
        headers=_headers(message, sender, now),
    )
    mail.attach_alternative(render_to_string("notifications/email.html", context), "text/html")
    return mail


def _headers(message: Message, sender: str, now: datetime) -> dict[str, str]:
    domain = parseaddr(sender)[1].rpartition("@")[2] or "localhost"
    root = f"<thread.{message.thread_key}@{domain}>"
    return {
        "Message-ID": f"<{message.delivery_id}@{domain}>",
        "In-Reply-To": root,
        "References": root,
        "Date": format_datetime(now),
        **AUTOMATIC,
        "X-Ops-Event": message.kind.value,
    }


def send(config: Mapping[str, str], message: Message, *, now: datetime) -> None:
    """Send the message with the configured mail server.

    Raises: DeliveryError: retryable if the server is down or answers 4xx; permanent on 5xx, or if the address
    is not usable (for example, because of a line break).
    """
    if "@" not in config["emailAddress"]:
        # Django counts a mail without recipients as sent.
        raise DeliveryError(_INVALID_ADDRESS, retryable=False)
    is_open = False
    try:
        mail = build_email(config, message, sender=settings.DEFAULT_FROM_EMAIL, now=now)
        connection = get_connection()
        with ended_after(TOTAL_SECONDS, connection), connection:
            is_open = True
            connection.send_messages([mail])
    except OSError as error:  # This includes the exceptions of smtplib.
        failure = _explain(error, is_open=is_open)
    except ValueError:
        # Django refuses invalid addresses, and header values with line breaks.
        failure = DeliveryError(_INVALID_ADDRESS, retryable=False)
    else:
        return
    raise failure


def _explain(error: OSError, *, is_open: bool) -> DeliveryError:
    code = _smtp_code(error)
    # The text of the server may quote the address, so log only the class and the code.
    logger.warning("mail server %s: %s %s", settings.EMAIL_HOST, type(error).__name__, code or error.strerror)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return DeliveryError(
            "the mail server does not support a feature that the message needs", retryable=False
        )
    if code is None:
        reason = NO_ANSWER if is_open else "the mail server could not be reached"
        # A server that accepted the connection may be slow with this address only; others do not wait.
        fault = DeliveryFault.DESTINATION if is_open else DeliveryFault.HOST
        return DeliveryError(reason, retryable=True, fault=fault, perhaps_received=is_open, reached=is_open)
    retryable = not 500 <= code <= 599
    of_all_mails = code == _CLOSING or not isinstance(error, _OF_ONE_MAIL)
    fault = DeliveryFault.HOST if of_all_mails else DeliveryFault.DESTINATION
    return DeliveryError(
        f"the mail server answered {code}",
        retryable=retryable,
        fault=fault if retryable else DeliveryFault.MESSAGE,
        reached=True,
    )


def _smtp_code(error: OSError) -> int | None:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return next((code for code, _ in error.recipients.values()), None)
    return error.smtp_code if isinstance(error, smtplib.SMTPResponseException) else None


EMAIL = Channel(
    ChannelType("EMAIL"),
    "E-mail",
    fields=(
        ChannelField("emailAddress", "E-mail address", EmailAddress(), example="oncall@example.com"),
        # Has no effect; API clients send it.
        ChannelField("emailEnabled", "By e-mail", Flag(required=False), in_config=False),
    ),
    send=send,
    origin=lambda _: f"smtp://{settings.EMAIL_HOST}:{settings.EMAIL_PORT}",
)
