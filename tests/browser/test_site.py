"""The server of these tests ends with them: nothing of a page goes on after its test."""

import socket
import threading
from collections.abc import Callable
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser import site as served
from tests.browser.site import Site
from tests.eventually import eventually

GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
LEFT_BEHIND = 20


@pytest.fixture(autouse=True)
def faults() -> None:
    """No browser is needed here."""


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """It opens once the site has begun to wait: requests for pages end only then."""
    opened = threading.Event()

    def waits(condition: Callable[[], bool], deadline: float, *, message: str) -> bool:
        assert not condition()
        opened.set()
        return eventually(condition, deadline, message=message)

    monkeypatch.setattr(served, "eventually", waits)
    return opened


def test_it_settles_only_once_requests_that_nobody_waits_for_have_ended(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    def application(environ: Any, start_response: Any) -> BytesIO:
        if environ["PATH_INFO"] == "/":
            gate.wait()
            ended.append("/")
        start_response("200 OK", [("Content-Length", "0")])
        return BytesIO()

    monkeypatch.setattr(served, "application", application)
    site = Site()
    address = urlsplit(site.url)
    with monkeypatch.context() as patched, site.running():
        for _ in range(LEFT_BEHIND):
            with socket.create_connection((address.hostname, address.port)) as browser:
                browser.sendall(GET)
        site.settle()
        assert len(ended) == LEFT_BEHIND
        patched.setattr(served, "eventually", eventually)
