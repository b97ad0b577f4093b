"""Commands say in one line that the database is away or empty."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import Error, OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import DatabaseError
from pytest_django import Settings

from accesslist.models import User
from opsapi.management.database_error import line_of
from tests.each import each

COMMANDS = [
    ("bootstrap",),
    ("create_key",),
    ("access_list", "list"),
    ("reset_password", "ada"),
    ("reset_second_factor", "ada"),
    ("rotate_encryption",),
    ("demo",),
]
GONE = OperationalError("connection to server failed: Connection refused\n\tIs the server running?")
pytestmark = pytest.mark.django_db


def said(monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], error: DatabaseError) -> str:
    """What manage.py says when the database answers the command with the error."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(connection, "cursor", fail)
    with pytest.raises(Error) as caught:
        call_command(*command)
    line = line_of(caught.value)
    monkeypatch.undo()
    return line


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_embedded_database_is_named_with_how_it_is_started(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, command: tuple[str, ...]
) -> None:
    settings.OPSAPI_EMBEDDED_DATABASE, settings.OPSAPI_DATA_DIR = True, "/srv/ops/var"
    line = "the embedded database in /srv/ops/var is not running; start it with make run in another terminal"
    assert said(monkeypatch, command, GONE) == line
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("server", "named"),
    [
        ({"HOST": "db.example.com", "PORT": "6432"}, "db.example.com, port 6432"),
        ({"HOST": "", "PORT": ""}, "this machine, port 5432"),
        ({"HOST": "db1,db2", "PORT": ""}, "db1, port 5432; db2, port 5432"),
        ({"HOST": "db1,db2", "PORT": "5433,5432"}, "db1, port 5433; db2, port 5432"),
    ],
)
def test_another_server_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, server: dict[str, str], named: str
) -> None:
    settings.OPSAPI_EMBEDDED_DATABASE = False
    for name, value in {**server, "PASSWORD": "hunter2"}.items():
        monkeypatch.setitem(connection.settings_dict, name, value)
    line = said(monkeypatch, ("bootstrap",), GONE)
    reason = "connection to server failed: Connection refused"
    assert line == f"the database server of DATABASE_URL ({named}) cannot be reached: {reason}"


def test_other_database_faults_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    line = said(monkeypatch, ("create_key",), DatabaseError("permission denied\nHINT: ask"))
    assert line == "the database cannot be used: permission denied"


@each("command", COMMANDS, ids=lambda command: command[0])
def test_unapplied_migrations_are_reported(command: tuple[str, ...]) -> None:
    """As while the first start, or an upgrade, applies them."""
    [newest] = MigrationLoader(connection).graph.leaf_nodes("sessions")
    MigrationRecorder(connection).record_unapplied(*newest)
    with pytest.raises(CommandError, match=r"not ready: wait .*manage\.py prepare"):
        call_command(*command)
