"""PostgreSQL in the agent, without a server: connection URIs, replica sets with their names, and reports."""

import logging
import socketserver
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any
from unittest.mock import MagicMock

import psycopg
import pytest

from automation.agent import backups
from automation.agent.__main__ import main
from automation.agent.certificates import ClientCertificate
from automation.agent.engine import HostReading
from automation.agent.engines import Engines
from automation.agent.machine.metrics import MACHINE
from automation.agent.postgresql.check import postgresql_steps
from automation.agent.postgresql.connection import (
    ANSWER_SECONDS,
    STATEMENT_SECONDS,
    Admission,
    PostgresAccess,
    PostgresSession,
    read,
)
from automation.agent.postgresql.engine import PostgreSQL, set_of
from automation.agent.postgresql.host import Hello, PostgresAnswer, PostgresHost, _MetricReader, read_hello
from automation.agent.postgresql.metrics import (
    CAUGHT_UP,
    CERTIFICATE,
    METRICS,
    SERVER,
    SOURCES,
    SUPPORT,
    days_of_support,
)
from automation.agent.rates import Why
from automation.agent.settings import read_settings
from automation.metrics import Engine, Metric
from tests.each import each

SECRET = "s3cret/with:signs"
HELLO = Hello(
    version="18.1",
    number=180_001,
    in_recovery=False,
    cluster_name="",
    uptime=5.5,
    started="2026-01-01 00:00:00+00",
    sees_others=True,
    identifier="7000000000000000001",
)
UNREACHABLE = PostgresAnswer(reachable=False, problem="connection refused")
GOOD = {
    "OPSAPI_AGENT_URL": "http://127.0.0.1:1",
    "OPSAPI_AGENT_GROUP_ID": "0123456789abcdef01234567",
    "OPSAPI_AGENT_PUBLIC_KEY": "ABCDEFGH",
    "OPSAPI_AGENT_PRIVATE_KEY": "a-private-key",
    "OPSAPI_AGENT_HOSTNAME": "agent1.example.com",
    "HOME": "/home/agent",
}


def answered(**changes: Any) -> PostgresAnswer:
    """An answer of a server that says this."""
    return PostgresAnswer(reachable=True, hello=replace(HELLO, **changes))


def readings_of_round(engine: PostgreSQL, *answers: PostgresAnswer) -> list[HostReading]:
    """What a round says, in which the servers answer so, by their order."""
    for host, answer in zip(engine.targets(), answers, strict=True):
        engine.learn(host, answer)
    return list(engine.readings())


def types(readings: Iterable[HostReading]) -> list[tuple[str, bool, str | None]]:
    """Type, whether reachable, and set of each."""
    found = list(readings)
    assert {reading.engine for reading in found} <= {"POSTGRESQL"}
    return [(reading.type_name, reading.reachable, reading.replica_set) for reading in found]


@each(
    ("uri", "addresses"),
    [
        ("postgresql://db1", ["db1:5432"]),
        ("postgres://u:p%40ss@DB1.example.com:6000/app?sslmode=verify-full", ["db1.example.com:6000"]),
        ("postgresql://u@db1:5433,db2,[::1]:5434/app", ["db1:5433", "db2:5432", "[::1]:5434"]),
        ("postgresql://db1,db2/app?port=6000", ["db1:6000", "db2:6000"]),
        ("postgresql://db1/app?hostaddr=192.0.2.7", ["db1:5432"]),
    ],
)
def test_every_host_of_a_uri_is_a_server(uri: str, addresses: list[str]) -> None:
    assert [str(access.address) for access in read(uri)] == addresses


@each(
    ("uri", "address", "socket"),
    [
        ("postgresql:///?host=/run/pg", "db7:5432", "/run/pg/.s.PGSQL.5432"),
        ("postgresql://u:p@%2Frun%2Fpg:5433/app?sslmode=require", "db7:5433", "/run/pg/.s.PGSQL.5433"),
        ("postgresql://db1/app", "db1:5432", None),
    ],
)
def test_a_socket_is_a_server_of_the_machine(uri: str, address: str, socket: str | None) -> None:
    (access,) = read(uri, "DB7")
    assert (str(access.address), access.socket_path) == (address, socket)


def test_the_agent_names_the_server_of_a_socket_after_its_machine() -> None:
    settings = {**GOOD, "OPSAPI_AGENT_POSTGRESQL": "postgresql:///?host=/run/none"}
    (engine,) = Engines(read_settings(settings)).all
    assert [str(host.address) for host in engine.targets()] == ["agent1.example.com:5432"]


def test_the_check_names_the_socket(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {**GOOD, "OPSAPI_AGENT_POSTGRESQL": "postgresql:///?host=/run/none"}.items():
        monkeypatch.setenv(name, value)
    main(["--check"])
    expected = "FAILED  postgresql agent1.example.com:5432: socket /run/none/.s.PGSQL.5432: cannot be opened"
    assert expected in capsys.readouterr().out


@each(
    ("uri", "part"),
    [
        ("postgresql:///app", "directory of the socket"),
        ("postgresql://u@:5433/app", "directory of the socket"),
        ("postgresql://?service=orders", "names a service without a host"),
    ],
)
def test_a_uri_without_a_host_says_what_to_write(uri: str, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        PostgreSQL([uri])


def test_a_service_can_give_everything_but_the_server() -> None:
    (access,) = read("postgresql://db1?service=orders")
    assert access.parameters["service"] == "orders"


def test_a_session_is_with_one_server_read_only_and_bounded() -> None:
    first, second = read(
        "postgresql://u@db1,db2:6000/?target_session_attrs=primary&options=-c%20work_mem%3D1MB"
    )
    assert (first.parameters["host"], first.parameters["port"]) == ("db1", "5432")
    assert (second.parameters["host"], second.parameters["port"]) == ("db2", "6000")
    assert "target_session_attrs" not in first.parameters
    assert first.parameters["dbname"] == "postgres"
    assert first.parameters["options"].startswith("-c work_mem=1MB -c default_transaction_read_only=on")
    assert first.parameters["connect_timeout"] == 2


@each(
    "uri",
    [
        f"host=db1 password={SECRET}",
        "mysql://db1",
        "postgresql:///app",
        "postgresql://u:p@%2Fs3cret@db1/app",
        "postgresql:///app?host=/run/postgresql&hostaddr=192.0.2.7",
        "postgresql:///app?host=run/postgresql",
        f"postgresql://u:{SECRET}@db1/app",
        "postgresql://u:s3cret%zz@db1/app",
        "postgresql://u:s3cret@with@db1/app",
        "postgresql://db1:0/app",
        "postgresql://db1:99999/app",
        "postgresql://db1,db2/app?port=1,2,3",
        "postgresql://db1/app?s3cret=1",
        "postgresql://db_1:5432/app",
    ],
)
def test_what_is_no_uri_is_refused_without_quoting_it(uri: str) -> None:
    with pytest.raises(ValueError, match=r"^connection URI 2 ") as refusal:
        PostgreSQL(["postgresql://db9", uri])
    assert "s3cret" not in str(refusal.value)
    assert "signs" not in str(refusal.value)


@each(
    ("uri", "part"),
    [
        ("postgresql://u:s3cret@db1,my_db,db3/app", "contains an underscore"),
        ("postgresql://u:s3cret@db1,my%20db,db3/app", "is not a host name"),
        ("postgresql://u:s3cret@db1,db2_s3cret%40,db3/app", "is not a host name"),
    ],
)
def test_a_wrong_host_is_named_by_its_place(uri: str, part: str) -> None:
    with pytest.raises(ValueError, match=part) as refusal:
        PostgreSQL([uri])
    assert "has a wrong host 2" in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


def test_a_server_that_is_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="connection URI 2 names db1:5432 again"):
        PostgreSQL(["postgresql://db1", "postgresql://u@db2,DB1:5432"])


def test_no_secret_is_in_a_message_or_a_representation() -> None:
    (access,) = read("postgresql://u:hidden-word@db1/?sslpassword=other-word")
    message = access.explain(psycopg.OperationalError("for hidden-word\n  and other-word"))
    assert message == "for *** and ***"
    assert "word" not in repr(access)


@each(
    ("cluster_name", "name"),
    [
        ("", HELLO.identifier),
        ("15/main", HELLO.identifier),
        ("9.6/x", HELLO.identifier),
        ("orders", "orders"),
    ],
)
def test_a_set_bears_the_cluster_name_unless_it_is_debians(cluster_name: str, name: str) -> None:
    assert set_of(replace(HELLO, cluster_name=cluster_name)) == name


def test_a_server_alone_is_standalone_and_in_no_set() -> None:
    assert types(readings_of_round(PostgreSQL(["postgresql://db1"]), answered(cluster_name="orders"))) == [
        ("STANDALONE", True, None)
    ]


@each(
    ("uris", "answers"),
    [
        (["postgresql://db1", "postgresql://db2"], (answered(has_standbys=True), answered(in_recovery=True))),
        (["postgresql://db1", "postgresql://db2"], (answered(), answered(in_recovery=True))),
        (["postgresql://db1,db2"], (answered(), answered(in_recovery=True))),
    ],
    ids=["seen at the primary", "seen at the standby", "named together"],
)
def test_a_primary_and_its_standby_are_one_set(uris: list[str], answers: tuple[PostgresAnswer, ...]) -> None:
    assert types(readings_of_round(PostgreSQL(uris), *answers)) == [
        ("REPLICA_PRIMARY", True, HELLO.identifier),
        ("REPLICA_SECONDARY", True, HELLO.identifier),
    ]


def test_a_standby_that_is_promoted_is_the_primary_of_the_set_though_nothing_follows_it() -> None:
    engine = PostgreSQL(["postgresql://db1", "postgresql://db2"])
    readings_of_round(engine, answered(has_standbys=True), answered(in_recovery=True))
    assert types(readings_of_round(engine, UNREACHABLE, answered())) == [
        ("REPLICA_PRIMARY", False, HELLO.identifier),
        ("REPLICA_PRIMARY", True, HELLO.identifier),
    ]


def test_the_last_server_of_a_set_stays_its_primary_after_a_start_of_the_agent() -> None:
    engine = PostgreSQL(["postgresql://db1,db2"])
    assert types(readings_of_round(engine, answered(), UNREACHABLE)) == [
        ("REPLICA_PRIMARY", True, HELLO.identifier),
        ("NO_DATA", False, HELLO.identifier),
    ]


def test_a_server_that_never_admits_the_agent_is_reported_with_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = PostgreSQL(["postgresql://db1", "postgresql://db2"])
    refused = PostgresAnswer(reachable=True, problem="password authentication failed")
    found = readings_of_round(engine, refused, UNREACHABLE)
    assert types(found) == [("NO_DATA", True, None), ("NO_DATA", False, None)]
    assert [reading.problem for reading in found] == ["password authentication failed", None]
    assert "db1:5432 cannot be measured: password authentication failed" in caplog.text


def test_a_server_that_refuses_the_agent_is_in_the_set_of_the_other_servers_of_its_uri() -> None:
    engine = PostgreSQL(["postgresql://db1,db2"])
    refused = PostgresAnswer(reachable=True, problem="password authentication failed")
    found = readings_of_round(engine, refused, answered(in_recovery=True))
    assert types(found) == [
        ("NO_DATA", True, HELLO.identifier),
        ("REPLICA_SECONDARY", True, HELLO.identifier),
    ]


def test_an_earlier_session_is_no_observation_of_now() -> None:
    engine = PostgreSQL(["postgresql://db1"])
    readings_of_round(engine, answered(in_recovery=True))
    (reading,) = readings_of_round(engine, PostgresAnswer(reachable=True, problem="too many clients"))
    assert reading == HostReading(
        reading.address, "NO_DATA", reachable=True, engine="POSTGRESQL", problem="too many clients"
    )
    (reading,) = readings_of_round(engine, UNREACHABLE)
    assert types([reading]) == [("REPLICA_SECONDARY", False, HELLO.identifier)]
    assert (reading.version, reading.uptime) == (None, None)


def test_a_server_that_admits_nobody_yet_is_reachable_and_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reject(_: PostgresAccess) -> None:
        raise psycopg.OperationalError("not accepting connections")

    monkeypatch.setattr(PostgresAccess, "session", reject)
    monkeypatch.setattr(PostgresAccess, "admission", lambda *_: Admission.STARTING)
    engine = PostgreSQL(["postgresql://db1"])
    (host,) = engine.targets()
    readings_of_round(engine, answered(has_standbys=True))
    (reading,) = readings_of_round(engine, host.poll())
    assert (types([reading]), reading.version) == ([("NO_DATA", True, None)], None)
    assert "admits no sessions" in str(reading.problem)
    assert "not accepting connections" in str(reading.problem)


def test_only_a_server_without_any_value_has_a_problem() -> None:
    engine = PostgreSQL(["postgresql://db1", "postgresql://db2"])
    partly = replace(answered(), problem="pg_locks: timeout", measured=True)
    first, second = readings_of_round(engine, partly, replace(answered(), problem="x" * 600))
    assert (first.problem, second.problem) == (None, "x" * 500)


def test_a_late_answer_is_reported_with_the_next() -> None:
    engine = PostgreSQL(["postgresql://db1"])
    (host,) = engine.targets()
    engine.learn(host, replace(answered(), databases={"app": ()}))
    engine.learn(host, answered(uptime=7.0))
    (reading,) = engine.readings()
    assert (reading.databases, reading.uptime) == ({"app": ()}, 7)
    assert not engine.readings()


def test_servers_of_one_system_under_different_names_are_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = PostgreSQL(["postgresql://db1", "postgresql://db2"])
    for _ in range(2):
        readings_of_round(engine, answered(cluster_name="a"), answered(cluster_name="b", in_recovery=True))
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [
        "servers of one system identifier have different cluster_name settings, and are reported as different"
        " replica sets: a, b"
    ]


def test_the_table_measures_every_metric_of_postgresql_except_the_machines() -> None:
    machine = {metric for metric in Metric if metric.startswith(("SYSTEM_", "DISK_PARTITION_", "SWAP_"))}
    known = {metric.value for metric in Metric if Engine.POSTGRESQL in metric.spec.engines} - machine
    of_disks = {row.metric for row in MACHINE if row.metric.startswith("PG_")}
    assert set(METRICS) == known - of_disks - {backups.METRIC, backups.UNKNOWN}


def test_every_path_of_the_table_is_a_column_that_some_statement_reads() -> None:
    paths = {f"{source.section}/{name}" for source in SOURCES for name in source.columns}
    named = {path for row in SERVER for path in (*row.sources, row.by) if path}
    assert named <= paths | {CERTIFICATE, SUPPORT}
    assert paths - named == {path for path in paths if path.endswith("/stats_reset")} | {CAUGHT_UP}


def test_either_engine_is_enough() -> None:
    settings = read_settings(
        {**GOOD, "OPSAPI_AGENT_POSTGRESQL": "postgresql://u:hidden@db1  postgresql://db2"}
    )
    assert settings.postgresql == ("postgresql://u:hidden@db1", "postgresql://db2")
    assert settings.mongodb == ()
    assert "hidden" not in repr(settings)


def test_without_psycopg_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("automation.agent.postgresql")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name, value in {**GOOD, "OPSAPI_AGENT_POSTGRESQL": "postgresql://u:hidden@db1"}.items():
        monkeypatch.setenv(name, value)
    assert main(["--check"]) == 1
    assert "FAILED  OPSAPI_AGENT_POSTGRESQL: psycopg 3 is not installed" in capsys.readouterr().out
    assert main(["--once"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("OPSAPI_AGENT_POSTGRESQL: ")
    assert "psycopg[binary]" in line


SAID = {"version": "18.1 (Debian 18.1-1)", "number": 180_001, "cluster_name": "main", "uptime": 5.5}


@each(
    ("uptime", "expected"),
    [(float("nan"), None), (float("inf"), None), ("5", None), (None, None), (-30.0, 0), (5.5, 5)],
)
def test_an_uptime_that_is_none_is_not_reported(uptime: object, expected: int | None) -> None:
    hello = read_hello({**SAID, "uptime": uptime}, "7", has_standbys=False)
    (reading,) = readings_of_round(
        PostgreSQL(["postgresql://db1"]), PostgresAnswer(reachable=True, hello=hello)
    )
    assert (reading.uptime, reading.version) == (expected, "18.1")


@each(("name", "expected"), [(5, "7"), (None, "7"), ("a\x00b\x1b\n", "ab"), (["a"], "7")])
def test_a_name_of_a_set_that_is_no_plain_text_is_created_one(name: object, expected: str) -> None:
    hello = read_hello({**SAID, "in_recovery": True, "cluster_name": name}, "7", has_standbys=False)
    (reading,) = readings_of_round(
        PostgreSQL(["postgresql://db1"]), PostgresAnswer(reachable=True, hello=hello)
    )
    assert reading.replica_set == expected


def test_a_session_that_is_lost_at_the_databases_takes_no_values_read_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = psycopg.OperationalError("the connection is lost")
    session = MagicMock(is_lost=True)
    session.rows.side_effect = session.row.side_effect = lost
    monkeypatch.setattr(_MetricReader, "read", lambda *_: {"x/y": 1.0})
    (access,) = read("postgresql://db1")
    host = PostgresHost(access)
    monkeypatch.setattr(host, "_hello", lambda: (session, HELLO))
    monkeypatch.setattr(host, "_of_agent", lambda *_: {SUPPORT: 5.0})
    answer = host.poll()
    assert [sample.metric for sample in answer.samples] == ["SERVER_SUPPORT_DAYS"]
    assert host.missing["SERVER_SUPPORT_DAYS"] is Why.REPORTED
    assert "databases: the connection is lost; machine: the connection is lost" in answer.problem


def test_counters_of_a_server_with_an_unknown_uptime_are_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    session = MagicMock(is_lost=False)
    session.rows.return_value, session.row.return_value = [], {}
    wal = iter((100.0, 150.0, 200.0))
    monkeypatch.setattr(_MetricReader, "read", lambda *_: {"pg_stat_wal/wal_bytes": next(wal)})
    (access,) = read("postgresql://db1")
    host = PostgresHost(access)
    rates = []
    for uptime in (None, 5.0, 15.0):
        monkeypatch.setattr(host, "_hello", lambda uptime=uptime: (session, replace(HELLO, uptime=uptime)))
        values = {sample.metric: sample.number for sample in host.poll().samples}
        rates.append(values.get("PG_WAL_BYTES"))
    assert rates == [None, None, 5]


def test_a_server_that_was_slow_gets_each_statement_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    now, sent, seconds = [0.0], [], 0.0
    session = MagicMock(is_lost=False)
    session.rows.return_value, session.row.return_value = [], {}

    def answer(statements: Sequence[str], *_: object, together: bool) -> list[dict[str, float]]:
        sent.append(together)
        now[0] += seconds
        return [{} for _ in statements]

    session.answers.side_effect = answer
    (access,) = read("postgresql://db1")
    host = PostgresHost(access, clock=lambda: now[0])
    monkeypatch.setattr(host, "_hello", lambda: (session, HELLO))
    for took in (0, STATEMENT_SECONDS, STATEMENT_SECONDS, 0, 0):
        seconds = took
        host.poll()
    assert sent == [True, True, False, False, True]


def test_no_statement_is_sent_when_the_time_of_a_poll_is_over() -> None:
    wrong = psycopg.errors.UndefinedColumn("no such column")
    now = [0.0]

    def answer(statements: Sequence[str], *_: object, **__: object) -> list[psycopg.Error]:
        now[0] += ANSWER_SECONDS
        return [wrong for _ in statements]

    session = MagicMock()
    session.answers.side_effect = answer
    reader = _MetricReader(SOURCES, {}, HELLO, str, clock=lambda: now[0], together=True)
    assert reader.read(session) == {}
    assert session.answers.call_count == 1
    assert all("no answer" in problem for problem in reader.problems())


def test_one_server_that_cannot_be_read_loses_no_other() -> None:
    engine = PostgreSQL(["postgresql://db1,db2"])
    found = readings_of_round(engine, answered(uptime=float("nan")), answered())
    assert [host.address.hostname for host in found] == ["db2"]


@each(("number", "days"), [(140_023, -1), (150_001, 363), (180_004, 1462), (90_624, None), (990_001, None)])
def test_the_support_of_a_version_ends_on_a_day(number: int, days: int | None) -> None:
    assert days_of_support(number, date(2026, 11, 13)) == days


class _Pooler(socketserver.BaseRequestHandler):
    """Answers like pgbouncer with its defaults."""

    def handle(self) -> None:
        while (start := self.request.recv(8)) and start[4:] in {b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30"}:
            self.request.sendall(b"N")  # neither TLS nor GSSAPI
        if not start:
            return
        self.request.recv(10_000)
        fields = b"SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
        self.request.sendall(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)


def test_check_recognizes_pgbouncer() -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Pooler) as pooler:
        threading.Thread(target=pooler.serve_forever, args=(0.01,)).start()
        try:
            steps = list(postgresql_steps([f"postgresql://u@127.0.0.1:{pooler.server_address[1]}"]))
        finally:
            pooler.shutdown()
    (fault,) = [step.fault for step in steps if step.fault]
    assert "this is pgbouncer, not PostgreSQL" in fault
    assert "password" not in fault


USUAL = ".postgresql/postgresql"
"""The client certificate of libpq, in the home directory, without the end of its name."""


@each(
    ("used", "files", "presented"),
    [
        (
            {"sslcert": "{0}/a.crt", "sslkey": "{0}/a.key", "sslpassword": "x"},
            ["a.crt"],
            ("a.crt", "a.key", "x"),
        ),
        (
            {},
            [".postgresql/postgresql.crt"],
            (".postgresql/postgresql.crt", ".postgresql/postgresql.key", ""),
        ),
        ({}, [], None),
        ({"sslcertmode": "disable"}, [".postgresql/postgresql.crt"], None),
    ],
)
def test_the_certificate_of_the_server_is_asked_for_with_the_certificate_of_the_session(
    tmp_path_factory: pytest.TempPathFactory,
    used: Mapping[str, str],
    files: Sequence[str],
    presented: tuple[str, str, str] | None,
) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in files:
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).touch()
    session = PostgresSession.__new__(PostgresSession)
    options = [
        MagicMock(keyword=name.encode(), val=value.format(home).encode()) for name, value in used.items()
    ]
    session._connection = MagicMock()
    session._connection.pgconn.info = [*options, MagicMock(keyword=b"sslcrl", val=None)]
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("HOME", str(home))
        found = session._own_certificate()
    if presented is None:
        assert found is None
    else:
        certificate, key, password = presented
        assert found == ClientCertificate(f"{home}/{certificate}", f"{home}/{key}", password)
