"""Odd paths, queries, headers and bodies on every route: never a fault, and a refusal changes nothing."""

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import pytest

from opsapi.api.bodies import render
from opsapi.api.query import EVERYWHERE
from tests.api.routes import ROUTES, Route
from tests.architecture.test_writes_are_recorded import ANOTHER, BODIES
from tests.hostile.assailant import Assailant
from tests.hostile.budget import share
from tests.hostile.requests import METHODS, odd_headers, odd_path, odd_query
from tests.hostile.values import mutants

Known = Mapping[str, str]
Attempt = tuple[str, str, bytes | None, Mapping[str, Any]]
"""Method, target, body, headers."""

BY_PATH: Mapping[str, list[Route]] = {
    template: [route for route in ROUTES if route.template == template]
    for template in dict.fromkeys(route.template for route in ROUTES)
}
WITH_BODY = [route for route in ROUTES if route.takes_body]
pytestmark = pytest.mark.django_db


def valid_body(route: Route) -> bytes | None:
    """What the route takes."""
    body = BODIES.get(str(route))
    return None if body is None else render(body)


def odd_paths(route: Route, known: Known, rng: random.Random) -> Iterator[Attempt]:
    """Any method, and something odd where an id stands."""
    while True:
        method = rng.choice([route.method, route.method, *METHODS])
        yield method, odd_path(route, known, rng), valid_body(route), {}


def odd_queries(route: Route, known: Known, rng: random.Random) -> Iterator[Attempt]:
    """The route's own parameters, which say something odd."""
    declared = (*EVERYWHERE, *route.viewset.parameters.get(route.action, ()))
    names = [parameter.name for parameter in declared]
    while True:
        yield route.method, f"{route.path(known)}?{odd_query(names, rng)}", valid_body(route), {}


def with_odd_headers(route: Route, known: Known, rng: random.Random) -> Iterator[Attempt]:
    """A good request with odd headers."""
    while True:
        yield route.method, route.path(known), valid_body(route), odd_headers(rng)


def odd_bodies(route: Route, known: Known, rng: random.Random) -> Iterator[Attempt]:
    """Bodies made of the valid one; none where there is no body."""
    if route.takes_body:
        for body in mutants(BODIES[str(route)], rng):
            yield route.method, route.path(known), body, {}


Kind = Callable[[Route, Known, random.Random], Iterator[Attempt]]
KINDS: Mapping[Kind, int] = {
    odd_paths: share(150, len(ROUTES)),
    odd_queries: share(100, len(ROUTES)),
    with_odd_headers: share(100, len(ROUTES)),
    odd_bodies: share(200, len(WITH_BODY)),
}
"""Kind of request → how many of it each route gets."""


@pytest.mark.parametrize("path", BY_PATH)
def test_odd_requests_are_answered(assailant: Assailant, path: str) -> None:
    for route in BY_PATH[path]:
        known = {**assailant.known, **ANOTHER.get(str(route), {})}
        _assert_its_body_is_taken(assailant, route, known)
        for kind, number in KINDS.items():
            attempts = kind(route, known, random.Random(f"{kind.__name__} {route}"))
            for method, target, body, headers in islice(attempts, number):
                assailant.attempt(method, target, body, **headers)


def _assert_its_body_is_taken(assailant: Assailant, route: Route, known: Known) -> None:
    """What the odd bodies are made of is a good one."""
    if route.takes_body:
        answer = assailant.attempt(route.method, route.path(known), valid_body(route))
        assert answer.status_code < 300, answer.content
