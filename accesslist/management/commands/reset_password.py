"""`manage.py reset_password`: for who forgot theirs, when nobody else can enter the console."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accesslist.management.passwords import password_asked
from accesslist.models import User, username_key
from accesslist.services.passwords import user_password_reset
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.management.with_database import DatabaseCommand
from opsapi.roles import Grant, Role


class Command(DatabaseCommand):
    """Sets another password for a user."""

    help = (
        "Set another password for a user: the one typed at a terminal, or one that is made and printed once. "
        "Their sessions end; a second factor stays."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose."""
        parser.add_argument("username", help="in whatever case")

    def handle(self, *args: Any, **options: Any) -> None:
        """Does it, or says in one line why not. The shell may do what a Global Owner may."""
        name = options["username"]
        user = User.objects.filter(username_key=username_key(name)).first()
        if user is None:
            raise CommandError(f"no user is called {name}")
        password, generated = password_asked()
        by = [Grant(Role.GLOBAL_OWNER)]
        try:
            user_password_reset(user_id=user.id, password=password, by=by, actor=SYSTEM, now=clock.now())
        except ApiError as error:
            raise CommandError(error.document()["detail"]) from None
        if generated:
            self.stdout.write(f"password  {password}")
        self.stdout.write(f"{user.username} logs in with the new password.")
