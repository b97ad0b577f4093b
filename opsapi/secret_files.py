"""Secrets that make themselves: written once into the data directory, readable by its owner alone."""

import os
import secrets
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SECRET_BYTES = 48


def make_private_directory(path: Path) -> None:
    """Create the directory `path` for its owner alone; an existing directory keeps its mode.

    For root, other users can pass through (0711), because PostgreSQL runs as another user inside; they can
    list nothing, and every secret in it is 0600.

    Raises:
        ImproperlyConfigured: the directory cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"{path}: the directory cannot be created: {error.strerror}") from None


def secret_from_file(path: Path) -> str:
    """Return the secret in `path`: URL-safe base64 of 48 random bytes, created at the first call.

    Two processes that create it at the same time get the same secret.

    Raises:
        ImproperlyConfigured: the file cannot be created or read, is empty, or other users can read it.
    """
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise ImproperlyConfigured(f"{path}: cannot be created or read: {error.strerror}") from None


def existing_secret(path: Path) -> str | None:
    """The secret in `path`; None where there is no such file. Raises as `secret_from_file`."""
    try:
        return _read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ImproperlyConfigured(f"{path}: cannot be read: {error.strerror}") from None


def _make(path: Path) -> None:
    make_private_directory(path.parent)
    # Written whole under a name of its own (0600), then linked: the first link wins, none is half there.
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(number, "w") as file:
            file.write(secrets.token_urlsafe(SECRET_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        _link(draft, path)
        _sync_directory(path.parent)
    finally:
        draft.unlink()


def _link(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return  # another process was faster: its secret counts


def _sync_directory(path: Path) -> None:
    """The database may keep what was encrypted through a power failure: so must the key's name."""
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _read(path: Path) -> str:
    with path.open() as file:
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
