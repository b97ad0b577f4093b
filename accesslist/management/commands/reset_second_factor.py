"""`manage.py reset_second_factor`: removes a second factor when nobody else can enter the console."""

from typing import Any

from django.core.management.base import CommandParser

from accesslist.login.changes import second_factor_reset
from accesslist.management.credentials import user_named
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.management.database_command import DatabaseCommand
from opsapi.roles import Grant, Role


class Command(DatabaseCommand):
    """Remove the second factor of a user, who can then log in with the password only."""

    help = "Remove the second factor and the recovery codes of a user, and end the user's sessions."

    def add_arguments(self, parser: CommandParser) -> None:
        """The username."""
        parser.add_argument("username", help="case-insensitive")

    def handle(self, *args: Any, **options: Any) -> None:
        """Remove the second factor, with the permissions of a Global owner; errors are one line."""
        user = user_named(options["username"])
        by = [Grant(Role.GLOBAL_OWNER)]
        second_factor_reset(user_id=user.id, by=by, actor=SYSTEM, now=clock.now())
        self.stdout.write(
            f"{user.username} now logs in with the password only, and can set up a new second factor."
        )
