"""The pace of a destination: how much time is left between the starts of two requests. Pure.

A receiver says "not now" with 429, 503 or Retry-After. The pace then follows what it takes:

- One refusal is one step. All requests that were on their way when the destination was slowed down belong to
  the same round, so neither their refusals nor their successes count.
- The first step assumes one message a second, and each success halves the gap, until the receiver refuses a
  pace for the first time.
- From then on the gap approaches the refused gap in small steps, and leaves it behind in growing steps if the
  receiver accepts more than before.
- The pause after a refusal is what the receiver asks for. If it asks for nothing, it is the gap; while
  everything is refused, it doubles up to LONGEST_WAIT.

The state is in the row of the destination, so all workers share one pace.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

_FIRST_MS = 1_000
_SLOWEST_MS = 4_000
_NO_PACE_MS = 15
"""Below this the pace is dropped."""
LONGEST_WAIT = timedelta(seconds=4)
"""The longest time without an attempt at a receiver that answers and asks for no longer pause."""
_SOON = 3
"""A refusal within this many gaps after a step means that the step was too small."""


@dataclass(frozen=True, slots=True)
class DestinationPace:
    """The pace of a destination.

    `gap_ms` is the least time between the starts of two requests, 0 without a pace. `refused_ms` is the gap
    that the receiver last refused, 0 if none is known. `slowed` is the time of the last step.
    """

    gap_ms: int = 0
    refused_ms: int = 0
    slowed: datetime | None = None

    @property
    def gap(self) -> timedelta:
        return timedelta(milliseconds=self.gap_ms)

    def is_of_earlier_round(self, began: datetime) -> bool:
        """Whether a request was on its way when the destination was slowed down."""
        return self.slowed is not None and began <= self.slowed


def slower(pace: DestinationPace, now: datetime, *, accepted: bool) -> DestinationPace:
    """Return the pace after a refusal. `accepted`: the receiver took a message since the last step."""
    gap = min(pace.gap_ms, _SLOWEST_MS)  # earlier versions store up to a minute
    if not gap:
        return DestinationPace(_FIRST_MS, 0, now)
    if not accepted or pace.slowed is None:
        return DestinationPace(gap, pace.refused_ms, now)
    return DestinationPace(min(round(gap * _step(pace, now - pace.slowed)) + 1, _SLOWEST_MS), gap, now)


def _step(pace: DestinationPace, lasted: timedelta) -> float:
    """Return by which factor the gap grows; `lasted`: the time since the last step."""
    if pace.gap_ms > 2 * pace.refused_ms:
        return 2.0  # undoes the last halving
    return 1.5 if lasted < _SOON * pace.gap else 1.08


def faster(pace: DestinationPace) -> DestinationPace:
    """Return the pace after a success."""
    gap, refused = pace.gap_ms, pace.refused_ms
    least = max(gap // 500, 1)
    if gap // 2 > refused or gap < refused // 2:
        gap //= 2
    elif gap > refused:
        gap -= max((gap - refused) // 8, least)
    else:
        gap -= max(refused - gap, least)
    return (
        DestinationPace(gap, refused, pace.slowed)
        if gap >= _NO_PACE_MS
        else DestinationPace(slowed=pace.slowed)
    )


def wait_after_refusal(
    before: DestinationPace, after: DestinationPace, now: datetime, *, accepted: bool
) -> timedelta:
    """Return how long nothing is sent after a refusal that asked for no certain pause."""
    if accepted or before.slowed is None:
        return after.gap
    return min(max(2 * (now - before.slowed), after.gap), LONGEST_WAIT)
