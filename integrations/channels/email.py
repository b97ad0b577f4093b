"""E-mail (EMAIL): text and HTML to one address, threaded by alert (RFC 5322, RFC 3834)."""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import format_datetime, parseaddr

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.template.loader import render_to_string

from events.types import Severity
from integrations.channels.base import Channel, ChannelField, DeliveryError, failure_at
from integrations.channels.stages import MAIL, row_of
from integrations.choices import ChannelType, MessageKind
from integrations.messages import Message
from opsapi.api.fields import EmailAddress, Flag
from opsapi.hostnames import ascii_name
from opsapi.outbound.errors import MailError, OutboundReason, Stage
from opsapi.outbound.mail import AUTOMATIC
from opsapi.outbound.smtp import LONGEST_SECONDS

logger = logging.getLogger(__name__)

_COLOURS: Mapping[Severity, str] = {
    Severity.CRITICAL: "#c62828",
    Severity.WARNING: "#b45309",
    Severity.INFO: "#1565c0",
}
_CLOSED_COLOUR = "#2e7d32"
_TEST_COLOUR = "#5f6368"
"""The colours of the band and the button; white text is readable on them in light and dark mode."""


def build_email(
    config: Mapping[str, str], message: Message, *, sender: str, now: datetime
) -> EmailMultiAlternatives:
    """The mail as sent at `now`.

    Message-ID is the same on every retry. All mails of an alert refer to the same root, which is never sent:
    mail programs show them as a thread, even if some are missing.
    """
    context = {
        "message": message,
        "facts": message.facts,
        "links": message.links,
        "colour": _colour(message),
    }
    mail = EmailMultiAlternatives(
        subject=message.title,
        body=render_to_string("notifications/email.txt", context),
        from_email=sender,
        to=[config["emailAddress"]],
        headers=_headers(message, sender, now),
    )
    mail.attach_alternative(render_to_string("notifications/email.html", context), "text/html")
    return mail


def _colour(message: Message) -> str:
    if message.kind is MessageKind.CLOSE:
        return _CLOSED_COLOUR
    return _TEST_COLOUR if message.is_test else _COLOURS[message.severity]


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

    Raises: DeliveryError: as the table of stages says; permanent if the address is not usable (for example,
    because of a line break).
    """
    if "@" not in config["emailAddress"]:
        # Django counts a mail without recipients as sent.
        raise _invalid_address()
    try:
        mail = build_email(config, message, sender=settings.DEFAULT_FROM_EMAIL, now=now)
        get_connection().send_messages([mail])
    except MailError as error:
        failure = email_failure(error)
    except ValueError:
        # Django refuses invalid addresses, and header values with line breaks.
        failure = _invalid_address()
    else:
        return
    raise failure


def _invalid_address() -> DeliveryError:
    return failure_at(row_of(MAIL, Stage.SETTINGS, OutboundReason.INVALID_ADDRESS))


def email_failure(error: MailError) -> DeliveryError:
    """The failure of a mail, in the words of the table of stages."""
    answer = error.code or error.reason or OutboundReason.BAD_RESPONSE
    # The text of the server may quote the address, so log only its code; the attempt has the text.
    details = f"{answer} {error.detail}".rstrip()
    logger.warning("mail server %s: %s: %s", settings.EMAIL_HOST, error.stage, details)
    row = row_of(MAIL, error.stage, answer)
    return failure_at(row, code=error.code, peer=error.text, detail=error.detail)


def _identity(config: Mapping[str, str]) -> Mapping[str, str]:
    """The domain in ASCII and lower case, as mails are sent; the part before it is exact (RFC 5321 2.4)."""
    name, at, domain = config.get("emailAddress", "").rpartition("@")
    return {"emailAddress": f"{name}{at}{ascii_name(domain).lower()}"}


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
    longest_attempt=timedelta(seconds=LONGEST_SECONDS),
    identity=_identity,
)
