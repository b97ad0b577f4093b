"""Ports for installations: nobody else has one between the choice and the start."""

import socket

import pytest

from tests.processes import platform
from tests.processes.platform import free_port


def test_a_port_is_given_once() -> None:
    assert len({free_port() for _ in range(50)}) == 50


def test_a_port_somebody_listens_on_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(platform, "PORTS", (taken.getsockname()[1],))
        with pytest.raises(AssertionError, match="none of the ports"):
            free_port()


def test_a_port_that_was_given_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "PORTS", (free_port(),))
    with pytest.raises(AssertionError, match="none of the ports"):
        free_port()
