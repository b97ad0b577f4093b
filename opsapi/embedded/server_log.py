"""The server's log: what it writes to stderr, passed on to ours line by line."""

import logging
import threading
import time
from typing import IO

log = logging.getLogger("postgres")

LEVELS = {
    "LOG": logging.INFO,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.ERROR,
    "PANIC": logging.CRITICAL,
}


class ServerLog:
    """Reads `stream` to its end in a thread: a pipe that nobody empties would stop the server."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._last_line = self._last_error = ""
        self.panicked: float | None = None
        """When, on the monotonic clock, the server said PANIC: it has to end then."""
        self._stream = stream
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def wait_end(self) -> None:
        """Until the last line of a server that has ended is passed on, a second at most."""
        self._thread.join(timeout=1.0)

    def last_words(self) -> str:
        """Why a server that has ended did so: its last error, or else its last line."""
        self.wait_end()
        return self._last_error or self._last_line or "it printed nothing"

    def _pass_on(self) -> None:
        with self._stream:
            for line in self._stream:
                level, text = parsed(line.decode(errors="replace").strip())
                self._last_line = text
                if level == logging.CRITICAL and self.panicked is None:
                    self.panicked = time.monotonic()
                if level >= logging.ERROR:
                    self._last_error = text
                log.log(level, "%s", text)


def parsed(line: str) -> tuple[int, str]:
    """Level and text of a line of the server's; one without a known severity is passed on whole."""
    severity, separator, text = line.partition(":  ")
    return (LEVELS[severity], text) if separator and severity in LEVELS else (logging.INFO, line)
