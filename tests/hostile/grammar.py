"""Endless odd requests to a route, derived from valid requests: paths, queries, headers and bodies."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from opsapi.api.bodies import render
from opsapi.api.query import EVERYWHERE
from tests.api.routes import Route
from tests.architecture.test_writes_are_recorded import BODIES
from tests.hostile.requests import METHODS, odd_headers, odd_path, odd_query
from tests.hostile.values import mutants

Known = Mapping[str, str]
"""The ids that mean the parameters of paths."""
Attempt = tuple[str, str, bytes | None, Mapping[str, Any]]
"""Method, target, body, and headers as WSGI names them."""


def valid_body(route: Route) -> bytes | None:
    """What the route takes."""
    body = BODIES.get(str(route))
    return None if body is None else render(body)


def odd_paths(route: Route, known: Known, rng: random.Random) -> Iterator[Attempt]:
    """Any method, and odd text in place of an id."""
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
    """Bodies derived from the valid body; none if the route accepts no body."""
    if route.takes_body:
        for body in mutants(BODIES[str(route)], rng):
            yield route.method, route.path(known), body, {}
