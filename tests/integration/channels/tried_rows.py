"""Which rows of the table of stages the tests of a file try, and ports that do not answer."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from integrations.channels.stages import StageRow
from opsapi.outbound.errors import Stage
from tests.processes.certificates import make_certificate

Test = TypeVar("Test", bound=Callable[..., object])
Pair = tuple[Stage, str]


class TriedRows:
    """The stages and answers that the tests of a file try; each test names its own."""

    def __init__(self) -> None:
        self.pairs: set[Pair] = set()

    def by(self, stage: Stage, *answers: str) -> Callable[[Test], Test]:
        """Mark a test that tries these answers at this stage."""

        def mark(test: Test) -> Test:
            self.pairs |= {(stage, str(answer)) for answer in answers}
            return test

        return mark

    def all_of(self, rows: Iterable[tuple[StageRow, str]]) -> list[tuple[StageRow, str]]:
        """Note the rows of a parametrized test, and return them."""
        found = list(rows)
        self.pairs |= {(row.stage, str(answer)) for row, answer in found}
        return found

    def missing(self, rows: Sequence[StageRow]) -> set[Pair]:
        """The stages and answers of a table that no test tries."""
        return {(row.stage, str(answer)) for row in rows for answer in row.answers} - self.pairs


def asking_for_certificates(directory: Path, version: ssl.TLSVersion) -> ssl.SSLContext:
    """The TLS of a server that speaks this version and asks for a certificate of the client.

    The certificate of the server is `cert.pem` in the directory.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate, key = make_certificate(directory)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = context.maximum_version = version
    return context


REFUSED_BY_TLS: Mapping[ssl.TLSVersion, str] = {
    ssl.TLSVersion.TLSv1_2: "handshake failure",
    ssl.TLSVersion.TLSv1_3: "certificate required",
}
"""What a server says that asks for a certificate of the client and gets none."""


@contextmanager
def full_port() -> Iterator[int]:
    """A port whose queue of connections is full, so that the kernel ignores more connections."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = int(listener.getsockname()[1])
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        yield port


@contextmanager
def unanswering_port() -> Iterator[int]:
    """A port that takes connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


@contextmanager
def closing_port() -> Iterator[int]:
    """A port that ends each connection as soon as the client sends something."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                with sock:
                    sock.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def hanging_resolver(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """A resolver that gives no answer about a name until the block ends."""
    ended, real = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host: Any, *rest: Any, **options: Any) -> Any:
        if host == name:
            ended.wait()
        return real(host, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        try:
            yield
        finally:
            ended.set()
