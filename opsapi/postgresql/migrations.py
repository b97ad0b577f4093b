"""Whether the database is prepared for this version. Migrations are named `<app>.<name>`."""

from collections.abc import Collection, Iterable

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

LAST_BUILD = "6994721c"
"""The last commit with the migrations that the first migration of each app replaces."""


def unapplied_migrations() -> int:
    """Return the number of migrations that are not applied yet."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return len(plan) + len(_missing_parts(executor.loader))


def older_build() -> str | None:
    """Return why this version cannot complete the migrations of the database; None if it can.

    A migration that replaces others cannot be applied if only some of them are. Django would leave it out,
    and the tables would be incomplete.
    """
    missing = _missing_parts(MigrationLoader(connection))
    if not missing:
        return None
    return (
        f"an older build of Ops API created the database, and its migration {missing[0]} is not applied:"
        f" install the build of commit {LAST_BUILD}, start it once, then install this version again"
    )


def applied_migrations() -> Collection[str]:
    """Return the migrations that are recorded in the database, in order of their names."""
    return sorted(_names(MigrationLoader(connection).applied_migrations or ()))


def known_migrations() -> Collection[str]:
    """Return the migrations of this version and the migrations that they replace."""
    migrations = MigrationLoader(None).disk_migrations
    replaced = {part for migration in migrations.values() for part in migration.replaces}
    return _names({*migrations, *replaced})


def _missing_parts(loader: MigrationLoader) -> list[str]:
    """Return the replaced migrations that are not applied although others of the same replacement are."""
    applied = loader.applied_migrations or {}
    missing: list[tuple[str, str]] = []
    for _, replacement in sorted(loader.replacements.items()):
        parts = [part for part in replacement.replaces if part not in applied]
        if len(parts) < len(replacement.replaces):
            missing += parts
    return [".".join(part) for part in missing]


def _names(migrations: Iterable[tuple[str, str]]) -> set[str]:
    return {f"{app}.{name}" for app, name in migrations}
