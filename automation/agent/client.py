"""Sends reports to the platform and gets settings: HTTP Digest, time-outs for each request, no redirects.

Digest is `qop=auth` with SHA-256, or MD5 if the server offers nothing else (RFC 7616). The handler of urllib
sends each request twice and repeats it up to five times. This client answers a challenge and reuses its nonce
with the next count.
"""

from __future__ import annotations

import email.utils
import hashlib
import http.client
import json
import re
import secrets
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Union
from urllib.parse import quote, urlencode, urlsplit

from automation.agent.settings import Settings

_ALGORITHMS = {"SHA-256": hashlib.sha256, "MD5": hashlib.md5}
"""In order of preference, the strongest first."""

_LONGEST = 8192
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - the grammar of a token, not a secret
_PARAMETER = re.compile(rf'[ \t]*({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))[ \t]*(?:,|$)')
_SCHEME = re.compile(rf"[ \t,]*({_TOKEN})(?:[ \t]+(?!=)|$)")


class NoChallenge(ValueError):  # noqa: N818 - it names what is missing, as RFC 7616 names it
    """The server offers no Digest challenge that this client supports."""


@dataclass
class Challenge:
    """A challenge of the server (RFC 7616 3.3), with the use count of its nonce."""

    realm: str
    nonce: str
    algorithm: str
    opaque: str | None
    uses: int = field(default=0)


def read_challenge(headers: Iterable[str]) -> Challenge:
    """The best challenge in the `WWW-Authenticate` headers.

    Raises: NoChallenge: no challenge is a Digest with qop `auth` and a supported algorithm.
    """
    offered = [challenge for header in headers for challenge in _digests(header[:_LONGEST])]
    for algorithm in _ALGORITHMS:
        for parameters in offered:
            offers = {word.strip() for word in parameters.get("qop", "").lower().split(",")}
            usable = {"realm", "nonce"} <= parameters.keys() and "auth" in offers
            if usable and parameters.get("algorithm", "MD5").upper() == algorithm:
                opaque = parameters.get("opaque")
                return Challenge(parameters["realm"], parameters["nonce"], algorithm, opaque)
    raise NoChallenge("the server does not offer HTTP Digest with qop=auth and SHA-256 or MD5")


def authorization(
    challenge: Challenge, *, username: str, password: str, method: str, uri: str, cnonce: str | None = None
) -> str:
    """The value of `Authorization` for a request (RFC 7616 3.4). Increments the use count of the nonce."""
    challenge.uses += 1
    cnonce = cnonce or secrets.token_hex(16)
    count = f"{challenge.uses:08x}"
    secret = _hash(challenge.algorithm, f"{username}:{challenge.realm}:{password}")
    request = _hash(challenge.algorithm, f"{method}:{uri}")
    answer = _hash(challenge.algorithm, f"{secret}:{challenge.nonce}:{count}:{cnonce}:auth:{request}")
    parts = [
        f"username={_quoted(username)}",
        f"realm={_quoted(challenge.realm)}",
        f"nonce={_quoted(challenge.nonce)}",
        f"uri={_quoted(uri)}",
        f'response="{answer}"',
        f"algorithm={challenge.algorithm}",
        "qop=auth",
        f"nc={count}",
        f'cnonce="{cnonce}"',
    ]
    if challenge.opaque is not None:
        parts.append(f"opaque={_quoted(challenge.opaque)}")
    return "Digest " + ", ".join(parts)


def _digests(header: str) -> list[dict[str, str]]:
    """The parameters of each Digest challenge in a header, which can contain several schemes."""
    challenges: list[dict[str, str]] = []
    scheme, position = "", 0
    while position < len(header):
        parameter = _PARAMETER.match(header, position)
        if parameter and scheme:
            if scheme == "digest":
                quoted, token = parameter[2], parameter[3]
                value = token if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
                challenges[-1][parameter[1].lower()] = value
            position = parameter.end()
            continue
        begins = _SCHEME.match(header, position)
        if begins is None:
            break
        scheme, position = begins[1].lower(), begins.end()
        if scheme == "digest":
            challenges.append({})
    return challenges


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _hash(algorithm: str, text: str) -> str:
    # The protocol fixes the algorithm. TLS protects the request.
    return _ALGORITHMS[algorithm](text.encode()).hexdigest()


TIMEOUT_SECONDS = 30.0
"""Seconds for a connection, and for each wait for more data."""

LONGEST_WAIT = 600.0
"""Seconds: a longer Retry-After is limited to this."""

LONGEST_REQUEST = 120.0
"""Seconds for a request and its complete answer, even if it arrives one octet at a time."""

LONGEST_DOWNLOAD = 600.0
"""Seconds for the complete file of the agent."""

_LONGEST_ANSWER = 4_000_000  # A refusal lists the existing metrics for each of 100 faults.
_PART = 65_536
_JSON = {"Content-Type": "application/json"}
_A_FIELD = "agentType"
_LONGEST_SHOWN = 500
_MINUTES_FROM = 180


class Unreachable(Exception):  # noqa: N818 - what the platform is
    """No answer arrived. The platform may have accepted the report or not."""


class Refused(Exception):  # noqa: N818 - what the request is
    """The platform does not give a file."""


_Reply = Union[http.client.HTTPResponse, urllib.error.HTTPError]


@dataclass(frozen=True)
class PlatformAnswer:
    """The answer of the platform; `retry_after` in seconds, None if absent.

    `date` is the clock of the platform or of a proxy in front of it; None if absent.
    """

    status: int
    document: Mapping[str, Any]
    retry_after: float | None
    date: datetime | None = None
    etag: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the platform has accepted the report, perhaps for later."""
        return self.status in {200, 202}

    @property
    def code(self) -> str:
        """The error code of a refusal, such as INVALID_ATTRIBUTE; otherwise empty."""
        return str(self.document.get("errorCode", ""))

    @property
    def detail(self) -> str:
        """Why the platform rejected the request, in one log line."""
        detail = " ".join(str(self.document.get("detail", "")).split())
        return f"{self.status} {self.code}: {detail}"[:_LONGEST_SHOWN]

    @property
    def bad_fields(self) -> Sequence[str]:
        """Paths of the rejected fields, such as `hosts[0].measurements[3].metricName`."""
        fields = self.document.get("badFields")
        named = fields if isinstance(fields, list) else []
        return [str(fault.get("field", "")) for fault in named if isinstance(fault, dict)]

    @property
    def unknown_fields(self) -> Collection[str]:
        """Rejected fields that the platform does not know. Its error lists the fields that it knows."""
        fields = self.document.get("badFields")
        named = fields if isinstance(fields, list) else []
        return {
            str(fault.get("field", ""))
            for fault in named
            if isinstance(fault, dict) and _A_FIELD in (fault.get("allowed") or ())
        }


def clock_words(date: datetime) -> str:
    """The difference between this machine's clock and the answer: `90 seconds ahead of the platform's`."""
    ahead = datetime.now(timezone.utc) - date
    seconds = abs(ahead).total_seconds()
    amount = f"{seconds:.0f} seconds" if seconds < _MINUTES_FROM else f"{seconds / 60:.0f} minutes"
    return f"{amount} {'ahead of' if ahead > timedelta(0) else 'behind'} the platform's"


_PARTIAL_CHAIN = 0x80000
"""VERIFY_X509_PARTIAL_CHAIN of OpenSSL. Python has a name for it since 3.10."""


def trusting() -> ssl.SSLContext:
    """TLS that checks certificate and name, with the same flags on every version of Python.

    The authorities are the system's, or the file in SSL_CERT_FILE. VERIFY_X509_STRICT is off, as in the
    platform (`opsapi.outbound.trust`): it is a default since Python 3.13, and refuses authorities without
    keyUsage. An issuing authority is trusted without its root, which is a default only since Python 3.13.
    """
    context = ssl.create_default_context()
    flags = int(context.verify_flags) | _PARTIAL_CHAIN
    context.verify_flags = ssl.VerifyFlags(flags & ~int(ssl.VERIFY_X509_STRICT))
    context.set_alpn_protocols(["http/1.1"])
    return context


def tls_fault(error: BaseException) -> str:
    """The reason of the TLS library: `unable to get local issuer certificate`, `wrong version number`.

    Empty if the error is not from the TLS library.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message.rstrip(".")
    if isinstance(error, ssl.SSLError):
        return (error.reason or "").replace("_", " ").lower()
    return ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Credentials belong to a single URL and do not follow redirects."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        """Never follow a redirect."""


class Connections(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    """Opens connections of both kinds, and can cut the newest connection from another thread."""

    def __init__(self) -> None:
        super().__init__()
        self._newest: http.client.HTTPConnection | None = None

    def cut(self) -> None:
        """Make pending reads of the newest connection fail."""
        sock = self._newest.sock if self._newest is not None else None
        if sock is not None:
            with suppress(OSError):  # The connection has already ended.
                sock.shutdown(socket.SHUT_RDWR)

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._kept(http.client.HTTPConnection), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._kept(http.client.HTTPSConnection), request, context=trusting())

    def _kept(self, kind: type[http.client.HTTPConnection]) -> Any:
        def connection(*arguments: Any, **named: Any) -> http.client.HTTPConnection:
            self._newest = kind(*arguments, **named)
            return self._newest

        return connection


class Client:
    """A project on a platform, with an API key. Not thread-safe."""

    def __init__(
        self, *, url: str, group_id: str, public_key: str, private_key: str, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        """`url` is the address of the platform, such as https://ops.example.com.

        Proxies come from the environment.
        """
        self._agents = f"{url}/agents/v1.0"
        self._base = f"{self._agents}/groups/{group_id}"
        self.url = f"{self._base}/reports"
        self._public_key, self._private_key = public_key, private_key
        self._timeout = timeout
        self._challenge: Challenge | None = None
        self._connections = Connections()
        self._opener = urllib.request.build_opener(_NoRedirects, self._connections)

    def report(self, body: bytes, idempotency_key: str | None = None) -> PlatformAnswer:
        """Send a JSON report and return the answer of the platform, whatever its status.

        Raises: Unreachable: no answer arrived; the report can be sent again with the same key and body.
        NoChallenge: the server asks for another authentication than HTTP Digest.
        """
        headers = dict(_JSON)
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        return self._authenticated(self.url, headers, body)

    def settings(self, version: str = "") -> PlatformAnswer:
        """Get the settings that the platform keeps for its agents; status 304 if they have this version.

        Raises: as `report`.
        """
        headers = {"If-None-Match": f'"{version}"'} if version else {}
        return self._authenticated(f"{self._base}/settings", headers, None)

    def automation(self, hostname: str, etag: str = "") -> PlatformAnswer:
        """Get the part of the automation configuration for a machine; status 304 if it has this ETag.

        Raises: as `report`.
        """
        headers = {"If-None-Match": etag} if etag else {}
        return self._authenticated(
            f"{self._base}/automation?{urlencode({'hostname': hostname})}", headers, None
        )

    def ask_turn(self, request: Mapping[str, Any]) -> PlatformAnswer:
        """Ask for the turn of a process. A repeated request gets the same turn. Raises: as `report`."""
        return self._authenticated(f"{self._base}/turns", _JSON, json.dumps(request).encode())

    def report_turn(self, turn_id: str, report: Mapping[str, Any]) -> PlatformAnswer:
        """Renew a turn, or give it back. Raises: as `report`."""
        url = f"{self._base}/turns/{quote(turn_id, safe='')}"
        return self._authenticated(url, _JSON, json.dumps(report).encode(), "PATCH")

    def exchange_observations(self, observed: Mapping[str, Any]) -> PlatformAnswer:
        """Report members of a replica set, and get what other agents observe of it. Raises: as `report`."""
        return self._authenticated(f"{self._base}/observations", _JSON, json.dumps(observed).encode())

    def download(self, name: str, largest: int) -> bytes:
        """Get a file of the platform that needs no key, such as the agent; at most `largest` bytes.

        Raises: Unreachable: it was not received in full. Refused: the platform does not give it.
        """
        request = urllib.request.Request(f"{self._agents}/{name}")  # noqa: S310 - settings allow http and https alone
        reply, octets = self._exchange(request, LONGEST_DOWNLOAD, largest)
        if reply.status != 200:
            raise Refused(f"the platform answers {reply.status}")
        return octets

    def _authenticated(
        self, url: str, headers: Mapping[str, str], body: bytes | None, method: str = "POST"
    ) -> PlatformAnswer:
        """The answer to a request with a body, or to a GET without a body, with authentication."""
        if self._challenge is None:
            # The body would be sent for nothing.
            first = self._ask(url, headers, None if body is None else b"", method)
            if self._challenge is None:
                if 200 <= first.status < 300:
                    raise NoChallenge("the server does not ask for authentication, so it is not the platform")
                return first  # The platform is busy, or the project does not exist.
        answer = self._ask(url, headers, body, method)
        if answer.status == 401:
            # The nonce was too old or the key is unknown; the second answer shows which.
            answer = self._ask(url, headers, body, method)
        return answer

    def _ask(self, url: str, headers: Mapping[str, str], body: bytes | None, method: str) -> PlatformAnswer:
        method, headers = "GET" if body is None else method, dict(headers)
        if self._challenge:
            parts = urlsplit(url)
            headers["Authorization"] = authorization(
                self._challenge,
                username=self._public_key,
                password=self._private_key,
                method=method,
                uri=f"{parts.path}?{parts.query}" if parts.query else parts.path,
            )
        request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310 - settings allow http and https alone
        reply, octets = self._exchange(request, LONGEST_REQUEST, _LONGEST_ANSWER)
        if reply.status == 401:
            self._challenge = None
            self._challenge = read_challenge(reply.headers.get_all("WWW-Authenticate") or [])
        return PlatformAnswer(
            reply.status or 0,
            _document(octets),
            _retry_after(reply.headers.get("Retry-After")),
            _date(reply.headers.get("Date", "")),
            reply.headers.get("ETag") or "",
        )

    def _exchange(
        self, request: urllib.request.Request, seconds: float, largest: int
    ) -> tuple[_Reply, bytes]:
        """The answer, and its body up to `largest` bytes. Raises: Unreachable: it is incomplete."""
        end = time.monotonic() + seconds
        # A socket time-out applies to each wait, and headers take many waits.
        timer = threading.Timer(seconds, self._connections.cut)
        timer.daemon = True
        timer.start()
        try:
            try:
                reply = self._opener.open(request, timeout=self._timeout)
            except urllib.error.HTTPError as error:
                reply = error
            with reply:
                return reply, _read(reply, end, largest)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(failure_words(error)) from None
        finally:
            timer.cancel()


def client_of(settings: Settings, timeout: float = TIMEOUT_SECONDS) -> Client:
    """The client that the settings describe."""
    return Client(
        url=settings.url,
        group_id=settings.group_id,
        public_key=settings.public_key,
        private_key=settings.private_key,
        timeout=timeout,
    )


def _read(reply: _Reply, end: float, largest: int) -> bytes:
    """The body, limited in length. Raises OSError if it is incomplete at the deadline."""
    octets = bytearray()
    part = b" "
    # Read what has arrived, to check the deadline between two parts.
    while part and len(octets) < largest:
        if time.monotonic() > end:
            raise OSError("the answer is incomplete after the time limit")
        part = reply.read1(_PART)
        octets += part
    length = reply.headers.get("Content-Length") or "0"
    if length.isascii() and length.isdigit() and len(octets) < min(int(length[:10]), largest):
        raise OSError("the connection closed before the end of the answer")
    return bytes(octets[:largest])


def failure_words(error: Exception) -> str:
    """Why a request got no answer, in one line."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, ssl.SSLError) and (fault := tls_fault(reason)):
        is_certificate = isinstance(reason, ssl.SSLCertVerificationError)
        return f"{'the certificate is not valid' if is_certificate else 'TLS fails'} ({fault})"
    return " ".join(str(reason).split())[:_LONGEST_SHOWN] or type(error).__name__


def _document(octets: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(octets)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _retry_after(text: str | None) -> float | None:
    """Seconds, or the time until a date (RFC 9110 10.2.3), within bounds; None if unreadable."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return min(float(text), LONGEST_WAIT)
    moment = _date(text)
    if moment is None:
        return None
    seconds = (moment - datetime.now(timezone.utc)).total_seconds()
    return max(0.0, min(seconds, LONGEST_WAIT))


def _date(text: str) -> datetime | None:
    """An HTTP date (RFC 9110 5.6.7); None if unreadable."""
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return None if moment.tzinfo is None else moment
