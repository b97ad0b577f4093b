"""`restore DIR`: restores a backup into a new installation that has not been started."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from opsapi.backups import RISK, UNVERIFIED, BackupError, checked_dump, read_backup, restore
from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.cluster import find_binaries
from opsapi.embedded.layout import Layout
from opsapi.embedded.server import Server
from opsapi.program import START
from opsapi.secret_files import make_private_directory
from opsapi.supervisor import StartError
from opsapi.supervisor.platform import DirectoryLock


class Command(BaseCommand):
    """Checks the backup and the keys first, then restores everything or nothing."""

    help = "Restore a backup into a new installation, which needs the encryption keys of the backup."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path, metavar="DIR", help="the directory that `backup` wrote")
        parser.add_argument(
            UNVERIFIED,
            action="store_true",
            help=f"restore a backup that none of the configured encryption keys signed. Dangerous: {RISK}.",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Raises CommandError, one line, if the backup cannot be restored."""
        directory: Path = options["directory"].absolute()
        try:
            manifest = read_backup(directory, verified=not options["unverified"])
            make_private_directory(settings.OPSAPI_DATA_DIR)
            with checked_dump(directory, manifest) as dump, _database():
                restore(dump, manifest)
        except (BackupError, EmbeddedDatabaseError, ImproperlyConfigured, StartError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"The backup of {manifest.created} is restored.")
        self.stdout.write(
            "Everything that was deleted or revoked since then is valid again: read"
            f" docs/how-to/back-up-and-restore.md before you run {START} and let others connect."
        )


@contextmanager
def _database() -> Iterator[None]:
    """Run the embedded PostgreSQL meanwhile; raises StartError if the platform runs."""
    if not settings.OPSAPI_EMBEDDED_DATABASE:
        yield
        return
    binaries = find_binaries(settings.OPSAPI_POSTGRESQL_BIN)
    lock = DirectoryLock(settings.OPSAPI_DATA_DIR)
    lock.acquire()
    server = Server(Layout(settings.OPSAPI_DATA_DIR), binaries=binaries)
    try:
        server.start()
        server.wait_ready()
        yield
    finally:
        connection.close()
        server.stop()
        lock.release()
