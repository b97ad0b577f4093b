"""Commands of Django that would write beside the services, so that no event told of it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError


class LeftOutCommand(BaseCommand):
    """Says what to use: its `help`, which is one line."""

    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """Whatever is typed after the command's name."""
        super().run_from_argv(argv[:2])

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuses."""
        raise CommandError(self.help)
