"""`manage.py createsuperuser` is disabled."""

from opsapi.management.database_command import DisabledCommand
from opsapi.program import COMMAND


class Command(DisabledCommand):
    """Replaces Django's command."""

    help = f"Use `{COMMAND} bootstrap <username>` for the first user, and the console or the API for others."
