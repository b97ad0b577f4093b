"""Secrets that are generated at the first use: files in the data directory that only their owner can read."""

import os
import secrets
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SECRET_BYTES = 48


def make_private_directory(path: Path) -> None:
    """Create the directory `path` for its owner only; an existing directory keeps its mode.

    For root, other users can enter but not list it (0711), because PostgreSQL runs as another user inside;
    every secret in it is 0600.

    Raises: ImproperlyConfigured: the directory cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        existed = path.is_dir()
        path.mkdir(mode=0o700, exist_ok=True)
        if not existed:
            path.chmod(0o711 if os.geteuid() == 0 else 0o700)  # whatever the umask is
    except OSError as error:
        raise ImproperlyConfigured(f"{path}: the directory cannot be created: {error.strerror}") from None


def secret_from_file(path: Path) -> str:
    """Return the secret in `path`: URL-safe base64 of 48 random bytes, created at the first call.

    Two processes that create it at the same time get the same secret.

    Raises: ImproperlyConfigured: the file cannot be created or read, is empty, or other users can read it.
    """
    try:
        if not path.exists():
            _create(path)
        return _read(path)
    except OSError as error:
        raise ImproperlyConfigured(f"{path}: cannot be created or read: {error.strerror}") from None


def existing_secret(path: Path) -> str | None:
    """Return the secret in `path`; None if the file does not exist.

    Raises: ImproperlyConfigured: as `secret_from_file`.
    """
    try:
        return _read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ImproperlyConfigured(f"{path}: cannot be read: {error.strerror}") from None


def _create(path: Path) -> None:
    make_private_directory(path.parent)
    # Written under a temporary name (0600), then linked: the first link wins, and no file is partial.
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(number, "w") as file:
            file.write(secrets.token_urlsafe(SECRET_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        _link(draft, path)
        # After a power failure, the database may contain texts encrypted with the key.
        sync_directory(path.parent)
    finally:
        draft.unlink()


def _link(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return  # Another process was faster: its secret counts.


def sync_directory(path: Path) -> None:
    """Sync the names in a directory, so that they survive a power failure (fsync)."""
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _read(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        mode = os.fstat(file.fileno()).st_mode
        if mode & 0o077:
            raise ImproperlyConfigured(
                f"{path}: mode {mode & 0o777:04o} gives other users access; set mode 0600"
            )
        secret = file.read().strip()
    if not secret:
        raise ImproperlyConfigured(
            f"{path}: is empty: restore the secret, or remove the file to create a new secret"
        )
    return secret
