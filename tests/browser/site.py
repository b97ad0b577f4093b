"""The platform's application on a port of its own, in this process: with the test's database and settings."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import Any

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.db import connections

from opsapi.wsgi import application
from tests.eventually import eventually

HOST = "127.0.0.1"
_SECONDS = 20.0


class Site:
    """A server on loopback with a thread for each connection, static files by the application as always.

    pytest-django's own live server would put two handlers of files before it, one of which gives away
    whatever lies in the working directory.
    """

    def __init__(self) -> None:
        self._server = CountingServer((HOST, 0), WSGIRequestHandler, allow_reuse_address=False)
        self._server.set_app(_answer)
        self.url = f"http://{HOST}:{self._server.server_port}"

    @contextmanager
    def running(self) -> Iterator["Site"]:
        """It listens until the end of the block."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield self
        self.settle()
        self._server.shutdown()
        self._server.server_close()
        thread.join()

    def settle(self) -> None:
        """Waits until every connection has ended, and with them the requests that a page left behind.

        Call it after the browser is closed, and before the database and the log of the test end.
        """
        # It waits in line: once it was answered, all connections before it have been accepted.
        with closing(HTTPConnection(HOST, self._server.server_port, timeout=_SECONDS)) as last:
            last.request("GET", "/health/live")
            last.getresponse().read()
        eventually(lambda: not self._server.connections, _SECONDS, message="every connection ended")


class CountingServer(ThreadedWSGIServer):
    """Counts its connections. Counting requests is not enough: a request may be sent but not read yet."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.connections = 0
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        """In the thread that accepts."""
        with self._lock:
            self.connections += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """In the connection's own thread, to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self.connections -= 1


def _answer(environ: Any, start_response: Any) -> Iterator[bytes]:
    answer: Any
    try:
        with closing(application(environ, start_response)) as answer:
            yield from answer
    finally:
        # The thread lives as long as the browser keeps the connection, its database's must not.
        connections.close_all()
