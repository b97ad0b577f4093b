"""Real PostgreSQL servers in broken states: what the agent reports of each of them."""

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

VERSIONS = [18, *([pytest.param(15, marks=pytest.mark.postgresql)] if LONG else [])]
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
    pair.watch("sslmode=verify-full&sslrootcert=/nonexistent/root.crt")


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


NOT_MEASURED: Mapping[str, Check] = {"reachable": exactly(True), "reported": nothing}
NEVER_MEASURED = {**NOT_MEASURED, "type": exactly("NO_DATA")}
PRIMARY, STANDBY = "primary", "standby"

STATES: Mapping[str, tuple[Callable[[WatchedPair], None], str, Mapping[str, Check]]] = {
    "healthy primary": (
        healthy,
        PRIMARY,
        {"reachable": exactly(True), "type": exactly("REPLICA_PRIMARY"), "problem": nothing},
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
        },
    ),
    "role without LOGIN": (
        role_without_login,
        PRIMARY,
        {
            **NOT_MEASURED,
            "type": exactly("REPLICA_PRIMARY"),
            "problem": says(f'role "{MONITOR}" is not permitted to log in'),
        },
    ),
    "changed password": (
        other_password,
        PRIMARY,
        {**NOT_MEASURED, "type": exactly("REPLICA_PRIMARY"), "problem": says("authentication failed")},
    ),
    "rejected by pg_hba.conf": (
        rejected_address,
        PRIMARY,
        {**NOT_MEASURED, "type": exactly("REPLICA_PRIMARY"), "problem": says("pg_hba.conf rejects")},
    ),
    "wrong password from the start": (
        wrong_password,
        STANDBY,
        {**NEVER_MEASURED, "problem": says("password authentication failed")},
    ),
    "missing root certificate": (
        missing_root_certificate,
        PRIMARY,
        {**NEVER_MEASURED, "problem": says("server does not support SSL")},
    ),
    "server without TLS": (
        server_without_tls,
        PRIMARY,
        {**NEVER_MEASURED, "problem": says("server does not support SSL")},
    ),
    "unknown sslmode": (
        unknown_sslmode,
        PRIMARY,
        {**NEVER_MEASURED, "problem": says('invalid sslmode value: "verify"')},
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
        {**NEVER_MEASURED, "problem": says("connection slots are reserved")},
    ),
    "standby that admits nobody": (
        standby_that_admits_nobody,
        STANDBY,
        {
            **NOT_MEASURED,
            "type": exactly("RECOVERING"),
            "set": exactly(True),
            "problem": says("not accepting connections"),
        },
    ),
    "standby that never admitted the agent": (
        standby_that_never_admitted_the_agent,
        STANDBY,
        {**NOT_MEASURED, "type": exactly("RECOVERING"), "problem": says("not accepting connections")},
    ),
}
"""By state: what breaks the servers, the server that is reported, and the facts of its report."""


@pytest.fixture(params=VERSIONS, ids=str)
def pair(request: pytest.FixtureRequest) -> Iterator[WatchedPair]:
    """A primary and its standby, which nobody watches yet."""
    with servers(request.param, max_connections="10") as (primary, standby), ExitStack() as stack:
        yield WatchedPair(primary, standby, stack)


@pytest.mark.parametrize("state", STATES)
def test_a_broken_server_is_reported_as_what_it_is(pair: WatchedPair, state: str) -> None:
    breaks, role, checks = STATES[state]
    breaks(pair)
    server = pair.primary if role == PRIMARY else pair.standby

    def unmet() -> list[tuple[str, object]]:
        found = pair.facts(server)
        return [(name, found.get(name)) for name, check in checks.items() if not check(found.get(name))]

    eventually(lambda: not unmet(), message=f"{state}: {unmet()}")
    assert PASSWORD not in str(pair.facts(server)["problem"])
