"""Databases of older builds, whose migrations the first migration of each app replaces."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from opsapi.postgresql.migrations import LAST_BUILD, unapplied_migrations
from tests.each import each

pytestmark = pytest.mark.django_db
REPLACEMENTS = MigrationLoader(None).replacements


def forget(*migrations: tuple[str, str]) -> None:
    """Remove the records of migrations that are applied."""
    recorder = MigrationRecorder(connection)
    for app, name in migrations:
        recorder.record_unapplied(app, name)


def test_a_database_with_all_replaced_migrations_is_migrated() -> None:
    assert {app for app, _ in REPLACEMENTS} >= {
        "accesslist",
        "alerting",
        "automation",
        "events",
        "integrations",
    }
    forget(*REPLACEMENTS)
    assert unapplied_migrations() == 0
    call_command("prepare")


@each("key", REPLACEMENTS)
def test_a_database_with_some_of_them_is_refused_with_the_build_to_install(key: tuple[str, str]) -> None:
    later = REPLACEMENTS[key].replaces[1:]
    forget(key, *later)
    assert unapplied_migrations() >= len(later)
    for command in ("prepare", "migrate"):
        with pytest.raises(CommandError) as caught:
            call_command(command)
        assert ".".join(later[0]) in str(caught.value)
        assert LAST_BUILD in str(caught.value)
    assert not MigrationRecorder(connection).migration_qs.filter(app=key[0], name=later[0][1]).exists()
