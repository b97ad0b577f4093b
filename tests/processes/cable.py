"""The way from a program to a port of this machine, which a test can cut."""

import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 65_536


class Cable:
    """A port that leads to another port of 127.0.0.1.

    While the cable is cut, no byte gets through, without any sign. Afterwards all that was sent arrives late.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._ended = threading.Event()
        cable = self

        class End(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                cable._carry(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), End)
        self._server.daemon_threads, self._server.block_on_close = True, False
        self.port: int = self._server.server_address[1]

    def cut(self) -> None:
        """From now on nothing gets through."""
        self._is_whole.clear()

    def mend(self) -> None:
        """Undo `cut`."""
        self._is_whole.set()

    @contextmanager
    def laid(self) -> Iterator["Cable"]:
        """Carry connections until the block ends."""
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield self
        finally:
            self._ended.set()
            self._is_whole.set()
            self._server.shutdown()
            self._server.server_close()

    def _carry(self, near: socket.socket) -> None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._target)) as far:
            while not self._ended.is_set():
                for source in select.select([near, far], [], [], 0.1)[0]:
                    data = source.recv(_CHUNK)
                    self._is_whole.wait()
                    if not data:
                        return
                    (far if source is near else near).sendall(data)
