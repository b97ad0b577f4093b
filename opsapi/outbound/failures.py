"""The reason of an exception of a connection, and its text for the log."""

import socket
import ssl
from collections.abc import Sequence
from http.client import HTTPException

from urllib3 import exceptions

from opsapi.outbound.errors import OutboundReason
from opsapi.outbound.trust import tls_fault

FAILURES = (OSError, HTTPException, exceptions.HTTPError)
"""Everything that connecting, sending and reading raise."""
Reasons = Sequence[tuple[tuple[type[Exception], ...], OutboundReason]]
BEFORE_REQUEST: Reasons = (
    # This comes first, because urllib3 counts it as a time-out.
    ((exceptions.NewConnectionError,), OutboundReason.NOT_CONNECTED),
    ((TimeoutError, exceptions.TimeoutError), OutboundReason.TIMED_OUT),
    ((ssl.SSLCertVerificationError,), OutboundReason.BAD_CERTIFICATE),
    # The connection was lost. This must look like a closed port.
    ((ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError), OutboundReason.NOT_CONNECTED),
    ((ssl.SSLError,), OutboundReason.BAD_TLS),
    ((socket.gaierror,), OutboundReason.UNRESOLVABLE),
    ((OSError,), OutboundReason.NOT_CONNECTED),
)
AFTER_REQUEST: Reasons = (((OSError, exceptions.TimeoutError), OutboundReason.NO_ANSWER),)
"""After the request is written, a failure concerns the response."""


def reason_of(error: Exception, reasons: Reasons) -> OutboundReason:
    """The reason of an exception; BAD_RESPONSE if no row has its type."""
    matches = (reason for types, reason in reasons if isinstance(error, types))
    return next(matches, OutboundReason.BAD_RESPONSE)


def details_of(error: Exception) -> str:
    """The text for the log. Other texts may quote the receiver, which may repeat the URL of the request."""
    cause = error.__cause__ or error
    details = cause.strerror if isinstance(cause, OSError) else None
    return tls_fault(error) or details or type(cause).__name__
