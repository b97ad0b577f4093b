"""Real PostgreSQL servers in broken states: what the agent reports of each of them."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from automation.agent.engine import HostReading
from automation.agent.postgresql.engine import PostgreSQL
from automation.agent.rates import Why
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.postgresql import MONITOR, PASSWORD, STRANGER, DebianServer, servers

pytestmark = pytest.mark.processes

DEBIAN = 15
Check = Callable[[Any], bool]


@dataclass
class WatchedPair:
    """Two servers, and the agent that watches them."""

    primary: DebianServer
    standby: DebianServer
    stack: ExitStack
    engine: PostgreSQL = field(init=False)

    def watch(self, options: str = "", password: str = PASSWORD) -> None:
        """Watch both servers as a set, with these options in the connection URI."""
        hosts = f"{self.primary.address},{self.standby.address}"
        uri = self.primary.uri(password=password).replace(self.primary.address, hosts)
        self.engine = PostgreSQL([f"{uri}?{options}"])
        self.stack.callback(self.engine.close)

    def round(self) -> Mapping[int, HostReading]:
        """Poll both servers; return the readings by port."""
        for host in self.engine.targets():
            self.engine.learn(host, host.poll())
        return {reading.address.port: reading for reading in self.engine.readings()}

    def facts(self, server: DebianServer) -> Mapping[str, Any]:
        """What a round says about a server; `reported` has the metrics that count as reported."""
        reading = self.round()[server.port]
        missing = {address.port: why for address, why in self.engine.why_missing().items()}[server.port]
        return {
            "reachable": reading.reachable,
            "type": reading.type_name,
            "set": reading.replica_set is not None,
            "problem": reading.problem,
            "reported": {metric for metric, why in missing.items() if why is Why.REPORTED},
            **{sample.metric: sample.number for sample in reading.samples},
        }


def watched(pair: WatchedPair) -> None:
    """Watch the healthy servers first."""
    pair.watch()
    readings = pair.round()
    assert all(reading.reachable and reading.samples for reading in readings.values())


def end_sessions(server: DebianServer, role: str = MONITOR) -> None:
    """End the sessions of a role."""
    with server.connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,)
        )


# --- states -------------------------------------------------------------------------------------------


def healthy(pair: WatchedPair) -> None:
    watched(pair)


def role_without_login(pair: WatchedPair) -> None:
    watched(pair)
    pair.primary.ask(f"ALTER ROLE {MONITOR} NOLOGIN")
    end_sessions(pair.primary)


def other_password(pair: WatchedPair) -> None:
    watched(pair)
    pair.primary.ask(f"ALTER ROLE {MONITOR} PASSWORD 'changed'")
    end_sessions(pair.primary)


def rejected_address(pair: WatchedPair) -> None:
    watched(pair)
    pair.primary.let_in("host all all 127.0.0.1/32 reject")
    end_sessions(pair.primary)


def wrong_password(pair: WatchedPair) -> None:
    pair.watch(password="wrong-word")


def missing_root_certificate(pair: WatchedPair) -> None:
    pair.primary.use_tls()
    pair.watch("sslmode=verify-full&sslrootcert=/nonexistent/root.crt")


def unknown_authority(pair: WatchedPair) -> None:
    pair.primary.use_tls()
    pair.watch("sslmode=verify-full&sslrootcert=system")


def certificate_of_a_day(pair: WatchedPair) -> None:
    pair.primary.use_tls()
    pair.watch()


def server_without_tls(pair: WatchedPair) -> None:
    pair.watch("sslmode=require")


def unknown_sslmode(pair: WatchedPair) -> None:
    pair.watch("sslmode=verify")


def dead_primary_at_the_start(pair: WatchedPair) -> None:
    pair.primary.stop()
    pair.watch()


def no_slot_for_the_agent(pair: WatchedPair) -> None:
    fill(pair)
    pair.watch()


def standby_that_admits_nobody(pair: WatchedPair) -> None:
    watched(pair)
    pair.standby.stop()
    pair.standby.write("postgresql.auto.conf", "hot_standby = off\n")
    pair.standby.start(admits=False)


def standby_that_never_admitted_the_agent(pair: WatchedPair) -> None:
    pair.standby.stop()
    pair.standby.write("postgresql.auto.conf", "hot_standby = off\n")
    pair.standby.start(admits=False)
    pair.watch()


def standby_without_write_ahead_log(pair: WatchedPair) -> None:
    pair.standby.stop(signal.SIGINT)
    move_on(pair.primary)
    pair.standby.start()
    pair.watch()


def standby_that_is_down(pair: WatchedPair) -> None:
    watched(pair)
    pair.standby.stop()


def delayed_standby(pair: WatchedPair) -> None:
    pair.standby.configure("recovery_min_apply_delay", "1h")
    eventually(lambda: pair.standby.ask("SHOW recovery_min_apply_delay") == "1h")
    watched(pair)
    pair.primary.ask("CREATE TABLE delayed (number int)")


def missing_synchronous_standby(pair: WatchedPair) -> None:
    watched(pair)
    pair.primary.configure("synchronous_standby_names", "FIRST 2 (*)")


def inactive_slot(pair: WatchedPair) -> None:
    watched(pair)
    pair.primary.ask("SELECT pg_create_physical_replication_slot('unused', true)")
    pair.primary.configure("max_slot_wal_keep_size", "1GB")


def lost_slot(pair: WatchedPair) -> None:
    """Lose the slot of a server that nothing follows any more."""
    pair.standby.stop()
    pair.primary.ask("SELECT pg_create_physical_replication_slot('unused', true)")
    pair.primary.configure("max_slot_wal_keep_size", "1MB")

    def is_lost() -> bool:
        move_on(pair.primary)
        return bool(pair.primary.ask("SELECT wal_status = 'lost' FROM pg_replication_slots"))

    eventually(is_lost)
    pair.engine = PostgreSQL([pair.primary.uri()])
    pair.stack.callback(pair.engine.close)


def hanging_archive_command(pair: WatchedPair) -> None:
    watched(pair)
    pair.primary.configure("archive_command", "while test -f PG_VERSION; do sleep 0.2; done")
    move_on(pair.primary)


def failing_archive_command(pair: WatchedPair) -> None:
    watched(pair)
    pair.primary.configure("archive_command", "false")
    move_on(pair.primary)


def full_connections(pair: WatchedPair) -> None:
    watched(pair)
    fill(pair)


def blocked_session(pair: WatchedPair) -> None:
    watched(pair)
    pair.primary.ask("CREATE TABLE locked (number int)")
    holding, waiting = (pair.stack.enter_context(closing(pair.primary.connect())) for _ in range(2))
    pair.stack.enter_context(holding.transaction(force_rollback=True))
    holding.execute("LOCK TABLE locked")
    waiting.pgconn.send_query(b"SELECT * FROM locked")


def old_snapshot(pair: WatchedPair) -> None:
    watched(pair)
    holding = pair.stack.enter_context(closing(pair.primary.connect()))
    holding.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    pair.stack.enter_context(holding.transaction())
    holding.execute("SELECT 1")
    for _ in range(3):
        pair.primary.ask("SELECT txid_current()")


def crash(pair: WatchedPair) -> None:
    """Kill a session, once the start of the server is long enough ago to be another event."""
    watched(pair)
    up = "SELECT clock_timestamp() - pg_postmaster_start_time() > interval '11 seconds'"
    eventually(lambda: pair.primary.ask(up))
    with closing(pair.primary.connect()) as connection:
        os.kill(connection.info.backend_pid, signal.SIGKILL)


def move_on(server: DebianServer) -> None:
    """Write and remove some files of write-ahead log."""
    for _ in range(3):
        server.ask("SELECT txid_current()")
        server.ask("SELECT pg_switch_wal()")
        server.ask("CHECKPOINT")


def fill(pair: WatchedPair) -> None:
    """Take all connections that ordinary clients can have."""
    while True:
        try:
            connection = psycopg.connect(pair.primary.uri(STRANGER))
        except psycopg.OperationalError:
            return
        pair.stack.enter_context(closing(connection))


# --- what is seen -------------------------------------------------------------------------------------


def exactly(expected: object) -> Check:
    return lambda found: bool(found == expected)


def says(part: str) -> Check:
    return lambda found: found is not None and part in found


def nothing(found: object) -> bool:
    return not found


def above(limit: float) -> Check:
    return lambda found: found is not None and found > limit


def below(limit: float) -> Check:
    return lambda found: found is not None and found < limit


NOT_MEASURED: Mapping[str, Check] = {"reachable": exactly(True), "reported": nothing}
UNKNOWN = {**NOT_MEASURED, "type": exactly("NO_DATA"), "set": exactly(False)}
OF_KNOWN_SET = {**UNKNOWN, "set": exactly(True)}
"""The other server says to which set both belong."""
PRIMARY, STANDBY = "primary", "standby"

STATES: Mapping[str, tuple[Callable[[WatchedPair], None], str, Mapping[str, Check]]] = {
    "healthy primary": (
        healthy,
        PRIMARY,
        {
            "reachable": exactly(True),
            "type": exactly("REPLICA_PRIMARY"),
            "problem": nothing,
            "CONNECTIONS_PERCENT": below(100),
            "PG_STANDBYS_CONNECTED": exactly(1),
            "PG_SYNC_STANDBYS_MISSING": exactly(0),
            "PG_SLOTS_LOST": exactly(0),
            "PG_SLOTS_INACTIVE": exactly(0),
            "PG_REPLICATION_SLOT_RETAINED_BYTES": exactly(0),
            "PG_ARCHIVE_WAITING": exactly(0),
            "PG_ARCHIVE_AGE": exactly(0),
            "PG_LONGEST_LOCK_WAIT": exactly(0),
            "PG_CRASHED_IN_LAST_HOUR": exactly(0),
            "PG_WAL_SIZE": above(0),
            "SERVER_CERTIFICATE_DAYS": exactly(None),
            "SERVER_SUPPORT_DAYS": lambda days: days is not None,
        },
    ),
    "healthy standby": (
        healthy,
        STANDBY,
        {
            "reachable": exactly(True),
            "type": exactly("REPLICA_SECONDARY"),
            "problem": nothing,
            "PG_REPLICATION_LAG_TIME": exactly(0),
            "PG_REPLICATION_LAG_BYTES": exactly(0),
            "PG_REPLICATION_CONNECTED": exactly(1),
            "PG_SLOTS_LOST": exactly(0),
            "PG_ARCHIVE_WAITING": exactly(None),
        },
    ),
    "role without LOGIN": (
        role_without_login,
        PRIMARY,
        {
            **OF_KNOWN_SET,
            "problem": says(f'role "{MONITOR}" is not permitted to log in'),
        },
    ),
    "changed password": (
        other_password,
        PRIMARY,
        {**OF_KNOWN_SET, "problem": says("authentication failed")},
    ),
    "rejected by pg_hba.conf": (
        rejected_address,
        PRIMARY,
        {**OF_KNOWN_SET, "problem": says("pg_hba.conf rejects")},
    ),
    "wrong password from the start": (
        wrong_password,
        STANDBY,
        {**UNKNOWN, "problem": says("password authentication failed")},
    ),
    "missing root certificate": (
        missing_root_certificate,
        PRIMARY,
        {**UNKNOWN, "problem": says('root certificate file "/nonexistent/root.crt" does not exist')},
    ),
    "certificate of an unknown authority": (
        unknown_authority,
        PRIMARY,
        {**UNKNOWN, "problem": says("certificate verify failed")},
    ),
    "certificate that ends tomorrow": (
        certificate_of_a_day,
        PRIMARY,
        {"problem": nothing, "SERVER_CERTIFICATE_DAYS": lambda days: days is not None and 0 < days <= 1},
    ),
    "server without TLS": (
        server_without_tls,
        PRIMARY,
        {**UNKNOWN, "problem": says("server does not support SSL")},
    ),
    "unknown sslmode": (
        unknown_sslmode,
        PRIMARY,
        {**UNKNOWN, "problem": says('invalid sslmode value: "verify"')},
    ),
    "dead primary at the start": (
        dead_primary_at_the_start,
        PRIMARY,
        {
            "reachable": exactly(False),
            "type": exactly("NO_DATA"),
            "set": exactly(True),
            "problem": nothing,
            "reported": nothing,
        },
    ),
    "no connection left for the agent": (
        no_slot_for_the_agent,
        PRIMARY,
        {**OF_KNOWN_SET, "problem": says("connection slots are reserved")},
    ),
    "standby that admits nobody": (
        standby_that_admits_nobody,
        STANDBY,
        {**OF_KNOWN_SET, "problem": says("not accepting connections")},
    ),
    "standby that never admitted the agent": (
        standby_that_never_admitted_the_agent,
        STANDBY,
        {**OF_KNOWN_SET, "problem": says("not accepting connections")},
    ),
    "standby whose write-ahead log is gone": (
        standby_without_write_ahead_log,
        STANDBY,
        {
            "reachable": exactly(True),
            "type": exactly("REPLICA_SECONDARY"),
            "PG_REPLICATION_CONNECTED": exactly(0),
            "PG_REPLICATION_LAG_TIME": above(0),
        },
    ),
    "primary whose standby is down": (
        standby_that_is_down,
        PRIMARY,
        {"type": exactly("REPLICA_PRIMARY"), "PG_STANDBYS_CONNECTED": exactly(0)},
    ),
    "delayed standby": (
        delayed_standby,
        STANDBY,
        {"PG_REPLICATION_LAG_TIME": exactly(0), "PG_REPLICATION_LAG_BYTES": above(0)},
    ),
    "primary of a delayed standby": (
        delayed_standby,
        PRIMARY,
        {"PG_REPLICATION_LAG_TIME": exactly(0), "PG_REPLICATION_LAG_BYTES": above(0)},
    ),
    "missing synchronous standby": (
        missing_synchronous_standby,
        PRIMARY,
        {"PG_SYNC_STANDBYS_MISSING": exactly(1)},
    ),
    "inactive slot": (
        inactive_slot,
        PRIMARY,
        {
            "PG_SLOTS_INACTIVE": exactly(1),
            "PG_SLOTS_LOST": exactly(0),
            "PG_SLOT_SAFE_WAL_BYTES": above(0),
        },
    ),
    "lost slot": (
        lost_slot,
        PRIMARY,
        {
            "type": exactly("STANDALONE"),
            "PG_SLOTS_LOST": exactly(1),
            "PG_SLOTS_INACTIVE": exactly(0),
        },
    ),
    "hanging archive_command": (
        hanging_archive_command,
        PRIMARY,
        {"PG_ARCHIVE_WAITING": above(0), "PG_ARCHIVE_AGE": above(0)},
    ),
    "failing archive_command": (
        failing_archive_command,
        PRIMARY,
        {"PG_ARCHIVE_WAITING": above(0), "PG_ARCHIVE_AGE": above(0)},
    ),
    "no connection left for ordinary clients": (
        full_connections,
        PRIMARY,
        {"problem": nothing, "CONNECTIONS_PERCENT": exactly(100)},
    ),
    "blocked session": (
        blocked_session,
        PRIMARY,
        {"PG_LOCKS_WAITING": exactly(1), "PG_LONGEST_LOCK_WAIT": above(0)},
    ),
    "old snapshot": (old_snapshot, PRIMARY, {"PG_XMIN_AGE": above(2)}),
    "crash": (crash, PRIMARY, {"reachable": exactly(True), "PG_CRASHED_IN_LAST_HOUR": exactly(1)}),
}
"""By state: what breaks the servers, the server that is reported, and the facts of its report."""


NEED_TLS = frozenset(
    {"missing root certificate", "certificate of an unknown authority", "certificate that ends tomorrow"}
)
"""States of servers with TLS, which the embedded PostgreSQL does not have."""
TRIED = [
    *[pytest.param(18, state, id=state) for state in STATES if state not in NEED_TLS],
    *[
        pytest.param(DEBIAN, state, id=f"{state} {DEBIAN}", marks=pytest.mark.postgresql)
        for state in (STATES if LONG else sorted(NEED_TLS))
    ],
]


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[WatchedPair]:
    """A primary and its standby, which nobody watches yet."""
    settings = {"max_connections": "10", "archive_mode": "on"}
    with servers(request.param, **settings) as (primary, standby), ExitStack() as stack:
        primary.configure("archive_command", "true")
        yield WatchedPair(primary, standby, stack)


@pytest.mark.parametrize(("pair", "state"), TRIED, indirect=["pair"])
def test_a_broken_server_is_reported_as_what_it_is(pair: WatchedPair, state: str) -> None:
    breaks, role, checks = STATES[state]
    breaks(pair)
    server = pair.primary if role == PRIMARY else pair.standby

    def unmet() -> list[tuple[str, object]]:
        found = pair.facts(server)
        return [(name, found.get(name)) for name, check in checks.items() if not check(found.get(name))]

    eventually(lambda: not unmet(), message=f"{state}: {unmet()}")
    assert PASSWORD not in str(pair.facts(server)["problem"])


@pytest.mark.parametrize("pair", [18], indirect=True)
def test_a_standby_that_the_primary_turns_away_again_and_again_is_never_connected(pair: WatchedPair) -> None:
    standby_without_write_ahead_log(pair)
    found: list[Mapping[str, Any]] = []

    def polled() -> bool:
        facts = pair.facts(pair.standby)
        # A statement can take too long on a busy machine.
        if {"PG_REPLICATION_CONNECTED", "PG_REPLICATION_LAG_TIME"} <= facts.keys():
            found.append(facts)
        return len(found) >= 50

    eventually(polled)
    assert {facts["PG_REPLICATION_CONNECTED"] for facts in found} == {0}
    assert all(facts["PG_REPLICATION_LAG_TIME"] > 0 for facts in found)
    assert not any("PG_REPLICATION_LAG_BYTES" in facts for facts in found)
