"""Forwards the log of the server from its stderr to ours, line by line."""

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
    """Reads `stream` to its end in a thread: a full pipe would block the server."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._last_line = self._last_error = ""
        self.panicked: float | None = None
        """The time of a PANIC of the server, on the monotonic clock: it must end then."""
        self._stream = stream
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def wait_end(self) -> None:
        """Wait until the last line of an ended server is forwarded, at most a second."""
        self._thread.join(timeout=1.0)

    def last_words(self) -> str:
        """Why the server has ended: its last error, otherwise its last line."""
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
    """Level and text of a log line; a line without a known severity is forwarded completely."""
    severity, separator, text = line.partition(":  ")
    return (LEVELS[severity], text) if separator and severity in LEVELS else (logging.INFO, line)
