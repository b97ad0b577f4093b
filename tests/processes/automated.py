"""A machine whose agent carries out an automation configuration, with real MongoDB servers."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pymongo
from pymongo.errors import PyMongoError

from automation.agent.automation.builds import choose, this_kind
from tests.eventually import eventually
from tests.factories.documents import build, document, process, version
from tests.processes.agent import RunningAgent
from tests.processes.build_archives import file_url, packed_build
from tests.processes.mongod import VERSION, Client, binary, libraries
from tests.processes.platform import free_port
from tests.processes.scenario import Scenario

HOST = "127.0.0.1"
NAME = "orders_1"


class AutomatedMachine:
    """A project, the agent of a machine, and the directory below which it may write."""

    def __init__(
        self, scenario: Scenario, directory: Path, versions: tuple[str, ...], host: str = HOST
    ) -> None:
        self.scenario, self.directory, self.host = scenario, directory, host
        self.port = free_port()
        self.downloads, self.data = directory / "downloads", directory / "data"
        self.versions = [version(name=name, builds=[_build(name, directory)]) for name in versions]
        of_machine = {"desc": f"agent of {host}", "roles": ["GROUP_AGENT"], "hostnames": [host]}
        agent = scenario.owner.with_key(scenario.owner.post(f"{scenario.path}/apiKeys", of_machine))
        self.agent = RunningAgent(
            directory,
            URL=scenario.site.platform.base_url,
            GROUP_ID=scenario.group,
            PUBLIC_KEY=agent.public_key,
            PRIVATE_KEY=agent.private_key,
            HOSTNAME=host,
            AUTOMATION="on",
            AUTOMATION_DIRS=str(directory),
        )
        for name in versions:
            self.agent.environment.update(libraries(name))
        self.agent.directory = directory

    def settings(self, **sections: Any) -> dict[str, Any]:
        """The settings of a small server; `sections` are added, or replace its sections."""
        return {
            "net": {"port": self.port, "bindIp": HOST, "unixDomainSocket": {"enabled": False}},
            "storage": self.storage(0.25),
            "systemLog": {"destination": "file", "path": str(self.data / "mongod.log"), "logAppend": True},
            **sections,
        }

    def storage(self, cache: float) -> dict[str, Any]:
        """The section of the storage, with a size of the cache in GB."""
        return {"dbPath": str(self.data), "wiredTiger": {"engineConfig": {"cacheSizeGB": cache}}}

    def document(self, settings: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        """A document with one process; `fields` are of the process, `replicaSets` of the document."""
        release = fields.pop("version", VERSION)
        replica_sets = fields.pop("replicaSets", None)
        wanted = {
            "name": NAME,
            "hostname": HOST,
            "version": release,
            "featureCompatibilityVersion": release.rpartition(".")[0],
            "args2_6": self.settings() if settings is None else settings,
            **fields,
        }
        return document(
            options={"downloadBase": str(self.downloads)},
            databaseVersions=self.versions,
            processes=[process(**wanted)],
            **({"replicaSets": replica_sets} if replica_sets else {}),
        )

    def pack(self) -> None:
        """Make the archives of the builds."""
        for listed in self.versions:
            file_url(
                self.directory, packed_build(binary(listed["name"]).read_bytes(), level=0), listed["name"]
            )

    def unpack(self) -> None:
        """Put the builds on the machine, as an agent that has downloaded them."""
        for listed in self.versions:
            chosen = choose(listed["name"], listed["builds"], this_kind())
            place = self.downloads / chosen.directory / "bin"
            place.mkdir(parents=True)
            (place / "mongod").symlink_to(binary(listed["name"]))

    def publish(self, settings: dict[str, Any] | None = None, **fields: Any) -> int:
        """Publish the document of `document`, and return its version."""
        path = f"{self.scenario.path}/automationConfig"
        sent = self.document(settings, **fields)
        current = self.scenario.owner.get(path)
        self.scenario.owner.put(path, {**sent, "version": current["version"]})
        found: int = self.scenario.owner.get(path)["version"]
        return found

    def publish_nothing(self) -> None:
        """Publish a document without processes."""
        path = f"{self.scenario.path}/automationConfig"
        current = self.scenario.owner.get(path)
        self.scenario.owner.put(path, {**self.document(), "processes": [], "version": current["version"]})

    def pause(self) -> None:
        """Pause the plan."""
        self.scenario.owner.act(f"{self.scenario.path}/automationConfig/pause")

    def resume(self) -> None:
        """Resume the plan, also after it stopped."""
        self.scenario.owner.act(f"{self.scenario.path}/automationConfig/resume")

    def allow(self, directory: Path) -> None:
        """Let the agent write below another directory, too."""
        self.agent.environment["OPSAPI_AGENT_AUTOMATION_DIRS"] += f":{directory}"

    def status(self) -> dict[str, Any]:
        """The status of the process."""
        rows = self.scenario.owner.get(f"{self.scenario.path}/automationStatus")["processes"]
        found: dict[str, Any] = next((row for row in rows if row["name"] == NAME), {})
        return found

    def reaches(self, goal: int) -> None:
        """Until the process has reached this version of the document."""
        try:
            eventually(
                lambda: self.status().get("lastGoalVersionAchieved") == goal, message=f"version {goal}"
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.status()}\n{self.agent.log}") from None

    def client(self) -> Client:
        """A client of the server."""
        return pymongo.MongoClient(HOST, self.port, directConnection=True, serverSelectionTimeoutMS=5000)

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        """The answer of the server; empty while it does not answer."""
        with self.client() as client, suppress(PyMongoError):
            return dict(client.admin.command(command))
        return {}

    def pid(self) -> int | None:
        """The process of the server; None if it does not run."""
        found = self.ask({"serverStatus": 1}).get("pid")
        return int(found) if found else None

    def moves(self) -> list[tuple[str, str]]:
        """The moves of the status, each with its state."""
        return [(move["move"], move["state"]) for move in self._moves()]

    def failed_move(self) -> dict[str, Any] | None:
        """The move of the status that failed, if any."""
        return next((move for move in self._moves() if move["state"] == "FAILED"), None)

    def _moves(self) -> list[dict[str, Any]]:
        moves: list[dict[str, Any]] = self.status().get("plan", {}).get("moves", [])
        return moves

    def kill_agent(self) -> None:
        """Kill the agent, and start it again."""
        self.agent.stop(signal.SIGKILL)
        self.agent.start()

    def end(self) -> None:
        """Leave nothing running."""
        if self.agent.process is not None and self.agent.process.poll() is None:
            self.agent.stop(signal.SIGKILL)
        with suppress(OSError, ValueError):
            os.kill(int((self.data / "mongod.lock").read_text()), signal.SIGKILL)


def _build(name: str, directory: Path) -> dict[str, Any]:
    """The build of a version, whose archive is in the directory."""
    said = subprocess.run(
        [binary(name), "--version"],
        env={**os.environ, **libraries(name)},
        capture_output=True,
        text=True,
        check=True,
    )
    commit = re.search(r'"gitVersion": "(\w+)"|git version: (\w+)', said.stdout)
    assert commit is not None
    return build(
        platform=this_kind().platform,
        architecture=this_kind().architecture,
        url=(directory / name).as_uri(),
        gitVersion=commit[1] or commit[2],
    )


@contextmanager
def automated_machine(
    scenario: Scenario, *versions: str, has_builds: bool = True, host: str = HOST
) -> Iterator[AutomatedMachine]:
    """A machine on which nothing runs yet, for these versions. `has_builds`: they are there already."""
    directory = Path(tempfile.mkdtemp(prefix="opsapi-automated-", dir=os.environ.get("TMPDIR")))
    machine = AutomatedMachine(scenario, directory, versions or (VERSION,), host)
    if has_builds:
        machine.unpack()
    else:
        machine.pack()
    try:
        yield machine
    finally:
        machine.end()
        shutil.rmtree(directory, ignore_errors=True)
