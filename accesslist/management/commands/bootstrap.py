"""`manage.py bootstrap`: creates the first user from the shell."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accesslist.management.keys import add_export_option, show_key
from accesslist.management.passwords import password_asked
from accesslist.rules.listing import read_asked_ranges
from accesslist.selectors.users import any_user_exists
from accesslist.serializers.users import UserInput
from accesslist.services.users import NewUser, unauth_user_create
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.management.with_database import DatabaseCommand


class Command(DatabaseCommand):
    """Makes the first user and prints their API key, once."""

    help = "Make the first user of the installation and print the API key, which is shown only once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who, and from where the key may be used."""
        parser.add_argument("username", nargs="?", default="admin")
        parser.add_argument("--first-name", default="First")
        parser.add_argument("--last-name", default="Owner")
        parser.add_argument("--email", default=None)
        parser.add_argument("--access-list", action="append", default=[], metavar="CIDR")
        add_export_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuses when a user exists."""
        if any_user_exists():
            raise CommandError("a user exists already; manage.py create_key makes another API key")
        password, generated = password_asked()
        given = {
            "username": options["username"],
            "password": password,
            "firstName": options["first_name"],
            "lastName": options["last_name"],
            "emailAddress": options["email"],
        }
        try:
            user, key = unauth_user_create(
                new=NewUser(**UserInput().read(given)),
                access_list=read_asked_ranges(options["access_list"]),
                remote_address=None,
                now=clock.now(),
            )
        except ApiError as error:
            raise CommandError(error.document()["detail"]) from None
        if key is None:
            raise CommandError("another call made the first user in the meantime")
        known = f"username     {user.username}\n" + (f"password     {password}\n" if generated else "")
        show_key(self, key, export=options["export"], before=known)
