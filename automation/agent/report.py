"""Writes reports: what the platform's `POST /agents/v1.0/groups/{id}/reports` takes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from automation.agent.engine import Reading, Sample

MOST_HOSTS = 100
LARGEST_BYTES = 3_500_000
"""The platform takes 4 MiB unless it is set otherwise."""

Document = dict[str, Any]

_FIELD = re.compile(r"hosts\[(\d+)\](?:\.databases\[(\d+)\])?(?:\.measurements\[(\d+)\])?(?:\.(\w+))?")


def bodies_of(
    readings: Sequence[Reading], *, hostname: str, version: str, unknown: Collection[str] = ()
) -> Iterator[bytes]:
    """The reports of a round, as JSON, none too large; without hosts there is one, which says that we are up.

    `hostname` and `version` are the agent's; metrics that are `unknown` to the platform are left out.
    """
    head = {"agentType": "MONITORING", "hostname": hostname, "version": version}
    batch: list[Document] = []
    size = 0
    for reading in readings:
        host = _host(reading, unknown)
        weight = len(_json(host))
        if batch and (len(batch) == MOST_HOSTS or size + weight > LARGEST_BYTES):
            yield _json({**head, "hosts": batch})
            batch, size = [], 0
        batch.append(host)
        size += weight
    if batch or not readings:
        yield _json({**head, "hosts": batch})


def measurements_in(body: bytes) -> int:
    """How many measurements a report holds."""
    hosts = json.loads(body)["hosts"]
    return sum(len(one["measurements"]) for host in hosts for one in (host, *host.get("databases", ())))


def without(body: bytes, bad_fields: Iterable[str]) -> tuple[bytes | None, frozenset[str]]:
    """The report without what the platform refused, and the names of the metrics that it does not know.

    A measurement goes alone; any other fault takes its host with it. The body is None when a fault is of the
    whole report, or when nothing was left out.
    """
    document = json.loads(body)
    hosts = document["hosts"]
    unknown: set[str] = set()
    gone: set[int] = set()
    measured: set[tuple[int, int | None, int]] = set()
    for name in bad_fields:
        found = _FIELD.fullmatch(name)
        if found is None:
            return None, frozenset(unknown)
        host, database, measurement = (int(one) if one else None for one in found.groups()[:3])
        if host is None or measurement is None:
            gone.add(host or 0)
            continue
        measured.add((host, database, measurement))
        if found[4] == "metricName":
            owner = hosts[host] if database is None else hosts[host]["databases"][database]
            unknown.add(owner["measurements"][measurement]["metricName"])
    if not gone and not measured:
        return None, frozenset()
    for place, host in enumerate(hosts):
        for part, owner in ((None, host), *enumerate(host.get("databases", ()))):
            owner["measurements"] = [
                one
                for number, one in enumerate(owner["measurements"])
                if (place, part, number) not in measured and one["metricName"] not in unknown
            ]
    document["hosts"] = [host for place, host in enumerate(hosts) if place not in gone]
    return _json(document), frozenset(unknown)


def _host(reading: Reading, unknown: Collection[str]) -> Document:
    document = {
        "hostname": reading.address.hostname,
        "port": reading.address.port,
        "typeName": reading.type_name,
        "reachable": reading.reachable,
        "version": reading.version,
        "replicaSetName": reading.replica_set,
        "clusterName": reading.cluster,
        "shardName": reading.shard,
        "uptimeSeconds": reading.uptime,
        "databases": None
        if reading.databases is None
        else [
            {"databaseName": name, "measurements": _measurements(samples, unknown)}
            for name, samples in reading.databases.items()
        ],
        "measurements": _measurements(reading.samples, unknown),
    }
    return {name: value for name, value in document.items() if value is not None}


def _measurements(samples: Iterable[Sample], unknown: Collection[str]) -> list[Document]:
    return [
        {"metricName": one.metric, "number": one.number, "timestamp": _time(one.taken)}
        for one in samples
        if one.metric not in unknown
    ]


def _time(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(document: Document) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
