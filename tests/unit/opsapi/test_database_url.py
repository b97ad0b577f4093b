"""DATABASE_URL: which servers and options it names, what is added, and what is refused."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from psycopg.pq import Conninfo

from opsapi.postgresql import url
from opsapi.postgresql.url import database_of
from tests.each import each

START = "postgresql://ada:hunter2@"


def options_of(query: str, servers: str = "db1.example.com") -> dict[str, Any]:
    """The options of a URL with this query."""
    options: dict[str, Any] = database_of(f"{START}{servers}/ops?{query}")["OPTIONS"]
    return options


@each(
    ("given", "host", "port"),
    [
        (f"{START}db1/ops", "db1", ""),
        (f"{START}db1:6432/ops", "db1", "6432"),
        (f"{START}db1,db2,db3/ops", "db1,db2,db3", ""),
        (f"{START}db1:5433,db2,db3:5434/ops", "db1,db2,db3", "5433,5432,5434"),
        (f"{START}db1,db2:5433/ops", "db1,db2", "5432,5433"),
        (f"{START}[2001:db8::1]:5433,[2001:db8::2]/ops", "2001:db8::1,2001:db8::2", "5433,5432"),
        (f"{START}192.0.2.1,192.0.2.2/ops", "192.0.2.1,192.0.2.2", ""),
        ("postgresql://ada:hunter2@//run/postgresql/ops", "/run/postgresql", ""),
        ("postgresql:///ops?host=/run/postgresql&user=ada&password=hunter2", "/run/postgresql", ""),
        ("postgresql:///?host=db1,db2&port=1,2&dbname=ops&user=ada&password=hunter2", "db1,db2", "1,2"),
    ],
)
def test_servers_are_read(given: str, host: str, port: str) -> None:
    found = database_of(given)
    assert (found["HOST"], found["PORT"]) == (host, port)
    assert (found["NAME"], found["USER"], found["PASSWORD"]) == ("ops", "ada", "hunter2")


@each(
    ("query", "name", "value"),
    [
        ("connect_timeout=17", "connect_timeout", "17"),
        ("application_name=007", "application_name", "007"),
        ("tcp_user_timeout=0", "tcp_user_timeout", "0"),
        ("target_session_attrs=any", "target_session_attrs", "any"),
        ("options=-c%20search_path%3Dops", "options", "-c search_path=ops"),
        ("sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem", "sslrootcert", "/etc/ca.pem"),
        ("load_balance_hosts=random", "load_balance_hosts", "random"),
    ],
)
def test_options_of_the_url_are_kept(query: str, name: str, value: str) -> None:
    assert options_of(query)[name] == value
    assert options_of(query, servers="db1,db2")[name] == value


@each(
    ("server", "host", "port"),
    [
        ("%2Fvar%2FRun", "/var/Run", ""),
        ("%2fvar%2frun%2fpostgresql:5433", "/var/run/postgresql", "5433"),
        ("%2Fvar%2Frun,db2", "/var/run,db2", ""),
    ],
)
def test_a_server_can_be_the_directory_of_a_socket(server: str, host: str, port: str) -> None:
    read = database_of(f"postgresql://u@{server}/db")
    assert (read["HOST"], read["PORT"], read["NAME"], read["USER"]) == (host, port, "db", "u")


def test_a_lost_server_is_noticed_in_seconds_and_a_list_of_servers_leads_to_the_primary() -> None:
    alone, several = options_of("sslmode=require"), options_of("sslmode=require", servers="db1,db2")
    assert int(alone["tcp_user_timeout"]) <= 10_000
    assert int(alone["keepalives_idle"]) + 3 * int(alone["keepalives_interval"]) <= 15
    assert "target_session_attrs" not in alone
    assert several["target_session_attrs"] == "read-write"
    assert int(several["connect_timeout"]) < int(alone["connect_timeout"])


@each(
    ("query", "named"),
    [
        ("CONN_MAX_AGE=60", "CONN_MAX_AGE"),
        ("ATOMIC_REQUESTS=true", "ATOMIC_REQUESTS"),
        ("pool=true", "pool"),
        ("assume_role=postgres", "assume_role"),
        ("prepare_threshold=0", "prepare_threshold"),
        ("sslmod=require", "sslmod"),
        ("client_encoding=LATIN1", "client_encoding"),
        ("replication=database", "replication"),
        ("sslmode=", "sslmode"),
        ("connect_timeout=soon", "connect_timeout"),
        ("keepalives_idle=-1", "keepalives_idle"),
        ("sslmode=require&sslmode=disable", "sslmode"),
        ("host=db2", "host"),
        ("user=grace", "user"),
        ("dbname=other", "dbname"),
        ("target_session_attrs=standby", "target_session_attrs"),
        ("target_session_attrs=read-only", "target_session_attrs"),
        ("target_session_attrs=prefer-standby", "target_session_attrs"),
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused_by_name(query: str, named: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refusal:
        options_of(query)
    line = str(refusal.value)
    assert line.startswith("DATABASE_URL: ")
    assert f" {named}" in line
    assert "hunter2" not in line
    assert "\n" not in line


@each(
    "given",
    [
        "mysql://db1/ops",
        "foo",
        f"{START}db1,,db2/ops",
        f"{START}db1:x,db2/ops",
        f"{START}[::1/ops",
        f"{START}db1:x/ops",
    ],
)
def test_what_names_no_server_is_refused_without_the_password(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^DATABASE_URL: ") as refusal:
        database_of(given)
    assert "hunter2" not in str(refusal.value)


def test_every_option_of_libpq_is_passed_on_a_part_of_the_url_or_refused_with_its_reason() -> None:
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    assert known == url.OPTIONS | set(url._PARTS) | set(url._REFUSED)
