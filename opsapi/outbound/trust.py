"""The certificate authorities that the platform trusts as a client.

They are the authorities of the system (or of `SSL_CERT_FILE`) and of `OPSAPI_OUTBOUND_CA_FILE`. Loading them
takes 27 ms of processor time, so a process creates one context for each purpose, at the first use.
"""

import ssl
import threading
from enum import Enum
from functools import lru_cache

from django.conf import settings
from django.core.mail.backends import smtp

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
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


class EmailBackend(smtp.EmailBackend):
    """Checks the certificate of the mail server like that of receivers."""

    @property
    def ssl_context(self) -> ssl.SSLContext:
        return trusting(Purpose.MAIL_SERVER)
