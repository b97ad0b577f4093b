"""`manage.py create_key`: creates an API key from the shell, to replace a lost key."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accesslist.keys.changes import api_key_issue
from accesslist.keys.resource import ApiKeyInput
from accesslist.management.credentials import add_export_option, show_key
from accesslist.roles.resource import ROLE_NAMES
from accesslist.roles.rules import RoleRequest, asked_roles
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.management.database_command import DatabaseCommand
from opsapi.roles import INSTALLATION, Grant, Role


class Command(DatabaseCommand):
    """Create a key and print it, once."""

    help = (
        "Create an API key, by default with the role GLOBAL_OWNER, and print it. The private key is "
        "shown only once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The description, roles and scopes of the key."""
        parser.add_argument("--desc", default="Created from the command line", help="1 to 250 characters")
        parser.add_argument(
            "--role",
            action="append",
            metavar="ROLE",
            help="role of the key; repeat for more roles; default GLOBAL_OWNER",
        )
        parser.add_argument("--group", metavar="ID", help="ID of the project of GROUP_ roles")
        parser.add_argument("--org", metavar="ID", help="ID of the organization of ORG_ roles")
        add_export_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuses roles without a scope, scopes without a role, and scopes that do not exist."""
        names = options["role"] or [Role.GLOBAL_OWNER.value]
        roles = [_placed(name, options["group"], options["org"]) for name in names]
        for option, prefix in (("group", "GROUP_"), ("org", "ORG_")):
            if options[option] is not None and not any(name.startswith(prefix) for name in names):
                raise CommandError(f"--{option} needs a {prefix} role (--role)")
        values = ApiKeyInput().read({"desc": options["desc"], "roles": roles})
        # The command line has the permissions of a Global owner.
        request = RoleRequest(asked_roles(values.pop("roles")), INSTALLATION, [Grant(Role.GLOBAL_OWNER)])
        new = api_key_issue(values=values, roles=request, actor=SYSTEM, now=clock.now())
        show_key(self, new, export=options["export"])


def _placed(name: str, group_id: str | None, org_id: str | None) -> dict[str, str]:
    """The role with its scope, in the form of the API."""
    if name not in ROLE_NAMES:
        raise CommandError(f"{name} is not a role; allowed: {', '.join(ROLE_NAMES)}")
    role = Role(name)
    if not (role.is_group or role.is_org):
        return {"roleName": name}
    option, field, target = ("--group", "groupId", group_id) if role.is_group else ("--org", "orgId", org_id)
    if target is None:
        raise CommandError(f"{name} needs {option} with an ID")
    return {"roleName": name, field: target}
