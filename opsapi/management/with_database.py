"""Commands that work on what the platform keeps: without its database they say so in one line."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from opsapi.faults import first_line


class DatabaseCommand(BaseCommand):
    """A command that needs the database to run and to be prepared."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Raises CommandError, one line, when the database cannot be reached or used, or is empty."""
        try:
            is_prepared = MigrationRecorder(connection).has_table()
        except OperationalError as error:
            raise CommandError(_away(error)) from None
        except DatabaseError as error:
            raise CommandError(f"the database cannot be used: {first_line(error)}") from None
        if not is_prepared:
            raise CommandError("the database is not prepared yet: manage.py prepare")
        return super().execute(*args, **options)


def _away(error: OperationalError) -> str:
    if settings.OPSAPI_EMBEDDED_DATABASE:
        where = settings.OPSAPI_DATA_DIR
        return f"the embedded database in {where} does not run; in another terminal, make run starts it"
    server = connection.settings_dict
    host_and_port = f"{server['HOST'] or 'this machine'}, port {server['PORT'] or 5432}"
    return f"the database server of DATABASE_URL ({host_and_port}) cannot be reached: {first_line(error)}"
