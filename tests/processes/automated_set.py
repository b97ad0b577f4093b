"""A replica set whose members are on automated machines, and a load on it."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pymongo
from bson import ObjectId
from pymongo.errors import DuplicateKeyError, PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from tests.eventually import eventually
from tests.factories.documents import document, process
from tests.processes.automated import AutomatedMachine, automated_machine
from tests.processes.conftest import ProcessCaller
from tests.processes.mongod import VERSION, Client
from tests.processes.platform import free_port
from tests.processes.scenario import Scenario

SET = "rs"
MACHINES = tuple(f"127.0.0.{number}" for number in (2, 3, 4))
"""The host names of three machines."""
DOWNLOADS = "/proc/self/cwd/downloads"
"""The same path on all machines, and a directory for each agent: its working directory."""


class AutomatedSet:
    """Members `rs_0`, `rs_1` … of a replica set, each on the next of the machines in turn."""

    def __init__(self, *machines: AutomatedMachine, data: Path | None = None, name: str = SET) -> None:
        self.machines, self.name = machines, name
        self._data = data
        self.login: dict[str, str] = {}
        """The credentials of clients."""
        self.key_file = machines[0].directory / "keys" / "keyfile"
        self._ports: dict[str, int] = {}

    def machine(self, name: str) -> AutomatedMachine:
        """The machine of a member."""
        return self.machines[_number(name) % len(self.machines)]

    @property
    def _path(self) -> str:
        return self.machines[0].scenario.path

    @property
    def _owner(self) -> ProcessCaller:
        return self.machines[0].scenario.owner

    def _address(self, name: str) -> str:
        return f"{self.machine(name).host}:{self.port(name)}"

    def port(self, name: str) -> int:
        """The port of a member."""
        return self._ports.setdefault(name, free_port())

    def at_port(self, port: int, *names: str) -> None:
        """Members with the same port, which something else publishes."""
        self._ports.update(dict.fromkeys(names, port))

    def directory(self, name: str) -> Path:
        """The directory of the data of a member."""
        return (self._data or self.machine(name).directory) / name

    def process(
        self,
        name: str,
        *,
        release: str = VERSION,
        cache: float = 0.25,
        security: dict[str, Any] | None = None,
        **fields: Any,
    ) -> Any:
        """A member in the document. `security`: the section of its settings."""
        machine = self.machine(name)
        data = self.directory(name)
        settings = {
            "net": {"port": self.port(name), "bindIp": machine.host, "unixDomainSocket": {"enabled": False}},
            "storage": {"dbPath": str(data), "wiredTiger": {"engineConfig": {"cacheSizeGB": cache}}},
            "systemLog": {"destination": "file", "path": str(data / "mongod.log"), "logAppend": True},
            "replication": {"replSetName": self.name, "oplogSizeMB": 64},
            # Diagnostic data is collected once a second, and nothing reads it.
            "setParameter": {"diagnosticDataCollectionEnabled": False},
            **({"security": security} if security else {}),
        }
        return process(
            name=name,
            hostname=machine.host,
            version=release,
            featureCompatibilityVersion=release.rpartition(".")[0],
            args2_6=settings,
            **fields,
        )

    def publish(
        self, *processes: Any, members: Iterable[dict[str, Any]] = (), auth: dict[str, Any] | None = None
    ) -> int:
        """Publish a document with these processes, each a member, and return its version.

        `members`: fields of the members, by their order. `auth`: the section, with the key file of the set.
        """
        fields = [*members, *({} for _ in processes)]
        listed = [
            {"_id": _number(sent["name"]), "host": sent["name"], **more}
            for sent, more in zip(processes, fields, strict=False)
        ]
        path, owner = f"{self._path}/automationConfig", self._owner
        sent = document(
            options={"downloadBase": DOWNLOADS},
            databaseVersions=self.machines[0].versions,
            processes=list(processes),
            replicaSets=[{"_id": self.name, "members": listed}],
            **({"auth": {"disabled": False, "keyfile": str(self.key_file), **auth}} if auth else {}),
        )
        owner.put(path, {**sent, "version": owner.get(path)["version"]})
        found: int = owner.get(path)["version"]
        return found

    def like(self, page: Any) -> Any:
        """The document of a page with small servers on the machines of this test."""
        names = [f"{self.name}_{number}" for number in range(len(page["processes"]))]
        processes = [
            self.process(name, release=sent["version"])
            for name, sent in zip(names, page["processes"], strict=True)
        ]
        members = [{"_id": number, "host": name} for number, name in enumerate(names)]
        return {
            **page,
            "options": {"downloadBase": DOWNLOADS},
            "databaseVersions": self.machines[0].versions,
            "processes": processes,
            "replicaSets": [{"_id": self.name, "members": members}],
        }

    def statuses(self) -> dict[str, dict[str, Any]]:
        """The status of each process."""
        rows = self._owner.get(f"{self._path}/automationStatus")["processes"]
        return {row["name"]: row for row in rows}

    def reaches(self, goal: int, *names: str, killed_at: Sequence[str] = ()) -> None:
        """Until these processes have reached this version of the document.

        `killed_at`: moves. The agent that first begins such a move is killed, and started again.
        """
        for move in killed_at:
            self._kill_agent_at(move)
        try:
            eventually(
                lambda: all(
                    self.statuses().get(name, {}).get("lastGoalVersionAchieved") == goal for name in names
                ),
                400,
                message=f"version {goal}",
            )
        except AssertionError as error:
            logs = "\n".join(machine.agent.log for machine in self.machines)
            raise AssertionError(f"{error}\n{self.statuses()}\n{logs}") from None

    def _kill_agent_at(self, move: str) -> None:
        machine = eventually(
            lambda: next((each for each in self.machines if f": {move} begins" in each.agent.log), None),
            message=move,
            longest_pause=0.02,
        )
        machine.kill_agent()

    def moves(self, *names: str) -> list[tuple[str, str, str]]:
        """The finished moves of these processes in the order of their end: process, move and state."""
        found = [
            (move["finished"], name, move["move"], move["state"])
            for name in names
            for move in self.statuses()[name].get("plan", {}).get("moves", [])
            if "finished" in move
        ]
        return [(name, move, state) for _, name, move, state in sorted(found)]

    def client(self, **options: Any) -> Client:
        """A client of the replica set."""
        hosts = [self._address(name) for name in self._ports]
        options = {**self.login, **options}
        return pymongo.MongoClient(hosts, replicaSet=self.name, serverSelectionTimeoutMS=30_000, **options)

    def member_states(self) -> dict[str, str]:
        """The state of each member as the primary says, by the name of the process."""
        names = {self._address(name): name for name in self._ports}
        with self.client() as client:
            members = client.admin.command("replSetGetStatus")["members"]
        return {names[member["name"]]: member["stateStr"] for member in members}

    def default_write_concern(self) -> Any:
        """How many members acknowledge a write that does not say it."""
        with self.client() as client:
            return client.admin.command("getDefaultRWConcern")["defaultWriteConcern"]["w"]

    def measured(self) -> set[str]:
        """The members whose connections the agents have measured."""
        path = self.machines[0].scenario.path
        names = {self._address(name): name for name in self._ports}
        hosts = self._owner.get(f"{path}/hosts")["results"]
        query = "granularity=PT1M&period=PT1H&m=CONNECTIONS"
        return {
            names[f"{host['hostname']}:{host['port']}"]
            for host in hosts
            for measured in self._owner.get(f"{path}/hosts/{host['id']}/measurements?{query}")["measurements"]
            if any(point["value"] is not None for point in measured["dataPoints"])
        }

    def is_running(self, name: str) -> bool:
        """Whether a member accepts connections."""
        return _accepts((self.machine(name).host, self.port(name)))

    def is_serving(self, name: str) -> bool:
        """Whether a member says of itself that it is the primary or a secondary."""
        hello = self._ask(name, {"hello": 1})
        return bool(hello["isWritablePrimary"] or hello["secondary"])

    def cache_megabytes(self, name: str) -> int:
        """The size of the cache of a member."""
        cache = self._ask(name, {"serverStatus": 1})["wiredTiger"]["cache"]
        return int(cache["maximum bytes configured"]) // 1024**2

    def parameter(self, name: str, parameter: str) -> Any:
        """The value of a parameter of a member."""
        return self._ask(name, {"getParameter": 1, parameter: 1})[parameter]

    def _ask(self, name: str, command: dict[str, Any]) -> dict[str, Any]:
        """The answer of a member."""
        client: Client = pymongo.MongoClient(self.machine(name).host, self.port(name), directConnection=True)
        with client:
            return dict(client.admin.command(command))

    def pid(self, name: str) -> int:
        """The process of a member."""
        return int((self.directory(name) / "mongod.lock").read_text())

    @contextmanager
    def load(self, *, accepts_duplicates: bool = False) -> Iterator["MajorityLoad"]:
        """Write to a majority all the time. `accepts_duplicates`: see `MajorityLoad`."""
        writes = MajorityLoad(accepts_duplicates=accepts_duplicates)
        with self.client() as client:
            thread = threading.Thread(target=writes.run, args=(client,), daemon=True)
            thread.start()
            try:
                yield writes
            finally:
                writes.is_over.set()
                thread.join()

    @contextmanager
    def looked_at(self, *names: str) -> Iterator["Away"]:
        """Look all the time whether these members accept connections."""
        away, is_over = Away(), threading.Event()
        addresses = {name: (self.machine(name).host, self.port(name)) for name in names}
        thread = threading.Thread(target=away.look, args=(addresses, is_over), daemon=True)
        thread.start()
        try:
            yield away
        finally:
            is_over.set()
            thread.join()

    def data_since(self, name: str) -> datetime:
        """When the data of a member began."""
        began = (self.directory(name) / "storage.bson").stat().st_mtime
        return datetime.fromtimestamp(began, UTC)

    def set_aside(self) -> list[Path]:
        """The directories of data that was set aside."""
        return [path for name in self._ports for path in self.directory(name).parent.glob(f"{name}.before-*")]

    def end(self) -> None:
        """Leave no server running."""
        for name in self._ports:
            with suppress(OSError, ValueError):
                os.kill(self.pid(name), signal.SIGKILL)


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])


@dataclass
class Away:
    """The members that accepted no connections: at any time, and together with another."""

    ever: set[str] = field(default_factory=set)
    together: set[str] = field(default_factory=set)

    def look(self, addresses: Mapping[str, tuple[str, int]], is_over: threading.Event) -> None:
        """Look until it is over."""
        while not is_over.wait(0.01):
            away = {name for name, address in addresses.items() if not _accepts(address)}
            self.ever |= away
            if len(away) > 1:
                self.together |= away


def _accepts(address: tuple[str, int]) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(address) == 0


@dataclass
class MajorityLoad:
    """Writes to a majority, each followed by a read of it from a majority.

    How many, which failed, and the longest write or read in seconds: of all, since the last change, and of
    each change.

    `accepts_duplicates`: while authentication is switched on, a new primary does not recognize a retried
    write, and refuses it as a duplicate. It counts as written, and is read.
    """

    accepts_duplicates: bool = False

    count: int = 0
    failures: list[str] = field(default_factory=list)
    longest: float = 0.0
    since_change: float = 0.0
    pauses: dict[str, float] = field(default_factory=dict)
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def summary(self) -> str:
        """The number of writes, and the longest operation."""
        pauses = "".join(f"; {change} {seconds:.2f} s" for change, seconds in self.pauses.items())
        return (
            f"{self.count} writes to and reads from a majority, the longest took {self.longest:.2f} s{pauses}"
        )

    def end_of(self, change: str) -> None:
        """Note the longest operation since the end of the last change."""
        self.pauses[change], self.since_change = self.since_change, 0.0

    def run(self, client: Client) -> None:
        """Write and read until it is over, with the retries of the driver."""
        orders = client.shop.get_collection(
            "orders", write_concern=WriteConcern("majority"), read_concern=ReadConcern("majority")
        )
        # In a session, a read sees the writes before it, also from another primary.
        with client.start_session(causal_consistency=True) as session:
            while not self.is_over.wait(0.1):
                order = {"_id": ObjectId()}
                is_written = self._time(partial(orders.insert_one, order, session=session))
                if is_written and not self._time(partial(orders.find_one, order, session=session)):
                    self.failures.append(f"the write {self.count} is not read")
                self.count += 1

    def _time(self, operation: Callable[[], Any]) -> Any:
        """The result of an operation; None if it fails."""
        began = time.monotonic()
        try:
            return operation()
        except PyMongoError as error:
            if self.accepts_duplicates and isinstance(error, DuplicateKeyError):
                return True
            self.failures.append(str(error))
            return None
        finally:
            seconds = time.monotonic() - began
            self.longest, self.since_change = max(self.longest, seconds), max(self.since_change, seconds)


@contextmanager
def automated_set(
    scenario: Scenario,
    *hosts: str,
    versions: Sequence[str],
    data: Path | None = None,
    name: str = SET,
    has_builds: bool = True,
) -> Iterator[AutomatedSet]:
    """A replica set on machines with these names, on which nothing runs yet, and whose agents run.

    `data`: a directory in which all machines have their data; otherwise each has its own. `has_builds`: the
    machines have the versions already, and download nothing.
    """
    with ExitStack() as stack:
        machines = [
            stack.enter_context(automated_machine(scenario, *versions, has_builds=has_builds, host=host))
            for host in hosts
        ]
        if data is not None:
            for machine in machines:
                machine.allow(data)
        replica_set = AutomatedSet(*machines, data=data, name=name)
        stack.callback(replica_set.end)
        for machine in machines:
            machine.allow(replica_set.key_file.parent)
            machine.agent.start()
            stack.callback(machine.agent.stop, signal.SIGKILL)
        yield replica_set
