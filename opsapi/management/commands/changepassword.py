"""`manage.py changepassword` is disabled."""

from opsapi.management.left_out import LeftOutCommand
from opsapi.program import COMMAND


class Command(LeftOutCommand):
    """Replaces Django's command."""

    help = f"Use `{COMMAND} reset_password <username>`, which records an event."
