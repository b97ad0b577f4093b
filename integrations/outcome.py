"""The result of an attempt to deliver a message. Pure."""

from dataclasses import dataclass

from integrations.choices import DeliveryFault, DeliveryStatus
from opsapi.outbound.errors import UNREACHABLE


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an attempt: `reason` is None only if delivered; `retry_after` is in seconds.

    `fault` says what failed. `perhaps_received`: the request was sent and not definitely rejected. `reached`:
    a connection was established.
    """

    status: DeliveryStatus
    reason: str | None
    latency_ms: int
    retry_after: int | None = None
    fault: DeliveryFault = DeliveryFault.MESSAGE
    perhaps_received: bool = False
    reached: bool = False

    @property
    def has_meaningful_latency(self) -> bool:
        """Whether the duration and end of the attempt can be shown.

        A refused address, a filtered port and a connection time-out look the same (decisions 7); the time
        would reveal the difference.
        """
        return self.reason != UNREACHABLE
