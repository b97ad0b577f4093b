"""`python -m tests.benchmarks.members COUNT`: members of replica sets that answer as a recorded server does.

They speak the wire protocol, and do nothing else: what asks them costs the same as at real servers. The ports
are written as a JSON list; it ends with its standard input. `tests.processes.recorder` makes the recording.
"""

import asyncio
import gzip
import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bson import json_util

from tests.processes.platform import ROOT
from tests.unit.automation.agent.stand_ins import command_in, reply_to

RECORDED = Path(__file__).parent / "member.json.gz"
SET_SIZE = 5
_OPTIONS = json_util.JSONOptions(tz_aware=False)
_GROWING = ("opcounters", "opLatencies", "asserts", "network")
_HEADER = struct.Struct("<iiii")

Document = dict[str, Any]


class BenchmarkMember:
    """A member of a set: the first is primary, the others follow it."""

    def __init__(self, recorded: Mapping[str, Document], port: int, ports: Sequence[int]) -> None:
        hosts = [f"127.0.0.1:{port}" for port in ports]
        self._began = time.monotonic()
        self._answers = recorded
        is_primary = port == ports[0]
        name = f"rs{ports[0]}"
        self._hello = {
            **recorded["hello"],
            "setName": name,
            "hosts": hosts,
            "passives": [],
            "arbiters": [],
            "me": f"127.0.0.1:{port}",
            "primary": hosts[0],
            "isWritablePrimary": is_primary,
            "secondary": not is_primary,
        }
        self._status = {**recorded["getDiagnosticData"]["data"]["replSetGetStatus"], "set": name}
        self._status["members"] = [
            {
                **self._status["members"][0],
                "_id": number,
                "name": host,
                "self": host == self._hello["me"],
                "stateStr": "SECONDARY" if number else "PRIMARY",
            }
            for number, host in enumerate(hosts)
        ]

    def answer(self, command: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a command: recorded, with the time and counters going on."""
        name = next(iter(command))
        now = datetime.now(UTC)
        if name in {"hello", "isMaster", "ismaster"}:
            return {**self._hello, "localTime": now}
        if name == "getDiagnosticData":
            return {"data": self._data(now), "ok": 1.0}
        return self._answers.get(name, {"ok": 1.0})

    def _data(self, now: datetime) -> Document:
        data = self._answers["getDiagnosticData"]["data"]
        passed = time.monotonic() - self._began
        status = {**data["serverStatus"]}
        for section in _GROWING:
            status[section] = _grown(status[section], int(passed * 10))
        status["metrics"] = {
            **status["metrics"],
            **{
                part: _grown(status["metrics"][part], int(passed * 10))
                for part in ("document", "queryExecutor")
            },
        }
        status["uptimeMillis"] = int(passed * 1000) + 3_600_000
        return {**data, "start": now, "end": now, "serverStatus": status, "replSetGetStatus": self._status}


def _grown(numbers: Document, by: int) -> Document:
    return {
        name: _grown(value, by)
        if isinstance(value, dict)
        else value + by
        if isinstance(value, int)
        else value
        for name, value in numbers.items()
    }


class _Connection(asyncio.Protocol):
    """A client of a member."""

    def __init__(self, member: BenchmarkMember) -> None:
        self._member = member
        self._octets = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody connects."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each whole message."""
        self._octets += data
        while len(self._octets) >= _HEADER.size:
            length, request_id, _, opcode = _HEADER.unpack_from(self._octets)
            if len(self._octets) < length:
                return
            body = bytes(self._octets[_HEADER.size : length])
            del self._octets[:length]
            self._transport.write(reply_to(request_id, opcode, self._member.answer(command_in(opcode, body))))


def recorded() -> Mapping[str, Document]:
    """Answers of a real server, by command."""
    text = gzip.decompress(RECORDED.read_bytes()).decode()
    answers: Mapping[str, Document] = json_util.loads(text, json_options=_OPTIONS)
    return answers


async def serve(count: int) -> None:
    """Answer until the standard input ends."""
    loop = asyncio.get_running_loop()
    sockets = [socket.create_server(("127.0.0.1", 0), backlog=16) for _ in range(count)]
    ports: list[int] = [socket_.getsockname()[1] for socket_ in sockets]
    answers = recorded()
    for place, listening in enumerate(sockets):
        first = place - place % SET_SIZE
        member = BenchmarkMember(answers, ports[place], ports[first : first + SET_SIZE])
        await loop.create_server(partial(_Connection, member), sock=listening)
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def members(count: int) -> Iterator[Sequence[int]]:
    """Run `count` members in a separate process; yield their ports, grouped by replica set."""
    command = [sys.executable, "-m", "tests.benchmarks.members", str(count)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
