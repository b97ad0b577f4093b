"""`backup DIR`: writes a backup of the database while the platform runs."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from opsapi import clock
from opsapi.backups import DUMP, BackupError, back_up


class Command(BaseCommand):
    """Writes a dump and a manifest; the encryption keys are for the operator to store elsewhere."""

    help = "Write a backup of the database to a new directory. Store the encryption keys elsewhere."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path, metavar="DIR", help="new or empty; it is created")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Raises CommandError, one line, if the backup cannot be written."""
        directory: Path = options["directory"].absolute()
        try:
            manifest = back_up(directory, now=clock.now())
        except (BackupError, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{directory / DUMP}: {manifest.size:,} bytes, version {manifest.version}")
        file = settings.OPSAPI_ENCRYPTION_KEY_FILE
        keys = file if file.exists() else "OPSAPI_ENCRYPTION_KEYS"
        self.stdout.write(
            f"A restore needs the encryption keys. Store a copy of {keys} apart from this backup."
        )
