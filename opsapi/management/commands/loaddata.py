"""`manage.py loaddata`, which is left out."""

from opsapi.management.left_out import LeftOutCommand


class Command(LeftOutCommand):
    """In place of Django's."""

    help = (
        "Add data with the API or the console. Restore backups with pg_restore "
        "(docs/how-to/back-up-and-restore.md)."
    )
