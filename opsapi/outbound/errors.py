"""Why a request got no response: exact for the log, coarse for the user who configured the receiver."""

from collections.abc import Mapping
from enum import StrEnum


class OutboundReason(StrEnum):
    """The failure; the values appear only in the log."""

    INVALID_URL = "invalid URL"
    REFUSED_ADDRESS = "refused address"
    UNRESOLVABLE = "unresolvable name"
    NOT_CONNECTED = "not connected"
    TIMED_OUT = "timed out"
    NO_ANSWER = "no answer"
    BAD_CERTIFICATE = "bad certificate"
    BAD_RESPONSE = "bad response"


UNREACHABLE = "the receiver could not be reached"
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
    OutboundReason.BAD_RESPONSE: "the receiver did not send a valid HTTP response",
}


class OutboundError(Exception):
    """There is no response. The text is public and contains no host, URL or credential.

    `sent`: part of the request was written, so the receiver may have accepted it.
    """

    def __init__(self, reason: OutboundReason, *, sent: bool = False) -> None:
        super().__init__(PUBLIC_TEXT[reason])
        self.reason = reason
        self.sent = sent

    @property
    def retryable(self) -> bool:
        """Whether a later attempt may succeed.

        A refused address counts as retryable, too; otherwise it would differ from a filtered port.
        """
        return self.reason is not OutboundReason.INVALID_URL
