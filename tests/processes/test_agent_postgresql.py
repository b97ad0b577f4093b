"""The agent and real PostgreSQL servers: what is measured, what is missing and why, and a real failover."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol

import psycopg
import pytest

from accesslist.models import Project
from automation.agent.engine import HostReading
from automation.agent.postgresql.check import postgresql_steps
from automation.agent.postgresql.connection import read
from automation.agent.postgresql.engine import PostgreSQL
from automation.agent.postgresql.host import PostgresHost
from automation.agent.postgresql.metrics import DEAD_ROWS, NEED_VACUUM, SIZE, SOURCES, MetricQuery
from automation.agent.rates import Why, rounded
from automation.agent.report import bodies_of
from automation.models import Host as PlatformHost
from automation.models import ReplicaSet
from tests.client import ApiClient
from tests.eventually import eventually
from tests.factories.alerting import make_config
from tests.integration.alerting.pipeline import evaluate, statuses
from tests.processes.postgresql import MONITOR, PASSWORD, STRANGER, DebianServer, servers
from tests.processes.postgresql_parity import COMPLETE, columns_of, columns_written

pytestmark = pytest.mark.processes

VERSIONS = [18, pytest.param(15, marks=pytest.mark.postgresql)]
Pair = tuple[DebianServer, DebianServer]


@pytest.fixture(scope="module", params=VERSIONS, ids=str)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A primary and its standby."""
    with servers(request.param, **COMPLETE) as made:
        yield made


class AnyWatch(Protocol):
    """Makes engines, which are closed when the test ends."""

    def __call__(self, *servers: DebianServer, role: str = MONITOR) -> PostgreSQL:
        """An engine for these servers."""


@pytest.fixture
def watch() -> Iterator[AnyWatch]:
    """See there."""
    with ExitStack() as stack:

        def made(*hosts: DebianServer, role: str = MONITOR) -> PostgreSQL:
            engine = PostgreSQL([server.uri(role) for server in hosts])
            stack.callback(engine.close)
            return engine

        yield made


def asked(engine: PostgreSQL) -> Mapping[int, HostReading]:
    """Poll every host; return the readings by port."""
    for host in engine.targets():
        engine.learn(host, host.poll())
    return {reading.address.port: reading for reading in engine.readings()}


def values(reading: HostReading) -> dict[str, float]:
    """The newest value of each metric."""
    return {sample.metric: sample.number for sample in reading.samples}


def lag(reading: HostReading, unit: str = "TIME") -> float:
    """How far a standby is behind; -1 while that is not known."""
    return values(reading).get(f"PG_REPLICATION_LAG_{unit}", -1)


def why(engine: PostgreSQL, server: DebianServer) -> Mapping[str, Why]:
    """Why each metric is or is not reported."""
    return {address.port: found for address, found in engine.why_missing().items()}[server.port]


def missing(engine: PostgreSQL, server: DebianServer, reason: Why) -> set[str]:
    """The metrics that are missing for this reason."""
    return {metric for metric, found in why(engine, server).items() if found is reason}


@contextmanager
def watch_only(server: DebianServer, *sources: MetricQuery, **options: Any) -> Iterator[PostgresHost]:
    """A host of which these statements are asked."""
    with closing(PostgresHost(read(server.uri())[0], sources, **options)) as host:
        yield host


def connections_in_use(host: PostgresHost) -> tuple[float, float]:
    """The number of connections, and their percentage. Connections that just ended can still be counted."""
    found = {sample.metric: sample.number for sample in host.poll().samples}
    return found["CONNECTIONS"], found["CONNECTIONS_PERCENT"]


def source(section: str) -> MetricQuery:
    """A statement of the table."""
    return next(source for source in SOURCES if source.section == section)


def test_each_server_is_reported_with_its_role_set_version_and_uptime(watch: AnyWatch, pair: Pair) -> None:
    primary, standby = pair
    readings = asked(watch(primary, standby))
    identifier = primary.ask("SELECT system_identifier::text FROM pg_control_system()")
    for server, type_name in ((primary, "REPLICA_PRIMARY"), (standby, "REPLICA_SECONDARY")):
        reading = readings[server.port]
        assert (reading.type_name, reading.reachable) == (type_name, True)
        assert reading.replica_set == reading.cluster == identifier
        assert str(reading.version).startswith(f"{server.version}.")
        assert reading.uptime in range(3600)


def test_what_is_reported_of_each_version_is_what_the_page_says(pair: Pair) -> None:
    primary, standby = pair
    found = columns_of(primary, standby)
    written = columns_written()
    assert {heading: written[heading] for heading in found} == found


def test_counters_become_rates_once_there_are_two_samples(watch: AnyWatch, pair: Pair) -> None:
    primary, _ = pair
    engine = watch(primary)
    asked(engine)
    assert why(engine, primary)["PG_ROWS_INSERTED"] is Why.WAITS
    primary.ask("CREATE TABLE IF NOT EXISTS filled (number int)")
    primary.ask("INSERT INTO filled SELECT generate_series(1, 100)")
    eventually(lambda: values(asked(engine)[primary.port])["PG_ROWS_INSERTED"] > 0)
    found = values(asked(engine)[primary.port])
    assert found["CONNECTIONS"] >= 1
    # 3 of 50 are reserved.
    assert found["CONNECTIONS_PERCENT"] == rounded(found["CONNECTIONS"] / 47 * 100)


def test_transactions_and_locks_are_seen_while_they_last(watch: AnyWatch, pair: Pair) -> None:
    primary, _ = pair
    primary.ask("CREATE TABLE IF NOT EXISTS locked (number int)")
    engine = watch(primary)

    def seen() -> tuple[float, float]:
        found = values(asked(engine)[primary.port])
        return found["PG_IDLE_IN_TRANSACTION"], found["PG_LOCKS_WAITING"]

    with closing(primary.connect()) as waiting:
        with primary.connect() as idle, idle.transaction():
            idle.execute("LOCK TABLE locked")
            assert seen() == (1, 0)
            assert values(asked(engine)[primary.port])["PG_LONGEST_TRANSACTION"] > 0
            waiting.pgconn.send_query(b"SELECT * FROM locked")
            eventually(lambda: seen() == (1, 1))
        eventually(lambda: seen() == (0, 0))


def test_databases_are_reported_with_their_sizes_and_dead_rows(watch: AnyWatch, pair: Pair) -> None:
    primary, standby = pair
    never = "autovacuum_enabled = off, autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0"
    primary.ask(f"CREATE TABLE IF NOT EXISTS emptied WITH ({never}) AS SELECT 1 AS number")
    primary.ask("DELETE FROM emptied")

    def databases() -> Mapping[str, Mapping[str, float]]:
        with watch_only(primary) as host:
            found = host.poll().databases or {}
        return {name: {sample.metric: sample.number for sample in samples} for name, samples in found.items()}

    eventually(lambda: databases()["postgres"][DEAD_ROWS] >= 1)
    assert databases()["postgres"][NEED_VACUUM] >= 1
    found = databases()
    assert found.keys() == {"postgres", "closed"}
    assert found["closed"].keys() == {SIZE}  # it lets nobody in, and pg_monitor may ask for its size
    assert found["postgres"][SIZE] == pytest.approx(
        primary.ask("SELECT pg_database_size('postgres')"), rel=0.1
    )
    of_standby = asked(watch(standby))[standby.port].databases or {}
    assert {sample.metric for samples in of_standby.values() for sample in samples} == {SIZE}


def test_databases_are_asked_every_ten_minutes(pair: Pair) -> None:
    primary, _ = pair
    now = [1000.0]
    shown = []
    with watch_only(primary, clock=lambda: now[0]) as host:
        for _ in range(3):
            shown.append(host.poll().databases is not None)
            now[0] += 301
    assert shown == [True, False, True]


def test_a_role_without_pg_monitor_loses_what_it_may_not_see_and_no_more(
    watch: AnyWatch, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    primary, standby = pair
    engine = watch(primary, standby, role=STRANGER)
    asked(engine)
    found = values(asked(engine)[primary.port])
    hidden = {"CONNECTIONS", "CONNECTIONS_PERCENT", "PG_LONGEST_TRANSACTION", "PG_IDLE_IN_TRANSACTION"}
    hidden |= {
        "PG_XMIN_AGE",
        "PG_CRASHED_IN_LAST_HOUR",
        "PG_ARCHIVE_WAITING",
        "PG_ARCHIVE_AGE",
        "PG_WAL_SIZE",
    }
    assert missing(engine, standby, Why.REFUSED) == hidden | {"PG_REPLICATION_CONNECTED"}
    lag = {"PG_REPLICATION_LAG_TIME", "PG_REPLICATION_LAG_BYTES"}
    standbys = {"PG_STANDBYS_CONNECTED", "PG_SYNC_STANDBYS_MISSING"}
    assert missing(engine, primary, Why.REFUSED) == hidden | lag | standbys
    assert {"PG_WAL_BYTES", "PG_XID_AGE", "PG_LOCKS_WAITING"} <= found.keys()
    refused = "pg_ls_archive_statusdir, pg_ls_waldir, pg_stat_activity, pg_stat_replication"
    assert f"refused without pg_monitor: {refused}" in caplog.text


def test_an_idle_primary_has_no_late_standby_and_a_standby_that_stops_to_replay_is_late(
    watch: AnyWatch, pair: Pair
) -> None:
    primary, standby = pair
    engine = watch(primary, standby)
    primary.ask("CREATE TABLE IF NOT EXISTS late (number int)")

    def lags(server: DebianServer) -> tuple[float, float]:
        return lag(asked(engine)[server.port]), lag(asked(engine)[server.port], "BYTES")

    eventually(lambda: lags(standby) == (0, 0))
    assert standby.ask("SELECT pg_last_xact_replay_timestamp() < clock_timestamp()")
    standby.ask("SELECT pg_wal_replay_pause()")
    try:
        primary.ask("INSERT INTO late VALUES (1)")
        eventually(lambda: min(lags(standby)) > 0)
        eventually(lambda: lags(primary)[1] > 0)
    finally:
        standby.ask("SELECT pg_wal_replay_resume()")
    eventually(lambda: lags(standby) == (0, 0))


def test_a_standby_that_is_cut_off_is_as_late_as_what_it_replayed_last(watch: AnyWatch, pair: Pair) -> None:
    primary, standby = pair
    engine = watch(standby)
    primary.ask("CREATE TABLE IF NOT EXISTS cut (number int)")
    eventually(lambda: lag(asked(engine)[standby.port]) == 0)
    known = standby.ask("SHOW primary_conninfo")
    try:
        standby.configure("primary_conninfo", "host=127.0.0.1 port=1")
        eventually(lambda: lag(asked(engine)[standby.port]) > 0)
        assert why(engine, standby)["PG_REPLICATION_LAG_BYTES"] is Why.ABSENT
    finally:
        standby.configure("primary_conninfo", known)
    eventually(lambda: lag(asked(engine)[standby.port]) == 0)


def test_a_column_that_is_gone_loses_its_own_metric_only(pair: Pair) -> None:
    primary, _ = pair
    kept = source("pg_stat_archiver")
    other = source("pg_locks")
    gone = MetricQuery(kept.section, {**kept.columns, "gone": "sum(of_version_99)"}, kept.origin)
    lost = MetricQuery(other.section, {"waiting": "count(of_version_99)"}, other.origin)
    with watch_only(primary, gone, lost, source("pg_stat_wal")) as host:
        host.poll()
        host.poll()
    assert host.missing["PG_ARCHIVE_FAILURES"] is host.missing["PG_WAL_BYTES"] is Why.REPORTED
    assert host.missing["PG_LOCKS_WAITING"] is Why.ABSENT


def test_a_function_that_a_service_lacks_loses_its_own_metric_only(pair: Pair) -> None:
    primary, _ = pair
    # PostgreSQL answers like Amazon Aurora: with the error "feature not supported".
    lacking = replace(
        source("pg_replication_slots"), columns={"lost": "count(*)", "safe": "count(other.public.f())"}
    )
    with watch_only(primary, lacking) as host:
        answer = host.poll()
    assert host.missing["PG_SLOTS_LOST"] is Why.REPORTED
    assert host.missing["PG_SLOT_SAFE_WAL_BYTES"] is Why.ABSENT
    assert not answer.problem


def test_connections_that_a_service_reserves_are_not_of_ordinary_clients(pair: Pair) -> None:
    primary, _ = pair
    with watch_only(primary, source("pg_stat_activity")) as host:
        number, before = connections_in_use(host)
        setting = "rds.rds_superuser_reserved_connections"
        primary.ask(f"ALTER ROLE {MONITOR} SET {setting} = 27")
        try:
            host.close()
            number_after, after = connections_in_use(host)
        finally:
            primary.ask(f"ALTER ROLE {MONITOR} RESET {setting}")
    # 50 connections without 3 of superusers: 47, then 20.
    assert (before, after) == (rounded(number / 47 * 100), rounded(number_after / 20 * 100))


def test_a_statement_that_takes_too_long_loses_its_own_metrics_only(pair: Pair) -> None:
    primary, _ = pair
    slow = MetricQuery("pg_locks", {"waiting": "1"}, "FROM pg_sleep(60)")
    with watch_only(primary, slow, source("pg_database")) as host:
        answer = host.poll()
    assert "pg_locks: canceling statement due to statement timeout" in answer.problem
    assert host.missing["PG_LOCKS_WAITING"] is Why.FAILED
    assert host.missing["PG_XID_AGE"] is Why.REPORTED


def test_a_statement_that_fails_takes_no_answer_of_the_others(pair: Pair) -> None:
    primary, _ = pair
    statements = [
        "SELECT 1 AS a, 'x' AS b, NULL::int AS c, true AS d, 1.5::float8 AS e",
        "SELECT none",
        "SELECT 1 AS a WHERE false",
        "SELECT pg_sleep(60)",
        "SELECT 1/0",
        "SELECT 2 AS a",
    ]
    with closing(read(primary.uri())[0].session()) as session:
        answers = list(session.answers(statements, 60))
        assert session.row("SELECT 3 AS a") == {"a": 3}
    assert [found.sqlstate if isinstance(found, psycopg.Error) else found for found in answers] == [
        {"a": 1, "b": "x", "c": None, "d": True, "e": 1.5},
        "42703",
        {},
        "57014",
        "22012",
        {"a": 2},
    ]


def test_a_session_without_an_answer_in_time_is_lost(pair: Pair) -> None:
    primary, _ = pair
    with closing(read(primary.uri())[0].session()) as session:
        with pytest.raises(psycopg.OperationalError, match="in time"):
            list(session.answers(["SELECT pg_sleep(60)"], 0))
        assert session.is_lost
        with pytest.raises(psycopg.OperationalError):
            list(session.answers(["SELECT 1"], 60))


def test_counters_that_were_reset_lose_their_own_pair_only(watch: AnyWatch, pair: Pair) -> None:
    primary, _ = pair
    engine = watch(primary)
    asked(engine)
    primary.ask("SELECT pg_stat_reset_shared('archiver')")
    asked(engine)
    assert missing(engine, primary, Why.WAITS) == {"PG_ARCHIVE_FAILURES"}


def test_a_server_that_was_restarted_is_asked_in_the_same_round_and_begins_again(
    watch: AnyWatch, pair: Pair
) -> None:
    _, standby = pair
    engine = watch(standby)
    asked(engine)
    asked(engine)
    assert not missing(engine, standby, Why.WAITS)
    standby.stop()
    assert not asked(engine)[standby.port].reachable
    standby.start()
    assert asked(engine)[standby.port].reachable
    assert "PG_WAL_BYTES" in missing(engine, standby, Why.WAITS)


def test_a_server_that_hangs_is_reported_as_unreachable_and_goes_on_to_be_asked(
    watch: AnyWatch, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, standby = pair
    monkeypatch.setattr("automation.agent.postgresql.host.ANSWER_SECONDS", 0.3)
    engine = watch(primary, standby)
    assert asked(engine)[standby.port].reachable
    standby.freeze()
    try:
        readings = asked(engine)
    finally:
        standby.thaw()
    assert (readings[primary.port].reachable, readings[standby.port].reachable) == (True, False)
    assert readings[standby.port].type_name == "REPLICA_SECONDARY"
    eventually(lambda: asked(engine)[standby.port].reachable)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("simple", "another"), "password authentication failed"),
        (("/postgres", "/missing"), 'database "missing" does not exist'),
        (("/postgres", "/postgres?sslmode=require"), "server does not support SSL"),
    ],
)
def test_a_server_that_does_not_let_us_in_is_none_that_is_down(
    pair: Pair, change: tuple[str, str], fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, standby = pair
    uri = standby.uri().replace("postgresql://", "").replace(*change)
    with closing(PostgreSQL([f"postgresql://{uri}"])) as engine:
        reading = asked(engine)[standby.port]
    assert (reading.type_name, reading.reachable) == ("NO_DATA", True)
    assert fault in str(reading.problem)
    assert "another" not in str(reading.problem)
    assert fault in caplog.text
    assert "another" not in caplog.text
    assert PASSWORD not in caplog.text


def test_check_tries_each_server_as_a_round_asks_it(pair: Pair) -> None:
    primary, standby = pair
    uris = [primary.uri(), standby.uri(STRANGER), standby.uri("nobody"), "postgresql://127.0.0.1:1", "no"]
    version = primary.ask("SHOW server_version").split()[0]
    steps = list(postgresql_steps(uris))
    faults = {step.tried: step.fault for step in steps if step.fault}
    assert [step.tried for step in steps if "log-in, is" in step.tried] == [
        f"postgresql {primary.address}: log-in, is no standby of version {version}",
        f"postgresql {standby.address}: log-in, is a standby of version {version}",
    ]
    assert faults.keys() == {
        f"postgresql {standby.address}: statements",
        f"postgresql {standby.address}: log-in",
        "postgresql 127.0.0.1:1: port 1 of 127.0.0.1",
        "OPSAPI_AGENT_POSTGRESQL: connection URI 5",
    }
    assert faults[f"postgresql {standby.address}: statements"].endswith(f": GRANT pg_monitor TO {STRANGER}")
    assert PASSWORD not in str(steps)


def test_check_does_not_quote_a_wrong_password(pair: Pair) -> None:
    primary, _ = pair
    (step,) = [step for step in postgresql_steps([primary.uri(password="wrong-word")]) if step.fault]
    assert step.tried.endswith(": log-in")
    assert "wrong-word" not in str(step)


@pytest.mark.django_db
def test_a_failover_closes_no_primary_when_the_standby_is_promoted(
    watch: AnyWatch, agent: ApiClient, project: Project
) -> None:
    config = make_config(project, eventTypeName="NO_PRIMARY")

    def report(engine: PostgreSQL) -> Sequence[Any]:
        for body in bodies_of(
            list(asked(engine).values()),
            hostname="agent1",
            version="1.0",
            labels={},
            observed=datetime.now(UTC),
        ):
            answer = agent.report(project.id, json.loads(body))
            assert answer.status_code == 202, answer.content
        evaluate()
        hosts = PlatformHost.objects.filter(group_id=project.id)
        return [(host.port, host.type_name, host.down) for host in hosts.order_by("port")]

    with servers(18) as (primary, standby):
        engine = watch(primary, standby)
        ports = sorted([primary.port, standby.port])
        assert report(engine) == sorted(
            [(primary.port, "REPLICA_PRIMARY", False), (standby.port, "REPLICA_SECONDARY", False)]
        )
        (found,) = ReplicaSet.objects.filter(group_id=project.id)
        assert (found.primaries, found.healthy, found.unhealthy) == (1, 2, 0)
        assert statuses(config) == []
        primary.stop()
        assert (primary.port, "REPLICA_PRIMARY", True) in report(engine)
        assert statuses(config) == ["OPEN"]
        standby.ask("SELECT pg_promote()")
        assert (standby.port, "REPLICA_PRIMARY", False) in report(engine)
        assert statuses(config) == ["CLOSED"]
        (found,) = ReplicaSet.objects.filter(group_id=project.id)
        assert (found.primaries, found.healthy, found.unhealthy) == (1, 1, 1)
        assert [port for port, *_ in report(engine)] == ports
