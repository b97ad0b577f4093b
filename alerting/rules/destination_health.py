"""How the outcome of an attempt changes the health of its destination and host. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from integrations.choices import DeliveryFault, DeliveryStatus
from integrations.outcome import Outcome

PROBED_AFTER = 5
"""The number of failures in a row after which a destination or host is only probed."""
PROBE_EVERY = timedelta(seconds=10)
_FIRST_PACE_MS = 1_000
_SLOWEST_PACE_MS = 60_000
_OF_ALL = frozenset({DeliveryFault.HOST, DeliveryFault.SETTINGS})
_NO_PACE_MS = 100
"""Below this the pace is dropped."""


@dataclass(frozen=True, slots=True)
class Health:
    """A destination as attempts left it.

    `paused_until`: the receiver asked for no attempt before. `next_try` also covers probing and pace.
    `pace_ms` is the least time between the starts of two attempts.
    """

    failures: int = 0
    failing_since: datetime | None = None
    last_error: str | None = None
    answered: datetime | None = None
    next_try: datetime | None = None
    paused_until: datetime | None = None
    pace_ms: int = 0


def health_after(health: Health, outcome: Outcome, now: datetime) -> Health:
    """Return the health after one more attempt.

    A receiver that asks for a pause gets it, whatever the outcome of requests already on their way. A
    definite "not now" slows the pace, and each success quickens it.
    """
    paused = _paused_until(health, outcome, now)
    if outcome.status is DeliveryStatus.DELIVERED:
        pace = health.pace_ms // 2
        pace_ms = pace if pace >= _NO_PACE_MS else 0
        return Health(answered=now, next_try=paused, paused_until=paused, pace_ms=pace_ms)
    failures = health.failures + 1
    pace_ms, next_try = health.pace_ms, None
    if outcome.fault is DeliveryFault.DESTINATION:
        if not outcome.perhaps_received:
            pace_ms = min(max(2 * pace_ms, _FIRST_PACE_MS), _SLOWEST_PACE_MS)
            next_try = now + timedelta(milliseconds=pace_ms)
        elif failures >= PROBED_AFTER:
            next_try = now + probe_gap(failures)
    return Health(
        failures=failures,
        # The start of the attempt, because the duration of an attempt must not be seen.
        failing_since=health.failing_since or now - timedelta(milliseconds=outcome.latency_ms),
        last_error=outcome.reason,
        answered=health.answered,
        next_try=max((moment for moment in (next_try, paused) if moment), default=None),
        paused_until=paused,
        pace_ms=pace_ms,
    )


def last_connections(attempts: Iterable[tuple[str, datetime, Outcome]]) -> dict[str, tuple[datetime, bool]]:
    """Return for each host when the last of its attempts was claimed, and whether it found a connection.

    `attempts` are hosts, times of claims and outcomes, in any order. The time of the outcome does not count:
    a host may answer requests on their way for long after it took its last connection.
    """
    last: dict[str, tuple[datetime, bool]] = {}
    for host, claimed, outcome in attempts:
        if (connected := _has_connected(outcome)) is not None:
            last[host] = max(last.get(host, (claimed, connected)), (claimed, connected))
    return last


def _has_connected(outcome: Outcome) -> bool | None:
    """Return whether the host accepts messages; None if the attempt failed before it contacted the host.

    A host that accepts connections and refuses all messages, such as a mail server that refuses the log-in,
    counts as unreachable: only one message tries it.
    """
    if outcome.fault in _OF_ALL and outcome.status is DeliveryStatus.RETRY:
        return False
    if outcome.status is DeliveryStatus.DELIVERED or outcome.reached:
        return True
    return True if outcome.fault is DeliveryFault.DESTINATION else None


def _paused_until(health: Health, outcome: Outcome, now: datetime) -> datetime | None:
    """Return the latest end of the pauses the receiver asked for; None if they are over."""
    asked = now + timedelta(seconds=outcome.retry_after or 0)
    paused = max(health.paused_until or asked, asked)
    return paused if paused > now else None


def probe_gap(failures: int) -> timedelta:
    """The least time between two probes after this many failures in a row."""
    return PROBE_EVERY if failures >= PROBED_AFTER else timedelta()
