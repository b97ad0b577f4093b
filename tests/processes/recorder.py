"""`python -m tests.processes.recorder`: asks real servers, and keeps what they answer for the unit tests.

Of the answers only that is kept which the table of metrics names.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bson import json_util

from automation.agent.mongodb.metrics import SERVER
from tests.processes.mongod import Client, replica_set, standalone
from tests.unit.automation.agent.recorded import DIRECTORY

_DERIVED = (
    *("serverStatus/pid", "serverStatus/uptimeMillis", "serverStatus/version", "serverStatus/oplog"),
    *("serverStatus/connections/available", "systemMetrics/memory", "systemMetrics/mounts/mnt"),
    *("systemMetrics/disks", "local.oplog.rs.stats/size", "replSetGetStatus/members"),
)
_PATHS = {path for row in SERVER for path in (*row.sources, row.by) if path} | set(_DERIVED)


def main() -> None:
    """Records all kinds of server there are here; a router is not in the wheel."""
    with standalone() as server, server.client() as client:
        record("standalone", client)
    with replica_set() as members:
        with members.admin() as client:
            record("primary", client)
        with members.hidden.client(username="root", password="root-password") as client:
            record("hidden", client)
        with members.arbiter.client() as client:
            keep(
                "arbiter",
                client.admin.command("buildInfo")["version"],
                {"hello": client.admin.command("hello")},
            )


def record(kind: str, client: Client) -> None:
    """Two polls of a server, and its answer to hello."""
    hello = client.admin.command("hello")
    path = client.admin.command("getCmdLineOpts")["parsed"]["storage"]["dbPath"]
    polls = []
    for _ in range(2):
        client.shop.orders.count_documents({})
        time.sleep(2.5)  # the server takes its numbers each second
        polls.append(_kept(client.admin.command("getDiagnosticData")["data"]))
    version = polls[0]["serverStatus"]["version"]
    keep(kind, version, {"hello": hello, "dbPath": path, "polls": polls})


def keep(kind: str, version: str, document: Mapping[str, Any]) -> None:
    """Write it."""
    document = {"dbPath": "", "polls": [{}, {}], **document}
    for name in ("$clusterTime", "operationTime", "lastWrite", "topologyVersion"):
        document["hello"].pop(name, None)
    DIRECTORY.mkdir(exist_ok=True)
    path: Path = DIRECTORY / f"{version}-{kind}.json"
    path.write_text(json_util.dumps(document, indent=1, sort_keys=True) + "\n")


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
    root = data["systemMetrics"]["mounts"]["/"]
    found["systemMetrics"]["mounts"] = {"/": root}
    return found


if __name__ == "__main__":
    main()
