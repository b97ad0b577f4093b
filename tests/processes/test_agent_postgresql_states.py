"""Real PostgreSQL servers in broken states: what the agent reports of each of them."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from alerting.configs.presets import Preset
from automation.agent.engine import HostReading
from automation.agent.postgresql.engine import PostgreSQL
from automation.agent.rates import Why
from automation.metrics import Engine, Metric
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.broken_states import (
    KNOWN,
    NOT_MEASURED,
    NOTHING,
    BrokenState,
    above,
    below,
    between,
    exactly,
    says,
)
from tests.processes.postgresql import MONITOR, PASSWORD, STRANGER, DebianServer, servers

pytestmark = pytest.mark.processes

DEBIAN = 15


@dataclass
class WatchedPair:
    """Two servers, and the agent that watches them."""

    primary: DebianServer
    standby: DebianServer
    stack: ExitStack
    engine: PostgreSQL = field(init=False)
    rounds: list[Sequence[HostReading]] = field(default_factory=list)

    def watch(self, options: str = "", password: str = PASSWORD) -> None:
        """Watch both servers as a set, with these options in the connection URI."""
        hosts = f"{self.primary.address},{self.standby.address}"
        uri = self.primary.uri(password=password).replace(self.primary.address, hosts)
        self.watch_with(PostgreSQL([f"{uri}?{options}"]))

    def watch_with(self, engine: PostgreSQL) -> None:
        """Watch with this engine, which has not polled yet."""
        self.engine = engine
        self.stack.callback(engine.close)

    def round(self) -> Mapping[int, HostReading]:
        """Poll both servers; return the readings by port."""
        for host in self.engine.targets():
            self.engine.learn(host, host.poll())
        self.rounds.append(self.engine.readings())
        return {reading.address.port: reading for reading in self.rounds[-1]}

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
    pair.watch_with(PostgreSQL([pair.primary.uri()]))


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


@dataclass(frozen=True, kw_only=True)
class PostgreSQLState(BrokenState):
    """A state of a primary and its standby: `breaks` brings it about, and `facts` are of `server`."""

    engine = Engine.POSTGRESQL

    breaks: Callable[[WatchedPair], None]
    server: str


UNKNOWN = {**NOT_MEASURED, "type": exactly("NO_DATA"), "set": exactly(False)}
OF_KNOWN_SET = {**UNKNOWN, "set": exactly(True)}
"""The other server says to which set both belong."""
PRIMARY, STANDBY = "primary", "standby"

STATES: Mapping[str, PostgreSQLState] = {
    "healthy primary": PostgreSQLState(
        breaks=healthy,
        server=PRIMARY,
        facts={
            "reachable": exactly(True),
            "type": exactly("REPLICA_PRIMARY"),
            "problem": NOTHING,
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
            "SERVER_SUPPORT_DAYS": KNOWN,
        },
    ),
    "healthy standby": PostgreSQLState(
        breaks=healthy,
        server=STANDBY,
        facts={
            "reachable": exactly(True),
            "type": exactly("REPLICA_SECONDARY"),
            "problem": NOTHING,
            "PG_REPLICATION_LAG_TIME": exactly(0),
            "PG_REPLICATION_LAG_BYTES": exactly(0),
            "PG_REPLICATION_CONNECTED": exactly(1),
            "PG_SLOTS_LOST": exactly(0),
            "PG_ARCHIVE_WAITING": exactly(None),
        },
    ),
    "role without LOGIN": PostgreSQLState(
        breaks=role_without_login,
        server=PRIMARY,
        broken_by=f"`ALTER ROLE {MONITOR} NOLOGIN`",
        facts={**OF_KNOWN_SET, "problem": says(f'role "{MONITOR}" is not permitted to log in')},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "changed password": PostgreSQLState(
        breaks=other_password,
        server=PRIMARY,
        broken_by=f"`ALTER ROLE {MONITOR} PASSWORD 'changed'`",
        facts={**OF_KNOWN_SET, "problem": says("authentication failed")},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "rejected by pg_hba.conf": PostgreSQLState(
        breaks=rejected_address,
        server=PRIMARY,
        broken_by="`host all all 127.0.0.1/32 reject` in `pg_hba.conf`",
        facts={**OF_KNOWN_SET, "problem": says("pg_hba.conf rejects")},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "wrong password from the start": PostgreSQLState(
        breaks=wrong_password,
        server=STANDBY,
        broken_by="a wrong password in the settings of the agent",
        facts={**UNKNOWN, "problem": says("password authentication failed")},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "missing root certificate": PostgreSQLState(
        breaks=missing_root_certificate,
        server=PRIMARY,
        broken_by="`sslmode=verify-full&sslrootcert=/nonexistent/root.crt` in the settings of the agent",
        facts={**UNKNOWN, "problem": says('root certificate file "/nonexistent/root.crt" does not exist')},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "certificate of an unknown authority": PostgreSQLState(
        breaks=unknown_authority,
        server=PRIMARY,
        broken_by="`sslmode=verify-full&sslrootcert=system` in the settings of the agent",
        facts={**UNKNOWN, "problem": says("certificate verify failed")},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "certificate that ends tomorrow": PostgreSQLState(
        breaks=certificate_of_a_day,
        server=PRIMARY,
        broken_by="`ssl_cert_file` with a certificate that is valid for a day",
        facts={"problem": NOTHING, "SERVER_CERTIFICATE_DAYS": between(0, 1)},
        raises=[Preset.CERTIFICATE],
    ),
    "server without TLS": PostgreSQLState(
        breaks=server_without_tls,
        server=PRIMARY,
        broken_by="`sslmode=require` in the settings of the agent",
        facts={**UNKNOWN, "problem": says("server does not support SSL")},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "unknown sslmode": PostgreSQLState(
        breaks=unknown_sslmode,
        server=PRIMARY,
        broken_by="`sslmode=verify` in the settings of the agent",
        facts={**UNKNOWN, "problem": says('invalid sslmode value: "verify"')},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "dead primary at the start": PostgreSQLState(
        breaks=dead_primary_at_the_start,
        server=PRIMARY,
        broken_by="`kill -QUIT` of the primary, before the agent starts",
        facts={
            "reachable": exactly(False),
            "type": exactly("NO_DATA"),
            "set": exactly(True),
            "problem": NOTHING,
            "reported": NOTHING,
        },
        raises=[
            Preset.HOST_DOWN,
            Preset.NO_PRIMARY,
            Preset.UNHEALTHY_MEMBERS,
            Preset.STANDBY_DISCONNECTED,
            Preset.STANDBY_LAG,
        ],
        grows=[Metric.PG_REPLICATION_LAG_TIME],
    ),
    "no connection left for the agent": PostgreSQLState(
        breaks=no_slot_for_the_agent,
        server=PRIMARY,
        broken_by="clients use all of `max_connections` that they can have, before the agent starts",
        facts={**OF_KNOWN_SET, "problem": says("connection slots are reserved")},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "standby that accepts no connections": PostgreSQLState(
        breaks=standby_that_admits_nobody,
        server=STANDBY,
        broken_by="`hot_standby = off` and a restart",
        facts={**OF_KNOWN_SET, "problem": says("not accepting connections")},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "standby that never admitted the agent": PostgreSQLState(
        breaks=standby_that_never_admitted_the_agent,
        server=STANDBY,
        broken_by="`hot_standby = off` and a restart, before the agent starts",
        facts={**OF_KNOWN_SET, "problem": says("not accepting connections")},
        raises=[Preset.HOST_NOT_MEASURED],
    ),
    "standby whose write-ahead log is gone": PostgreSQLState(
        breaks=standby_without_write_ahead_log,
        server=STANDBY,
        broken_by="while the standby is stopped, `pg_switch_wal()` and `CHECKPOINT` on the primary",
        facts={
            "reachable": exactly(True),
            "type": exactly("REPLICA_SECONDARY"),
            "PG_REPLICATION_CONNECTED": exactly(0),
            "PG_REPLICATION_LAG_TIME": above(0),
        },
        raises=[Preset.STANDBY_DISCONNECTED, Preset.STANDBY_LAG],
        grows=[Metric.PG_REPLICATION_LAG_TIME],
    ),
    "primary whose standby is down": PostgreSQLState(
        breaks=standby_that_is_down,
        server=PRIMARY,
        broken_by="`kill -QUIT` of the standby",
        facts={"type": exactly("REPLICA_PRIMARY"), "PG_STANDBYS_CONNECTED": exactly(0)},
        raises=[Preset.HOST_DOWN, Preset.UNHEALTHY_MEMBERS],
    ),
    "delayed standby": PostgreSQLState(
        breaks=delayed_standby,
        server=STANDBY,
        broken_by="`recovery_min_apply_delay = 1h`, and a commit on the primary",
        facts={"PG_REPLICATION_LAG_TIME": exactly(0), "PG_REPLICATION_LAG_BYTES": above(0)},
        shown="the delay is intended and is subtracted from the lag",
    ),
    "primary of a delayed standby": PostgreSQLState(
        breaks=delayed_standby,
        server=PRIMARY,
        broken_by="`recovery_min_apply_delay = 1h`, and a commit on the primary",
        facts={"PG_REPLICATION_LAG_TIME": exactly(0), "PG_REPLICATION_LAG_BYTES": above(0)},
        shown="the delay is intended and is subtracted from the lag",
    ),
    "missing synchronous standby": PostgreSQLState(
        breaks=missing_synchronous_standby,
        server=PRIMARY,
        broken_by="`synchronous_standby_names = 'FIRST 2 (*)'` with a single standby",
        facts={"PG_SYNC_STANDBYS_MISSING": exactly(1)},
        raises=[Preset.SYNC_STANDBY_MISSING],
    ),
    "inactive slot": PostgreSQLState(
        breaks=inactive_slot,
        server=PRIMARY,
        broken_by="`pg_create_physical_replication_slot('unused', true)`",
        facts={
            "PG_SLOTS_INACTIVE": exactly(1),
            "PG_SLOTS_LOST": exactly(0),
            "PG_SLOT_SAFE_WAL_BYTES": above(0),
        },
        raises=[Preset.SLOT_INACTIVE],
    ),
    "lost slot": PostgreSQLState(
        breaks=lost_slot,
        server=PRIMARY,
        broken_by="an unused slot, `max_slot_wal_keep_size = 1MB`, `pg_switch_wal()` and `CHECKPOINT`",
        facts={
            "type": exactly("STANDALONE"),
            "PG_SLOTS_LOST": exactly(1),
            "PG_SLOTS_INACTIVE": exactly(0),
        },
        raises=[Preset.SLOT_LOST],
    ),
    "hanging archive_command": PostgreSQLState(
        breaks=hanging_archive_command,
        server=PRIMARY,
        broken_by="an `archive_command` that does not end",
        facts={"PG_ARCHIVE_WAITING": above(0), "PG_ARCHIVE_AGE": above(0)},
        raises=[Preset.ARCHIVE_WAIT],
        grows=[Metric.PG_ARCHIVE_AGE],
    ),
    "failing archive_command": PostgreSQLState(
        breaks=failing_archive_command,
        server=PRIMARY,
        broken_by="`archive_command = 'false'`",
        facts={"PG_ARCHIVE_WAITING": above(0), "PG_ARCHIVE_AGE": above(0)},
        raises=[Preset.ARCHIVE_FAILURES, Preset.ARCHIVE_WAIT],
        grows=[Metric.PG_ARCHIVE_AGE],
    ),
    "no connection left for ordinary clients": PostgreSQLState(
        breaks=full_connections,
        server=PRIMARY,
        broken_by="clients use all of `max_connections` that they can have, after the agent connected",
        facts={"problem": NOTHING, "CONNECTIONS_PERCENT": exactly(100)},
        raises=[Preset.CONNECTIONS],
    ),
    "blocked session": PostgreSQLState(
        breaks=blocked_session,
        server=PRIMARY,
        broken_by="`LOCK TABLE` in an open transaction, and a `SELECT` of the table in another session",
        facts={"PG_LOCKS_WAITING": exactly(1), "PG_LONGEST_LOCK_WAIT": above(0)},
        raises=[Preset.LOCK_WAIT, Preset.LONG_TRANSACTION],
        grows=[Metric.PG_LONGEST_LOCK_WAIT, Metric.PG_LONGEST_TRANSACTION],
    ),
    "old snapshot": PostgreSQLState(
        breaks=old_snapshot,
        server=PRIMARY,
        broken_by="an idle transaction with `REPEATABLE READ`",
        facts={"PG_XMIN_AGE": above(2)},
        raises=[Preset.LONG_TRANSACTION],
        grows=[Metric.PG_LONGEST_TRANSACTION],
    ),
    "crash": PostgreSQLState(
        breaks=crash,
        server=PRIMARY,
        broken_by="`kill -KILL` of the process of a session",
        facts={"reachable": exactly(True), "PG_CRASHED_IN_LAST_HOUR": exactly(1)},
        raises=[Preset.CRASHED],
    ),
}


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
    with (
        servers(request.param, DebianServer.create_copy, **settings) as (primary, standby),
        ExitStack() as stack,
    ):
        primary.configure("archive_command", "true")
        yield WatchedPair(primary, standby, stack)


@pytest.mark.parametrize(("pair", "state"), TRIED, indirect=["pair"])
def test_a_broken_server_is_reported_as_what_it_is(pair: WatchedPair, state: str) -> None:
    row = STATES[state]
    row.breaks(pair)
    server = pair.primary if row.server == PRIMARY else pair.standby

    def unmet() -> list[tuple[str, object]]:
        unmet = row.unmet(pair.facts(server))
        unexpected = row.unexpected(pair.rounds)
        return [*unmet, ("raises", unexpected)] if unexpected else unmet

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
