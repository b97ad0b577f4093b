"""`manage.py loaddata` is disabled."""

from opsapi.management.left_out import LeftOutCommand


class Command(LeftOutCommand):
    """In place of Django's."""

    help = (
        "Add data with the API or the console. Restore backups with pg_restore "
        "(docs/how-to/back-up-and-restore.md)."
    )
