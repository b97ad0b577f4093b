"""An answer whose reader takes it later, slowly, or not at all."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from selectors import EVENT_WRITE

import pytest

from opsapi.supervisor import web_connection as module
from opsapi.supervisor.web_connection import (
    AHEAD,
    PAUSE_SECONDS,
    READ_BYTES_PER_SECOND,
    STALL_SECONDS,
    GoneError,
    PendingAnswer,
)

LARGE = bytes(range(256)) * (8 << 10)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Ours, which does not block, and the reader's."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        ours.setblocking(False)
        theirs.setblocking(False)
        yield ours, theirs


def read(end: socket.socket) -> bytes:
    """What has come."""
    received = bytearray()
    try:
        while piece := end.recv(1 << 20):
            received += piece
    except BlockingIOError:
        pass
    return bytes(received)


def test_the_head_is_sent_with_the_first_part_of_the_body(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    answer = PendingAnswer(ours)
    answer.sendall(b"head ")
    assert read(theirs) == b""
    answer.sendall(b"body")
    assert read(theirs) == b"head body"
    assert (answer.held, answer.flush()) == (0, 0)


def test_a_head_alone_goes_out_at_the_end(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    answer = PendingAnswer(ours)
    answer.sendall(b"head")
    assert answer.flush() == 0
    assert read(theirs) == b"head"


def test_bytes_before_the_response_are_sent_at_once(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    assert PendingAnswer(ours).send(b"100") == 3
    assert read(theirs) == b"100"


def test_unsent_bytes_wait_and_are_not_lost(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    answer, received = PendingAnswer(ours), b""
    answer.sendall(b"head")
    answer.sendall(LARGE)
    assert 0 < answer.held < len(LARGE)
    assert answer.flush() == EVENT_WRITE
    while answer.held:
        received += read(theirs)
        answer.flush()
    assert received + read(theirs) == b"head" + LARGE


def test_a_faster_reader_gets_more_time(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    ours, theirs = ends
    answer = PendingAnswer(ours)
    answer.sendall(b"")
    answer.sendall(LARGE)
    taken = len(read(theirs))
    assert answer.deadline() == 100 + STALL_SECONDS + taken / READ_BYTES_PER_SECOND


def test_a_pause_ends_the_connection_however_much_was_read(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    ours, theirs = ends
    answer = PendingAnswer(ours)
    answer.sendall(b"")
    answer.sendall(LARGE)
    while answer.held > len(LARGE) // 2:
        read(theirs)
        answer.flush()
    assert answer.deadline() == 100 + PAUSE_SECONDS


def test_a_response_in_parts_waits_for_a_slow_reader_and_gives_up(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STALL_SECONDS", 0.0)
    monkeypatch.setattr(module, "READ_BYTES_PER_SECOND", 1e12)
    answer = PendingAnswer(ends[0])
    for _ in range(AHEAD // len(LARGE)):
        answer.sendall(LARGE)
    answer.sendall(LARGE)
    with pytest.raises(GoneError) as gone:
        answer.sendall(LARGE)
    assert gone.value.stalled
    assert answer.held <= AHEAD + len(LARGE)
    with pytest.raises(GoneError):
        answer.flush()
    assert ends[0].gettimeout() == 0


def test_a_closed_connection_differs_from_a_client_that_does_not_read(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    answer = PendingAnswer(ends[0])
    ends[1].close()
    answer.sendall(b"head")
    with pytest.raises(GoneError) as gone:
        answer.sendall(b"body")
    assert not gone.value.stalled


def test_gunicorn_does_not_end_the_connection(ends: tuple[socket.socket, socket.socket]) -> None:
    answer = PendingAnswer(ends[0])
    with pytest.raises(OSError, match="event loop"):
        answer.shutdown(socket.SHUT_WR)
    answer.close()
    assert ends[0].fileno() >= 0
