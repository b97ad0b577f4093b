"""`manage.py createsuperuser`, which is left out."""

from opsapi.management.left_out import LeftOutCommand


class Command(LeftOutCommand):
    """In place of Django's."""

    help = "Use `manage.py bootstrap <username>` for the first user, and the console or the API for others."
