"""The machine of a PostgreSQL server, if it is the agent's machine."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Callable

import psycopg

from automation.agent.engine import Sample, ServerAddress
from automation.agent.faults import printable
from automation.agent.machine.reader import LocalMachine
from automation.agent.machine.server import NotHere, ServerClaim, ServerMachine
from automation.agent.postgresql.connection import ANSWER_SECONDS, PostgresSession
from automation.agent.rates import Why

_MOST_TABLESPACES = 1000
_LONGEST_PATH = 4096

_CLAIM = """
SELECT pg_backend_pid() AS pid, inet_client_port() AS port,
       extract(epoch FROM clock_timestamp() - backend_start)::float8 AS age,
       CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE')
            THEN current_setting('data_directory') END AS data,
       ARRAY(SELECT pg_tablespace_location(oid) FROM pg_tablespace
              WHERE starts_with(pg_tablespace_location(oid), '/') ORDER BY 1 LIMIT %s) AS tablespaces
  FROM pg_stat_activity WHERE pid = pg_backend_pid()
"""


class PostgresMachine:
    """The samples of the machine of a server. One thread at a time measures."""

    def __init__(
        self, machine: LocalMachine, address: ServerAddress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` returns monotonic seconds."""
        self._server = ServerMachine(machine, address, clock=clock)

    @property
    def missing(self) -> Mapping[str, Why]:
        """By metric, whether it was reported last time, or why not."""
        return self._server.missing

    @property
    def note(self) -> str:
        """Whether the machine is measured, or why not, after `the machine`."""
        return self._server.note

    def samples(self, session: PostgresSession) -> Sequence[Sample]:
        """The samples of the machine; none of another machine. Raises psycopg.Error: the session is lost."""
        return self._server.measure(session, lambda: _claim_within(session), psycopg.Error)


def _claim_within(session: PostgresSession) -> ServerClaim:
    with session.within(ANSWER_SECONDS):
        return _claim(session)


def _claim(session: PostgresSession) -> ServerClaim:
    """Raises NotHere: the server refuses the statement. Raises psycopg.Error: no session left."""
    try:
        row = session.row(_CLAIM, _MOST_TABLESPACES)
    except psycopg.Error as error:
        if session.is_lost:
            raise
        raise NotHere(f"the server does not describe its process (SQLSTATE {error.sqlstate})") from None
    pid, port, age, data = (row.get(name) for name in ("pid", "port", "age", "data"))
    if not isinstance(pid, int) or not isinstance(age, float) or not isinstance(port, (int, type(None))):
        raise NotHere("the server does not describe its process")
    listener = session.listener
    if port is None and listener is None:
        raise NotHere("the server is connected through a proxy, which hides where it runs")
    directory = printable(data, _LONGEST_PATH)
    places = [printable(path, _LONGEST_PATH) for path in row["tablespaces"]]
    return ServerClaim(
        program="postgres",
        pid=pid,
        client="[local]" if port is None else f"({port})",
        age=age,
        parent=listener if port is None else None,
        data=directory,
        log=f"{directory.rstrip('/')}/pg_wal" if directory else None,
        others=[path for path in places if path],
    )
