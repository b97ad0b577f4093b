"""A really running server and callers of all kinds: no fault, no secret, and it serves the next caller."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given

from tests.api.routes import ROUTES
from tests.architecture.test_writes_are_recorded import ANOTHER
from tests.hostile.barrage import Barrage
from tests.hostile.budget import COUNTED, LONG, examples
from tests.hostile.cases import NUMBER, attempt_of, drawn, edges, operations
from tests.hostile.digest_headers import forged, odd_header
from tests.hostile.grammar import (
    Attempt,
    odd_bodies,
    odd_paths,
    odd_queries,
    valid_body,
    with_odd_headers,
)
from tests.hostile.signer import HostileCaller
from tests.hostile.target import ENVIRONMENT, HostileTarget
from tests.hostile.wire import GOOD, converse, dialogue
from tests.plugin import SUMMARY
from tests.processes.platform import RunningPlatform, prepared_installation

RecordProperty = Callable[[str, object], None]
pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def running() -> Iterator[RunningPlatform]:
    """An installation as `serve` runs it: database, web server and worker."""
    with prepared_installation(**ENVIRONMENT) as made:
        made.start()
        yield made
        made.stop()


@pytest.fixture(scope="module")
def target(running: RunningPlatform) -> Iterator[HostileTarget]:
    """What is attacked."""
    with closing(HostileTarget(running)) as made:
        yield made


@pytest.fixture(scope="module")
def keys() -> set[str]:
    """The private keys that requests have created."""
    return set()


# --- what is sent ---------------------------------------------------------------------------------


def from_the_schema(barrage: Barrage, number: int) -> None:
    """Cases that the OpenAPI document leads to, at its bounds and drawn, valid and not."""
    of_each = max(LEAST, number // NUMBER)
    for operation in barrage.rng.sample(operations(), min(number // of_each, NUMBER)):
        for case in edges(operation, of_each // 2):
            barrage.send(attempt_of(case, barrage.target.known), _caller(barrage))

        @examples(of_each // 2)
        @given(case=drawn(operation))
        def draw(case: Any) -> None:
            barrage.send(attempt_of(case, barrage.target.known), _caller(barrage))

        draw()


def mutated(barrage: Barrage, number: int) -> None:
    """Requests that the tests of the API make, each with an odd path, query, header or body."""
    for _ in range(number):
        route = barrage.rng.choice(ROUTES)
        known = {**barrage.target.known, **ANOTHER.get(str(route), {})}
        kind = barrage.rng.choice([odd_paths, odd_queries, with_odd_headers, odd_bodies, odd_bodies])
        whole: Attempt = (route.method, route.path(known), valid_body(route), {})
        is_whole = barrage.rng.random() < 0.1
        odd = whole if is_whole else next(kind(route, known, random.Random(barrage.rng.random())), whole)
        barrage.send(odd, _caller(barrage))


def with_odd_credentials(barrage: Barrage, number: int) -> None:
    """Authorization headers derived from valid headers; headers that prove nothing are refused."""
    for _ in range(number):
        caller = barrage.rng.choice([caller for caller in barrage.target.callers if caller.signs])
        values = barrage.values(caller)
        if barrage.rng.random() < 0.2:
            assert barrage.send_signed(forged(values, barrage.rng)).status == 401, values
        else:
            barrage.send_signed(odd_header(values, barrage.rng))


def raw(barrage: Barrage, number: int) -> None:
    """Octets that are hardly HTTP: request lines, headers, codings, several requests at once."""
    for _ in range(number):
        barrage.send_octets(dialogue(barrage.rng))


def _caller(barrage: Barrage) -> HostileCaller:
    """The Global owner half of the time, who gets furthest."""
    return barrage.rng.choice([*barrage.target.callers, *[barrage.target.owner] * 6])


LEAST = 4
"""Cases of an operation: one of each kind, and two drawn."""
Kind = Callable[[Barrage, int], None]
KINDS: dict[Kind, int] = {from_the_schema: 25_000, mutated: 40_000, with_odd_credentials: 20_000, raw: 25_000}
"""Kind of request → how many `make faults` sends."""
_SAMPLE = 800


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_request_is_answered_without_a_fault_or_a_secret(
    target: HostileTarget,
    keys: set[str],
    kind: Kind,
    record_property: RecordProperty,
) -> None:
    with closing(Barrage(target, kind.__name__)) as barrage:
        kind(barrage, KINDS[kind] if LONG else KINDS[kind] // _SAMPLE)
    keys |= barrage.keys
    record_property(COUNTED, barrage.tally.requests)
    if LONG:
        record_property(SUMMARY, barrage.tally.row(kind.__name__))
        record_property(SUMMARY, f"slowest refusal: {barrage.tally.slowest_refusal}")
        record_property(SUMMARY, f"slowest answer: {barrage.tally.slowest}")
    assert not barrage.tally.faults
    assert not barrage.tally.leaked
    assert not barrage.tally.shapeless
    assert converse(target.port, [GOOD], listens=True) == [200]


def test_nothing_that_was_sent_was_a_fault_of_the_server(
    running: RunningPlatform, target: HostileTarget, keys: set[str]
) -> None:
    assert "Traceback" not in running.log
    assert "unexpected error" not in running.log
    assert running.child("gunicorn worker")
    printed = running.log + running.output
    assert not [secret[:8] for secret in target.secrets | keys if secret in printed]
