"""`manage.py loaddata`, which is left out."""

from opsapi.management.left_out import LeftOutCommand


class Command(LeftOutCommand):
    """In place of Django's."""

    help = "Rows come by the API and the console; copies by pg_restore (docs/how-to/back-up-and-restore.md)."
