"""Polls of a server that answers as the test asks."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from pymongo.errors import AutoReconnect

from automation.agent.engine import MOST_DATABASES, Sample
from automation.agent.mongodb.connection import MongoAccess, MongoSession, read
from automation.agent.mongodb.host import MongoAnswer, MongoHost
from automation.agent.mongodb.metrics import METRICS
from automation.agent.rates import Why
from tests.each import each
from tests.unit.automation.agent.stand_ins import mongod

SIZES = {"dataSize": 10, "storageSize": 5}
SUMS = ("DB_DATA_SIZE_TOTAL", "DB_STORAGE_TOTAL", "MONGO_DISK_SIZE_TOTAL")


def host_at(port: int, credentials: str = "", **more: Any) -> MongoHost:
    """The agent's view of a server."""
    access = read(f"mongodb://{credentials}127.0.0.1:{port}/")
    return MongoHost(access.seeds[0], access, str, **more)


LOGIN = "ada:secret@"


@each("is_optional", [False, True])
def test_a_user_that_may_not_exist_yet_is_left_out_until_it_exists(
    is_optional: bool,
) -> None:
    codes = {"saslStart": 18}
    with mongod(codes, databases_of(1)) as port:
        text = f"mongodb://{LOGIN}127.0.0.1:{port}/?authMechanism=SCRAM-SHA-256"
        access = replace(read(text), is_optional=is_optional)
        with closing(MongoHost(access.seeds[0], access, str)) as host:
            assert host.poll().is_measured is is_optional
            codes["serverStatus"] = codes["getDiagnosticData"] = 13
            assert not host.poll().is_measured
            codes.pop("serverStatus")
            assert host.poll().is_measured is is_optional


def databases_of(count: int) -> Mapping[str, Any]:
    """The answers of a server with databases."""
    return {"listDatabases": databases(count), "dbStats": SIZES}


def databases(count: int) -> Mapping[str, Any]:
    """An answer to listDatabases: the last database is the largest."""
    rows = [{"name": f"db{number:04}", "sizeOnDisk": 1000 + number} for number in range(count)]
    return {"databases": rows, "totalSize": sum(row["sizeOnDisk"] for row in rows)}


def values_in(answer: MongoAnswer) -> dict[str, float]:
    """The values of the server by metric."""
    return {sample.metric: sample.number for sample in answer.samples}


@each(
    ("count", "sums"),
    [
        (2, {"DB_DATA_SIZE_TOTAL": 20, "DB_STORAGE_TOTAL": 10, "MONGO_DISK_SIZE_TOTAL": 2001}),
        (MOST_DATABASES + 209, {"MONGO_DISK_SIZE_TOTAL": 1_939_236}),
    ],
)
def test_a_sum_is_reported_only_if_it_covers_all_databases(count: int, sums: Mapping[str, int]) -> None:
    answers = {"listDatabases": databases(count), "dbStats": SIZES}
    with mongod(answers=answers) as port, closing(host_at(port)) as host:
        found = host.poll()
        states = {metric: host.missing[metric] for metric in SUMS}
    assert {metric: value for metric, value in values_in(found).items() if metric in SUMS} == sums
    assert states == {metric: Why.REPORTED if metric in sums else Why.FAILED for metric in SUMS}


def test_a_size_that_a_database_does_not_show_is_not_taken_as_nothing() -> None:
    answers = {"listDatabases": databases(2), "dbStats": {"storageSize": 5}}
    with mongod(answers=answers) as port, closing(host_at(port)) as host:
        found = values_in(host.poll())
    assert found["DB_STORAGE_TOTAL"] == 10
    assert "DB_DATA_SIZE_TOTAL" not in found


def test_the_largest_databases_are_measured_and_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    answers = {"listDatabases": databases(MOST_DATABASES + 209), "dbStats": SIZES}
    with mongod(answers=answers) as port, closing(host_at(port)) as host:
        found = host.poll()
        host.poll()
    measured = found.databases or {}
    assert len(measured) == MOST_DATABASES
    assert min(measured) == "db0209"
    assert [line for line in caplog.messages if "1209 databases" in line] == [caplog.messages[0]]


def test_the_machine_gives_only_what_the_server_does_not_show() -> None:
    memory = {"MemTotal_kb": 1000, "MemAvailable_kb": 400}
    answers = {
        "getDiagnosticData": {
            "data": {"systemMetrics": {"memory": memory}, "start": datetime.now(UTC), "serverStatus": {}}
        },
        "listDatabases": databases(1),
        "dbStats": {**SIZES, "fsUsedSize": 1, "fsTotalSize": 4},
    }
    now = datetime.now(UTC)
    given = {
        "SYSTEM_MEMORY_USED": 7.0,
        "SYSTEM_MEMORY_FREE": 8.0,
        "DISK_PARTITION_SPACE_FREE": 9.0,
        "SYSTEM_LOAD_1": 10.0,
    }
    machine = Mock(
        missing={"SYSTEM_NETWORK_BYTES_IN": Why.WAITS, **dict.fromkeys(given, Why.REPORTED)},
        samples=lambda *_: [Sample(metric, number, now) for metric, number in given.items()],
    )
    with mongod(answers=answers, localTime=now) as port, closing(host_at(port)) as host:
        host.machine = machine
        answer = host.poll()
    found = values_in(answer)
    assert len(found) == len(answer.samples)
    assert {metric: found[metric] for metric in given} == {**given, "SYSTEM_MEMORY_USED": 600 * 1024}
    assert "DISK_PARTITION_SPACE_USED" not in found, "of another source"
    assert host.missing["SYSTEM_LOAD_1"] is Why.REPORTED
    assert host.missing["SYSTEM_NETWORK_BYTES_IN"] is Why.WAITS


@each("locked", [True, False])
def test_a_lock_of_all_writes_is_reported(locked: bool) -> None:
    answers = {"currentOp": {"inprog": [], **({"fsyncLock": True} if locked else {})}}
    with mongod(answers=answers) as port, closing(host_at(port)) as host:
        found = values_in(host.poll())
    assert found["MONGO_FSYNC_LOCKED"] == locked


@each("delay", [{"secondaryDelaySecs": 60}, {"slaveDelay": 60}, {}])
def test_the_configured_delay_of_a_member_is_no_lag(delay: dict[str, Any]) -> None:
    now = datetime.now(UTC)
    members = [
        {"name": "a:1", "stateStr": "PRIMARY", "optimeDate": now},
        {"name": "b:1", "stateStr": "SECONDARY", "self": True, "optimeDate": now - timedelta(seconds=90)},
    ]
    answers = {"replSetGetStatus": {"members": members}}
    with mongod(answers=answers, setName="rs0", **delay) as port, closing(host_at(port)) as host:
        found = values_in(host.poll())
    assert found["OPLOG_SLAVE_LAG_MASTER_TIME"] == (30 if delay else 90)


@each(
    ("refused", "why", "word"),
    [
        ({"getDiagnosticData": 13, "serverStatus": 13}, Why.REFUSED, "clusterMonitor"),
        ({"hello": 8000}, Why.FAILED, "no hello for you"),
        ({"serverStatus": 8000}, Why.FAILED, "serverStatus"),
    ],
)
def test_metrics_that_were_reported_are_missing_when_nothing_is_measured(
    refused: dict[str, int], why: Why, word: str
) -> None:
    codes: dict[str, int] = {}
    answers = {"listDatabases": databases(2), "dbStats": SIZES}
    with mongod(codes, answers) as port, closing(host_at(port)) as host:
        assert host.poll().is_measured
        assert host.missing["DB_DATA_SIZE_TOTAL"] is Why.REPORTED
        codes.update(refused)
        found = host.poll()
    assert (found.is_reachable, found.is_measured, found.samples) == (True, False, ())
    assert word in found.problem
    assert set(host.missing.values()) <= {why, Why.ABSENT}
    assert host.missing["DB_DATA_SIZE_TOTAL"] is why


def test_a_server_that_is_gone_is_not_reachable() -> None:
    with mongod() as port, closing(host_at(port)) as host:
        assert host.poll().is_reachable
    found = host.poll()
    assert (found.is_reachable, found.is_measured) == (False, False)
    assert host.missing.keys() == METRICS


def test_a_restart_with_a_certificate_of_another_authority_is_a_fault_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = AutoReconnect("certificate verify failed")
    with mongod() as port, closing(host_at(port)) as host:
        assert host.poll().is_measured
        monkeypatch.setattr(MongoSession, "command", Mock(side_effect=failing))
        monkeypatch.setattr(MongoAccess, "tls_fault", lambda *_: "no TLS with the server")
        found = host.poll()
    assert (found.is_reachable, found.is_measured) == (True, False)
    assert "no TLS with the server" in found.problem


def test_a_certificate_that_cannot_be_read_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(MongoAccess, "certificate", Mock(side_effect=OSError("handshake failure")))
    with mongod(answers={"serverStatus": {"uptime": 5}}) as port, closing(host_at(port)) as host:
        for _ in range(2):
            host.poll()
        missing = host.missing["SERVER_CERTIFICATE_DAYS"]
    assert missing is Why.FAILED
    assert len([line for line in caplog.messages if "handshake failure" in line]) == 1
