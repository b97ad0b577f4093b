"""The lock that shows other workers that a worker is alive."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from alerting.engine import worker
from alerting.engine.leases import PRESENCE_CLASS
from opsapi.sql import execute, fetch_rows
from tests.eventually import eventually

pytestmark = pytest.mark.django_db(transaction=True)

_HOLDERS = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = %s"


@pytest.fixture
def _demoted() -> Iterator[None]:
    """A schema whose functions answer as a standby does."""
    execute("CREATE SCHEMA demoted")
    execute("CREATE FUNCTION demoted.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'")
    yield
    execute("DROP SCHEMA demoted CASCADE")


@pytest.mark.usefixtures("_demoted")
def test_a_worker_leaves_a_standby_and_holds_its_lock_on_the_next_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[Any] = []
    connect = worker.own_connection

    def first_to_a_standby(*, autocommit: bool) -> Any:
        connection = connect(autocommit=autocommit)
        if not opened:
            connection.execute("SET search_path = demoted, pg_catalog")
        opened.append(connection)
        return connection

    monkeypatch.setattr(worker, "own_connection", first_to_a_standby)
    presence, stopping = worker.Presence(), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(presence.hold, stopping)
        try:
            eventually(lambda: len(opened) == 2 and holders(presence), message="the lock is held again")
            assert holders(presence) == [opened[1].info.backend_pid]
            assert opened[0].closed
        finally:
            stopping.set()
        held.result()
    eventually(lambda: not holders(presence), message="the lock is released")


def holders(presence: worker.Presence) -> list[int]:
    """The sessions that hold the lock of the worker."""
    return [pid for (pid,) in fetch_rows(_HOLDERS, [PRESENCE_CLASS, presence.key])]
