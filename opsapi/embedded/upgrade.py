"""Moves the database to the installed major version of PostgreSQL, by a dump and a restore.

The old files stay as they are until the new files are complete. Renames then exchange them:

    data ─► data.moved      the new files ─► data      data.moved ─► data.17

An upgrade that was interrupted at any point is repeated: before the second rename from the beginning,
afterwards with the last rename. After the second rename, the next start finishes it as well.
"""

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.cluster import ENVIRONMENT, SUPERUSER, DatabaseCluster, client_failure, find_binaries
from opsapi.embedded.layout import ROLE, Layout
from opsapi.embedded.owner import server_owner
from opsapi.embedded.server import Server, ServerProcesses
from opsapi.secret_files import make_private_directory, sync_directory

log = logging.getLogger("opsapi.embedded")

# Where packages of Debian install a version.
_SYSTEM_PROGRAMS = "/usr/lib/postgresql/{}/bin"
_RESTORE = ("--no-owner", "--no-privileges", "--no-tablespaces", "--exit-on-error")


@dataclass(frozen=True)
class _Apart(Layout):
    """The same files with the socket of `apart`, which no process of the platform connects to."""

    apart: Layout

    @property
    def socket_dir(self) -> Path:
        return self.apart.socket_dir


def upgrade(
    layout: Layout, programs: Path | None = None, *, binaries: Path | None = None, durable: bool = True
) -> Path:
    """Upgrade the database of a data directory, and return the directory that keeps the old files.

    The caller holds the lock of the data directory. `programs` is the directory of `postgres` and `pg_dump`
    of the old version; without it, the version's Debian package is used. `binaries` is the directory of the
    new programs; without it, the programs of the package are used.

    Raises: EmbeddedDatabaseError: there is nothing to upgrade, an old program is missing or cannot run, or
    the disk is full. The old files are unchanged.
    """
    cluster = DatabaseCluster(layout, server_owner(), binaries or find_binaries(), durable)
    _refuse_foreign(cluster)
    draft = _draft(layout)
    _remove(cluster, draft)
    if cluster.was_moved():
        if cluster.exists():
            return _keep_moved(cluster)
        _rename(cluster, cluster.moved, layout.cluster)
    version, kept = _old_version(cluster)
    if kept.exists():
        raise EmbeddedDatabaseError(f"{kept} exists, from an earlier upgrade: remove it or move it away")
    old_programs, new_programs = _old_programs(cluster, version, programs), cluster.binaries
    make_private_directory(draft.data_dir)
    try:
        dump = draft.data_dir / "database.dump"
        dump.touch(mode=0o600)
        log.info("reading the database of PostgreSQL %d", version)
        old = _Apart(layout.data_dir, draft)
        with _running(Server(old, durable=durable, binaries=old_programs)):
            # Of the old version: a new pg_dump may not know the server's newest minor version.
            _run(old_programs / "pg_dump", old, "--format=custom", f"--file={dump}")
        log.info("writing the database for PostgreSQL %d", cluster.program_version())
        with _running(Server(draft, durable=durable, binaries=new_programs)):
            _run(new_programs / "pg_restore", draft, *_RESTORE, str(dump))
            _run(new_programs / "vacuumdb", draft, "--analyze-only", "--quiet", role=SUPERUSER)
        return _exchange(cluster, draft)
    finally:
        _remove(cluster, draft)


def finish_upgrade(layout: Layout, *, binaries: Path | None = None) -> None:
    """Finish an upgrade that was interrupted after the new files were complete and in their place.

    Give the old files their name, and remove the draft, which contains a dump. Change nothing without such an
    upgrade. The caller holds the lock of the data directory, and the server is stopped.

    Raises: EmbeddedDatabaseError: a process of the upgrade does not end.
    """
    cluster = DatabaseCluster(layout, server_owner(), binaries or find_binaries())
    if cluster.version() != cluster.program_version():
        return
    if cluster.was_moved():
        log.info("an interrupted upgrade is finished; its old files are in %s", _keep_moved(cluster))
    draft = _draft(layout)
    if draft.data_dir.exists():
        _remove(cluster, draft)
        log.info("the files that an interrupted upgrade left in %s are removed", draft.data_dir)


def _draft(layout: Layout) -> Layout:
    """Return the place of the new files: inside the data directory, so that they can be renamed."""
    return Layout(layout.data_dir / "upgrade")


def _refuse_foreign(cluster: DatabaseCluster) -> None:
    """Refuse a data directory in which another user could replace files that root writes.

    Refuse also a directory of the server that is a mount point: files cannot be renamed across it.
    """
    data_dir, home = cluster.layout.data_dir, cluster.layout.home
    status = data_dir.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise EmbeddedDatabaseError(
            f"{data_dir} belongs to another user, or other users can write to it: run this command as the"
            " user of the platform"
        )
    if home.exists() and home.stat().st_dev != status.st_dev:
        raise EmbeddedDatabaseError(
            f"{home} is on another disk than {data_dir}: mount the disk at {data_dir}"
        )


def _old_version(cluster: DatabaseCluster) -> tuple[int, Path]:
    """Return the version of the old files, and the path that keeps them."""
    version = cluster.version()
    if version is None:
        raise EmbeddedDatabaseError(
            f"{cluster.layout.cluster} does not exist: there is no database to upgrade"
        )
    if version > cluster.program_version():
        cluster.require_version()
    if version == cluster.program_version():
        raise EmbeddedDatabaseError(
            f"there is nothing to upgrade: {cluster.layout.cluster} is of PostgreSQL {version}, as installed"
        )
    return version, cluster.layout.home / f"data.{version}"


def _old_programs(cluster: DatabaseCluster, version: int, programs: Path | None) -> Path:
    directory = programs or Path(_SYSTEM_PROGRAMS.format(version))
    for program in ("postgres", "pg_dump"):
        if not (directory / program).is_file():
            raise EmbeddedDatabaseError(
                f"{directory / program} does not exist: install the package postgresql-{version}, or name the"
                " directory of its programs with --old-programs"
            )
    actual_version = replace(cluster, binaries=directory).program_version()
    if actual_version != version:
        raise EmbeddedDatabaseError(
            f"{directory} has the programs of PostgreSQL {actual_version}: name the directory of PostgreSQL"
            f" {version} with --old-programs"
        )
    return directory.resolve()


def _exchange(cluster: DatabaseCluster, draft: Layout) -> Path:
    _rename(cluster, cluster.layout.cluster, cluster.moved)
    try:
        _rename(cluster, draft.cluster, cluster.layout.cluster)
    except OSError:
        _rename(cluster, cluster.moved, cluster.layout.cluster)
        raise
    return _keep_moved(cluster)


def _keep_moved(cluster: DatabaseCluster) -> Path:
    with cluster.owner.acting():
        version = int((cluster.moved / "PG_VERSION").read_text())
    kept = cluster.layout.home / f"data.{version}"
    _rename(cluster, cluster.moved, kept)
    return kept


def _rename(cluster: DatabaseCluster, path: Path, new: Path) -> None:
    with cluster.owner.acting():
        path.rename(new)
        sync_directory(cluster.layout.home)


def _remove(cluster: DatabaseCluster, draft: Layout) -> None:
    """Remove the draft. A server that an upgrade left running would write to it meanwhile: end it first."""
    with cluster.owner.acting():
        ServerProcesses(draft, cluster.binaries / "postgres").end()
    shutil.rmtree(draft.data_dir, ignore_errors=True)
    if draft.socket_dir != draft.home:
        shutil.rmtree(draft.socket_dir, ignore_errors=True)


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
    to = [f"--host={at['HOST']}", f"--port={at['PORT']}", f"--username={role}", f"--dbname={at['NAME']}"]
    if fault := client_failure(program, *to, *options, environment=ENVIRONMENT):
        raise EmbeddedDatabaseError(fault)
