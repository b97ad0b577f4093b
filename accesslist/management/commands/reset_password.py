"""`manage.py reset_password`: sets a new password when nobody else can enter the console."""

from typing import Any

from django.core.management.base import CommandParser

from accesslist.login.changes import user_password_reset
from accesslist.management.credentials import password_asked, user_named
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.management.database_command import DatabaseCommand
from opsapi.roles import Grant, Role


class Command(DatabaseCommand):
    """Set a new password for a user."""

    help = (
        "Set a new password for a user: type it at the prompt, or press Enter to generate one. This "
        "ends the user's sessions. A second factor stays on."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The username."""
        parser.add_argument("username", help="case-insensitive")

    def handle(self, *args: Any, **options: Any) -> None:
        """Set the password; errors are one line. The command line has the permissions of a Global owner."""
        user = user_named(options["username"])
        password, generated = password_asked(user)
        by = [Grant(Role.GLOBAL_OWNER)]
        user_password_reset(user_id=user.id, password=password, by=by, actor=SYSTEM, now=clock.now())
        if generated:
            self.stdout.write(f"password  {password}")
        self.stdout.write(f"{user.username} can now log in with the new password.")
