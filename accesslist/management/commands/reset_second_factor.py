"""`manage.py reset_second_factor`: for who lost theirs, when nobody else can enter the console."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accesslist.models import User, username_key
from accesslist.services.second_factors import second_factor_reset
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.management.with_database import DatabaseCommand
from opsapi.roles import Grant, Role


class Command(DatabaseCommand):
    """Takes a user's second factor away; the password then suffices to log in."""

    help = "Take a user's second factor away, with its recovery codes, and end their sessions."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose."""
        parser.add_argument("username", help="in whatever case")

    def handle(self, *args: Any, **options: Any) -> None:
        """Does it, or says in one line why not. The shell may do what a Global Owner may."""
        name = options["username"]
        user = User.objects.filter(username_key=username_key(name)).first()
        if user is None:
            raise CommandError(f"no user is called {name}")
        by = [Grant(Role.GLOBAL_OWNER)]
        try:
            second_factor_reset(user_id=user.id, by=by, actor=SYSTEM, now=clock.now())
        except ApiError as error:
            raise CommandError(error.document()["detail"]) from None
        self.stdout.write(f"{user.username} logs in with the password alone until they set up another one.")
