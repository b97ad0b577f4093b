"""`manage.py loaddata` is disabled."""

from opsapi.management.disabled_command import DisabledCommand


class Command(DisabledCommand):
    """In place of Django's."""

    help = (
        "Add data with the API or the console. Restore backups with pg_restore "
        "(docs/how-to/back-up-and-restore.md)."
    )
