"""Passwords and API keys in commands. New keys are shown only once."""

import getpass
import sys

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accesslist.keys.changes import NewKey
from accesslist.users.checks import random_password
from accesslist.users.models import User
from accesslist.users.rules import username_key


def add_export_option(parser: CommandParser) -> None:
    """Adds --export, so that a shell can use the key: `eval "$(manage.py … --export)"`."""
    parser.add_argument(
        "--export",
        action="store_true",
        help="print a shell command that sets PUBLIC_KEY and PRIVATE_KEY; everything else goes to stderr",
    )


def show_key(command: BaseCommand, new: NewKey, *, export: bool, before: str = "") -> None:
    """Print the key after the text `before`; with `export`, also as a shell command on stdout."""
    people = command.stderr if export else command.stdout
    people.write(
        f"{before}public key   {new.key.public_key}\n"
        f"private key  {new.private_key}\n"
        "The private key is shown only once.",
        lambda text: text,
    )
    if export:
        command.stdout.write(f"export PUBLIC_KEY={new.key.public_key} PRIVATE_KEY={new.private_key}")


def user_named(name: str) -> User:
    """Return the user with this name, case-insensitive.

    Raises:
        CommandError: there is none.
    """
    user = User.objects.filter(username_key=username_key(name)).first()
    if user is None:
        raise CommandError(f"no user has the username {name}")
    return user


def password_asked(user: User) -> tuple[str, bool]:
    """Return a password for the user, and whether the platform generated it.

    The platform generates a password if there is no terminal or if the user leaves the input blank.
    """
    typed = getpass.getpass("New password (leave blank to generate one): ") if sys.stdin.isatty() else ""
    return (typed, False) if typed else (random_password(user), True)
