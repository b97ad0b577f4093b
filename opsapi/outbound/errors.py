"""Why a request did not get its answer: exact for the log, coarse for the one who configured it."""

from collections.abc import Mapping
from enum import StrEnum


class OutboundReason(StrEnum):
    """What went wrong; the values stand in the log only."""

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

# One text for the guard, the resolver, closed and filtered ports and time-outs: whoever configures a
# receiver must not be able to map the network behind the platform with it.
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
    """There was no answer. Its text is the public one and names neither host, URL nor credential.

    `sent`: a part of the request was written, so the receiver may have taken it.
    """

    def __init__(self, reason: OutboundReason, *, sent: bool = False) -> None:
        super().__init__(PUBLIC_TEXT[reason])
        self.reason = reason
        self.sent = sent

    @property
    def retryable(self) -> bool:
        """Whether a later attempt may fare better.

        So it is with a refused address too: failing at once would tell it from a filtered port.
        """
        return self.reason is not OutboundReason.INVALID_URL
