"""The database of each process of a run: a copy of the one that was migrated, and quickly emptied."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase

from accesslist.digest.store import begin_remembering
from opsapi import clock
from opsapi.embedded.layout import Layout
from opsapi.sql import execute
from tests.integration.embedded.sql import run_sql
from tests.shared import made_once, run_directory

KEPT = frozenset({"django_content_type", "auth_permission"})
"""Tables that a migration fills."""

_MIGRATED = "test_opsapi"


def use_own_database() -> None:
    """Connect this process to a migrated database that no other process uses."""
    name = f"{_MIGRATED}_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    made_once("migrated", _migrate)
    copy_migrated(name)
    for entry in (settings.DATABASES["default"], connection.settings_dict):
        entry["NAME"] = name


def copy_migrated(name: str) -> None:
    """Make a migrated database of this name, once the fixture `django_db_setup` is there."""
    run_sql(Layout(run_directory()), f"CREATE DATABASE {name} TEMPLATE {_MIGRATED}")


def _migrate(_: Path) -> None:
    """Without a connection left, so that it can be copied."""
    connection.creation.create_test_db(verbosity=0, serialize=False)
    connection.close()


@contextmanager
def emptied_quickly() -> Iterator[None]:
    """In the block a transactional test leaves no rows, as it does with Django's own `flush`.

    That one truncates every table and makes every permission again: 0.2 s each time.
    """
    names = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    deletes = " ".join(f'DELETE FROM "{name}";' for name in sorted(names - KEPT))  # noqa: S608 - our own tables

    def empty(_: TransactionTestCase) -> None:
        execute(f"DO $$ BEGIN {deletes} END $$")
        begin_remembering(clock.now())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield
