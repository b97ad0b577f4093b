"""The outcome of an attempt to deliver a message, and when it is retried (decisions 7). Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from integrations.choices import DeliveryFault, DeliveryStatus
from opsapi.outbound.errors import UNREACHABLE, UNREACHABLE_THROUGH_PROXY


@dataclass(frozen=True, slots=True)
class Posted:
    """A message that later messages about the same alert change.

    `handle` is its name at the receiver, which only the channel can read; empty if its answer did not
    have it. `in_place`: the message was there before, and the attempt changed it.
    """

    handle: str
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an attempt: `reason` is None only if delivered; `retry_after` is in seconds.

    `own_reason` is `reason` without the text of the receiver; None if it has no such text. `fault` says what
    failed. `perhaps_received`: the request was sent and not definitely rejected. `reached`: a connection was
    established. `busy`: the receiver answered that it takes no messages at the moment. `forbidden`: the
    refusal does not depend on how many messages the platform sends. `posted` is None on channels that change
    no messages.
    """

    status: DeliveryStatus
    reason: str | None
    latency_ms: int
    retry_after: int | None = None
    fault: DeliveryFault = DeliveryFault.MESSAGE
    perhaps_received: bool = False
    reached: bool = False
    busy: bool = False
    forbidden: bool = False
    posted: Posted | None = None
    own_reason: str | None = None

    @property
    def asks_for_less(self) -> bool:
        """Whether the receiver refused the message for now: it asked for a pause, or takes fewer messages."""
        if self.status is not DeliveryStatus.RETRY or self.fault is not DeliveryFault.DESTINATION:
            return False
        if self.retry_after is not None:
            return True
        return not self.forbidden and (self.busy or not self.perhaps_received)

    @property
    def may_show_latency(self) -> bool:
        """Whether the log may show how long the attempt took and when it ended.

        A refused address, a filtered port and a connection time-out look the same (decisions 7); the time
        would reveal the difference.
        """
        return self.reason not in {UNREACHABLE, UNREACHABLE_THROUGH_PROXY}


_FIRST_DELAY = 5.0
_LONGEST_DELAY = 300.0
_JITTER = 0.2
_LONGEST_RETRY_AFTER = 3600
RETRIES_LAST = timedelta(hours=1)
"""Time from the first to the last attempt (decisions 7)."""


def next_attempt(
    attempt: int, first_attempt_at: datetime, now: datetime, retry_after: int | None, jitter: float
) -> datetime | None:
    """When to retry after attempt number `attempt` (from 1) failed at `now`; None to give up.

    `retry_after` is in seconds, `jitter` from -1 to 1. A retry after the end of the hour moves to its end, so
    that a long Retry-After still allows a last attempt.
    """
    end = first_attempt_at + RETRIES_LAST
    if now >= end:
        return None
    asked = min(retry_after or 0, _LONGEST_RETRY_AFTER)
    return min(end, now + timedelta(seconds=max(_backoff(attempt, jitter), asked)))


def parse_retry_after(value: str | None, now: datetime) -> int | None:
    """Seconds to wait from a Retry-After header, at most an hour; None if missing or unreadable.

    It is a number of seconds or a date (RFC 9110 10.2.3).
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        # Python rejects numbers with thousands of digits; nine digits are 31 years.
        return min(int(text[:9]), _LONGEST_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    seconds = round((moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
    return max(0, min(seconds, _LONGEST_RETRY_AFTER))


def _backoff(attempt: int, jitter: float) -> float:
    # The exponent is limited: the delay has reached its maximum long before 2**n overflows a float.
    doubled = _FIRST_DELAY * 2.0 ** min(attempt - 1, 16)
    return min(doubled, _LONGEST_DELAY) * (1 + _JITTER * jitter)
