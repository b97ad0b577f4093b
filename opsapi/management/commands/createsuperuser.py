"""`manage.py createsuperuser`, which is left out."""

from opsapi.management.left_out import LeftOutCommand
from opsapi.program import COMMAND


class Command(LeftOutCommand):
    """In place of Django's."""

    help = f"Use `{COMMAND} bootstrap <username>` for the first user, and the console or the API for others."
