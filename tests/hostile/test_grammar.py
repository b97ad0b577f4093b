"""Odd paths, queries, headers and bodies on every route: never a fault, and a refusal changes nothing."""

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import pytest

from tests.api.routes import ROUTES, Route
from tests.architecture.test_writes_are_recorded import ANOTHER
from tests.each import each
from tests.hostile.assailant import Assailant
from tests.hostile.budget import share
from tests.hostile.grammar import (
    Attempt,
    Known,
    odd_bodies,
    odd_paths,
    odd_queries,
    valid_body,
    with_odd_headers,
)

BY_PATH: Mapping[str, list[Route]] = {
    template: [route for route in ROUTES if route.template == template]
    for template in dict.fromkeys(route.template for route in ROUTES)
}
WITH_BODY = [route for route in ROUTES if route.takes_body]
pytestmark = pytest.mark.django_db


Kind = Callable[[Route, Known, random.Random], Iterator[Attempt]]
KINDS: Mapping[Kind, int] = {
    odd_paths: share(38, len(ROUTES)),
    odd_queries: share(25, len(ROUTES)),
    with_odd_headers: share(25, len(ROUTES)),
    odd_bodies: share(50, len(WITH_BODY)),
}
"""Kind of request → how many of it each route gets."""


@each("path", BY_PATH)
def test_odd_requests_are_answered(assailant: Assailant, path: str) -> None:
    for route in BY_PATH[path]:
        known = {**assailant.known, **ANOTHER.get(str(route), {})}
        _assert_its_body_is_taken(assailant, route, known)
        for kind, number in KINDS.items():
            attempts = kind(route, known, random.Random(f"{kind.__name__} {route}"))
            for method, target, body, headers in islice(attempts, number):
                assailant.attempt(method, target, body, **headers)


def _assert_its_body_is_taken(assailant: Assailant, route: Route, known: Known) -> None:
    """The body from which odd bodies are derived is valid."""
    if route.takes_body:
        answer = assailant.attempt(route.method, route.path(known), valid_body(route))
        assert answer.status_code < 300, answer.content
