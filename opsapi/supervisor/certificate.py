"""The platform's own TLS certificate. A renewed certificate is used without a restart."""

import logging
import math
import os
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path

log = logging.getLogger("opsapi.supervisor")

# How often the files are looked at, and only if somebody connects.
LOOK_SECONDS = 60.0

_State = tuple[tuple[int, ...], ...]


def check(certificate: Path, key: Path) -> None:
    """Check that the files can be used together. Raises OSError, ValueError: they cannot."""
    # Without a function for the password, OpenSSL asks at the terminal and waits.
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key, _refuse_password)


def _refuse_password() -> str:
    raise ValueError("the key is protected by a password")


class Certificate:
    """The context for new connections, with the newest files that can be used together.

    Existing connections keep theirs.
    """

    def __init__(self, certificate: Path, key: Path, make: Callable[[], ssl.SSLContext]) -> None:
        """`make` returns a context with the files.

        Raises: OSError, ValueError: the files cannot be used together.
        """
        self._files = certificate, key
        self._make = make
        self._state = _state_of(self._files)
        self._refused: _State | None = None
        self._context = make()
        self._look_at = -math.inf

    def context(self, now: float) -> ssl.SSLContext:
        """Return the context at `now` (monotonic). Look at the files if the last look is a minute ago."""
        if now >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            self.look()
        return self._context

    def look(self) -> None:
        """Read changed files. If they cannot be used, keep the old certificate and log the reason once."""
        state = _state_of(self._files)
        if state == self._state:
            return
        try:
            check(*self._files)
            self._context = self._make()
        except (OSError, ValueError) as error:  # SSLError is an OSError.
            if state != self._refused:
                log.error("the changed TLS certificate is not used, the earlier certificate is: %s", error)
            self._refused = state
        else:
            self._state, self._refused = state, None
            log.info("new connections use the changed TLS certificate")


def _state_of(files: Sequence[Path]) -> _State:
    """What changes with the content of a file. A missing file has no state."""
    return tuple(_state(file) for file in files)


def _state(file: Path) -> tuple[int, ...]:
    try:
        status = os.stat(file)  # noqa: PTH116 follows links, as certbot makes
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
