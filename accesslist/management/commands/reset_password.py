"""`manage.py reset_password`: sets a new password when nobody else can enter the console."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accesslist.management.credentials import password_asked
from accesslist.models import User
from accesslist.rules.usernames import username_key
from accesslist.services.accounts import user_password_reset
from opsapi import clock
from opsapi.api.errors import ApiError
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
        """Set the password; errors are one line. The command line has the permissions of a Global Owner."""
        name = options["username"]
        user = User.objects.filter(username_key=username_key(name)).first()
        if user is None:
            raise CommandError(f"no user has the username {name}")
        password, generated = password_asked()
        by = [Grant(Role.GLOBAL_OWNER)]
        try:
            user_password_reset(user_id=user.id, password=password, by=by, actor=SYSTEM, now=clock.now())
        except ApiError as error:
            raise CommandError(error.document()["detail"]) from None
        if generated:
            self.stdout.write(f"password  {password}")
        self.stdout.write(f"{user.username} can now log in with the new password.")
