"""The overview of commands names each command of the platform."""

import re

from django.core.management import get_commands, load_command_class

from opsapi.__main__ import OVERVIEW
from opsapi.management.database_command import DisabledCommand

_PLATFORM = {"opsapi", "accesslist", "automation", "integrations", "alerting", "events"}
_FOR_DEVELOPERS = {"openapi", "reference", "demo", "migrate"}


def test_the_overview_names_every_command_for_operators() -> None:
    commands = {
        name: load_command_class(app, name) for name, app in get_commands().items() if app in _PLATFORM
    }
    offered = {name for name, command in commands.items() if not isinstance(command, DisabledCommand)}
    assert set(re.findall(r"(?m)^  (\w+)  +\S", OVERVIEW)) == offered - _FOR_DEVELOPERS
