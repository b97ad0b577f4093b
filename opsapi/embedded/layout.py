"""The files and the socket of the embedded PostgreSQL. Settings import this module: it must load quickly."""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

ROLE = "opsapi"
DATABASE = "opsapi"
PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"

# sun_path holds 107 bytes, and PostgreSQL creates a file next to the socket: stay well below.
LONGEST_SOCKET_PATH = 100
# A comma separates hosts for libpq and directories for the server; the other characters end a quoted list
# item.
UNSAFE_IN_SOCKET_PATH = frozenset(',"\\\n\r')
# The same for all processes with this data directory, with any TMPDIR or XDG_RUNTIME_DIR.
SHORT_PARENT = Path("/tmp")  # noqa: S108 the directory in it is 0700 and its owner is checked


@dataclass(frozen=True)
class Layout:
    """The paths of an embedded PostgreSQL below `data_dir`."""

    data_dir: Path

    @property
    def home(self) -> Path:
        """The directory of the server, 0700: only its owner can enter."""
        return self.data_dir / "postgres"

    @property
    def cluster(self) -> Path:
        """The data directory of PostgreSQL."""
        return self.home / "data"

    @property
    def pid_file(self) -> Path:
        """The server writes it. Check the process before you trust the number."""
        return self.cluster / "postmaster.pid"

    @property
    def socket_dir(self) -> Path:
        """The directory of the socket: `home`, or a shorter path if a socket cannot have that path."""
        path = str(self.home / SOCKET_NAME)
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH and not UNSAFE_IN_SOCKET_PATH & set(path):
            return self.home
        digest = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:24]
        return SHORT_PARENT / f"opsapi-{digest}"

    def django_database(self) -> dict[str, Any]:
        """Return the entry for Django's DATABASES.

        Raises: ImproperlyConfigured: the short socket directory belongs to another user, who could
        impersonate the server.
        """
        self._refuse_foreign_socket_dir()
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": DATABASE,
            "USER": ROLE,
            "PASSWORD": "",
            "HOST": str(self.socket_dir),
            "PORT": str(PORT),
        }

    def _refuse_foreign_socket_dir(self) -> None:
        if self.socket_dir == self.home:
            return
        try:
            status = self.socket_dir.lstat()
        except FileNotFoundError:
            return
        owner = self.home.stat().st_uid if self.home.exists() else os.geteuid()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != owner or status.st_mode & 0o077:
            raise ImproperlyConfigured(
                f"OPSAPI_DATA_DIR: its path is too long for a socket, and {self.socket_dir}, used in its"
                f" place, is not a directory that only the owner of {self.home} may enter"
            )
