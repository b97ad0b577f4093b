"""The agent: processor time of a host and round, and memory, by the number of hosts it watches.

The members answer as a recorded MongoDB server does (`members`). The PostgreSQL hosts are the addresses of
a single real server on this machine, so the agent measures the machine as well. A platform takes every
report. Only the process of the agent is measured; its log says how many hosts answered in each round. Between
its rounds the agent waits, and what it does then counts. For MongoDB, the limit is bare pymongo with as many
clients and the same commands.

"in one file" is the file that people download, with Python's own decoder of BSON.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from automation.agent.settings import SHORTEST_INTERVAL
from automation.agent_file import NAME, agent_file
from tests.benchmarks.cpu import cpu_seconds
from tests.benchmarks.figures import Line
from tests.benchmarks.members import SET_SIZE, members
from tests.benchmarks.memory import resident
from tests.benchmarks.size import Pace
from tests.eventually import eventually
from tests.processes.agent import PROGRAM, RunningAgent, running
from tests.processes.platform import ROOT
from tests.processes.postgresql import MONITOR, PASSWORD, servers
from tests.unit.automation.agent.stand_ins import platform

ROW = "agent"
_WAIT_SECONDS = 120.0
_WARM_ROUNDS = 2
_LONGEST_INTERVAL = 10
_FEWEST_POLLS = 100
"""Processor time is counted in hundredths of a second."""
_IN_ONE_FILE = (10, 100)
_PROMISED_MS, _PROMISED_MIB, _PROMISED_HOSTS = 5.0, 50.0, 10
"""The most processor time of a host and round, and the most memory for so many hosts."""
_POSTGRESQL_HOSTS = 10
_POSTGRESQL_VERSION = 18
_KEYS = {"GROUP_ID": "0123456789abcdef01234567", "PUBLIC_KEY": "public", "PRIVATE_KEY": "private"}
_ROUND = re.compile(r" reachable=(\d+) ")

Cost = tuple[float, float]
"""Milliseconds of a host and round, and MiB."""


def measure(pace: Pace) -> list[Line]:
    """Two lines for each number of hosts and each program."""
    lines: list[Line] = []
    for count in pace.agent_hosts:
        rounds = max(pace.agent_rounds, _FEWEST_POLLS // count)
        with members(count) as ports:
            seeds = " ".join(f"mongodb://127.0.0.1:{port}/" for port in ports[::SET_SIZE])
            bare = _bare(ports, rounds)
            what = f"{count} MongoDB hosts"
            lines += _lines(what, _agent(count, rounds, MONGODB=seeds), bare, "bare pymongo")
            if count in _IN_ONE_FILE:
                lines += _of_file(what, _in_one_file(count, rounds, MONGODB=seeds), count)
    return lines + _postgresql(_POSTGRESQL_HOSTS, max(pace.agent_rounds, _FEWEST_POLLS // _POSTGRESQL_HOSTS))


def _postgresql(count: int, rounds: int) -> list[Line]:
    """Addresses of a single server: to the agent they are as many hosts."""
    with servers(_POSTGRESQL_VERSION, listen_addresses="*") as (server, _):
        server.let_in("host all all 127.0.0.0/8 scram-sha-256")
        credentials = f"{MONITOR}:{quote(PASSWORD, safe='')}"
        uris = " ".join(
            f"postgresql://{credentials}@127.0.0.{number}:{server.port}/postgres"
            for number in range(1, count + 1)
        )
        cost = _in_one_file(count, rounds, POSTGRESQL=uris)
        return _of_file(f"{count} PostgreSQL hosts", cost, count)


def _of_file(what: str, agent: Cost, count: int) -> list[Line]:
    """The lines of the downloaded file, next to the promise; memory is promised for ten hosts."""
    memory = _PROMISED_MIB if count <= _PROMISED_HOSTS else None
    return _lines(f"{what}, in one file", agent, (_PROMISED_MS, memory), "promise")


def _lines(what: str, agent: Cost, limits: tuple[float, float | None], against: str) -> list[Line]:
    time, memory = limits
    return [
        Line(ROW, f"CPU a host and round, {what}", "ms", agent[0], time, against),
        Line(ROW, f"memory, {what}", "MiB", agent[1], memory, against if memory else ""),
    ]


def _bare(ports: Sequence[int], rounds: int) -> Cost:
    command = [sys.executable, "-m", "tests.benchmarks.bare_agent", json.dumps(ports), str(rounds)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            return float(process.stdout.readline()), resident(process.pid)
        finally:
            process.stdin.close()


def _in_one_file(count: int, rounds: int, **watched: str) -> Cost:
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / NAME
        program.write_bytes(agent_file().octets)
        return _agent(count, rounds, ["-I", str(program)], **watched)


def _agent(count: int, rounds: int, program: Sequence[str] = PROGRAM, **watched: str) -> Cost:
    """The cost, once every host was found and its databases were measured."""
    interval = min(_LONGEST_INTERVAL, max(SHORTEST_INTERVAL, count // 30))
    with tempfile.TemporaryDirectory() as directory, platform(202) as (url, _):
        agent = RunningAgent(Path(directory), program, URL=url, INTERVAL=str(interval), **watched, **_KEYS)
        with running(agent):
            assert agent.process is not None
            pid = agent.process.pid
            _wait(lambda: _polls(agent)[_WARM_ROUNDS:][-1:] == [count], f"all of {count} hosts are found")
            warm, before = len(_polls(agent)), cpu_seconds([pid])
            _wait(lambda: len(_polls(agent)) >= warm + rounds, f"{rounds} rounds")
            spent = cpu_seconds([pid]) - before
            return spent * 1000 / sum(_polls(agent)[warm:]), resident(pid)


def _polls(agent: RunningAgent) -> list[int]:
    """The number of hosts that answered in each round; a late answer counts in the next round."""
    return [int(found[1]) for line in agent.rounds() if (found := _ROUND.search(line))]


def _wait(condition: Callable[[], bool], what: str) -> None:
    eventually(condition, _WAIT_SECONDS, message=what, longest_pause=0.05)
