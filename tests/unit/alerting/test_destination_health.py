"""What an attempt says of its destination."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

from alerting.destinations.rules import PROBE_EVERY, PROBED_AFTER, Health, health_after, last_connections
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus
from tests.each import each

NOW = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
BEFORE = NOW - timedelta(hours=1)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 5)
BROKEN = Outcome(
    DeliveryStatus.RETRY,
    "the receiver answered 500",
    5,
    fault=DeliveryFault.DESTINATION,
    perhaps_received=True,
)
BUSY = Outcome(DeliveryStatus.RETRY, "the receiver answered 429", 5, fault=DeliveryFault.DESTINATION)
REFUSED = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 5)
AWAY = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5, fault=DeliveryFault.HOST)


def after(health: Health, *outcomes: Outcome) -> Health:
    """The health after these outcomes."""
    for outcome in outcomes:
        health = health_after(health, outcome, NOW, began=NOW)
    return health


@each(("failures", "next_try"), [(4, None), (5, NOW + PROBE_EVERY), (6, NOW + PROBE_EVERY)])
def test_after_five_failures_in_a_row_it_is_probed(failures: int, next_try: datetime | None) -> None:
    health = after(Health(), *[BROKEN] * failures)
    assert (health.failures, health.next_try) == (failures, next_try)


def test_it_keeps_since_when_it_fails_and_the_last_error() -> None:
    health = after(Health(failures=1, failing_since=BEFORE, last_error="other"), BROKEN)
    assert (health.failing_since, health.last_error) == (BEFORE, BROKEN.reason)


def test_it_fails_since_the_attempt_began_so_that_nobody_reads_how_long_that_took() -> None:
    slow = replace(AWAY, latency_ms=4000)
    assert after(Health(), slow).failing_since == NOW - timedelta(seconds=4)


def test_a_success_ends_all_of_it() -> None:
    failing = Health(PROBED_AFTER, BEFORE, "other", None, NOW)
    assert after(failing, TAKEN) == Health(answered=NOW)


@each("outcome", [REFUSED, AWAY], ids=["refused", "host away"])
def test_what_is_not_its_own_failure_to_answer_is_shown_and_not_waited_for(outcome: Outcome) -> None:
    health = after(Health(), *[outcome] * 9)
    assert (health.failures, health.next_try, health.last_error) == (9, None, outcome.reason)


def test_a_receiver_that_asks_to_wait_is_waited_for() -> None:
    busy = Outcome(BUSY.status, BUSY.reason, 5, retry_after=90, fault=DeliveryFault.DESTINATION)
    assert after(Health(), busy).next_try == NOW + timedelta(seconds=90)


@each("left", [timedelta(milliseconds=1), timedelta(seconds=90)], ids=str)
@each("outcome", [TAKEN, BROKEN, AWAY], ids=["taken", "broken", "away"])
def test_it_is_waited_for_whatever_was_on_its_way_when_it_asked(outcome: Outcome, left: timedelta) -> None:
    busy = replace(BUSY, retry_after=90)
    paused = after(Health(), busy)
    moment = NOW + timedelta(seconds=90) - left
    assert (health_after(paused, outcome, moment, began=moment).next_try or NOW) >= NOW + timedelta(
        seconds=90
    )


def test_the_longest_pause_counts_until_it_is_over() -> None:
    paused = after(Health(), replace(BUSY, retry_after=90), replace(BUSY, retry_after=5))
    later = NOW + timedelta(seconds=90)
    assert paused.next_try == later
    assert health_after(paused, TAKEN, later, began=later).next_try is None


HUNG = Outcome(DeliveryStatus.RETRY, "sent, no answer", 8_000, perhaps_received=True, reached=True)
HOST = "https://hooks.example.com:443"


@each(
    ("outcome", "connections"),
    [
        (TAKEN, {HOST: (NOW, True)}),
        (HUNG, {HOST: (NOW, True)}),
        (BROKEN, {HOST: (NOW, True)}),
        (AWAY, {HOST: (NOW, False)}),
        (REFUSED, {}),
    ],
    ids=["taken", "hung", "broken", "away", "not tried"],
)
def test_an_attempt_says_whether_its_host_takes_connections(
    outcome: Outcome, connections: dict[str, tuple[datetime, bool]]
) -> None:
    assert last_connections([(HOST, NOW, outcome)]) == connections


@each(("last", "is_connected"), [(TAKEN, True), (AWAY, False)], ids=["taken", "away"])
def test_the_attempt_that_was_claimed_last_says_it_in_whatever_order_they_end(
    last: Outcome, is_connected: bool
) -> None:
    attempts = [(HOST, BEFORE, TAKEN), (HOST, NOW, last), (HOST, BEFORE, AWAY)]
    for order in permutations(attempts):
        assert last_connections(order) == {HOST: (NOW, is_connected)}
