"""`manage.py loaddata` is disabled."""

from opsapi.management.database_command import DisabledCommand


class Command(DisabledCommand):
    """Replaces Django's command."""

    help = (
        "Add data with the API or the console. Restore backups with pg_restore "
        "(docs/how-to/back-up-and-restore.md)."
    )
