"""Migrations that change what is stored, both ways."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accesslist.credentials import use_nonce
from opsapi import clock
from opsapi.sql import execute, fetch_rows

NUMBERED = [("accesslist", "0001_squashed_0011_plain_words")]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _newest_afterwards() -> Iterator[None]:
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    yield
    MigrationExecutor(connection).migrate(newest)


@pytest.mark.slow
@pytest.mark.usefixtures("_newest_afterwards")
def test_used_nonces_stay_used_when_their_table_changes_its_key() -> None:
    newest, now = MigrationExecutor(connection).loader.graph.leaf_nodes(), clock.now()
    assert use_nonce("before", "00000001", now)
    MigrationExecutor(connection).migrate(NUMBERED)
    # The statement of a process that still runs the other version.
    assert not use_nonce("before", "00000001", now)
    assert use_nonce("between", "00000001", now)
    assert len(fetch_rows("SELECT DISTINCT id FROM accesslist_digestuse")) == 2
    MigrationExecutor(connection).migrate(newest)
    assert not use_nonce("before", "00000001", now)
    assert not use_nonce("between", "00000001", now)
    assert use_nonce("between", "00000002", now)
    execute("DELETE FROM accesslist_digestuse")
