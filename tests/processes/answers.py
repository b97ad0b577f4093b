"""A WSGI application in place of the platform: answers that are large, come in parts, or break halfway."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from threading import Event
from typing import Any

SMALL = b"small"
LARGE = bytes(range(256)) * (12 << 10)
"""Three megabytes, each piece of which differs from its neighbours."""
PARTS = 40
PART = LARGE[: 256 << 10]
"""A file in parts: ten megabytes, more than what is kept for a reader."""

_go = defaultdict[str, Event](Event)


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """Answers /small, /large, /parts and /broken; /wait, when somebody has called /go with the same query."""
    path = environ["PATH_INFO"]
    if path in {"/small", "/large"}:
        body = LARGE if path == "/large" else SMALL
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]
    if path == "/wait":
        _go[environ["QUERY_STRING"]].wait()
    if path == "/go":
        _go[environ["QUERY_STRING"]].set()
    start_response("200 OK", [])
    bodies = {"/parts": _parts(PARTS), "/broken": _broken()}
    return bodies.get(path, [])


def _parts(number: int) -> Iterator[bytes]:
    for _ in range(number):
        yield PART


def _broken() -> Iterator[bytes]:
    yield from _parts(2)
    raise RuntimeError("halfway")
