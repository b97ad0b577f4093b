"""All outbound HTTP: checked addresses, limited time and size, no redirects."""

from opsapi.outbound.client import OutboundResponse, post
from opsapi.outbound.errors import OutboundError, OutboundReason

__all__ = ["OutboundError", "OutboundReason", "OutboundResponse", "post"]
