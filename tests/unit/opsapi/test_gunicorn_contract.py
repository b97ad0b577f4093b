"""What our web worker takes of gunicorn's private parts: another version that changes it fails here, by name.

pyproject.toml pins gunicorn to a minor version for the same reason. Where a test fails after an upgrade, hold
`opsapi.supervisor.web_worker` and `web_connection` against gunicorn's `gthread` before you change the table.
"""

import inspect
import logging
import socket
import tomllib
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version

import pytest
from django.conf import settings
from gunicorn import http, sock
from gunicorn.config import Config
from gunicorn.http.body import Body
from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers.gthread import TConn, ThreadWorker

from opsapi.supervisor.web_connection import ArrivedUnreader, WebConnection
from opsapi.supervisor.web_worker import WebWorker
from tests.each import each

OVERRIDDEN: dict[type, dict[str, list[str]]] = {
    WebWorker: {
        "init_process": ["self"],
        "set_accept_enabled": ["self", "enabled"],
        "accept": ["self", "listener"],
        "enqueue_req": ["self", "conn"],
        "finish_request": ["self", "conn", "fs"],
        "wait_for_and_dispatch_events": ["self", "timeout"],
        "murder_pending": ["self"],
        "handle_request": ["self", "req", "conn"],
        "handle_error": ["self", "req", "client", "addr", "exc"],
        "_keepalive_after": ["self", "conn", "keepalive"],
    },
    WebConnection: {"init": ["self"]},
    ArrivedUnreader: {"__init__": ["self", "sock", "max_chunk"], "chunk": ["self", "size_hint"]},
}
"""Our class → what it overrides, with the parameters gunicorn's own has."""

CALLED = [
    (TConn.__init__, ["self", "cfg", "sock", "client", "server"]),
    (TConn.close, ["self", "graceful"]),
    (SocketUnreader.take_buffered, ["self"]),
    (Body.read, ["self", "size"]),
    (http.get_parser, ["cfg", "source", "source_addr", "http2_connection"]),
    (sock.ssl_wrap_socket, ["sock", "conf"]),
]


def test_gunicorn_is_pinned_to_the_minor_version_that_is_installed() -> None:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    (pinned,) = (dependency for dependency in project["dependencies"] if dependency.startswith("gunicorn"))
    major, minor, *_ = map(int, version("gunicorn").split("."))
    assert pinned == f"gunicorn>={major}.{minor},<{major}.{minor + 1}"


@each("ours", OVERRIDDEN)
def test_exactly_the_listed_methods_are_overridden_with_gunicorns_parameters(ours: type) -> None:
    (theirs,) = ours.__bases__
    overridden = {
        name: list(inspect.signature(getattr(theirs, name)).parameters)
        for name, value in vars(ours).items()
        if inspect.isfunction(value) and hasattr(theirs, name)
    }
    assert overridden == OVERRIDDEN[ours]


@each(("called", "parameters"), CALLED, ids=lambda value: getattr(value, "__qualname__", ""))
def test_called_methods_have_the_expected_parameters(called: object, parameters: list[str]) -> None:
    assert callable(called)
    assert list(inspect.signature(called).parameters) == parameters


@pytest.fixture
def end() -> Iterator[socket.socket]:
    """One of two connected sockets."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        yield ours


def test_the_attributes_it_uses_are_there(end: socket.socket) -> None:
    config = Config()
    worker = ThreadWorker(1, 1, [], None, 30, config, logging.getLogger("gunicorn.error"))
    connection = TConn(config, end, ("127.0.0.1", 1), ("127.0.0.1", 2))
    parser = http.get_parser(config, end, ("127.0.0.1", 1))
    used = {"cfg", "log", "alive", "nr_conns", "worker_connections", "poller", "tpool"}
    assert used <= vars(worker).keys()
    assert {"cfg", "sock", "client", "parser", "initialized", "data_ready"} <= vars(connection).keys()
    assert isinstance(parser.unreader, SocketUnreader)
    assert {"unreader", "mesg"} <= vars(parser).keys()
    assert "failed" in vars(Body(None))
    assert {"sock", "mxchunk"} <= vars(parser.unreader).keys()
    assert SocketUnreader.max_body_chunk > 0
    worker.tmp.close()
