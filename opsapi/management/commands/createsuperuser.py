"""`manage.py createsuperuser` is disabled."""

from opsapi.management.left_out import LeftOutCommand
from opsapi.program import COMMAND


class Command(LeftOutCommand):
    """Replaces Django's command."""

    help = f"Use `{COMMAND} bootstrap <username>` for the first user, and the console or the API for others."
