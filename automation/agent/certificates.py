"""The certificate that a server presents, and how many days are left until it ends."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Callable

from automation.agent.engine import DATABASES_EVERY

_SEQUENCE, _VERSION = 0x30, 0xA0
_TIMES = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}
"""By tag, the form of a time: until 2049 it has two digits for the year (RFC 5280, 4.1.2.5)."""
_LONG_FORM = 0x80
_SECONDS_A_DAY = 86_400.0
_FIRST_OF_1900 = 50
"""Two digits from here on are a year of the last century."""


@dataclass
class ServerCertificate:
    """The end of a server's certificate, which is asked for every ten minutes. Not thread-safe.

    `clock` returns monotonic seconds. `problem` is why the last question failed; empty if it did not.
    """

    clock: Callable[[], float] = time.monotonic
    problem: str = ""
    _due: float = field(default=float("-inf"), init=False)
    _ends: datetime | None = field(default=None, init=False)

    def days(self, now: datetime, ask: Callable[[], bytes | None]) -> float | None:
        """Days until the certificate ends; None if there is none, or if it is not known.

        `ask` returns the certificate in DER, None without TLS; it may raise OSError or ValueError.
        """
        if self.clock() >= self._due:
            self._due = self.clock() + DATABASES_EVERY
            self._ends, self.problem = None, ""
            try:
                certificate = ask()
                self._ends = not_after(certificate) if certificate else None
            except (OSError, ValueError) as error:
                self.problem = f"{type(error).__name__}: {error}"
        return (self._ends - now).total_seconds() / _SECONDS_A_DAY if self._ends else None

    def forget(self) -> None:
        """Ask again next time."""
        self._due = float("-inf")


@dataclass(frozen=True)
class ClientCertificate:
    """Files in PEM with a certificate, and its key if it has a file of its own. `password` is of the key."""

    certificate: str
    key: str | None = None
    password: str = field(default="", repr=False)


def presented_certificate(
    connection: socket.socket, hostname: str, own: ClientCertificate | None = None
) -> bytes:
    """The certificate of the server in DER, from a TLS handshake over an open connection.

    Verifies nothing and sends nothing afterwards: the answer says when the certificate ends, also if clients
    no longer accept it. Presents the certificate `own` to a server that asks for it. Closes the connection.

    Raises: OSError: the handshake failed. ValueError: the server presents no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    unusable = ""
    if own is not None:
        try:
            # An empty password is an answer: without it, OpenSSL asks on the terminal.
            context.load_cert_chain(own.certificate, own.key, own.password)
        except OSError as error:  # Most servers ask for none.
            unusable = f" (the certificate of the agent cannot be read: {error})"
    try:
        with context.wrap_socket(connection, server_hostname=hostname) as secured:
            certificate = secured.getpeercert(binary_form=True)
    except OSError as error:
        raise OSError(f"{error}{unusable}") from error
    if not certificate:
        raise ValueError("the server presents no certificate")
    return certificate


def not_after(certificate: bytes) -> datetime:
    """The last moment at which a certificate in DER is valid (RFC 5280, 4.1).

    Raises: ValueError: not a certificate of X.509.
    """
    try:
        to_be_signed = _parts(_parts(certificate)[0][1])[0][1]
        fields = _parts(to_be_signed)
        # The version may be missing; then follow serial number, algorithm, issuer and validity.
        tag, validity = fields[4 if fields[0][0] == _VERSION else 3]
        end, text = _parts(validity)[1]
        if tag != _SEQUENCE or end not in _TIMES:
            raise ValueError("not a certificate: no time of its end")
        return _time(end, text.decode("ascii"))
    except (IndexError, UnicodeDecodeError):
        raise ValueError("not a certificate: it is cut") from None


def _time(tag: int, text: str) -> datetime:
    moment = datetime.strptime(text, _TIMES[tag]).replace(tzinfo=timezone.utc)
    # `strptime` reads 50 to 68 as 2050 to 2068.
    is_old = tag == min(_TIMES) and moment.year >= 2000 + _FIRST_OF_1900
    return moment.replace(year=moment.year - 100) if is_old else moment


def _parts(content: bytes) -> Sequence[tuple[int, bytes]]:
    """Tag and content of each part, in order (X.690, 8.1). Raises: ValueError, IndexError: a part is cut."""
    parts: list[tuple[int, bytes]] = []
    place = 0
    while place < len(content):
        tag, length = content[place], content[place + 1]
        place += 2
        if length & _LONG_FORM:
            count = length - _LONG_FORM
            length = int.from_bytes(content[place : place + count], "big")
            place += count
        if place + length > len(content):
            raise ValueError("not a certificate: it is cut")
        parts.append((tag, content[place : place + length]))
        place += length
    return parts
