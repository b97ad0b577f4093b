"""Django's `manage.py migrate`, but each migration commits together with its record."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import Error, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration

from opsapi.postgresql.migrations import older_build


class AtomicExecutor(MigrationExecutor):
    """Applies each migration, its deferred statements and its record in one transaction.

    Django records a migration that creates foreign keys after the commit of its tables: killed in between, it
    would create them again at the next start, and fail for good.
    """

    def apply_migration(self, state: Any, migration: Migration, *args: Any, **options: Any) -> Any:
        """As in Django, in a transaction, unless the migration forbids it. A database error names it.

        Django records a migration that replaces others only after the last migration. Killed before that, the
        next version would take the database for that of an older build.
        """
        with _named(migration), self._whole(migration):
            applied = super().apply_migration(state, migration, *args, **options)
            if migration.replaces:
                self.recorder.record_applied(migration.app_label, migration.name)
            return applied

    def unapply_migration(self, state: Any, migration: Migration, *args: Any, **options: Any) -> Any:
        """As `apply_migration`."""
        with _named(migration), self._whole(migration):
            return super().unapply_migration(state, migration, *args, **options)

    def _whole(self, migration: Migration) -> AbstractContextManager[object]:
        return transaction.atomic(using=self.connection.alias) if migration.atomic else nullcontext()


@contextmanager
def _named(migration: Migration) -> Iterator[None]:
    try:
        yield
    except Error as error:
        error.add_note(f"migration {migration} failed")
        raise


# Django's command takes the executor from its own module and offers no other way to replace it.
vars(migrate)["MigrationExecutor"] = AtomicExecutor


class Command(migrate.Command):
    """Django's command with `AtomicExecutor`."""

    def handle(self, *args: Any, **options: Any) -> None:
        """As in Django. Raises CommandError, one line: only an older build can complete the migrations."""
        if fault := older_build():
            raise CommandError(fault)
        super().handle(*args, **options)
