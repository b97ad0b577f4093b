"""`manage.py serve`: runs the whole platform in the foreground; `make run` calls it."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.log import configure_logging

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.supervisor import StartError
from opsapi.supervisor.platform import Platform


class Command(BaseCommand):
    """Starts database, web server and worker, and stops them in order on SIGTERM or Ctrl-C.

    SIGHUP replaces the web processes.
    """

    help = "Run the platform: embedded PostgreSQL (unless DATABASE_URL is set), web server and worker."
    requires_system_checks = []  # `manage.py prepare` checks the installation.

    def add_arguments(self, parser: CommandParser) -> None:
        """make passes its process ID, so that the platform ends with it even if it is killed."""
        parser.add_argument("--parent", type=int, metavar="PID", help="stop when this parent process ends")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Raises CommandError, one line, if the platform cannot start."""
        try:
            Platform(self.stdout, parent=options["parent"]).run()  # type: ignore[arg-type]  # OutputWrapper is one in all but name
        except (StartError, EmbeddedDatabaseError, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from None


def run(argv: Sequence[str]) -> None:
    """The command line `argv` in a process without the application, which saves a second and 55 MB."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
    Command().run_from_argv([*argv])
