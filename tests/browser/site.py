"""The platform's application on a port of its own, in this process: with the test's database and settings."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.db import connections

from opsapi.wsgi import application
from tests.eventually import eventually

HOST = "127.0.0.1"


class Site:
    """A server on loopback with a thread for each connection, static files by the application as always.

    pytest-django's own live server would put two handlers of files before it, one of which gives away
    whatever lies in the working directory.
    """

    def __init__(self) -> None:
        self._answering = 0
        self._lock = threading.Lock()
        self._server = ThreadedWSGIServer((HOST, 0), WSGIRequestHandler, allow_reuse_address=False)
        self._server.set_app(self._answer)
        self.url = f"http://{HOST}:{self._server.server_port}"

    @contextmanager
    def running(self) -> Iterator["Site"]:
        """It listens until the end of the block."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield self
        self._server.shutdown()
        self._server.server_close()
        thread.join()

    def settle(self) -> None:
        """Waits for the requests that a page left behind, before the database is taken from under them."""
        eventually(lambda: not self._answering, message="every request answered")

    def _answer(self, environ: Any, start_response: Any) -> Iterator[bytes]:
        answer: Any
        with self._counted(), closing(application(environ, start_response)) as answer:
            yield from answer

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._answering += 1
        try:
            yield
        finally:
            # The thread lives as long as the browser keeps the connection, its database's must not.
            connections.close_all()
            with self._lock:
                self._answering -= 1
