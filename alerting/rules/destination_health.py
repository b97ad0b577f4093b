"""What an attempt says of its destination, and of its host (decisions 7). Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from integrations.choices import DeliveryStatus, Fault
from integrations.outcome import Outcome

PROBED_AFTER = 5
"""After so many failures in a row a destination or a host is only probed."""
PROBE_EVERY = timedelta(seconds=10)
_FIRST_PACE_MS = 1_000
_SLOWEST_PACE_MS = 60_000
_NO_PACE_MS = 100
"""A pace below this is none."""


@dataclass(frozen=True, slots=True)
class Health:
    """A destination as attempts left it; `pace_ms` is the least time between the starts of two attempts."""

    failures: int = 0
    failing_since: datetime | None = None
    last_error: str | None = None
    answered: datetime | None = None
    next_try: datetime | None = None
    pace_ms: int = 0


def health_after(health: Health, outcome: Outcome, now: datetime) -> Health:
    """The destination after one more attempt.

    A receiver that asks to wait is waited for, whatever becomes of requests that were on their way when it
    asked. A definite "not now" slows the pace, each success quickens it.
    """
    asked = _asked_to_wait(health, now)
    if outcome.status is DeliveryStatus.DELIVERED:
        pace = health.pace_ms // 2
        return Health(answered=now, next_try=asked, pace_ms=pace if pace >= _NO_PACE_MS else 0)
    failures = health.failures + 1
    pace_ms, next_try = health.pace_ms, None
    if outcome.fault is Fault.DESTINATION:
        if not outcome.perhaps_received:
            pace_ms = min(max(2 * pace_ms, _FIRST_PACE_MS), _SLOWEST_PACE_MS)
            next_try = now + max(timedelta(seconds=outcome.retry_after or 0), timedelta(milliseconds=pace_ms))
        elif failures >= PROBED_AFTER or outcome.retry_after:
            next_try = now + max(probe_gap(failures), timedelta(seconds=outcome.retry_after or 0))
    return Health(
        failures=failures,
        # Since the attempt began: how long one lasts may not be read from it (decisions 7).
        failing_since=health.failing_since or now - timedelta(milliseconds=outcome.latency_ms),
        last_error=outcome.reason,
        answered=health.answered,
        next_try=max((one for one in (next_try, asked) if one), default=None),
        pace_ms=pace_ms,
    )


def connected_at(outcome: Outcome, now: datetime) -> datetime | None:
    """The latest time at which the host surely took a connection; None where the attempt proves none.

    A request without an answer connected when it began: the host may have gone away since.
    """
    if outcome.status is DeliveryStatus.DELIVERED:
        return now
    if outcome.reached or outcome.fault is Fault.DESTINATION:
        return now - timedelta(milliseconds=outcome.latency_ms)
    return None


def _asked_to_wait(health: Health, now: datetime) -> datetime | None:
    """Until when the receiver asked to be left alone: later than probing and pacing set the next try."""
    gap = max(probe_gap(health.failures), timedelta(milliseconds=health.pace_ms))
    return health.next_try if health.next_try and health.next_try > now + gap else None


def probe_gap(failures: int) -> timedelta:
    """How long what failed so often in a row is left alone."""
    return PROBE_EVERY if failures >= PROBED_AFTER else timedelta()
