"""How the outcome of an attempt changes the health of its destination and host. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from alerting.destinations.pace import DestinationPace, faster, slower, wait_after_refusal
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus

PROBED_AFTER = 5
"""The number of failures in a row after which a destination or host is only probed."""
PROBE_EVERY = timedelta(seconds=10)
_OF_ALL = frozenset({DeliveryFault.HOST, DeliveryFault.SETTINGS})


@dataclass(frozen=True, slots=True)
class Health:
    """A destination as attempts left it.

    `paused_until`: the receiver asked for no attempt before. `next_try` also covers probing and pace.
    `pace_ms`, `refused_pace_ms` and `slowed` are its pace; `tried` is the start of the last attempt.
    """

    failures: int = 0
    failing_since: datetime | None = None
    last_error: str | None = None
    answered: datetime | None = None
    next_try: datetime | None = None
    paused_until: datetime | None = None
    pace_ms: int = 0
    refused_pace_ms: int = 0
    slowed: datetime | None = None
    tried: datetime | None = None

    @property
    def pace(self) -> DestinationPace:
        return DestinationPace(self.pace_ms, self.refused_pace_ms, self.slowed)

    def at_pace(self, pace: DestinationPace) -> "Health":
        return replace(self, pace_ms=pace.gap_ms, refused_pace_ms=pace.refused_ms, slowed=pace.slowed)

    @property
    def accepted_since_slowed(self) -> bool:
        """Whether the receiver took a message since it was last slowed down."""
        return self.answered is not None and (self.slowed is None or self.answered > self.slowed)


def health_after(health: Health, outcome: Outcome, now: datetime, *, began: datetime) -> Health:
    """Return the health after an attempt that began at `began`.

    A receiver that asks for a pause gets it, whatever the outcome of requests already on their way.
    """
    paused = _paused_until(health, outcome, now)
    health = replace(health, paused_until=paused)
    if outcome.status is DeliveryStatus.DELIVERED:
        return _accepted(health, now, began)
    if outcome.asks_for_less:
        return _refused(health, outcome, now, began)
    failed = _failed(health, outcome, now)
    is_probed = outcome.fault is DeliveryFault.DESTINATION and failed.failures >= PROBED_AFTER
    probe = now + probe_gap(failed.failures) if is_probed else None
    return replace(failed, next_try=_latest(probe, _next_at_pace(health), paused))


def _accepted(health: Health, now: datetime, began: datetime) -> Health:
    # A request of an earlier round says nothing about the pace.
    is_earlier = health.pace.is_of_earlier_round(began)
    pace = health.pace if is_earlier else faster(health.pace)
    accepted = Health(
        answered=_latest(health.answered, health.slowed) if is_earlier else now,
        paused_until=health.paused_until,
        tried=health.tried,
    ).at_pace(pace)
    wait = health.next_try if is_earlier else None
    return replace(accepted, next_try=_latest(wait, _next_at_pace(accepted), health.paused_until))


def _refused(health: Health, outcome: Outcome, now: datetime, began: datetime) -> Health:
    """A refusal counts as a failure only if the receiver has accepted nothing since it was slowed down."""
    if health.pace.is_of_earlier_round(began):
        return replace(health, next_try=_latest(health.next_try, health.paused_until))
    accepted = health.accepted_since_slowed
    pace = slower(health.pace, now, accepted=accepted)
    slowed = replace(health, last_error=outcome.reason) if accepted else _failed(health, outcome, now)
    wait = wait_after_refusal(health.pace, pace, now, accepted=accepted)
    if outcome.perhaps_received and slowed.failures >= PROBED_AFTER:
        wait = PROBE_EVERY
    if outcome.retry_after:
        wait = max(timedelta(seconds=outcome.retry_after), pace.gap)
    return replace(slowed.at_pace(pace), next_try=_latest(now + wait, health.paused_until))


def _failed(health: Health, outcome: Outcome, now: datetime) -> Health:
    return replace(
        health,
        failures=health.failures + 1,
        # The start of the attempt, because the duration of an attempt must not be seen.
        failing_since=health.failing_since or now - timedelta(milliseconds=outcome.latency_ms),
        last_error=outcome.reason,
    )


def _next_at_pace(health: Health) -> datetime | None:
    return health.tried + health.pace.gap if health.pace_ms and health.tried else None


def _latest(*moments: datetime | None) -> datetime | None:
    return max((moment for moment in moments if moment), default=None)


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
