"""All outbound HTTP: checked addresses, limited time and size, no redirects."""

from opsapi.outbound.client import Method, OutboundResponse, post
from opsapi.outbound.errors import OutboundError, OutboundReason

__all__ = ["Method", "OutboundError", "OutboundReason", "OutboundResponse", "post"]
