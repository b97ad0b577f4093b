"""`manage.py changepassword` is disabled."""

from opsapi.management.database_command import DisabledCommand
from opsapi.program import COMMAND


class Command(DisabledCommand):
    """Replaces Django's command."""

    help = f"Use `{COMMAND} reset_password <username>`, which records an event."
