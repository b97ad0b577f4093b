"""Sends one mail with the configured mail server, and says in words why it failed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from email.charset import QP, Charset
from email.message import Message
from email.utils import parseaddr
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.message import sanitize_address

from opsapi.helo import helo_name
from opsapi.outbound.errors import MailError, OutboundReason, Stage
from opsapi.outbound.smtp import MailServer, converse

REQUEST_SECONDS = 25.0
"""The longest time for a mail while a user waits in the browser. Proxies and browsers wait longer."""
NEEDS_SMTPUTF8 = "the part before the @ has characters outside ASCII, which the platform does not send"
_ASCII_ENDS = 128

_within: ContextVar[float | None] = ContextVar("seconds for a mail", default=None)


AUTOMATIC: Final[Mapping[str, str]] = {
    "Auto-Submitted": "auto-generated",
    "X-Auto-Response-Suppress": "All",
}
"""Headers that ask for no automatic answer: RFC 3834, and for Exchange [MS-OXCMAIL] 2.1.3.2.20."""

_is_wanted: ContextVar[Callable[[], bool]] = ContextVar("whether a mail is wanted", default=lambda: True)


@contextmanager
def mails_while(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Call `is_wanted` before each mail in this context. The mail server can take minutes before that."""
    token = _is_wanted.set(is_wanted)
    try:
        yield
    finally:
        _is_wanted.reset(token)


@contextmanager
def mails_within(seconds: float) -> Iterator[None]:
    """Limit the whole conversation about each mail in this context, because a user waits for its end."""
    token = _within.set(seconds)
    try:
        yield
    finally:
        _within.reset(token)


def mail_send(mail: EmailMessage) -> None:
    """Send the mail. Wait for the mail server for at most REQUEST_SECONDS.

    Raises:
        MailError: the mail server did not accept it.
        ValueError: an address or a header is not valid.
    """
    with mails_within(REQUEST_SECONDS):
        get_connection().send_messages([mail])


class EmailBackend(BaseEmailBackend):
    """Sends mails over the mail server of the settings, a conversation for each recipient.

    Texts are quoted-printable: a server need not offer 8BITMIME, and servers behind it may not have it.
    """

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Send the mails, and return their number.

        Raises:
            MailError: the mail server did not accept a mail; later mails are not sent.
            ValueError: an address or a header is not valid.
        """
        for mail in email_messages:
            self._send(mail)
        return len(email_messages)

    @staticmethod
    def _send(mail: EmailMessage) -> None:
        mail.encoding = _quoted_printable()
        message = mail.message()
        for recipient in mail.recipients():
            converse(
                mail_server(),
                sender=envelope_address(mail.from_email),
                recipient=envelope_address(recipient),
                mail=_seven_bit(message),
                within=_within.get(),
                is_wanted=_is_wanted.get(),
            )


def mail_server() -> MailServer:
    """The mail server of the settings."""
    return MailServer(
        host=settings.EMAIL_HOST,
        port=settings.EMAIL_PORT,
        helo=helo_name(),
        starts_tls=settings.EMAIL_USE_TLS,
        is_tls=settings.EMAIL_USE_SSL,
        username=settings.EMAIL_HOST_USER,
        password=settings.EMAIL_HOST_PASSWORD,
    )


def envelope_address(address: str) -> str:
    """The address for the envelope: without a name, the domain in ASCII (IDNA).

    Raises:
        MailError: the part before the @ has characters outside ASCII, which need SMTPUTF8 (RFC 6531). The
        platform refuses such an address when you store it.
        ValueError: it is not an address.
    """
    bare = parseaddr(address)[1]
    if not bare.rpartition("@")[0].isascii():
        raise MailError(Stage.SETTINGS, reason=OutboundReason.INVALID_ADDRESS, detail=NEEDS_SMTPUTF8)
    return parseaddr(sanitize_address(address, "utf-8"))[1]


def _quoted_printable() -> Charset:
    charset = Charset("utf-8")
    charset.body_encoding = QP
    return charset


def _seven_bit(message: Message) -> bytes:
    """The bytes of the message. Raises ValueError: a header has characters outside ASCII."""
    content = message.as_bytes(linesep="\r\n")  # type: ignore[call-arg]  # Django's messages take it.
    if max(content, default=0) >= _ASCII_ENDS:
        raise ValueError("a header has characters outside ASCII")
    return content


def mail_fault(error: OSError | ValueError) -> str:
    """Return why the mail server did not take a mail, without its own text, which may quote the address."""
    if not isinstance(error, OSError):
        return "the e-mail address is not valid"
    code = error.code if isinstance(error, MailError) else None
    return (
        f"the mail server answered {code}"
        if code
        else "the mail server did not accept the message, or did not answer"
    )
