"""Disabled Django commands: they would bypass the services and record no event."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError


class DisabledCommand(BaseCommand):
    """Prints what to use instead: its `help`, which is one line."""

    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """Accepts any arguments."""
        super().run_from_argv(argv[:2])

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuses to run."""
        raise CommandError(self.help)
