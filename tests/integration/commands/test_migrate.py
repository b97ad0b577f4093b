"""Migrations commit as a whole: a start or an upgrade killed at any statement can be repeated."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.core.management.commands import migrate
from django.db import OperationalError, connection, connections, models
from django.db.migrations import AddIndex, CreateModel, Migration
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from opsapi.management.commands.migrate import AtomicExecutor

pytestmark = pytest.mark.django_db(transaction=True)


class KilledError(OperationalError):
    """As if the process ended: the connection is gone, and the transaction in progress is rolled back."""


class KillAt:
    """Ends the migration at its statement of this number."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, execute: Callable[..., Any], *args: Any) -> Any:
        """An execute wrapper of Django's."""
        self.left -= 1
        if self.left == 0:
            raise KilledError
        return execute(*args)


class WithForeignKeys(Migration):
    """Foreign keys and indexes are what Django leaves to the end of a migration."""

    operations = [
        CreateModel("Owner", [("id", models.BigAutoField(primary_key=True))]),
        CreateModel(
            "Pet",
            [
                ("id", models.BigAutoField(primary_key=True)),
                ("owner", models.ForeignKey("killed.Owner", on_delete=models.CASCADE)),
                ("name", models.CharField(max_length=9, unique=True)),
            ],
        ),
        AddIndex("pet", models.Index(fields=["name", "owner"], name="pet_name_owner")),
    ]


class Replacement(Migration):
    """A migration that replaces two others."""

    replaces = [("replaced", "0001"), ("replaced", "0002")]


@pytest.fixture
def _own_connection() -> Iterator[None]:
    """What is killed is not the connection that other tests go on with."""
    others = connections["default"]
    connections["default"] = others.copy()
    yield
    connections["default"].close()
    connections["default"] = others


def is_there() -> list[bool]:
    """Whether each of its tables is there, and whether it counts as applied."""
    tables = connection.introspection.table_names()
    recorded = ("killed", "0001") in MigrationRecorder(connection).applied_migrations()
    return ["killed_owner" in tables, "killed_pet" in tables, recorded]


@pytest.mark.usefixtures("_own_connection")
def test_a_migration_with_foreign_keys_killed_at_any_statement_is_there_whole_or_not_at_all() -> None:
    executor, migration = AtomicExecutor(connection), WithForeignKeys("0001", "killed")
    number = 0
    while not any(is_there()):
        number += 1
        with suppress(KilledError), connection.execute_wrapper(KillAt(number)):
            executor.apply_migration(ProjectState(), migration)
    assert all(is_there())
    assert number > 5
    for number in range(1, 99):
        if not any(is_there()):
            break
        with suppress(KilledError), connection.execute_wrapper(KillAt(number)):
            executor.unapply_migration(ProjectState(), migration)
        assert len(set(is_there())) == 1
    assert not any(is_there())


def test_the_command_uses_the_atomic_executor() -> None:
    assert vars(migrate)["MigrationExecutor"] is AtomicExecutor


@pytest.mark.usefixtures("_own_connection")
def test_a_migration_that_replaces_others_is_recorded_with_these() -> None:
    migration = Replacement("0001_squashed_0002", "replaced")
    executor = AtomicExecutor(connection)
    executor.apply_migration(ProjectState(), migration)
    assert {name for app, name in executor.recorder.applied_migrations() if app == "replaced"} == {
        "0001",
        "0002",
        "0001_squashed_0002",
    }
    executor.unapply_migration(ProjectState(), migration)
