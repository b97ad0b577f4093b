"""The part of an automation configuration that an agent carries out, and what it leaves alone."""

from pathlib import Path
from typing import Any

import pytest

from automation.agent.automation.part import MachinePart, read_part
from automation.plan.values import MoveKind
from tests.each import each
from tests.factories.documents import document, process

HOST = "db1.example.com"


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """The only directory that the operator allows."""
    directory = tmp_path / "allowed"
    directory.mkdir()
    return directory


def settings(data: Path, **sections: Any) -> dict[str, Any]:
    return {"net": {"port": 27017}, "storage": {"dbPath": str(data)}, **sections}


def part(allowed: Path, *processes: dict[str, Any], **fields: Any) -> MachinePart:
    """The part of the machine."""
    sent = document(options={"downloadBase": str(allowed / "downloads")}, processes=list(processes), **fields)
    return read_part({"paused": False, "stopped": [], "members": [], **sent}, HOST, [allowed])


def test_a_process_of_the_machine_is_carried_out(allowed: Path) -> None:
    found = part(allowed, process(args2_6=settings(allowed / "data")))
    assert list(found.processes) == ["db_1"]
    assert str(found.processes["db_1"].address) == f"{HOST}:27017"
    assert found.faults == {}


def test_its_alias_is_preferred_for_connections(allowed: Path) -> None:
    found = part(
        allowed, process(hostname="other.example.com", alias=HOST, args2_6=settings(allowed / "data"))
    )
    assert str(found.processes["db_1"].address) == f"{HOST}:27017"


@each(
    ("changes", "word"),
    [
        ({"hostname": "db2.example.com"}, "HOSTNAME"),
        ({"processType": "mongos"}, "sharded"),
        ({"args2_6": {"net": {"port": 27017}}}, "storage.dbPath"),
        ({"args2_6": settings(Path("/elsewhere"))}, "storage.dbPath"),
        ({"args2_6": settings(Path("data"))}, "storage.dbPath"),
    ],
)
def test_it_leaves_a_process_alone_and_says_why(changes: dict[str, Any], word: str, allowed: Path) -> None:
    found = part(allowed, process(**{"args2_6": settings(allowed / "data"), **changes}))
    assert found.processes == {}
    assert word in found.faults["db_1"]


@each("name", ["systemLog", "processManagement", "auditLog"])
def test_a_server_writes_nothing_outside_the_allowed_directories(name: str, allowed: Path) -> None:
    key = "pidFilePath" if name == "processManagement" else "path"
    outside = settings(allowed / "data", **{name: {key: "/etc/passwd"}})
    assert f"{name}.{key}" in part(allowed, process(args2_6=outside)).faults["db_1"]


AUTH = {"key": "a2V5 IG9uZQ==\n", "usersWanted": []}


def test_a_process_gets_its_key_file_below_an_allowed_directory(allowed: Path) -> None:
    listed = process(args2_6=settings(allowed / "data", security={"redactClientLogData": True}))
    managed = part(allowed, listed, auth={**AUTH, "keyfile": str(allowed / "key")}).processes["db_1"]
    assert managed.settings["security"] == {
        "keyFile": str(allowed / "key"),
        "authorization": "enabled",
        "redactClientLogData": True,
    }
    assert (managed.key, managed.key_place) == ("a2V5IG9uZQ==", allowed / "key")
    found = part(allowed, listed, auth={**AUTH, "keyfile": "/etc/key"})
    assert (found.processes, "auth.keyfile" in found.faults["db_1"]) == ({}, True)
    (allowed / "link").symlink_to("/etc")
    found = part(allowed, listed, auth={**AUTH, "keyfile": str(allowed / "link" / "key")})
    assert "auth.keyfile" in found.faults["db_1"]


@each("auth", [None, {**AUTH, "disabled": True}, {**AUTH, "key": "short"}])
def test_a_section_that_is_not_carried_out_gives_no_key(auth: dict[str, Any] | None, allowed: Path) -> None:
    stated = None if auth is None else {**auth, "keyfile": str(allowed / "key")}
    managed = part(allowed, process(args2_6=settings(allowed / "data")), auth=stated).processes["db_1"]
    assert (managed.key, managed.key_place, managed.auth) == ("", None, {})
    assert "security" not in managed.settings


def test_a_symbolic_link_does_not_lead_out(allowed: Path, tmp_path: Path) -> None:
    (allowed / "data").symlink_to(tmp_path)
    assert "storage.dbPath" in part(allowed, process(args2_6=settings(allowed / "data"))).faults["db_1"]


def test_the_download_directory_must_be_allowed(allowed: Path) -> None:
    sent = document(processes=[process(args2_6=settings(allowed / "data"))])
    assert "downloadBase" in read_part(sent, HOST, [allowed]).faults["db_1"]


def test_members_on_other_machines_belong_to_the_replica_set(allowed: Path) -> None:
    named = settings(allowed / "data", replication={"replSetName": "rs"})
    other = {"name": "db_0", "hostname": "db2.example.com", "port": 27018, "replicaSetName": "rs"}
    known = {"version": "7.0.14", "featureCompatibilityVersion": "7.0", "disabled": True}
    shard = {"name": "db_3", "hostname": "db3.example.com", "port": 27017, "replicaSetName": "another"}
    found = part(allowed, process(args2_6=named), members=[{**other, **known}, shard])
    managed = found.processes["db_1"]
    first, second = managed.unit.processes
    assert (first.name, first.is_elsewhere, first.version, first.is_disabled) == (
        "db_0",
        True,
        "7.0.14",
        True,
    )
    assert (second.name, second.is_elsewhere) == ("db_1", False)
    assert managed.process_at("db2.example.com:27018") == "db_0"
    assert str(managed.addresses["db_0"]) == "db2.example.com:27018"
    assert [seen.goal.name for seen in found.of_unit(managed.unit)] == ["db_1"]


def test_manual_mode_is_neither_carried_out_nor_a_fault(allowed: Path) -> None:
    found = part(allowed, process(args2_6=settings(allowed / "data"), manualMode=True))
    assert (found.processes, found.faults) == ({}, {})


def test_a_stopped_move_of_its_replica_set_stops_the_process(allowed: Path) -> None:
    named = settings(allowed / "data", replication={"replSetName": "rs"})
    stop = {"process": "db_2", "replicaSetName": "rs", "move": "RESTART", "reason": "it did not start"}
    found = part(allowed, process(args2_6=named), stopped=[stop])
    failure = found.failures["db_1"]
    assert (failure.move, failure.why, failure.goal_number) == (MoveKind.RESTART, "it did not start", 1)
    own = {**stop, "process": "db_1", "move": "START"}
    for stops in ([own, stop], [stop, own]):
        failure = part(allowed, process(args2_6=named), stopped=stops).failures["db_1"]
        assert (failure.move, failure.process) == (MoveKind.START, "db_1")
