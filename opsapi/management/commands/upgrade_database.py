"""`upgrade_database`: moves the embedded database to the installed major version of PostgreSQL."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.cluster import find_binaries
from opsapi.embedded.layout import Layout
from opsapi.embedded.upgrade import upgrade
from opsapi.program import START
from opsapi.supervisor import StartError
from opsapi.supervisor.platform import DirectoryLock


class Command(BaseCommand):
    """Upgrades everything, or changes nothing; an interrupted run can be repeated."""

    help = (
        "Move the embedded database to the installed major version of PostgreSQL. The platform must not run."
        " The old files are kept."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--old-programs",
            type=Path,
            metavar="DIR",
            help="directory of the old postgres and pg_dump; default: /usr/lib/postgresql/<version>/bin",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Raises CommandError, one line, if the database is not upgraded."""
        if not settings.OPSAPI_EMBEDDED_DATABASE:
            raise CommandError("DATABASE_URL is set: upgrade this database with PostgreSQL's own programs")
        lock = DirectoryLock(settings.OPSAPI_DATA_DIR)
        try:
            lock.acquire()
            kept = upgrade(
                Layout(settings.OPSAPI_DATA_DIR),
                options["old_programs"],
                binaries=find_binaries(settings.OPSAPI_POSTGRESQL_BIN),
            )
        except (EmbeddedDatabaseError, ImproperlyConfigured, StartError) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{error.filename or settings.OPSAPI_DATA_DIR}: {error.strerror}") from None
        finally:
            lock.release()
        self.stdout.write(f"The database is upgraded. The old files are in {kept}.")
        self.stdout.write(f"Run {START}, and remove the old files when everything works.")
