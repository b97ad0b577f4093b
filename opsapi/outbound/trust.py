"""The certificate authorities that the platform trusts as a client, and how it checks certificates.

They are the authorities of the system (or of `SSL_CERT_FILE`) and of `OPSAPI_OUTBOUND_CA_FILE`. Loading them
takes 27 ms of processor time, so a process creates one context for each purpose, at the first use.
"""

import re
import ssl
import threading
from enum import Enum
from functools import lru_cache

from django.conf import settings

_lock = threading.Lock()


class Purpose(Enum):
    """The kind of server. Each has its own context, because urllib3 makes its context offer HTTP."""

    RECEIVER = "receiver"
    MAIL_SERVER = "mail server"


def trusting(purpose: Purpose) -> ssl.SSLContext:
    """Return the context of this process, which checks certificates and names. Do not modify it."""
    with _lock:  # Several threads may call this at the same time.
        return _context(purpose, settings.OPSAPI_OUTBOUND_CA_FILE)


@lru_cache(maxsize=len(Purpose))
def _context(_purpose: Purpose, ca_file: str) -> ssl.SSLContext:
    """Create a context with the same flags on every version of Python. The defaults of Python differ.

    VERIFY_X509_STRICT, a default since Python 3.13, is off. It refuses authorities without keyUsage and other
    extensions, which many companies use, and an upgrade of Python must not stop the delivery of messages.
    VERIFY_X509_PARTIAL_CHAIN is on, so that an issuing authority in OPSAPI_OUTBOUND_CA_FILE is trusted
    without its root.
    """
    context = ssl.create_default_context()
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


_OF_THE_HANDSHAKE = {
    "ACCESS_DENIED",
    "BAD_CERTIFICATE",
    "CERTIFICATE_EXPIRED",
    "CERTIFICATE_REQUIRED",
    "CERTIFICATE_REVOKED",
    "CERTIFICATE_UNKNOWN",
    "HANDSHAKE_FAILURE",
    "UNKNOWN_CA",
    "UNSUPPORTED_CERTIFICATE",
}
"""The alerts with which a server refuses a client that has no certificate, or the wrong one."""


def is_late_refusal(error: BaseException) -> bool:
    """Whether the peer refuses the handshake, perhaps after the platform has sent something.

    Under TLS 1.3, the handshake ends for the client before the server has looked at its certificate. By then
    the server has read nothing else.
    """
    reason = error.reason or "" if isinstance(error, ssl.SSLError) else ""
    return reason.partition("ALERT_")[2] in _OF_THE_HANDSHAKE


_QUOTED_NAME = re.compile(r"'[^']*'$")
"""The expected name at the end of a message of the TLS library."""


def tls_fault(error: BaseException) -> str:
    """The reason of the TLS library: `unable to get local issuer certificate`, `wrong version number`.

    Empty if the error is not from the TLS library.
    """
    cause = error if isinstance(error, ssl.SSLError) else error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        # It can be the name of the operator's proxy or mail server, which a project does not need to know.
        return _QUOTED_NAME.sub("its name", cause.verify_message.rstrip("."))
    if isinstance(cause, ssl.SSLError):
        return (cause.reason or "").replace("_", " ").lower()
    return ""
