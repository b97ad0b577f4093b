"""Agents that replace their file, as real processes: by the file of a real platform, and by wrong files."""

import hashlib
import io
import json
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from automation.agent_file import agent_file
from opsapi import VERSION
from tests.eventually import eventually
from tests.processes.agent import RunningAgent, running
from tests.processes.scenario import RunningSite
from tests.unit.automation.agent.stand_ins import platform

pytestmark = pytest.mark.processes

# At once, and not at its minute of the hour.
_HASTE = """
from automation.agent import trial, update
update.Updates._turn = lambda self, offer: 0.0
update.SHORTEST_TRIAL = update.LONGEST_TRIAL = {seconds}
trial.STOP_SECONDS = {seconds}
"""
_CRASHES = """
if "--trial" in sys.argv:
    sys.exit(3)
if "--check" in sys.argv:
    sys.exit(0)
"""
_HANGS = """
import signal, time
if "--trial" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
if "--check" in sys.argv:
    sys.exit(0)
"""


def build(version: str, *, does: str) -> bytes:
    """The agent of the platform with another version, which does this at its start."""
    begin = b"from automation.agent.__main__ import main\n"
    built = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(agent_file().octets)) as real, zipfile.ZipFile(built, "w") as archive:
        for name in real.namelist():
            octets = real.read(name)
            if name == "opsapi/__init__.py":
                octets = f'VERSION = "{version}"\n'.encode()
            if name == "__main__.py":
                assert begin in octets
                octets = octets.replace(begin, does.encode() + begin)
            archive.writestr(name, octets)
    return built.getvalue()


def agent_of(directory: Path, octets: bytes, **settings: str) -> tuple[RunningAgent, Path]:
    """An agent that runs from a file of its own, and the file. Its only server does not answer."""
    place = directory / "bin"
    place.mkdir(parents=True)
    path = place / "opsapi-agent.pyz"
    path.write_bytes(octets)
    path.chmod(0o640)
    nobody = "postgresql://u:x@127.0.0.1:1/postgres"
    return RunningAgent(directory, [str(path)], POSTGRESQL=nobody, **settings), path


def test_an_agent_takes_the_file_of_its_platform_and_goes_on(site: RunningSite, tmp_path: Path) -> None:
    owner = site.owner
    group = owner.post("/groups", {"name": "updated agents"})["id"]
    key = owner.post(f"/groups/{group}/apiKeys", {"desc": "agent", "roles": ["GROUP_AGENT"]})
    owner.put(f"/groups/{group}/agents/settings", {"selfUpdate": True})
    old = build("0.0.1", does=_HASTE.format(seconds=240))
    keys = {"PUBLIC_KEY": key["publicKey"], "PRIVATE_KEY": key["privateKey"]}
    agent, path = agent_of(tmp_path, old, URL=site.platform.base_url, GROUP_ID=group, **keys)

    def shown() -> Any:
        found = owner.get(f"/groups/{group}/agents")["results"]
        return found[0] if found else {}

    with running(agent):
        eventually(lambda: f"opsapi-agent {VERSION} reports" in agent.log.rpartition("has sent a report")[2])
        seen = len(agent.rounds())
        eventually(lambda: len(agent.rounds()) > seen and "sent=1 waiting=0" in agent.rounds()[-1])
        assert shown()["version"] == VERSION
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (agent_file().octets, 0o640)
    assert {each.name: each.read_bytes() for each in path.parent.iterdir() if each != path} == {
        "opsapi-agent.pyz.old": old
    }
    assert "updateProblem" not in shown()


def test_an_agent_takes_its_old_file_again_if_the_new_file_crashes_or_hangs(tmp_path: Path) -> None:
    agents = []
    with ExitStack() as stack:
        for name, does, seconds in (("crashes", _CRASHES, 240), ("hangs", _HANGS, 1)):
            old = build("1.0", does=_HASTE.format(seconds=seconds))
            new = build("2.0", does=does)
            update = {"version": "2.0", "sha256": hashlib.sha256(new).hexdigest(), "size": len(new)}
            settings = {"version": "1", "agentFile": update}
            url, sent = stack.enter_context(
                platform(202, settings=settings, file=new, accepted={}, leases={"hosts": []})
            )
            keys = {"GROUP_ID": "0" * 24, "PUBLIC_KEY": "A", "PRIVATE_KEY": "b"}
            agent, path = agent_of(tmp_path / name, old, URL=url, **keys)
            stack.enter_context(running(agent))
            agents.append((agent, path, old, sent))
        for _, path, old, sent in agents:

            def problems(sent: list[bytes] = sent) -> list[str]:
                documents = [json.loads(body) for body in sent if body]
                assert {document["version"] for document in documents} <= {"1.0"}
                return [document["updateProblem"] for document in documents if "updateProblem" in document]

            assert "2.0" in eventually(problems)[0]
            assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == {path.name: old}
        first, second = (agent.log for agent, *_ in agents)
    assert "status 3" in first
    assert "no report" in second
