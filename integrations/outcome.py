"""How one attempt to deliver a message ended. Pure."""

from dataclasses import dataclass

from integrations.choices import DeliveryStatus, Fault
from opsapi.outbound.errors import UNREACHABLE


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one attempt ended: `reason` is None only when delivered; `retry_after` is in seconds.

    `fault` says what failed where it was not delivered. `perhaps_received`: the request was sent, and nothing
    but a definite refusal says that the receiver did not take it. `reached`: a connection was made.
    """

    status: DeliveryStatus
    reason: str | None
    latency_ms: int
    retry_after: int | None = None
    fault: Fault = Fault.MESSAGE
    perhaps_received: bool = False
    reached: bool = False

    @property
    def tells_time(self) -> bool:
        """Whether it may be kept how long the attempt took, and when it ended.

        A refused address, a filtered port and a connection that timed out read the same (decisions 7): the
        time would tell them apart.
        """
        return self.reason != UNREACHABLE
