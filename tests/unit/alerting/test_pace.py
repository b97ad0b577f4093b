"""The pace of a destination, with a virtual clock and receivers that take a limited number of messages."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import product

from alerting.destinations.pace import LONGEST_WAIT, DestinationPace, faster, slower
from alerting.destinations.rules import Health, health_after
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus
from tests.each import each
from tests.unit.alerting.paced_receivers import (
    BUSY,
    TAKEN,
    Bucket,
    FixedWindow,
    Limit,
    Window,
    at,
    ideal,
    run,
)

MESSAGES = 240
LIMITS: dict[str, Callable[[], Limit]] = {
    "2 in any second": lambda: Window(2, 1),
    "2 a second": lambda: FixedWindow(2, 1),
    "one every half second": lambda: Window(1, 0.5),
    "120 in any minute": lambda: Window(120, 60),
    "120 a minute": lambda: FixedWindow(120, 60),
    "bursts of 20": lambda: Bucket(20, 2),
}
UNAVAILABLE = replace(BUSY, reason="the receiver answered 503", perhaps_received=True, busy=True)
SLOWED = Health(answered=at(0), pace_ms=500, refused_pace_ms=480, slowed=at(10), tried=at(10))


def _cases() -> Iterator[tuple[str, bool, float]]:
    yield from product(LIMITS, (False, True), (0.02, 0.3))


@each(("limit", "retry_after", "latency"), list(_cases()))
def test_messages_are_out_in_little_more_than_the_ideal_time(
    limit: str, retry_after: bool, latency: float
) -> None:
    found = run(LIMITS[limit](), MESSAGES, retry_after=retry_after, latency=latency)
    assert len(found.accepted) == MESSAGES
    assert found.seconds <= 1.3 * ideal(LIMITS[limit](), MESSAGES)
    assert len(found.refused) <= MESSAGES


@each(("limit", "latency"), list(product(LIMITS, (0.02, 0.3))))
def test_a_destination_is_closed_for_less_than_five_seconds_while_the_receiver_answers(
    limit: str, latency: float
) -> None:
    found = run(LIMITS[limit](), MESSAGES, retry_after=False, latency=latency)
    assert found.longest_closed <= 5
    assert timedelta(seconds=5) > LONGEST_WAIT


@each(("limit", "latency"), list(product(LIMITS, (0.02, 0.3))))
def test_a_new_message_waits_for_less_than_five_seconds(limit: str, latency: float) -> None:
    """The queue is empty again when it comes. Refused messages that still wait do not delay it."""
    arrivals = [1.3 * ideal(LIMITS[limit](), MESSAGES) + 3 * number for number in range(40)]
    found = run(LIMITS[limit](), MESSAGES, retry_after=False, latency=latency, later=arrivals)
    waits = [found.began[MESSAGES + number] - arrival for number, arrival in enumerate(arrivals)]
    assert max(waits) <= 5


def test_a_refused_message_waits_for_its_own_next_attempt_while_others_are_sent() -> None:
    found = run(Window(2, 1), MESSAGES, retry_after=True)
    first = found.refused[0]
    assert [time for time in found.accepted if first < time < first + 5]


@each("limit", ["2 a second", "bursts of 20"])
def test_the_wait_stays_near_what_the_receiver_asks_for(limit: str) -> None:
    """It asks for a second."""
    assert run(LIMITS[limit](), MESSAGES, retry_after=True).longest_closed <= 1.5


def test_503_paces_as_429() -> None:
    found = run(Window(2, 1), MESSAGES, retry_after=False, refusal=UNAVAILABLE)
    assert found.seconds <= 1.3 * ideal(Window(2, 1), MESSAGES)


def test_it_finds_a_limit_that_was_lifted() -> None:
    def lifted(now: float) -> Limit | None:
        return Window(1_000, 1) if now > 60 else None

    found = run(Window(2, 1), 500, retry_after=False, resets=lifted)
    assert found.seconds < 60 + 30
    assert found.health.pace_ms == 0


def test_refusals_of_one_round_are_one_step() -> None:
    health = Health(answered=at(0))
    for _ in range(16):
        health = health_after(health, BUSY, at(1.1), began=at(1))
    assert (health.pace_ms, health.failures) == (1_000, 0)
    assert health.next_try == at(2.1)


def test_what_an_earlier_round_asks_for_still_counts() -> None:
    asked = replace(BUSY, retry_after=30)
    health = health_after(SLOWED, asked, at(11), began=at(9))
    assert (health.pace, health.next_try) == (SLOWED.pace, at(41))


def test_a_success_of_an_earlier_round_neither_quickens_nor_ends_the_wait() -> None:
    waiting = replace(SLOWED, next_try=at(14))
    health = health_after(waiting, TAKEN, at(11), began=at(9))
    assert (health.pace, health.next_try, health.accepted_since_slowed) == (SLOWED.pace, at(14), False)


def test_a_late_success_of_an_earlier_round_does_not_hide_a_success_since_then() -> None:
    health = health_after(replace(SLOWED, answered=at(11)), TAKEN, at(12), began=at(9))
    assert health.accepted_since_slowed


def test_a_success_keeps_the_gap_from_the_start_of_the_last_attempt() -> None:
    health = health_after(replace(SLOWED, tried=at(12)), TAKEN, at(12.1), began=at(12))
    assert health.next_try == at(12) + timedelta(milliseconds=health.pace_ms)


@each(
    ("pace", "expected"),
    [
        (DestinationPace(1_000, 0), 500),
        (DestinationPace(1_000, 450), 500),
        (DestinationPace(1_000, 500), 938),
        (DestinationPace(504, 500), 503),
        (DestinationPace(499, 500), 498),
        (DestinationPace(490, 500), 480),
        (DestinationPace(240, 500), 120),
        (DestinationPace(29, 0), 0),
        (DestinationPace(0, 0), 0),
    ],
)
def test_a_success_quickens(pace: DestinationPace, expected: int) -> None:
    assert faster(pace).gap_ms == expected


@each(
    ("pace", "accepted", "expected"),
    [
        (DestinationPace(), True, 1_000),
        (DestinationPace(250, 0, at(0)), True, 501),
        (DestinationPace(500, 480, at(0)), True, 541),
        (DestinationPace(500, 480, at(9)), True, 751),
        (DestinationPace(500, 480, at(0)), False, 500),
        (DestinationPace(3_900, 3_800, at(9)), True, 4_000),
    ],
)
def test_a_refusal_slows_down(pace: DestinationPace, accepted: bool, expected: int) -> None:
    assert slower(pace, at(10), accepted=accepted).gap_ms == expected


def test_while_everything_is_refused_the_wait_doubles_up_to_its_limit() -> None:
    health, now, waits = Health(answered=at(0)), 1.0, []
    for _ in range(6):
        health = health_after(replace(health, tried=at(now)), BUSY, at(now), began=at(now))
        assert health.next_try is not None
        waits.append((health.next_try - at(now)).total_seconds())
        now += waits[-1]
    assert waits == [1, 2, 4, 4, 4, 4]
    assert health.failures == 5


def test_a_receiver_that_takes_others_fails_nothing() -> None:
    health = health_after(SLOWED, TAKEN, at(12), began=at(12))
    health = health_after(health, BUSY, at(13), began=at(13))
    assert (health.failures, health.failing_since, health.last_error) == (0, None, BUSY.reason)


@each(
    ("changes", "expected"),
    [
        ({}, True),
        ({"perhaps_received": True}, False),
        ({"perhaps_received": True, "retry_after": 3}, True),
        ({"perhaps_received": True, "busy": True}, True),
        ({"forbidden": True}, False),
        ({"forbidden": True, "retry_after": 3}, True),
        ({"fault": DeliveryFault.HOST}, False),
        ({"fault": DeliveryFault.MESSAGE}, False),
        ({"status": DeliveryStatus.DELIVERED}, False),
        ({"status": DeliveryStatus.FAILED}, False),
    ],
)
def test_an_outcome_asks_for_less(changes: dict[str, object], expected: bool) -> None:
    values = {name: getattr(BUSY, name) for name in BUSY.__dataclass_fields__}
    assert Outcome(**{**values, **changes}).asks_for_less is expected
