"""How commands show a new API key, whose private part is shown only once."""

from django.core.management.base import BaseCommand, CommandParser

from accesslist.services.keys import NewKey


def add_export_option(parser: CommandParser) -> None:
    """Let a shell take the key from the command: `eval "$(manage.py … --export)"`."""
    parser.add_argument(
        "--export",
        action="store_true",
        help="print a line that sets PUBLIC_KEY and PRIVATE_KEY in a shell; all else goes to stderr",
    )


def show_key(command: BaseCommand, new: NewKey, *, export: bool, before: str = "") -> None:
    """Print the key for people, after the text `before`; with `export` also for a shell, alone on stdout."""
    people = command.stderr if export else command.stdout
    people.write(
        f"{before}public key   {new.key.public_key}\n"
        f"private key  {new.private_key}\n"
        "The private key is shown only this once.",
        lambda text: text,
    )
    if export:
        command.stdout.write(f"export PUBLIC_KEY={new.key.public_key} PRIVATE_KEY={new.private_key}")
