"""The agent: processor time of a host and poll, and memory, by the number of hosts it watches.

The members answer as a recorded MongoDB server does (`members`), a platform takes every report; what is
measured is the agent's process alone. The limit is bare pymongo with as many clients and the same commands.
Between its rounds the agent waits, and what it does then counts.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from automation.agent_file import NAME, agent_file
from tests.benchmarks.cpu import cpu_seconds
from tests.benchmarks.figures import Line
from tests.benchmarks.members import SET_SIZE, members
from tests.benchmarks.memory import by_kind
from tests.benchmarks.size import Pace
from tests.eventually import eventually
from tests.processes.agent import RunningAgent, running
from tests.processes.platform import ROOT
from tests.unit.automation.agent.stand_ins import platform

ROW = "agent"
INTERVAL = 10
_WAIT_SECONDS = 300.0
_WARM_ROUNDS = 2
_IN_ONE_FILE = 100
_KEYS = {"GROUP_ID": "0123456789abcdef01234567", "PUBLIC_KEY": "public", "PRIVATE_KEY": "private"}


def measure(pace: Pace) -> list[Line]:
    """Two lines for each number of hosts, and two of the agent in one file, which is Python alone."""
    lines: list[Line] = []
    for count in pace.agent_hosts:
        with members(count) as ports:
            bare = _bare(ports, pace.agent_rounds)
            lines += _lines(f"{count} hosts", _agent(ports, pace.agent_rounds), bare)
            if count == _IN_ONE_FILE:
                lines += _lines(f"{count} hosts, in one file", _in_one_file(ports, pace.agent_rounds), bare)
    return lines


def _lines(what: str, agent: tuple[float, float], bare: tuple[float, float]) -> list[Line]:
    return [
        Line(ROW, f"CPU a host and poll, {what}", "ms", agent[0], bare[0], "bare pymongo"),
        Line(ROW, f"memory, {what}", "MiB", agent[1], bare[1], "bare pymongo"),
    ]


def _bare(ports: Sequence[int], rounds: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "tests.benchmarks.bare_agent", json.dumps(ports), str(rounds)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            return float(process.stdout.readline()), sum(by_kind(process.pid).values())
        finally:
            process.stdin.close()


def _in_one_file(ports: Sequence[int], rounds: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / NAME
        program.write_bytes(agent_file().octets)
        return _agent(ports, rounds, ["-I", str(program)])


def _agent(ports: Sequence[int], rounds: int, *program: Sequence[str]) -> tuple[float, float]:
    """Milliseconds of a poll, once every host was found and its databases were measured, and MiB."""
    seeds = " ".join(f"mongodb://127.0.0.1:{port}/" for port in ports[::SET_SIZE])
    with tempfile.TemporaryDirectory() as directory, platform(202) as (url, _):
        agent = RunningAgent(
            Path(directory), *program, URL=url, MONGODB=seeds, INTERVAL=str(INTERVAL), **_KEYS
        )
        with running(agent):
            assert agent.process is not None
            pid = agent.process.pid
            _wait(agent, len(ports), _WARM_ROUNDS)
            before = cpu_seconds([pid])
            _wait(agent, len(ports), _WARM_ROUNDS + rounds)
            return (cpu_seconds([pid]) - before) * 1000 / (rounds * len(ports)), sum(by_kind(pid).values())


def _wait(agent: RunningAgent, hosts: int, rounds: int) -> None:
    def done() -> bool:
        return (
            len([line for line in agent.rounds() if f" hosts={hosts} reachable={hosts} late=0 " in line])
            >= rounds
        )

    eventually(done, _WAIT_SECONDS, message=f"{rounds} rounds of {hosts} hosts")
