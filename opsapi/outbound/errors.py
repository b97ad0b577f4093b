"""The stages of a conversation with a receiver, and why an answer is missing.

The reasons are exact for the log, and coarse for the user who configured the receiver.
"""

from collections.abc import Mapping
from enum import StrEnum


class Stage(StrEnum):
    """A stage of a conversation with a receiver, in order: for all, then mail, then HTTP.

    Only HTTP uses the stages of the outgoing proxy. PROXIED is the status line of an `http` URL, which the
    receiver or the proxy can have written.
    """

    SETTINGS = "settings"
    RESOLVE = "resolve"
    PROXY_RESOLVE = "proxy: resolve"
    PROXY_CONNECT = "proxy: connect"
    PROXY_TLS = "proxy: TLS"
    PROXY_ANSWER = "proxy: answer"
    CONNECT = "connect"
    TLS = "TLS"
    GREETING = "greeting"
    EHLO = "EHLO"
    STARTTLS = "STARTTLS"
    AUTH = "AUTH"
    MAIL = "MAIL"
    RCPT = "RCPT"
    DATA = "DATA"
    END = "reply after the dot"
    REQUEST = "request"
    INTERIM = "1xx"
    PROXIED = "status line through the proxy"
    STATUS = "status line"
    HEADERS = "headers"
    BODY = "body"


class OutboundReason(StrEnum):
    """The failure if a receiver gave no answer; the values appear in the log and in the table of stages."""

    INVALID_URL = "invalid URL"
    INVALID_ADDRESS = "invalid address"
    INCOMPLETE = "incomplete"
    REFUSED_ADDRESS = "refused address"
    UNRESOLVABLE = "unresolvable name"
    NOT_CONNECTED = "not connected"
    TIMED_OUT = "timed out"
    NO_ANSWER = "no answer"
    BAD_CERTIFICATE = "bad certificate"
    BAD_TLS = "bad TLS"
    REFUSED = "refused"
    """The outgoing proxy answered with an error."""
    NOT_OFFERED = "not offered"
    BAD_RESPONSE = "bad response"
    OVERDUE = "overdue"
    """The platform itself gave up before it sent the message."""


UNREACHABLE = "the receiver could not be reached"
UNREACHABLE_THROUGH_PROXY = "the receiver could not be reached through the outgoing proxy"
NO_ANSWER = "sent, no answer"

# The same text for the guard, the resolver, closed and filtered ports and time-outs: a user who configures a
# receiver must not be able to map the network behind the platform.
PUBLIC_TEXT: Mapping[OutboundReason, str] = {
    OutboundReason.INVALID_URL: "the URL must be http or https, with a host and without user information",
    OutboundReason.REFUSED_ADDRESS: UNREACHABLE,
    OutboundReason.UNRESOLVABLE: UNREACHABLE,
    OutboundReason.NOT_CONNECTED: UNREACHABLE,
    OutboundReason.TIMED_OUT: UNREACHABLE,
    OutboundReason.NO_ANSWER: NO_ANSWER,
    OutboundReason.BAD_CERTIFICATE: "the receiver's certificate could not be verified",
    OutboundReason.BAD_TLS: "the receiver and the platform could not agree on TLS",
    OutboundReason.BAD_RESPONSE: "the receiver did not send a valid HTTP response",
}
"""The reasons of requests over HTTP."""

_STAGES: Mapping[OutboundReason, Stage] = {
    OutboundReason.INVALID_URL: Stage.SETTINGS,
    OutboundReason.UNRESOLVABLE: Stage.RESOLVE,
    OutboundReason.REFUSED_ADDRESS: Stage.CONNECT,
    OutboundReason.NOT_CONNECTED: Stage.CONNECT,
    OutboundReason.TIMED_OUT: Stage.CONNECT,
    OutboundReason.BAD_CERTIFICATE: Stage.TLS,
    OutboundReason.BAD_TLS: Stage.TLS,
    OutboundReason.NO_ANSWER: Stage.STATUS,
    OutboundReason.BAD_RESPONSE: Stage.STATUS,
}


class OutboundError(Exception):
    """There is no response. The text is public and contains no host, URL or credential.

    `sent`: part of the request was written, so the receiver may have accepted it. `detail` is the reason of
    the TLS library; it is public. `stage` follows from the reason, except for the stages of the outgoing
    proxy. `code` is the status with which the proxy refused the request.
    """

    def __init__(
        self,
        reason: OutboundReason,
        *,
        sent: bool = False,
        detail: str = "",
        stage: Stage | None = None,
        code: int | None = None,
    ) -> None:
        super().__init__(PUBLIC_TEXT[reason] if stage is None else f"{stage}: {code or reason}")
        self.reason = reason
        self.sent = sent
        self.detail = detail
        self.stage = stage or _STAGES[reason]
        self.code = code

    @property
    def retryable(self) -> bool:
        """Whether a later attempt may succeed.

        A refused address counts as retryable, too; otherwise it would differ from a filtered port.
        """
        return self.reason is not OutboundReason.INVALID_URL


class MailError(OSError):
    """The mail server did not accept the mail.

    `stage` is where the conversation ended: with a reply of the server (`code` and `text`), or without a
    usable reply (`reason`). `detail` is the reason of the TLS library or the operating system. `text` is as
    the server sent it: it may quote addresses.
    """

    def __init__(
        self,
        stage: Stage,
        *,
        code: int | None = None,
        text: str = "",
        reason: OutboundReason | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(f"{stage}: {code or reason}")
        self.stage = stage
        self.code = code
        self.text = text
        self.reason = reason
        self.detail = detail
