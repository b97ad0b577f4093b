"""Whether the database is prepared for this version."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def unapplied_migrations() -> int:
    """Return the number of migrations that are not applied yet."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
