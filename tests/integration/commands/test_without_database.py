"""What commands say when the database is away or empty: one line (decisions 3 "shell")."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import DatabaseError
from pytest_django import Settings

from accesslist.models import User

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
    """What the command says when the database answers with the error."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(connection, "cursor", fail)
    with pytest.raises(CommandError) as caught:
        call_command(*command)
    monkeypatch.undo()
    return str(caught.value)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_embedded_database_is_named_with_how_it_is_started(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, command: tuple[str, ...]
) -> None:
    settings.OPSAPI_EMBEDDED_DATABASE, settings.OPSAPI_DATA_DIR = True, "/srv/ops/var"
    line = "the embedded database in /srv/ops/var does not run; in another terminal, make run starts it"
    assert said(monkeypatch, command, GONE) == line
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("server", "named"),
    [
        ({"HOST": "db.example.com", "PORT": "6432"}, "db.example.com, port 6432"),
        ({"HOST": "", "PORT": ""}, "this machine, port 5432"),
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


def test_another_fault_of_the_database_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    line = said(monkeypatch, ("create_key",), DatabaseError("permission denied\nHINT: ask"))
    assert line == "the database cannot be used: permission denied"


def test_a_database_that_was_never_prepared_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MigrationRecorder, "has_table", lambda _: False)
    with pytest.raises(CommandError, match="not prepared yet"):
        call_command("bootstrap")
