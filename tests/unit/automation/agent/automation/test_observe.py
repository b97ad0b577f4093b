"""A process as its own answers show it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import bson
import pytest

from automation.agent.automation.builds import Builds, DocumentBuilds, this_kind
from automation.agent.automation.observe import observe
from automation.agent.automation.part import read_part
from automation.agent.automation.places import ProcessPlaces, StartRecord
from automation.agent.automation.seen_fleet import SeenProcess, SeenState
from automation.agent.automation.servers import NO_COMMAND, NOT_INITIATED, ManagedServer
from automation.plan.data_moves import resync_hold
from automation.plan.guards import unit_state
from automation.plan.values import (
    GoalProcess,
    GoalUnit,
    KeyFile,
    MemberConfig,
    MemberState,
    ObservedFleet,
    ObservedProcess,
    ObservedSet,
)
from tests.each import each
from tests.factories.documents import document, process

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def pid(tmp_path: Path) -> Iterator[int]:
    """A process with the name of a server, which has the lock file of the data open and is named there."""
    command = ["mongod", "-c", "input()"]
    lock = tmp_path / "data" / "mongod.lock"
    lock.parent.mkdir()
    with (
        lock.open("w") as opened,
        subprocess.Popen(
            command, executable=sys.executable, stdin=subprocess.PIPE, pass_fds=[opened.fileno()]
        ) as running,
    ):
        try:
            lock.write_text(f"{running.pid}\n")
            yield running.pid
        finally:
            running.kill()


def standalone(pid: int) -> Mapping[str, Any]:
    """The answers of a standalone server."""
    return {
        "buildInfo": {"version": "7.0.2"},
        "serverStatus": {"pid": pid, "uptimeMillis": 60_000},
        "getParameter": {"featureCompatibilityVersion": {"version": "7.0"}},
        "getCmdLineOpts": {"parsed": {"config": "/a", "net": {"port": 27017}}},
    }


class AnsweringServer:
    """A server with these answers by command; without an answer it does not answer."""

    def __init__(self, answers: Mapping[str, Any] | None) -> None:
        self.answers = answers

    def hello(self) -> Mapping[str, Any] | None:
        return None if self.answers is None else {"isWritablePrimary": True}

    def answer(self, command: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, int]:
        return (self.answers or {}).get(next(iter(command))), 0


class _UninitiatedServer(AnsweringServer):
    """A server with the name of a replica set that is not initiated."""

    def hello(self) -> Mapping[str, Any] | None:
        return {"isreplicaset": True}

    def answer(self, command: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, int]:
        return (None, NOT_INITIATED) if "replSetGetStatus" in command else super().answer(command)


class _MemberServer(AnsweringServer):
    """A member in the state `myState` of its answers, without the commands that its answers lack."""

    def hello(self) -> Mapping[str, Any] | None:
        return {"setName": "rs"}

    def answer(self, command: Mapping[str, Any], **_: Any) -> tuple[Mapping[str, Any] | None, int]:
        answer, _code = super().answer(command)
        return answer, 0 if answer is not None else NO_COMMAND


class _SecuredServer(AnsweringServer):
    """A server with a key file, as its answers say."""

    @property
    def refuses_key(self) -> bool:
        return bool((self.answers or {}).get("refuses"))


def seen(
    directory: Path,
    answers: Mapping[str, Any] | None,
    kind: type[AnsweringServer] = AnsweringServer,
    auth: Mapping[str, Any] | None = None,
) -> SeenProcess:
    """The process below the directory, at a server with these answers. `auth`: the section."""
    settings = {"net": {"port": 27017}, "storage": {"dbPath": str(directory / "data")}}
    sent = document(
        options={"downloadBase": str(directory)},
        processes=[process(hostname="127.0.0.1", args2_6=settings)],
        auth=auth,
    )
    (managed,) = read_part(sent, "127.0.0.1", [directory]).processes.values()
    return observe(
        managed,
        cast("ManagedServer", kind(answers)),
        ProcessPlaces(directory, "db_1"),
        DocumentBuilds(Builds(directory, [directory]), {}, this_kind()),
        versions=["7.0.2"],
        failure=None,
        now=NOON,
    )


def test_a_server_that_answers_is_seen_as_it_runs(tmp_path: Path, pid: int) -> None:
    found = seen(tmp_path, standalone(pid))
    assert found.pid == pid
    assert found.process.state is MemberState.STANDALONE
    assert (found.process.version, found.process.feature_version) == ("7.0.2", "7.0")
    assert found.process.settings == {"net.port": "27017"}
    assert found.process.started == NOON.replace(hour=11, minute=59)


def test_a_server_at_the_address_with_another_process_is_not_the_one_to_stop(
    tmp_path: Path, pid: int
) -> None:
    assert seen(tmp_path, standalone(pid + 1)).pid is None


def test_a_process_that_does_not_answer_is_not_taken_for_stopped(tmp_path: Path, pid: int) -> None:
    found = seen(tmp_path, None)
    assert (found.process.is_running, found.pid) == (True, pid)
    assert (found.process.state, found.process.settings, found.process.version) == (None, None, None)


def test_a_stopped_process_has_the_version_that_the_agent_started(tmp_path: Path) -> None:
    ProcessPlaces(tmp_path, "db_1").write_record(StartRecord("7.0.2", NOON))
    found = seen(tmp_path, None)
    assert found.process.is_running is False
    assert (found.process.version, found.process.restart) == ("7.0.2", NOON)
    assert found.process.has_data is False


@each(
    ("has_failed", "has_data", "expected"),
    [(True, True, "5.0"), (False, True, None), (True, False, None)],
    ids=str,
)
def test_a_stopped_process_has_its_last_feature_version_after_a_start_that_failed(
    tmp_path_factory: pytest.TempPathFactory, has_failed: bool, has_data: bool, expected: str | None
) -> None:
    directory = tmp_path_factory.mktemp("stopped")
    places = ProcessPlaces(directory, "db_1")
    places.write_config({}, "6.0.5")
    places.note_running(ObservedProcess(version="6.0.5", feature_version="5.0"), None, None)
    if has_failed:
        places.note_failed_start()
    (directory / "data").mkdir()
    if has_data:
        (directory / "data" / "storage.bson").touch()
    found = seen(directory, None).process
    assert (found.version, found.has_data, found.feature_version) == ("6.0.5", has_data, expected)
    places.note_running(ObservedProcess(version="6.0.5", feature_version="5.0"), None, None)
    assert not places.read_record().has_failed


def test_an_empty_directory_of_a_process_that_had_data_means_that_the_data_is_gone(tmp_path: Path) -> None:
    places = ProcessPlaces(tmp_path, "db_1")
    places.note_running(ObservedProcess(version="6.0.5", has_data=False), None, None)
    assert not seen(tmp_path, None).process.is_data_gone
    places.note_running(ObservedProcess(version="6.0.5", has_data=True), None, NOON)
    places.note_running(ObservedProcess(version="6.0.5"), None, None)  # Its state is not known at the moment.
    gone = seen(tmp_path, None).process
    assert (gone.has_data, gone.is_data_gone) == (False, True)
    # A lastResync that the document had while the data was there does not agree to an empty start.
    assert gone.resync == NOON
    (tmp_path / "data.before-resync-20991121T120000Z").mkdir()
    assert not seen(tmp_path, None).process.is_data_gone
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "storage.bson").touch()
    (tmp_path / "data.before-resync-20991121T120000Z").rmdir()
    assert not seen(tmp_path, None).process.is_data_gone


def test_the_age_of_data_and_old_data_are_seen_of_servers_that_run_and_of_stopped_servers(
    tmp_path: Path, pid: int
) -> None:
    ProcessPlaces(tmp_path, "db_1").write_record(StartRecord("7.0.2", resync=NOON))
    assert seen(tmp_path, standalone(pid)).process.data_since is None
    (tmp_path / "data" / "storage.bson").touch()
    os.utime(tmp_path / "data" / "storage.bson", (NOON.timestamp(), NOON.timestamp()))
    (tmp_path / "data.before-resync-20991121T120000Z").mkdir()
    found = [seen(tmp_path, standalone(pid)).process]
    (tmp_path / "data" / "mongod.lock").unlink()
    found.append(seen(tmp_path, None).process)
    assert [each_time.is_running for each_time in found] == [True, False]
    assert {(each_time.data_since, each_time.resync, each_time.has_old_data) for each_time in found} == {
        (NOON, NOON, True)
    }


def test_a_busy_server_keeps_the_age_of_its_data_so_that_its_initial_sync_counts_as_done(
    tmp_path: Path, pid: int
) -> None:
    ProcessPlaces(tmp_path, "db_1").write_record(StartRecord("7.0.2", NOON, resync=NOON, compacted=NOON))
    (tmp_path / "data" / "storage.bson").touch()
    os.utime(tmp_path / "data" / "storage.bson", (NOON.timestamp(), NOON.timestamp()))
    (tmp_path / "data.before-resync-20991121T120000Z").mkdir()
    busy = seen(tmp_path, None).process
    assert (busy.is_running, busy.state, busy.version) == (True, None, None)
    assert (busy.restart, busy.resync, busy.compacted, busy.data_since) == (NOON, NOON, NOON, NOON)
    assert busy.has_old_data
    goal = GoalProcess("db_1", replica_set="rs", resync=NOON)
    of_set = ObservedSet(config=(MemberConfig("db_1"), MemberConfig("db_2", 1)))
    state = unit_state(GoalUnit((goal,), "rs"), ObservedFleet(NOON, {"db_1": busy}, {"rs": of_set}))
    assert resync_hold(state, goal) is None


def test_a_server_that_refuses_questions_leaves_facts_unknown(tmp_path: Path) -> None:
    found = seen(tmp_path, {})
    assert found.process.is_running is True
    assert (found.process.settings, found.process.settable, found.process.version) == (None, None, None)


@each(
    ("collections", "was_empty", "has_data"),
    [(3, True, True), (3, False, True), (0, True, False), (0, False, None), (None, False, None)],
)
def test_only_a_server_that_began_as_an_empty_member_has_no_data(
    tmp_path_factory: pytest.TempPathFactory, collections: int | None, was_empty: bool, has_data: bool | None
) -> None:
    directory = tmp_path_factory.mktemp("member")
    ProcessPlaces(directory, "db_1").write_record(StartRecord("7.0.2", was_empty=was_empty))
    counts = {} if collections is None else {"catalogStats": {"collections": collections}}
    answers = {**standalone(1), "serverStatus": counts}
    found = seen(directory, answers, _UninitiatedServer)
    assert (found.process.state, found.process.has_data) == (MemberState.UNINITIATED, has_data)


@each(
    ("change", "target"),
    [
        ({"targetVersion": "7.0"}, "7.0"),
        ({"targetVersion": "6.0", "previousVersion": "7.0"}, "6.0"),
        ({"previousVersion": "7.0"}, None),
    ],
)
def test_a_feature_version_that_changes_is_not_known_but_its_target_is(
    tmp_path_factory: pytest.TempPathFactory, change: Mapping[str, str], target: str | None
) -> None:
    answers = {
        **standalone(1),
        "getParameter": {"featureCompatibilityVersion": {"version": "6.0", **change}},
    }
    found = seen(tmp_path_factory.mktemp("changes"), answers).process
    assert (found.feature_version, found.feature_target) == (None, target)


MAJORITY = {"defaultWriteConcern": {"w": "majority", "wtimeout": 0}}
TEXTS = {"defaultWriteConcern": '{"w": "majority", "wtimeout": 0}'}


@each(
    ("state", "answer", "concern"),
    [
        (1, {**MAJORITY, "defaultWriteConcernSource": "global"}, TEXTS),
        (2, {**MAJORITY, "defaultWriteConcernSource": "implicit"}, {}),
        (2, MAJORITY, TEXTS),
        (1, None, {}),
        (7, {}, None),
        (3, MAJORITY, None),
    ],
)
def test_the_default_concern_is_as_members_with_data_say(
    tmp_path_factory: pytest.TempPathFactory, state: int, answer: Any, concern: Any
) -> None:
    answers = {**standalone(1), "replSetGetStatus": {"myState": state}, "getDefaultRWConcern": answer}
    found = seen(tmp_path_factory.mktemp("member"), answers, _MemberServer)
    assert found.of_set.concern == concern


def test_a_member_that_does_not_say_its_default_concern_leaves_it_unknown(tmp_path: Path) -> None:
    class _RefusingMember(_MemberServer):
        def answer(self, command: Mapping[str, Any], **_: Any) -> tuple[Mapping[str, Any] | None, int]:
            return (None, 13) if "getDefaultRWConcern" in command else super().answer(command)

    answers = {**standalone(1), "replSetGetStatus": {"myState": 1}}
    assert seen(tmp_path, answers, _RefusingMember).of_set.concern is None


def test_the_other_members_are_as_the_heartbeats_of_this_member_say(tmp_path: Path) -> None:
    def member(name: str, number: int, **fields: Any) -> dict[str, Any]:
        sent = {"name": name, "state": number, "health": 1.0, "lastHeartbeat": NOON, **fields}
        return bson.decode(bson.encode(sent))

    members = [
        member("a:1", 2, self=True),
        member("b:1", 1),
        member("c:1", 8, health=0.0),
        member("d:1", 6),
        member("e:1", 2, lastHeartbeat=datetime(1970, 1, 1, tzinfo=UTC)),
    ]
    # The server said it three seconds after its last heartbeats; its clock does not matter.
    date = bson.decode(bson.encode({"date": NOON + timedelta(seconds=3)}))["date"]
    answers = {**standalone(1), "replSetGetStatus": {"myState": 2, "members": members, "date": date}}
    states = seen(tmp_path, answers, _MemberServer).states
    heard = NOON - timedelta(seconds=3)
    assert states == {
        "b:1": SeenState(True, MemberState.PRIMARY, heard),
        "c:1": SeenState(False, None, heard),
        "d:1": SeenState(None, None, heard),
        "e:1": SeenState(True, MemberState.SECONDARY),
    }
    assert not states["b:1"].is_old(heard)
    assert states["b:1"].is_old(heard + timedelta(seconds=1))
    assert states["e:1"].is_old(heard)
    answers["replSetGetStatus"].pop("date")
    assert seen(tmp_path, answers, _MemberServer).states["b:1"].heard is None


USERS: list[dict[str, Any]] = [
    {"user": name, "db": "shop", "roles": [], "initPwd": "s3cret"} for name in ("app", "reader")
]


@each(
    ("key_file", "answers", "expected"),
    [
        ("a2V5IG9uZQ==", {}, KeyFile.SAME),
        ("b3RoZXI=", {}, KeyFile.DIFFERENT),
        (None, {}, KeyFile.MISSING),
        ("a2V5IG9uZQ==", {"refuses": True}, KeyFile.DIFFERENT),
        ("a2V5IG9uZQ==", {"refuses": True, "getCmdLineOpts": None}, KeyFile.DIFFERENT),
        ("a2V5IG9uZQ==", {"refuses": True, "getCmdLineOpts": {"parsed": {}}}, KeyFile.SAME),
    ],
)
def test_a_key_file_and_the_key_of_a_running_server_are_seen(
    key_file: str | None, answers: Mapping[str, Any], expected: KeyFile, tmp_path: Path, pid: int
) -> None:
    place = tmp_path / "key"
    place.unlink(missing_ok=True)
    if key_file:
        place.touch(0o600)
        place.write_text(key_file)
    auth = {"key": "a2V5IG9uZQ==", "keyfile": str(place)}
    with_key = {"getCmdLineOpts": {"parsed": {"security": {"keyFile": str(place)}}}}
    found = seen(tmp_path, {**standalone(pid), **with_key, **answers}, _SecuredServer, auth)
    assert found.process.key_file is expected


def test_users_that_are_not_as_wanted_are_seen_by_name(tmp_path: Path, pid: int) -> None:
    place = str(tmp_path / "key")
    auth = {"key": "a2V5IG9uZQ==", "keyfile": place, "usersWanted": USERS}
    known = {"users": [{"user": "app", "db": "shop", "roles": []}]}
    with_key = {"getCmdLineOpts": {"parsed": {"security": {"keyFile": place}}}}

    def users(**answers: Any) -> tuple[str, ...] | None:
        return seen(tmp_path, {**standalone(pid), **with_key, **answers}, _SecuredServer, auth).of_set.users

    assert users(usersInfo=known) == ("shop.reader",)
    assert users() is None
    assert users(usersInfo=known, getCmdLineOpts={"parsed": {}}) is None
    assert "s3cret" not in repr(seen(tmp_path, standalone(pid), _SecuredServer, auth))
