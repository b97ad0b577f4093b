"""`manage.py access_list`: reads and repairs access lists, for example after a lock-out."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import ngettext

from accesslist.access_lists.changes import access_list_clear, access_list_entries_create
from accesslist.access_lists.resource import KeyAccessListEntryInput, new_entries
from accesslist.access_lists.rules import GLOBAL_LIST, AccessList, ListWriter
from accesslist.access_lists.store import entries_of
from accesslist.keys.models import ApiKey
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.management.database_command import DatabaseCommand

_SHELL = ListWriter(SYSTEM)


class Command(DatabaseCommand):
    """Show, extend or clear the global access list or the access list of a key."""

    help = "Show the global access list or the access list of a key, add a range, or remove all entries."

    def add_arguments(self, parser: CommandParser) -> None:
        """The subcommands and the key."""
        parser.add_argument(
            "--key", metavar="PUBLIC_KEY", help="use the access list of this key instead of the global list"
        )
        actions = parser.add_subparsers(dest="action", required=True, metavar="list | add | clear")
        actions.add_parser("list", help="show the entries")
        add = actions.add_parser("add", help="add a range")
        add.add_argument("cidr", metavar="CIDR", help="range in CIDR notation, or address")
        add.add_argument("--description", metavar="TEXT", help="1 to 250 characters")
        actions.add_parser("clear", help="remove all entries; keys can then call from every address")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the subcommand; errors are one line."""
        of = _list_of(options["key"])
        if options["action"] == "add":
            self._add(of, options["cidr"], options["description"])
        elif options["action"] == "clear":
            self._clear(of)
        else:
            self._show(of)

    def _show(self, of: AccessList) -> None:
        entries = list(entries_of(of.key_id))
        for entry in entries:
            used = f"last used {clock.wire_time(entry.last_used)}" if entry.last_used else "never used"
            self.stdout.write(f"{entry.cidr_block:<20} {used:<30} {entry.description or ''}".rstrip())
        if not entries:
            self.stdout.write("No entries. Keys can call from every address.")

    def _add(self, of: AccessList, cidr: str, description: str | None) -> None:
        item = KeyAccessListEntryInput().read({"cidrBlock": cidr, "description": description})
        (entry,) = access_list_entries_create(of=of, new=new_entries([item]), by=_SHELL, now=clock.now())
        self.stdout.write(f"Added {entry.cidr_block}.")

    def _clear(self, of: AccessList) -> None:
        gone = access_list_clear(of=of, by=_SHELL, now=clock.now())
        removed = ngettext("Removed %d entry.", "Removed %d entries.", gone) % gone
        self.stdout.write(f"{removed} Keys can call from every address.")


def _list_of(public_key: str | None) -> AccessList:
    if public_key is None:
        return GLOBAL_LIST
    key = ApiKey.objects.filter(public_key=public_key).first()
    if key is None:
        raise CommandError(f"no API key has the public key {public_key}")
    return AccessList(key.id, key.public_key)
