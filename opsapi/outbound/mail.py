"""Sends one mail with the configured mail server, and says in words why it failed."""

import smtplib
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend

TOTAL_SECONDS = 20.0
"""Seconds for a mail, from the connection to the last reply: well below the 30 s lease of a notification."""


AUTOMATIC: Final[Mapping[str, str]] = {
    "Auto-Submitted": "auto-generated",
    "X-Auto-Response-Suppress": "All",
}
"""Headers that ask for no automatic answer: RFC 3834, and for Exchange [MS-OXCMAIL] 2.1.3.2.20."""


def mail_send(mail: EmailMessage) -> None:
    """Send the mail; it waits for the mail server, at most TOTAL_SECONDS.

    Raises:
        OSError: the mail server did not take it; includes the exceptions of smtplib.
        ValueError: an address or a header is not valid.
    """
    connection = get_connection()
    with ended_after(TOTAL_SECONDS, connection), connection:
        connection.send_messages([mail])


@contextmanager
def ended_after(seconds: float, connection: BaseEmailBackend) -> Iterator[None]:
    """Disconnect from a server that is slow with every reply, even if each is within EMAIL_TIMEOUT."""
    timer = threading.Timer(seconds, _hang_up, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(connection: BaseEmailBackend) -> None:
    sock = getattr(getattr(connection, "connection", None), "sock", None)
    if sock is not None:
        with suppress(OSError):  # it is already closed
            # Below TLS, whose own shutdown would disturb the thread that reads.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


def mail_fault(error: OSError | ValueError) -> str:
    """Return why the mail server did not take a mail, without its own text, which may quote the address."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code = next((code for code, _ in error.recipients.values()), 0)
        return f"the mail server answered {code}"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"the mail server answered {error.smtp_code}"
    if isinstance(error, OSError):
        return "the mail server did not take the message, or did not answer"
    return "the e-mail address is not valid"
