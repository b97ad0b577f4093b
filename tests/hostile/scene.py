"""The content of the database: restored after each attempt, and compared between attempts."""

import json
import re
from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.db import connection

from opsapi.encryption import CannotDecryptError, decrypt
from opsapi.fields import EncryptedField
from opsapi.sql import execute, fetch_rows
from tests.hostile.assailant import COUNTS, IGNORED, OURS

State = Mapping[str, list[str]]
"""Table → its rows as text, in the order of their text."""

_SCHEMA = "scene"
_ID = re.compile(r"\b[0-9a-f]{24}\b")
_TIME = re.compile(r"\b20[0-8]\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?")
"""The times of this run; times in bodies are in 2099."""
_DRAWN = frozenset({"ha1", "public_key", "private_last4", "password"})
"""Columns of a new row that are drawn or salted again each time."""
_PUBLIC_KEY = re.compile(r'("property": "publicKey", "new": |"targetPublicKey": )"\w{6}"')
"""The same in events."""


class HostileScene:
    """The rows that are in the database when it is created."""

    def __init__(self) -> None:
        every = connection.introspection.django_table_names(only_existing=True)
        every.sort(key=COUNTS.__eq__)  # the last, because putting events back writes it
        models = [
            model
            for model in apps.get_models(include_auto_created=True)
            if model.__module__.partition(".")[0] in OURS and model._meta.db_table not in IGNORED
        ]
        self._encrypted = {
            model._meta.db_table: {
                each.name for each in model._meta.fields if isinstance(each, EncryptedField)
            }
            for model in models
        }
        copies = [f'CREATE TABLE {_SCHEMA}."{name}" AS TABLE "{name}"' for name in every]
        put_back = " ".join(
            f'DELETE FROM "{name}"; INSERT INTO "{name}" TABLE {_SCHEMA}."{name}";'  # noqa: S608 - our own names
            for name in every
        )
        _execute(
            f"DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE",
            f"CREATE SCHEMA {_SCHEMA}",
            *copies,
            # Foreign keys are checked at the commit, so that the order of the tables does not matter.
            f"CREATE FUNCTION {_SCHEMA}.put_back() RETURNS void LANGUAGE plpgsql "
            f"AS $$ BEGIN {put_back} END $$",
        )
        self._known = frozenset(_ID.findall(json.dumps(self._rows())))

    def put_back(self) -> None:
        """Make the database what it was."""
        _execute(f"SELECT {_SCHEMA}.put_back()")

    def remove(self) -> None:
        """Take the copies away."""
        _execute(f"DROP SCHEMA {_SCHEMA} CASCADE")

    def state(self) -> State:
        """What there is now; ids, times and keys that are new each time are left out."""
        rows = self._rows()
        gone = {project["id"] for project in rows["accesslist_project"] if project["deleted"]}
        # Nothing is evaluated for a deleted project.
        rows["events_signal"] = [each for each in rows["events_signal"] if each["group_id"] not in gone]
        # A process counts the bytes of reports, and writes their sum every ten minutes.
        rows["automation_storedday"] = []
        return {table: sorted(self._comparable(table, row) for row in rows[table]) for table in rows}

    def _rows(self) -> dict[str, list[dict[str, Any]]]:
        # json_build_object takes no more than 50 tables.
        rows_of = " UNION ALL ".join(
            f'SELECT \'{name}\' AS name, (SELECT json_agg("{name}") FROM "{name}") AS rows'  # noqa: S608 - our own names
            for name in self._encrypted
        )
        [(text,)] = fetch_rows(f"SELECT json_object_agg(name, rows)::text FROM ({rows_of}) AS tables")  # noqa: S608 - our own names
        return {table: found or [] for table, found in json.loads(text).items()}

    def _comparable(self, table: str, row: Mapping[str, Any]) -> str:
        left_out = {"sequence"} if row.get("id") in self._known else {"sequence", *_DRAWN}
        if isinstance(row.get("id"), int):
            left_out.add("id")
        shown = {
            name: _opened(value, row["id"]) if name in self._encrypted[table] else value
            for name, value in row.items()
            if name not in left_out
        }
        text = json.dumps(shown, sort_keys=True, ensure_ascii=False)
        text = _ID.sub(lambda found: found[0] if found[0] in self._known else "<new>", text)
        return _PUBLIC_KEY.sub(r'\1"<new>"', _TIME.sub("<now>", text))


def _opened(value: str | None, owner: str) -> str | None:
    """What is encrypted: encrypted again it looks different."""
    try:
        return value and decrypt(value, owner=owner)
    except CannotDecryptError:
        return value


def _execute(*statements: str) -> None:
    for statement in statements:
        execute(statement)
