"""The user that runs the server. PostgreSQL refuses root, so root uses a system user."""

import fcntl
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opsapi.embedded import EmbeddedDatabaseError

SYSTEM_USER = "opsapi"
ACCOUNTS = Path("/etc")
"""The directory of the machine's accounts. Its lock belongs to the process that creates the user."""


@dataclass(frozen=True)
class Owner:
    """The owner of the server's files and processes."""

    name: str
    uid: int
    gid: int

    @property
    def is_lent(self) -> bool:
        """Whether this process is root and the server runs as another user."""
        return os.getuid() != self.uid

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Run the block with the owner's rights, so that no link can trick root."""
        if not self.is_lent:
            yield
            return
        before_uid, before_gid, before_groups = os.geteuid(), os.getegid(), os.getgroups()
        os.setgroups([])
        os.setegid(self.gid)
        os.seteuid(self.uid)
        try:
            yield
        finally:
            os.seteuid(before_uid)
            os.setegid(before_gid)
            os.setgroups(before_groups)

    def require_access(self, path: Path) -> None:
        """Require that the owner can enter all directories on the way to `path`.

        Raises: EmbeddedDatabaseError: with the first directory that the owner cannot enter, and its mode.
        """
        with self.acting():
            for directory in reversed(path.absolute().parents):
                if not os.access(directory, os.X_OK, effective_ids=True):
                    raise EmbeddedDatabaseError(_inaccessible(self.name, path, directory))


def server_owner() -> Owner:
    """Return the user that runs the server: the current user, or for root a system user, created if missing.

    Raises: EmbeddedDatabaseError: the user does not exist and cannot be created.
    """
    if os.geteuid() == 0:
        return _system_user()
    try:
        return _owner(pwd.getpwuid(os.geteuid()))
    except KeyError:
        raise EmbeddedDatabaseError(
            f"user id {os.geteuid()} has no name on this machine, and PostgreSQL needs one: set"
            " DATABASE_URL or run as a named user"
        ) from None


def _inaccessible(name: str, path: Path, directory: Path) -> str:
    status = directory.stat() if os.access(directory.parent, os.X_OK, effective_ids=True) else None
    mode = f"{status.st_mode & 0o7777:04o}" if status else "unknown"
    return (
        f"the user {name}, which PostgreSQL runs as, cannot enter {directory} (mode {mode}) on the way to"
        f" {path}: allow it (chmod o+x) or move the installation"
    )


def _system_user() -> Owner:
    try:
        return _owner(pwd.getpwnam(SYSTEM_USER))
    except KeyError:
        pass
    # Two starts at the same time: useradd replaces the user id if another useradd has just created the user.
    with _only_process():
        try:
            return _owner(pwd.getpwnam(SYSTEM_USER))
        except KeyError:
            return _make_system_user()


@contextmanager
def _only_process() -> Iterator[None]:
    """Let other processes of this machine that create the user wait."""
    descriptor = os.open(ACCOUNTS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make_system_user() -> Owner:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        raise EmbeddedDatabaseError(
            f"PostgreSQL does not run as root and there is no useradd: create a system user named"
            f" {SYSTEM_USER}, or run as an ordinary user"
        )
    options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    created = subprocess.run(  # noqa: S603 every argument is a constant
        [useradd, *options, "--shell", "/usr/sbin/nologin", SYSTEM_USER],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        # Also after a failure: somebody else may have created the user.
        return _owner(pwd.getpwnam(SYSTEM_USER))
    except KeyError:
        reason = (created.stderr.strip().splitlines() or [f"exit status {created.returncode}"])[-1]
        raise EmbeddedDatabaseError(
            f"PostgreSQL does not run as root and the system user {SYSTEM_USER} cannot be created: {reason}"
        ) from None


def _owner(entry: pwd.struct_passwd) -> Owner:
    return Owner(entry.pw_name, entry.pw_uid, entry.pw_gid)
