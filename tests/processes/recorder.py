"""`python -m tests.processes.recorder`: asks real servers, and keeps what they answer for the unit tests.

Of the answers only that is kept which the table of metrics names; for the benchmark of the agent, the whole
answers of a member.
"""

import gzip
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bson import json_util

from automation.agent.mongodb.connection import OPERATIONS
from automation.agent.mongodb.metrics import SERVER, WINDOW, Answers, numbers_of
from tests.benchmarks.members import RECORDED as MEMBER
from tests.processes.mongod import OLDER_VERSIONS, PRIMARY, VERSION, Client, replica_set, standalone
from tests.unit.automation.agent.recorded import DIRECTORY, SHAPED_VERSIONS

_DERIVED = (
    *("serverStatus/pid", "serverStatus/uptimeMillis", "serverStatus/version", "serverStatus/oplog"),
    *("serverStatus/connections/available", "systemMetrics/memory", "systemMetrics/mounts/mnt"),
    *("systemMetrics/cpu/num_cpus", "systemMetrics/disks", "serverStatus/electionMetrics"),
    *("local.oplog.rs.stats/size", "local.oplog.rs.stats/maxSize", "currentOp/fsyncLock"),
    *("replSetGetStatus/members", "replSetGetStatus/optimes"),
)
_PATHS = {path for row in SERVER for path in (*row.sources, row.by) if path} | set(_DERIVED)


def main() -> None:
    """Records all kinds of server there are here; a router is not in the wheel."""
    for version in OLDER_VERSIONS:
        with replica_set([PRIMARY], version) as members, members.admin() as client:
            members.fill_oplog()
            record("primary", client)
    with standalone() as server, server.client() as client:
        record("standalone", client)
    with replica_set() as members:
        members.fill_oplog()
        with members.admin() as client:
            window = record("primary", client)
        with members.hidden.client(username="root", password="root-password") as client:
            record("hidden", client, window)
            record_whole(client)
        with members.arbiter.client() as client:
            keep(
                "arbiter",
                client.admin.command("buildInfo")["version"],
                {"hello": client.admin.command("hello")},
            )
    shape()


def shape() -> None:
    """Write the recordings of a primary in the shape that later versions give to the same data.

    No server of these versions is available to the tests. The shapes are of the server's sources and of
    diagnostic data that users published.
    """
    for version in SHAPED_VERSIONS:
        path = DIRECTORY / f"{VERSION}-primary.json"
        document = json_util.loads(path.read_text())
        for poll in document["polls"]:
            status, cpu = poll["serverStatus"], poll["systemMetrics"]["cpu"]
            status["version"] = f"{version}.0"
            cpu["num_logical_cores"] = cpu["num_cores_available_to_process"] = cpu.pop("num_cpus")
            poll["local.oplog.rs.stats"] = {"storageStats": poll["local.oplog.rs.stats"]}
            if version == "8.0":
                status["queues"] = {"execution": status["wiredTiger"].pop("concurrentTransactions")}
        keep("primary", version, document)


def record_whole(client: Client) -> None:
    """What a member answers to the commands of a poll."""
    commands = ("hello", "getDiagnosticData", "getCmdLineOpts", "buildInfo", "listDatabases", "dbStats")
    answers = {name: dict(client.admin.command(name)) for name in commands}
    answers["currentOp"] = dict(client.admin.command(dict(OPERATIONS.command)))
    for answer in answers.values():
        _forget_times(answer)
    text = json_util.dumps(answers, sort_keys=True)
    MEMBER.write_bytes(gzip.compress(text.encode(), mtime=0))


def record(kind: str, client: Client, primary_window: float | None = None) -> float | None:
    """Two polls of a server, and its answer to hello. Returns its oplog window if it is a primary."""
    hello = client.admin.command("hello")
    path = client.admin.command("getCmdLineOpts")["parsed"]["storage"]["dbPath"]
    polls = []
    for _ in range(2):
        client.shop.orders.count_documents({})
        time.sleep(2.5)  # the server takes its numbers each second
        if hello.get("isWritablePrimary"):
            client.shop.orders.insert_one({"total": 2})  # the oplog has a beginning and an end
        data = client.admin.command("getDiagnosticData")["data"]
        if hello.get("setName"):  # the agent asks for it before 6.0
            data["serverStatus"].setdefault("oplog", client.admin.command("serverStatus", oplog=1)["oplog"])
        operations = client.admin.command(dict(OPERATIONS.command))
        data["currentOp"] = {"fsyncLock": bool(operations.get("fsyncLock"))}
        polls.append(_kept(data))
    version = polls[0]["serverStatus"]["version"]
    more = {} if primary_window is None else {"primaryWindow": primary_window}
    keep(kind, version, {"hello": hello, "dbPath": path, "polls": polls, **more})
    return numbers_of(Answers(polls[-1])).get(WINDOW)


def keep(kind: str, version: str, document: Mapping[str, Any]) -> None:
    """Write it."""
    document = {"dbPath": "", "polls": [{}, {}], **document}
    _forget_times(document["hello"])
    DIRECTORY.mkdir(exist_ok=True)
    path: Path = DIRECTORY / f"{version}-{kind}.json"
    path.write_text(json_util.dumps(document, indent=1, sort_keys=True) + "\n")


def _forget_times(answer: dict[str, Any]) -> None:
    for name in ("$clusterTime", "operationTime", "lastWrite", "topologyVersion"):
        answer.pop(name, None)


def _kept(data: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in _PATHS:
        names = path.split("/")
        place: Any = data
        for name in names:
            place = place.get(name) if isinstance(place, Mapping) else None
        if place is not None:
            part = found
            for name in names[:-1]:
                part = part.setdefault(name, {})
            part[names[-1]] = place
    if mounts := data["systemMetrics"].get("mounts"):  # not before 6.0
        found["systemMetrics"]["mounts"] = {"/": mounts["/"]}
    return found


if __name__ == "__main__":
    main()
