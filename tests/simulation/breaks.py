"""The code broken on purpose, one promise at a time: what the simulator has to find.

Each break replaces one rule, or one statement as the ledger in memory mirrors it. The last ones were in the
code until the simulator found them.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from alerting.destinations import changes as destinations
from alerting.destinations import rules as destination_health
from alerting.destinations.rules import Health
from alerting.engine import claim_rules, claims, delivery, memory
from alerting.engine import store as merged_notifications
from alerting.engine.claim_rules import Candidate, RunningRequest
from alerting.engine.leases import AttemptResult
from alerting.engine.memory import MemoryLedger
from alerting.engine.rules import not_retried
from alerting.models import Notification
from alerting.reasons import NotificationReason
from integrations.channels.delivery import deliver
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus
from opsapi.outbound.errors import NO_ANSWER
from tests.simulation.invariants import Promise

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Break:
    """What is broken, a seed that finds it, and the promises of which one is broken with it."""

    name: str
    seed: int
    promises: frozenset[Promise]
    apply: Callable[[Patch], None]


def _no_retry(patch: Patch) -> None:
    patch.setattr(delivery, "next_attempt", lambda *_: None)


def _no_reason(patch: Patch) -> None:
    def without_reason(failure: str, reason: NotificationReason | None) -> str | None:
        return None if failure == NO_ANSWER else not_retried(failure, reason)

    patch.setattr(delivery, "not_retried", without_reason)
    patch.setattr(memory, "not_retried", without_reason)


def _nothing_is_merged(patch: Patch) -> None:
    patch.setattr(merged_notifications, "merged_into", lambda *_: None)


def _nothing_is_taken_up(patch: Patch) -> None:
    patch.setattr(MemoryLedger, "release_lapsed", lambda *_, **__: 0)


def _random_ids(patch: Patch) -> None:
    numbers = count()
    patch.setattr("alerting.engine.schedule.derived_id", lambda *_: f"{next(numbers):024x}")


def _no_order(patch: Patch) -> None:
    patch.setattr(MemoryLedger, "is_first", staticmethod(lambda *_: True))


def _only_what_is_due_has_an_order(patch: Patch) -> None:
    """A retry that waits lets what was said later pass."""

    def first(row: Notification, others: Iterable[Notification], now: datetime) -> bool:
        return not any(
            other.subject == row.subject
            and (other.lease_token is not None or (other.sequence < row.sequence and other.due <= now))
            for other in others
        )

    patch.setattr(MemoryLedger, "is_first", staticmethod(first))


def _no_fence(patch: Patch) -> None:
    patch.setattr(MemoryLedger, "holds", lambda self, notification: notification.id in self.pending)


def _late_sending(patch: Patch) -> None:
    patch.setattr(delivery, "LONGEST_ATTEMPT", timedelta(days=-1))


def _perhaps_is_no(patch: Patch) -> None:
    real = delivery._result_of

    def result_of(
        attempt: delivery.DeliveryAttempt, alert: Any, outcome: Outcome, now: datetime
    ) -> AttemptResult:
        notification = copy(attempt.notification)
        notification.perhaps_received = False
        attempt = replace(attempt, notification=notification)
        return real(attempt, alert, replace(outcome, perhaps_received=False), now)

    patch.setattr(delivery, "_result_of", result_of)


def _only_deliveries_are_ended(patch: Patch) -> None:
    received = staticmethod(lambda row: row.status == "DELIVERED")
    patch.setattr(MemoryLedger, "was_received", received)


def _first_come_first_served(patch: Patch) -> None:
    def choose(
        candidates: Sequence[Candidate], running: Sequence[RunningRequest], *, slots: int, now: datetime
    ) -> list[str]:
        free = slots - sum(request.mine for request in running)
        return [candidate.id for candidate in sorted(candidates, key=lambda candidate: candidate.due)][
            : max(0, free)
        ]

    patch.setattr(claims, "choose", choose)


def _old_requests_hold_slots(patch: Patch) -> None:
    patch.setattr(claim_rules, "YOUNG", timedelta(hours=1))


def _no_share(patch: Patch) -> None:
    class Greedy(claim_rules._Round):
        def takes(self, candidate: Candidate) -> bool:
            self.held[candidate.project] = -(10**6)
            return super().takes(candidate)

    patch.setattr(claim_rules, "_Round", Greedy)


def _no_probing_of_hosts(patch: Patch) -> None:
    real = MemoryLedger.candidate
    patch.setattr(
        MemoryLedger, "candidate", staticmethod(lambda row, place, host_down: real(row, place, False))
    )


def _any_answer_shows_a_host_back(patch: Patch) -> None:
    """Also the answer to a request that was on its way before the host went away."""
    real = destination_health.last_connections

    def last_connections(
        attempts: Iterable[tuple[str, datetime, Outcome]],
    ) -> dict[str, tuple[datetime, bool]]:
        answered = datetime.max.replace(tzinfo=UTC)
        return real(
            (host, claimed if outcome.fault is DeliveryFault.HOST else answered, outcome)
            for host, claimed, outcome in attempts
        )

    patch.setattr(destinations, "last_connections", last_connections)


def _every_fault_is_the_hosts(patch: Patch) -> None:
    def host_is_at_fault(real: Callable[..., Outcome]) -> Callable[..., Outcome]:
        def send(*args: Any, **named: Any) -> Outcome:
            outcome = real(*args, **named)
            return outcome if outcome.reason is None else replace(outcome, fault=DeliveryFault.HOST)

        return send

    patch.setattr(delivery, "deliver", host_is_at_fault(deliver))


def _back_is_not_noticed(patch: Patch) -> None:
    patch.setattr(MemoryLedger, "due_at_once", lambda *_: None)


def _asking_to_wait_is_ignored(patch: Patch) -> None:
    real = destination_health.health_after

    def health_after(health: Health, outcome: Outcome, now: datetime, *, began: datetime) -> Health:
        return real(health, replace(outcome, retry_after=None), now, began=began)

    patch.setattr(destinations, "health_after", health_after)


def _without_pause(health: Health) -> Health:
    return replace(health, paused_until=None, next_try=None, slowed=None)


def _asking_to_wait_is_forgotten(patch: Patch) -> None:
    """Over the success of a request that was on its way when the receiver asked."""
    real = destination_health.health_after

    def health_after(health: Health, outcome: Outcome, now: datetime, *, began: datetime) -> Health:
        is_success = outcome.status is DeliveryStatus.DELIVERED
        return real(_without_pause(health) if is_success else health, outcome, now, began=began)

    patch.setattr(destinations, "health_after", health_after)


def _the_end_of_a_pause_counts_as_its_pace(patch: Patch) -> None:
    """What is left of a pause is not known from the pace, or from probing, once it is no longer than that."""
    real = destination_health.health_after

    def health_after(health: Health, outcome: Outcome, now: datetime, *, began: datetime) -> Health:
        gap = max(destination_health.probe_gap(health.failures), timedelta(milliseconds=health.pace_ms))
        is_notified = health.next_try is not None and health.next_try > now + gap
        return real(health if is_notified else _without_pause(health), outcome, now, began=began)

    patch.setattr(destinations, "health_after", health_after)


def _no_limit(patch: Patch) -> None:
    patch.setattr(claim_rules, "BURST", 10**6)
    patch.setattr(claim_rules, "AT_ONE_DESTINATION", 10**6)


def _retries_for_ever(patch: Patch) -> None:
    patch.setattr(delivery, "next_attempt", lambda *_: _[2] + timedelta(seconds=5))


_ORDER = frozenset({Promise.ORDER})
_FAIR = frozenset({Promise.FAIR, Promise.FAULT_IN_ITS_PLACE})
_PLACE = frozenset({Promise.FAULT_IN_ITS_PLACE})
_BACK = frozenset({Promise.BACK})

BREAKS = (
    Break("a failed attempt is not tried again", 0, frozenset({Promise.DURABLE}), _no_retry),
    Break(
        "what a dead worker had in hand stays there", 15, frozenset({Promise.DURABLE}), _nothing_is_taken_up
    ),
    Break("ids are random", 56, frozenset({Promise.ONE_ID}), _random_ids),
    Break("what comes before is not looked at", 0, _ORDER, _no_order),
    Break("a retry that waits is passed", 3, _ORDER, _only_what_is_due_has_an_order),
    Break("a lease that lapsed still counts", 172, _ORDER, _no_fence),
    Break("no answer counts as not received", 0, frozenset({Promise.FOLLOWED_UP}), _perhaps_is_no),
    Break("only deliveries are ended", 0, frozenset({Promise.FOLLOWED_UP}), _only_deliveries_are_ended),
    Break("first come, first served", 10, _FAIR, _first_come_first_served),
    Break("a request that lasts holds its slot", 55, _FAIR, _old_requests_hold_slots),
    Break("a host that is down is not probed but tried", 11, _PLACE, _no_probing_of_hosts),
    Break("every fault counts as the host's", 28, _FAIR, _every_fault_is_the_hosts),
    Break("a receiver that is back is not noticed", 0, _BACK, _back_is_not_noticed),
    Break("Retry-After is ignored", 3, _BACK, _asking_to_wait_is_ignored),
    Break("requests in hand have no limit", 49, frozenset({Promise.BOUNDED}), _no_limit),
    Break("nothing is merged", 5, frozenset({Promise.ONCE}), _nothing_is_merged),
    Break("retries have no end", 249, frozenset({Promise.BOUNDED, Promise.DURABLE}), _retries_for_ever),
    # Found while the simulator was built.
    Break("what was in hand at a crash ends without a reason", 185, frozenset({Promise.DURABLE}), _no_reason),
    Break("a worker that slept sends what it had in hand", 115, _ORDER, _late_sending),
    Break("a project takes all that is left", 420, _FAIR, _no_share),
    Break("Retry-After is forgotten over an earlier answer", 53, _BACK, _asking_to_wait_is_forgotten),
    Break("what is left of a pause counts as pace", 41, _BACK, _the_end_of_a_pause_counts_as_its_pace),
    Break("an answer to an older request shows a host back", 215, _PLACE, _any_answer_shows_a_host_back),
)
