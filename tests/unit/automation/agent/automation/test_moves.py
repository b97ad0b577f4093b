"""Moves that end early, and texts without secrets. Real servers make the moves in tests/processes."""

import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from pymongo.errors import OperationFailure

from automation.agent.automation import data_moves
from automation.agent.automation.builds import Builds, DocumentBuilds, this_kind
from automation.agent.automation.failures import MoveDelayed, MoveFailed, TurnLost
from automation.agent.automation.moved_process import MovedProcess
from automation.agent.automation.moves import Mover
from automation.agent.automation.part import read_part
from automation.agent.automation.places import ProcessPlaces, StartRecord
from automation.agent.automation.process_moves import LAUNCHED
from automation.agent.automation.processes import is_server, running_pid, without_secrets
from automation.agent.automation.seen_fleet import SeenProcess
from automation.agent.automation.servers import ManagedServer, ManagedServers
from automation.agent.automation.work import MoveWork
from automation.agent.engine import ServerAddress
from automation.plan.values import DISTURBING, WITH_TURN, MemberConfig, Move, MoveKind, ObservedProcess
from tests.each import each
from tests.factories.documents import document, process

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)
RUNS = ObservedProcess(is_running=True, version="6.0.5")


PRIMARY, DOWN = 1, 8
"""The numbers of states of members. A member that is down does not answer."""
LONGEST = 600.0
"""Seconds; only a test that fails waits as long."""
MANY = 6
"""More looks at a turn than a move has steps before its first command."""
MADE = {MoveKind.STOP, MoveKind.RESTART, MoveKind.CHANGE_VERSION, MoveKind.RESYNC}


@contextmanager
def running(name: str = "other") -> Iterator[subprocess.Popen[bytes]]:
    """A process with this name."""
    command = [name, "-c", "input()"]
    with subprocess.Popen(command, executable=sys.executable, stdin=subprocess.PIPE) as started:
        try:
            yield started
        finally:
            started.kill()


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is no server."""
    with running() as started:
        yield started


class _CommandedServer:
    """A server that keeps its commands, and answers when it may."""

    def __init__(self, may_answer: Event) -> None:
        self.may_answer, self.commands = may_answer, list[str]()

    def ask(self, command: Mapping[str, Any], *, seconds: float = 0, database: str = "") -> Mapping[str, Any]:
        self.commands.append(next(iter(command)))
        assert self.may_answer.wait(LONGEST)
        raise OperationFailure("it has answered")


class _CountedTurn:
    """A turn that is looked at, until it is lost."""

    def __init__(self, is_lost: Callable[[], bool] = lambda: False) -> None:
        self.is_lost, self.looks = is_lost, 0
        self.is_renewed = Event()
        """The turn has been looked at so often that work has run meanwhile."""

    def keep(self, _: str) -> None:
        self.looks += 1
        if self.is_lost():
            raise TurnLost("another agent has it")
        if self.looks > MANY:
            self.is_renewed.set()


def mover(
    directory: Path,
    seen: SeenProcess,
    turn: _CountedTurn | None = None,
    server: _CommandedServer | None = None,
    program: str = "",
    *,
    now: datetime = NOON,
    monotonic: Callable[[], float] = time.monotonic,
    concern: Mapping[str, Any] | None = None,
    auth: Mapping[str, Any] | None = None,
    resync: datetime | None = None,
    settings: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Mover:
    """The moves of a process below the directory. `program`: the script that is the server, if any.

    `concern`: the default concern of the replica set of the process, and `resync`: the lastResync, if it has
    one. `auth`: the section. `settings`: more settings. `fields`: of the process.
    """
    data = {"storage": {"dbPath": str(directory / "data")}}
    stated: dict[str, Any] = {"net": {"port": 1}, **data, **(settings or {})}
    if concern or resync:
        stated["replication"] = {"replSetName": "orders"}
    fields |= {"lastResync": resync.isoformat()} if resync else {}
    sent = document(
        options={"downloadBase": str(directory)},
        processes=[process(hostname="127.0.0.1", args2_6=stated, defaultRWConcern=concern, **fields)],
        auth=auth,
    )
    (managed,) = read_part(sent, "127.0.0.1", [directory]).processes.values()
    builds: object = DocumentBuilds(Builds(directory, [directory]), {}, this_kind())
    if program:
        (directory / "bin").mkdir(exist_ok=True)
        (directory / "bin" / "mongod").write_text(program)
        (directory / "bin" / "mongod").chmod(0o700)
        builds = _PresentBuild(directory)
    moved = MovedProcess(
        managed,
        cast("ManagedServer", server) if server else ManagedServers(()).server(managed.address),
        ProcessPlaces(directory, "db_1"),
        see=lambda: seen,
        work=MoveWork((turn or _CountedTurn()).keep, monotonic, pause=0.01),
        member=lambda address: cast("ManagedServer", cast("_Member", server).member(address)),
    )
    return Mover(moved, cast("DocumentBuilds", builds), now=now, allowed=[directory])


class _PresentBuild:
    """A build that is on the machine, in this directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def find(self, _: str) -> Path:
        return self.directory

    def ensure(self, _: str) -> Path:
        return self.directory


COMMANDS = [
    Move(MoveKind.SET_FEATURE_VERSION, "db_1", version="6.0"),
    Move(MoveKind.SET_DEFAULT_CONCERN, "db_1", "orders"),
    Move(MoveKind.SET_USERS, "db_1", "orders"),
    Move(MoveKind.STEP_DOWN, "db_1", "orders"),
    Move(MoveKind.COMPACT, "db_1", "orders"),
    *(
        Move(kind, "db_1", "orders", members=(MemberConfig("db_1"),))
        for kind in (
            MoveKind.INITIATE,
            MoveKind.ADD_MEMBER,
            MoveKind.CHANGE_MEMBER,
            MoveKind.REMOVE_MEMBER,
        )
    ),
]


@each("move", COMMANDS, ids=lambda move: move.kind.value)
def test_a_turn_is_looked_after_while_a_command_takes_long(move: Move, tmp_path: Path) -> None:
    turn = _CountedTurn()
    server = _CommandedServer(turn.is_renewed)
    with pytest.raises(MoveFailed, match="it has answered"):
        mover(tmp_path, SeenProcess(RUNS), turn, server).carry_out(move)
    assert turn.looks > MANY


def test_a_turn_is_looked_after_while_the_configuration_is_checked(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    turn = _CountedTurn()
    checked = f'#!/bin/sh\nread line < {tmp_path / "pipe"}\necho "$line" >&2\nexit 1\n'
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDWR)  # A pipe with a reader does not block its writer.
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: turn.is_renewed.wait(LONGEST) and (tmp_path / "pipe").write_text("refused\n"))
            with pytest.raises(MoveFailed, match="refused"):
                mover(tmp_path, SeenProcess(RUNS, other.pid), turn, program=checked).carry_out(
                    Move(MoveKind.RESTART, "db_1")
                )
    finally:
        os.close(reader)
    assert turn.looks > MANY
    assert other.poll() is None


@each(
    "move",
    [*COMMANDS, *(Move(kind, "db_1", version="6.0.5") for kind in sorted(DISTURBING & MADE))],
    ids=lambda move: move.kind.value,
)
def test_nothing_reaches_a_server_without_the_turn(
    move: Move, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("lost")
    server = _CommandedServer(Event())
    with running() as other:
        program = f"#!/bin/sh\necho > {directory / 'ran'}\n"
        lost = mover(directory, SeenProcess(RUNS, other.pid), _CountedTurn(lambda: True), server, program)
        with pytest.raises(TurnLost):
            lost.carry_out(move)
        assert other.poll() is None
    assert server.commands == []
    assert not (directory / "ran").exists()


def test_a_process_is_a_server_from_its_start_on() -> None:
    for _ in range(20):
        with running("mongod") as server:
            assert is_server(server.pid)
        assert not is_server(server.pid)


def test_a_server_that_has_ended_is_not_started_after_the_turn_is_lost(tmp_path: Path) -> None:
    program = f'#!/bin/sh\ncase "$*" in *--outputConfig*) exit 0;; esac\necho > {tmp_path / "started"}\n'
    with running("mongod") as server:
        turn = _CountedTurn(lambda: not is_server(server.pid))
        with pytest.raises(TurnLost):
            mover(tmp_path, SeenProcess(RUNS, server.pid), turn, program=program).carry_out(
                Move(MoveKind.RESTART, "db_1")
            )
        assert server.wait(LONGEST) is not None
    assert not (tmp_path / "started").exists()


class _Configured(_CommandedServer):
    """A server that says the configuration of its replica set."""

    def ask(self, command: Mapping[str, Any], *, seconds: float = 0, database: str = "") -> Mapping[str, Any]:
        self.commands.append(next(iter(command)))
        return {"config": {"version": 1, "members": [{"_id": 0, "host": "127.0.0.1:1"}]}}


def test_members_do_not_change_after_the_turn_is_lost(tmp_path: Path) -> None:
    server = _Configured(Event())
    turn = _CountedTurn(lambda: bool(server.commands))
    change = Move(MoveKind.CHANGE_MEMBER, "db_1", "orders", members=(MemberConfig("db_1"),))
    with pytest.raises(TurnLost):
        mover(tmp_path, SeenProcess(RUNS), turn, server).carry_out(change)
    assert server.commands == ["replSetGetConfig"]


def test_a_member_that_has_become_another_does_not_change(tmp_path: Path) -> None:
    server = _Configured(Event())
    change = Move(MoveKind.REMOVE_MEMBER, "db_1", "orders", members=(MemberConfig("db_2"),))
    with pytest.raises(MoveFailed):
        mover(tmp_path, SeenProcess(RUNS), server=server).carry_out(change)
    assert server.commands == ["replSetGetConfig"]


class _ServerWithConcern(_CommandedServer):
    """A server that sets default concerns, and answers with its own `w`."""

    def __init__(self, w: object) -> None:
        super().__init__(Event())
        self.w, self.sent = w, dict[str, Any]()

    def ask(self, command: Mapping[str, Any], *, seconds: float = 0, database: str = "") -> Mapping[str, Any]:
        self.sent = dict(command)
        return {"defaultWriteConcern": {"w": self.w, "wtimeout": 0}, "defaultWriteConcernSource": "global"}


def test_a_default_concern_is_set_with_a_majority(tmp_path: Path) -> None:
    server = _ServerWithConcern(2)
    stated = {"defaultWriteConcern": {"w": "2"}, "defaultReadConcern": {"level": "majority"}}
    move = Move(MoveKind.SET_DEFAULT_CONCERN, "db_1", "orders", settings=("defaultWriteConcern",))
    mover(tmp_path, SeenProcess(RUNS), server=server, concern=stated).carry_out(move)
    assert server.sent == {
        "setDefaultRWConcern": 1,
        "defaultWriteConcern": {"w": 2, "wtimeout": 0},
        "writeConcern": {"w": "majority"},
    }


def test_a_server_that_keeps_another_default_concern_fails_the_move(tmp_path: Path) -> None:
    move = Move(MoveKind.SET_DEFAULT_CONCERN, "db_1", "orders", settings=("defaultWriteConcern",))
    stated = {"defaultWriteConcern": {"w": 2}}
    mine = mover(tmp_path, SeenProcess(RUNS), server=_ServerWithConcern(1), concern=stated)
    with pytest.raises(MoveFailed, match="another default concern"):
        mine.carry_out(move)


class _Member(_CommandedServer):
    """A member of three, whose other members have these states and writes.

    `late`: their writes when the member has ended, if they are others. `set_name` and `term`: as they say.
    """

    def __init__(self, *others: tuple[int, int], state: int = 2) -> None:
        super().__init__(Event())
        self.others, self.state, self.looks = list(others), state, 0
        self.late: list[tuple[int, Any]] = list(others)
        self.set_name, self.term, self.terms = "orders", 3, [3, 3]
        self.has_ended: Callable[[], bool] = lambda: False

    def ask(self, command: Mapping[str, Any], *, seconds: float = 0, database: str = "") -> Mapping[str, Any]:
        if "replSetGetConfig" in command:
            members = [
                {"_id": number, "votes": 1, "arbiterOnly": False, "host": f"127.0.0.1:{number + 1}"}
                for number in range(3)
            ]
            return {"config": {"members": members}}
        return self.status()

    def status(self) -> Mapping[str, Any]:
        self.looks += 1
        mine = {"_id": 0, "self": True, "state": self.state, "optimeDurable": {"t": 3, "ts": 7}}
        others = [
            {
                "_id": number,
                "state": state,
                "optime": {"t": 3, "ts": 99},
                "optimeDurable": {"t": self.terms[number - 1], "ts": written},
            }
            for number, (state, written) in enumerate(self.late if self.has_ended() else self.others, 1)
        ]
        return {"myState": self.state, "term": 3, "members": [mine, *others]}

    def member(self, address: ServerAddress) -> "_OtherMember":
        """Another member."""
        return _OtherMember(self, address.port - 1)

    def answer(self, _: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, int]:
        if self.has_ended():
            return {"myState": 5, "initialSyncStatus": {}}, 0
        return self.status(), 0

    def hello(self) -> Mapping[str, Any]:
        return {"setName": "orders", "secondary": not self.has_ended()}


@dataclass
class _OtherMember:
    """Another member of the replica set, as it sees the members."""

    of: _Member
    number: int

    def answer(self, _: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, int]:
        state = self.of.others[self.number - 1][0]
        if state == DOWN:
            return None, 0
        members = [
            {name: value for name, value in member.items() if name != "self"}
            | ({"self": True} if member["_id"] == self.number else {})
            for member in self.of.status()["members"]
        ]
        term = self.of.term if state == PRIMARY else max(self.of.terms)
        return {"set": self.of.set_name, "myState": state, "term": term, "members": members}, 0


SERVER = '#!/bin/sh\ncase "$*" in *--outputConfig*) exit 0;; esac\nexec sleep 1000\n'
RESYNC = Move(MoveKind.RESYNC, "db_1", "orders")
COPIES = ((1, 7), (2, 8))


class _StepLost(_CountedTurn):
    """A turn that is lost when the move begins a step. The agent that was killed there did not begin it."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self.step = step

    def keep(self, step: str) -> None:
        super().keep(step)
        if step == self.step:
            raise TurnLost(step)


@dataclass
class _Resync:
    """An initial sync of a server that runs. `directory` has its data."""

    directory: Path
    server: _Member
    process: subprocess.Popen[bytes]

    def carry_out(self, turn: _CountedTurn | None = None, **stated: Any) -> None:
        """`stated`: as `mover` takes it."""
        self.server.has_ended = lambda: self.has_ended
        seen = SeenProcess(replace(RUNS, settings={}, file={}), self.process.pid)
        mover(self.directory, seen, turn, self.server, SERVER, resync=NOON, **stated).carry_out(RESYNC)

    @property
    def has_ended(self) -> bool:
        return not is_server(self.process.pid)

    @property
    def old(self) -> list[Path]:
        return sorted(self.directory.glob("data*/storage.bson"))

    def started_again(self) -> bool:
        return any(child.poll() is None for child in LAUNCHED)


@contextmanager
def resyncing(directory: Path, *others: tuple[int, int], state: int = 2) -> Iterator[_Resync]:
    """A server with data, and its replica set."""
    (directory / "data").mkdir()
    (directory / "data" / "storage.bson").write_bytes(b"old")
    try:
        with running("mongod") as process:
            yield _Resync(directory, _Member(*others, state=state), process)
    finally:
        for child in LAUNCHED:
            child.kill()
            child.wait()
        LAUNCHED.clear()


def test_an_initial_sync_sets_the_data_aside_and_is_done_when_the_server_copies(tmp_path: Path) -> None:
    with resyncing(tmp_path, *COPIES) as sync:
        sync.carry_out()
        assert sync.has_ended
        assert sync.started_again()
    assert [path.parent.name for path in sync.old] == ["data.before-resync-20991121T120000Z"]
    assert list((tmp_path / "data").iterdir()) == []
    record = ProcessPlaces(tmp_path, "db_1").read_record()
    assert (record.resync, record.was_empty) == (NOON, True)


@each(
    ("others", "said"),
    [
        (((1, 7), (2, 6)), {}),
        (((1, 6), (2, 7)), {}),
        (((1, 8), (2, 7)), {}),
        (((2, 7), (2, 7)), {}),
        (((1, 7), (8, 7)), {}),
        (COPIES, {"term": 2}),
        (COPIES, {"terms": [3, 2]}),
        (COPIES, {"terms": [3, 4]}),
        (COPIES, {"set_name": "returns"}),
    ],
)
def test_data_stays_until_the_primary_says_that_the_others_have_all_of_it(
    tmp_path_factory: pytest.TempPathFactory, others: tuple[tuple[int, int], ...], said: Mapping[str, Any]
) -> None:
    with resyncing(tmp_path_factory.mktemp("set"), *others) as sync:
        vars(sync.server).update(said)
        with pytest.raises(TurnLost):
            sync.carry_out(_CountedTurn(lambda: sync.server.looks > MANY))
        assert not sync.has_ended
        assert [path.parent.name for path in sync.old] == ["data"]


def test_a_server_that_has_become_the_primary_keeps_its_data(tmp_path: Path) -> None:
    with resyncing(tmp_path, *COPIES, state=1) as sync:
        with pytest.raises(MoveDelayed):
            sync.carry_out()
        assert not sync.has_ended


@each("late", [((1, 9), (2, 8)), ((8, 9), (2, 8)), ((8, 9), (1, 6))])
def test_a_server_starts_with_its_data_if_others_do_not_have_the_writes_of_its_last_seconds(
    tmp_path_factory: pytest.TempPathFactory, late: tuple[tuple[int, int], ...]
) -> None:
    seconds = itertools.count(step=10.0)
    with resyncing(tmp_path_factory.mktemp("set"), *COPIES) as sync:
        sync.server.late = list(late)
        with pytest.raises(MoveFailed, match=r"did not have all data|no other member"):
            sync.carry_out(monotonic=lambda: next(seconds))
        assert sync.started_again()
    assert [path.parent.name for path in sync.old] == ["data"]
    assert ProcessPlaces(sync.directory, "db_1").read_record().resync is None


@each("step", ["check the copies", "stop", "check the copies again", "set the data aside", "start", "check"])
def test_an_agent_that_is_killed_in_an_initial_sync_leaves_all_data_or_an_empty_directory(
    tmp_path_factory: pytest.TempPathFactory, step: str
) -> None:
    directory = tmp_path_factory.mktemp("killed")
    with resyncing(directory, *COPIES) as sync:
        with pytest.raises(TurnLost):
            sync.carry_out(_StepLost(step))
        assert sync.has_ended is (step not in {"check the copies", "stop"})
        assert len(sync.old) == 1
        is_aside = step in {"start", "check"}
        assert (list((directory / "data").iterdir()) == []) is is_aside


@each(
    ("place", "settings", "auth"),
    [
        ("security.keyFile", lambda file: {"security": {"keyFile": file}}, None),
        ("net.tls.CAFile", lambda file: {"net": {"port": 1, "tls": {"CAFile": file}}}, None),
        ("auth.keyfile", lambda _: {}, lambda file: {"key": "a2V5IG9uZQ==", "keyfile": file}),
    ],
)
def test_a_server_whose_key_would_go_away_with_its_data_is_not_stopped(
    tmp_path_factory: pytest.TempPathFactory,
    place: str,
    settings: Callable[[str], Mapping[str, Any]],
    auth: Callable[[str], Mapping[str, Any]] | None,
) -> None:
    directory = tmp_path_factory.mktemp("key")
    file = directory / "data" / "key.pem"
    with resyncing(directory, *COPIES) as sync:
        file.write_text("hidden-word")
        stated = auth(str(file)) if auth else None
        with pytest.raises(MoveFailed, match=rf"{re.escape(place)} .*is inside") as raised:
            sync.carry_out(settings=settings(str(file)), auth=stated)
        assert not sync.has_ended
    assert "hidden-word" not in str(raised.value)


def test_a_server_starts_with_its_data_after_an_answer_that_no_server_gives(tmp_path: Path) -> None:
    with resyncing(tmp_path, *COPIES) as sync:
        sync.server.late = [(1, 9), (2, None)]
        with pytest.raises(TypeError):
            sync.carry_out()
        assert sync.started_again()
    assert [path.parent.name for path in sync.old] == ["data"]


def test_a_server_whose_data_cannot_be_set_aside_starts_with_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(data_moves, "set_aside", refuse)
    with resyncing(tmp_path, *COPIES) as sync:
        with pytest.raises(MoveFailed, match=r"cannot be renamed.*cross-device"):
            sync.carry_out()
        assert sync.has_ended
        assert sync.started_again()
    assert [path.parent.name for path in sync.old] == ["data"]
    assert ProcessPlaces(tmp_path, "db_1").read_record().resync is None


def test_a_server_that_ends_again_and_again_fails_its_start(tmp_path: Path) -> None:
    log = tmp_path / "mongod.log"
    log.write_text("a2V5IG9uZQ== does not fit")
    settings = {"systemLog": {"destination": "file", "path": str(log)}}
    auth = {"key": "a2V5IG9uZQ==", "keyfile": str(tmp_path / "key")}

    def start(minute: int) -> None:
        seen = SeenProcess(replace(RUNS, settings={}, file={}))
        at = NOON + timedelta(minutes=minute)
        member = _Member(*COPIES)
        move = Move(MoveKind.START, "db_1", version="6.0.5")
        mover(tmp_path, seen, None, member, SERVER, now=at, settings=settings, auth=auth).carry_out(move)
        LAUNCHED[-1].kill()

    try:
        for minute in (0, 11, 12, 13, 14, 15):
            start(minute)
        with pytest.raises(MoveFailed, match=r"5 times within 10 minutes: \*\*\* does not fit"):
            start(16)
        start(17)  # Somebody has resumed the plan.
    finally:
        for child in LAUNCHED:
            child.wait()
        LAUNCHED.clear()


def test_a_start_after_the_agent_has_stopped_the_server_counts_anew(tmp_path: Path) -> None:
    places = ProcessPlaces(tmp_path, "db_1")
    places.write_record(StartRecord("6.0.5", starts=(NOON, NOON)))
    with running("mongod") as process:
        mover(tmp_path, SeenProcess(RUNS, process.pid)).carry_out(Move(MoveKind.STOP, "db_1"))
    assert places.read_record() == StartRecord("6.0.5")


class _LostAtLook(_CountedTurn):
    """A turn that is lost at this look. An agent that is killed there does nothing afterwards, either."""

    def __init__(self, look: int) -> None:
        super().__init__(lambda: self.looks >= look)


@each("kind", [MoveKind.RESTART, MoveKind.CHANGE_VERSION], ids=lambda kind: kind.value)
def test_an_agent_that_is_killed_in_a_restart_leaves_the_file_of_the_version_that_starts(
    tmp_path_factory: pytest.TempPathFactory, kind: MoveKind
) -> None:
    version = "6.0.6" if kind is MoveKind.CHANGE_VERSION else "6.0.5"
    before, after = ("6.0.5", {"net": {"port": 2}}), (version, {"net": {"port": 1}})
    found = list[tuple[bool, object]]()
    for look in itertools.count(1):
        directory = tmp_path_factory.mktemp("killed")
        places = ProcessPlaces(directory, "db_1")
        places.write_config(before[1], before[0])
        places.write_record(StartRecord(before[0]))
        with running("mongod") as process:
            turn, seen = _LostAtLook(look), SeenProcess(RUNS, process.pid)
            moves = mover(directory, seen, turn, _Member(*COPIES), SERVER)
            try:
                moves.carry_out(Move(kind, "db_1", version=version))
                is_cut_off = False
            except TurnLost:
                is_cut_off = True
            has_ended = not is_server(process.pid)
        config = dict(places.read_config() or {})
        config.pop("storage", None)
        found.append((has_ended, (places.read_record().version, config)))
        if not is_cut_off:
            break
    for child in LAUNCHED:
        child.kill()
        child.wait()
    LAUNCHED.clear()
    assert {pair for has_ended, pair in map(_hashable, found) if not has_ended} == {repr(before)}
    assert {pair for has_ended, pair in map(_hashable, found) if has_ended} == {repr(before), repr(after)}


def _hashable(state: tuple[bool, object]) -> tuple[bool, str]:
    return state[0], repr(state[1])


@each("kind", [MoveKind.RESTART, MoveKind.STOP], ids=lambda kind: kind.value)
def test_the_time_of_a_restart_begins_with_its_stop(
    tmp_path_factory: pytest.TempPathFactory, kind: MoveKind
) -> None:
    directory = tmp_path_factory.mktemp("stop")
    with running("mongod") as process:
        moves = mover(directory, SeenProcess(RUNS, process.pid), _StepLost("start"), None, SERVER)
        with suppress(TurnLost):
            moves.carry_out(Move(kind, "db_1"))
    stopped = ProcessPlaces(directory, "db_1").read_record().stopped
    assert stopped == (NOON if kind is MoveKind.RESTART else None)


def test_old_data_is_removed(tmp_path: Path) -> None:
    for name in ("data", "data.before-resync-20991121T120000Z", "data.old"):
        (tmp_path / name).mkdir()
    mover(tmp_path, SeenProcess(RUNS)).carry_out(Move(MoveKind.REMOVE_OLD_DATA, "db_1", "orders"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "data.old"]


class _Collections(_CommandedServer):
    """A server with collections, of which `gone` is dropped before it is compacted, and `broken` fails."""

    def __init__(self, *names: str) -> None:
        super().__init__(Event())
        self.names, self.sent = names, list[tuple[str, object, str]]()

    def ask(self, command: Mapping[str, Any], *, seconds: float = 0, database: str = "") -> Mapping[str, Any]:
        name, value = next(iter(command.items()))
        self.commands.append(name)
        if name == "listDatabases":
            return {"databases": [{"name": each_name} for each_name in ("shop", "local", "config", "admin")]}
        if name == "listCollections":
            assert command["filter"] == {"type": "collection"}
            names = self.names if database == "shop" else ("system.users",)
            return {"cursor": {"id": 0, "firstBatch": [{"name": each_name} for each_name in names]}}
        self.sent.append((name, value, database))
        if value in {"gone", "broken"}:
            raise OperationFailure("it fails", 26 if value == "gone" else 1)
        return {}

    def answer(self, command: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, int]:
        return self.ask(command, database="admin"), 0


COMPACT = Move(MoveKind.COMPACT, "db_1", "orders")


def compacting(directory: Path, server: _CommandedServer, turn: _CountedTurn | None = None) -> Mover:
    return mover(directory, SeenProcess(RUNS), turn, server, resync=NOON, lastCompact=NOON.isoformat())


def test_each_collection_is_compacted_while_the_member_is_not_elected(tmp_path: Path) -> None:
    server = _Collections("orders", "gone", "system.views", "system.buckets.ts")
    compacting(tmp_path, server).carry_out(COMPACT)
    freeze, thaw = ("replSetFreeze", 86460, "admin"), ("replSetFreeze", 0, "admin")
    assert server.sent == [freeze, ("compact", "gone", "shop"), freeze, ("compact", "orders", "shop"), thaw]
    assert ProcessPlaces(tmp_path, "db_1").read_record().compacted == NOON


def test_a_single_server_is_compacted_without_a_freeze(tmp_path: Path) -> None:
    server = _Collections("orders")
    mover(tmp_path, SeenProcess(RUNS), server=server).carry_out(Move(MoveKind.COMPACT, "db_1"))
    assert server.sent == [("compact", "orders", "shop")]


def test_a_compaction_that_fails_or_is_cut_off_is_not_done(tmp_path: Path) -> None:
    server = _Collections("broken", "orders")
    with pytest.raises(MoveFailed, match="it fails"):
        compacting(tmp_path, server).carry_out(COMPACT)
    # The member can be elected again.
    assert server.sent[1:] == [("compact", "broken", "shop"), ("replSetFreeze", 0, "admin")]
    server = _Collections("orders")
    with pytest.raises(TurnLost):
        compacting(tmp_path, server, _CountedTurn(lambda: "compact" in server.commands)).carry_out(COMPACT)
    assert server.sent[-1] == ("replSetFreeze", 0, "admin")
    assert ProcessPlaces(tmp_path, "db_1").read_record().compacted is None


class _ServerWithUsers(_CommandedServer):
    """A server that keeps users. `forgets`: it takes commands and changes nothing."""

    def __init__(self, *, forgets: bool = False) -> None:
        super().__init__(Event())
        self.users, self.proven, self.forgets = list[Any](), list[Any](), forgets

    def ask(self, command: Mapping[str, Any], **_: object) -> Mapping[str, Any]:
        self.commands.append(next(iter(command)))
        return {"users": self.users}

    def ask_proven(self, command: Mapping[str, Any], *, seconds: float, database: str) -> Mapping[str, Any]:
        self.proven.append((database, command))
        if command.get("roles") == []:
            raise OperationFailure(f"no role for the password {PASSWORD}", 31)
        if not self.forgets:
            roles = command["roles"]
            self.users.append({"db": database, "user": command["createUser"], "roles": roles})
        return {}


PASSWORD = "p: @ss/word"
SET_USERS = Move(MoveKind.SET_USERS, "db_1", settings=("shop.app",))


def with_user(directory: Path, *roles: str) -> Mapping[str, Any]:
    """A section with a user, whose password counts at its creation."""
    stated = [{"db": "shop", "role": role} for role in roles]
    user = {"user": "app", "db": "shop", "roles": stated, "initPwd": PASSWORD}
    return {"key": "a2V5IG9uZQ==", "keyfile": str(directory / "key"), "usersWanted": [user]}


def test_users_are_created_with_a_majority_at_a_server_that_has_proven_its_key(tmp_path: Path) -> None:
    server = _ServerWithUsers()
    moves = mover(tmp_path, SeenProcess(RUNS, 7), server=server, auth=with_user(tmp_path, "read"))
    moves.carry_out(SET_USERS)
    ((database, command),) = server.proven
    assert (database, command["createUser"], command["pwd"]) == ("shop", "app", PASSWORD)
    assert command["writeConcern"] == {"w": "majority"}
    assert set(server.commands) == {"usersInfo"}


def test_no_user_is_deleted_before_the_others_are_as_they_should_be(tmp_path: Path) -> None:
    server = _ServerWithUsers()
    server.users.append({"db": "admin", "user": "admin", "roles": []})
    section = {**with_user(tmp_path), "usersDeleted": [{"user": "admin", "dbs": ["admin"]}]}
    moves = mover(tmp_path, SeenProcess(RUNS, 7), server=server, auth=section)
    with pytest.raises(MoveFailed, match="no role"):
        moves.carry_out(Move(MoveKind.SET_USERS, "db_1", settings=("admin.admin", "shop.app")))
    assert [next(iter(command)) for _, command in server.proven] == ["createUser"]


def test_users_that_stay_as_they_were_fail_the_move(tmp_path: Path) -> None:
    server = _ServerWithUsers(forgets=True)
    moves = mover(tmp_path, SeenProcess(RUNS, 7), server=server, auth=with_user(tmp_path, "read"))
    with pytest.raises(MoveFailed, match=r"shop\.app"):
        moves.carry_out(SET_USERS)


def test_another_server_at_the_address_gets_no_password(tmp_path: Path) -> None:
    server = _ServerWithUsers()
    moves = mover(tmp_path, SeenProcess(RUNS), server=server, auth=with_user(tmp_path, "read"))
    with pytest.raises(MoveFailed, match="another server"):
        moves.carry_out(SET_USERS)
    assert server.proven == []


def test_a_refused_user_is_said_without_its_password(tmp_path: Path) -> None:
    moves = mover(tmp_path, SeenProcess(RUNS, 7), server=_ServerWithUsers(), auth=with_user(tmp_path))
    with pytest.raises(MoveFailed, match=r"refuses it: no role for the password \*\*\*"):
        moves.carry_out(SET_USERS)


def test_the_key_file_is_written_where_the_document_says(tmp_path: Path) -> None:
    moves = mover(tmp_path, SeenProcess(RUNS), auth=with_user(tmp_path))
    moves.carry_out(Move(MoveKind.WRITE_KEY_FILE, "db_1"))
    assert (tmp_path / "key").read_text() == "a2V5IG9uZQ==\n"


def test_every_move_with_a_turn_is_tried_without_it() -> None:
    assert {move.kind for move in COMMANDS} | (DISTURBING & MADE) == WITH_TURN


def test_the_agent_makes_every_move_of_a_plan() -> None:
    assert set(mover(Path("/"), SeenProcess(RUNS))._makers) == set(MoveKind)


def test_a_server_is_not_stopped_after_the_turn_is_lost(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(TurnLost):
        mover(tmp_path, SeenProcess(RUNS, other.pid), _CountedTurn(lambda: True)).carry_out(
            Move(MoveKind.STOP, "db_1")
        )
    assert other.poll() is None


def test_a_server_is_not_stopped_if_the_program_for_its_start_is_missing(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(MoveFailed, match=r"6\.0\.5 is not on the machine"):
        mover(tmp_path, SeenProcess(RUNS, other.pid)).carry_out(Move(MoveKind.RESTART, "db_1"))
    assert other.poll() is None


def test_a_server_whose_process_is_not_found_is_not_stopped(tmp_path: Path) -> None:
    with pytest.raises(MoveFailed, match=r"mongod\.lock"):
        mover(tmp_path, SeenProcess(RUNS)).carry_out(Move(MoveKind.STOP, "db_1"))


def test_a_build_that_cannot_be_downloaded_fails_its_move(tmp_path: Path) -> None:
    with pytest.raises(MoveFailed, match=r"version 6\.0\.5 has no build"):
        mover(tmp_path, SeenProcess(RUNS)).carry_out(Move(MoveKind.DOWNLOAD, "db_1", version="6.0.5"))


def test_another_process_with_the_number_of_a_server_is_no_server(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    (tmp_path / "mongod.lock").write_text(f"{other.pid}\n")
    assert not is_server(other.pid)
    assert not is_server(os.getpid())
    assert running_pid(tmp_path) is None


def test_it_shows_no_secret_of_the_configuration() -> None:
    settings = {"net": {"tls": {"certificateKeyFilePassword": "hidden-word"}}, "setParameter": {"a": "b"}}
    text = 'password hidden-word\nmongodb://user:hidden@db1/\n{"s":"I","msg":"fine"}\n'
    cleaned = without_secrets(text, settings)
    assert "hidden" not in cleaned
    assert "fine" in cleaned


@each("secret", ['pass"word', "pass\\word", 'a"', "päss\tword", "pass/word"])
def test_it_shows_no_secret_that_the_log_escapes(secret: str) -> None:
    settings = {"net": {"tls": {"certificateKeyFilePassword": secret}}}
    for is_ascii in (True, False):
        line = json.dumps({"s": "E", "attr": {"error": f"cannot use {secret} here"}}, ensure_ascii=is_ascii)
        assert "cannot use *** here" in without_secrets(line, settings)
    assert "cannot use *** here" in without_secrets(f"cannot use {secret} here", settings)


def test_errors_of_a_log_come_before_everything_else() -> None:
    lines = ['{"s":"E","msg":"the cause"}', *('{"s":"I","msg":"later"}' for _ in range(50))]
    assert without_secrets("\n".join(lines), {}) == lines[0]
