"""Bases of commands: commands that need the database, with one-line errors if it fails; disabled commands."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection

from opsapi.api.errors import ApiError
from opsapi.logs import first_line
from opsapi.postgresql.faults import DatabaseFault, database_fault, unapplied_migrations
from opsapi.program import COMMAND, START


class DatabaseCommand(BaseCommand):
    """A command that needs a database prepared for this version. Refusals of services become one line."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Raises CommandError, one line, while migrations are missing, and for an ApiError."""
        if unapplied_migrations():
            raise CommandError(
                f"the database is not ready: wait until the platform has started, or run {COMMAND} prepare"
            )
        try:
            return super().execute(*args, **options)
        except ApiError as refusal:
            raise CommandError(refusal.document()["detail"]) from None


def line_of(error: Error) -> str:
    """A database failure for the operator: the cause, and what to do if it is known."""
    fault = database_fault(error)
    if fault is None:
        return f"the database cannot be used: {first_line(error)}"
    if fault is DatabaseFault.UNREACHABLE:
        return _away(error)
    return f"{fault.sentence}; try again later: {first_line(error)}"


def _away(error: Error) -> str:
    if settings.OPSAPI_EMBEDDED_DATABASE:
        where = settings.OPSAPI_DATA_DIR
        return f"the embedded database in {where} is not running; start it with {START} in another terminal"
    server = connection.settings_dict
    host_and_port = f"{server['HOST'] or 'this machine'}, port {server['PORT'] or 5432}"
    return f"the database server of DATABASE_URL ({host_and_port}) cannot be reached: {first_line(error)}"


class DisabledCommand(BaseCommand):
    """Prints what to use instead: its `help`, which is one line."""

    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        super().run_from_argv(argv[:2])

    def handle(self, *args: Any, **options: Any) -> None:
        raise CommandError(self.help)
