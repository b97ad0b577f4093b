"""Bases of commands: commands that need the database; disabled commands."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from opsapi.api.errors import ApiError
from opsapi.management.installation_command import InstallationCommand
from opsapi.postgresql.migrations import unapplied_migrations
from opsapi.program import COMMAND


class DatabaseCommand(InstallationCommand):
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


class DisabledCommand(BaseCommand):
    """Prints what to use instead: its `help`, which is one line."""

    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        super().run_from_argv(argv[:2])

    def handle(self, *args: Any, **options: Any) -> None:
        raise CommandError(self.help)
