"""Whether the database has the tables of this version."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def unapplied_migrations() -> int:
    """How many migrations are still to be applied."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
