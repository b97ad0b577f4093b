"""`manage.py changepassword`, which is left out."""

from opsapi.management.left_out import LeftOutCommand


class Command(LeftOutCommand):
    """In place of Django's."""

    help = "Use `manage.py reset_password <username>`, which records an event."
