"""Moves the database to the installed major version of PostgreSQL, by a dump and a restore.

The old files stay as they are until the new files are complete. Two renames then exchange them. An upgrade
that was interrupted at any point is repeated from the beginning.
"""

import logging
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.binaries import find_binaries
from opsapi.embedded.cluster import ENVIRONMENT, SUPERUSER, DatabaseCluster, sync_directory
from opsapi.embedded.layout import ROLE, Layout
from opsapi.embedded.owner import server_owner
from opsapi.embedded.server import Server
from opsapi.secret_files import make_private_directory

log = logging.getLogger("opsapi.embedded")

# Where packages of Debian install a version.
_SYSTEM_PROGRAMS = "/usr/lib/postgresql/{}/bin"


def upgrade(layout: Layout, programs: Path | None = None, *, durable: bool = True) -> Path:
    """Upgrade the database of a data directory, and return the directory that keeps the old files.

    The caller holds the lock of the data directory. `programs` is the directory of `postgres` and `pg_dump`
    of the old version; without it, the version's Debian package is used.

    Raises:
        EmbeddedDatabaseError: there is nothing to upgrade, an old program is missing or cannot run, or the
            disk is full. The old files are unchanged.
    """
    cluster = DatabaseCluster(layout, server_owner(), find_binaries(), durable)
    _undo_interrupted(cluster)
    version = cluster.version()
    if version is None:
        raise EmbeddedDatabaseError(f"{layout.cluster} does not exist: there is no database to upgrade")
    if version == cluster.program_version():
        raise EmbeddedDatabaseError(
            f"there is nothing to upgrade: PostgreSQL {version} created {layout.cluster} and is installed"
        )
    old_programs, new_programs = _old_programs(version, programs), cluster.binaries
    # Inside the data directory, so that the files can be renamed.
    draft = Layout(layout.data_dir / "upgrade")
    shutil.rmtree(draft.data_dir, ignore_errors=True)
    make_private_directory(draft.data_dir)
    try:
        dump = draft.data_dir / "database.dump"
        dump.touch(mode=0o600)
        log.info("reading the database of PostgreSQL %d", version)
        with _running(Server(layout, durable=durable, binaries=old_programs)):
            # Of the old version: a new pg_dump may not know the server's newest minor version.
            _run(old_programs / "pg_dump", layout, "--format=custom", f"--file={dump}")
        log.info("writing the database for PostgreSQL %d", cluster.program_version())
        with _running(Server(draft, durable=durable)):
            options = ("--no-owner", "--no-privileges", "--exit-on-error")
            _run(new_programs / "pg_restore", draft, *options, str(dump))
            _run(new_programs / "vacuumdb", draft, "--analyze-only", "--quiet", role=SUPERUSER)
        return _exchange(cluster, draft, version)
    finally:
        shutil.rmtree(draft.data_dir, ignore_errors=True)
        if draft.socket_dir != draft.home:
            shutil.rmtree(draft.socket_dir, ignore_errors=True)


def _undo_interrupted(cluster: DatabaseCluster) -> None:
    """Move the old files back if an upgrade ended between its two renames."""
    old = cluster.kept_files()
    if old and not cluster.exists():
        with cluster.owner.acting():
            old.rename(cluster.layout.cluster)
            sync_directory(cluster.layout.home)


def _old_programs(version: int, programs: Path | None) -> Path:
    directory = programs or Path(_SYSTEM_PROGRAMS.format(version))
    for program in ("postgres", "pg_dump"):
        if not (directory / program).is_file():
            raise EmbeddedDatabaseError(
                f"{directory / program} does not exist: install the package postgresql-{version}, or name the"
                f" directory of the programs of PostgreSQL {version}"
            )
    return directory.resolve()


def _exchange(cluster: DatabaseCluster, draft: Layout, version: int) -> Path:
    kept = cluster.layout.home / f"data.{version}"
    if kept.exists():
        raise EmbeddedDatabaseError(f"{kept} exists, from an earlier upgrade: remove it or move it away")
    with cluster.owner.acting():
        cluster.layout.cluster.rename(kept)
        draft.cluster.rename(cluster.layout.cluster)
        sync_directory(cluster.layout.home)
    return kept


@contextmanager
def _running(server: Server) -> Iterator[None]:
    try:
        server.start()
        server.wait_ready()
        yield
    finally:
        server.stop()


def _run(program: Path, layout: Layout, *options: str, role: str = ROLE) -> None:
    """Run a program against the running server of `layout`."""
    at = layout.django_database()
    to = [
        f"--host={at['HOST']}",
        f"--port={at['PORT']}",
        f"--username={role}",
        f"--dbname={at['NAME']}",
    ]
    done = subprocess.run(  # noqa: S603 our own programs and arguments
        [program, *to, "--no-password", *options],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise EmbeddedDatabaseError(
            f"{program.name} failed: {lines[0].removeprefix(f'{program.name}: error: ')}"
        )
