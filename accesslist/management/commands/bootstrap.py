"""`manage.py bootstrap`: creates the first user from the shell."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accesslist.access_lists.rules import read_asked_ranges
from accesslist.management.credentials import add_export_option, password_asked, show_key
from accesslist.users.changes import NewUser, unauth_user_create
from accesslist.users.models import User
from accesslist.users.resource import UserInput
from accesslist.users.store import any_user_exists
from opsapi import clock
from opsapi.management.database_command import DatabaseCommand
from opsapi.program import COMMAND


class Command(DatabaseCommand):
    """Create the first user and print the API key, once."""

    help = (
        "Create the first user and an API key, and print the password and the private key. They are "
        "shown only once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The username and the allowed addresses of the key."""
        parser.add_argument("username", nargs="?", default="admin")
        parser.add_argument("--first-name", default="First")
        parser.add_argument("--last-name", default="Owner")
        parser.add_argument("--email", default=None)
        parser.add_argument("--access-list", action="append", default=[], metavar="CIDR")
        add_export_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Fails if a user exists."""
        if any_user_exists():
            raise CommandError(f"a user already exists; to create another API key, run {COMMAND} create_key")
        names = {name: options[name] for name in ("username", "first_name", "last_name")}
        password, generated = password_asked(User(**names))
        given = {
            "username": options["username"],
            "password": password,
            "firstName": options["first_name"],
            "lastName": options["last_name"],
            "emailAddress": options["email"],
        }
        user, key = unauth_user_create(
            new=NewUser(**UserInput().read(given)),
            access_list=read_asked_ranges(options["access_list"]),
            remote_address=None,
            now=clock.now(),
        )
        if key is None:
            raise CommandError("another process has just created the first user")
        known = f"username     {user.username}\n" + (f"password     {password}\n" if generated else "")
        show_key(self, key, export=options["export"], before=known)
