"""`manage.py changepassword`, which is left out."""

from opsapi.management.left_out import LeftOutCommand
from opsapi.program import COMMAND


class Command(LeftOutCommand):
    """In place of Django's."""

    help = f"Use `{COMMAND} reset_password <username>`, which records an event."
