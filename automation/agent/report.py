"""Builds reports for `POST /agents/v1.0/groups/{id}/reports`. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Callable

from automation.agent.engine import HostReading, Sample, ServerAddress

MOST_HOSTS = 100
LARGEST_BYTES = 3_500_000
"""The platform accepts 4 MiB by default."""

Document = dict[str, Any]

_OPTIONAL = frozenset(
    {
        "version",
        "replicaSetName",
        "clusterName",
        "shardName",
        "uptimeSeconds",
        "databases",
        "lease",
        "engine",
        "problem",
    }
)
"""Optional fields of a host."""

_LABELS = "labels"
OBSERVED = "observed"
WAITING = "waiting"
_ADDED = frozenset({"engine", "problem"})
"""Fields of a host that earlier platforms do not know."""
_LABEL_FIELD = re.compile(r"labels(?:\.(\w+))?")
# The first fields of a report: `bodies_of` writes them in this order.
_HAS_TIME = re.compile(rb'\{"agentType":"[^"]*","hostname":"[^"]*","version":"[^"]*","observed":')
_NAME = re.compile(rb'^(\{"agentType":"[^"]*","hostname":)"[^"]*"')
_FIELD = re.compile(r"hosts\[(\d+)\](?:\.databases\[(\d+)\])?(?:\.measurements\[(\d+)\])?(?:\.(\w+))?")


def bodies_of(
    readings: Sequence[HostReading],
    *,
    hostname: str,
    version: str,
    labels: Mapping[str, str],
    observed: datetime,
    unknown: Collection[str] = (),
    lease_of: Callable[[ServerAddress], str | None] = lambda _: None,
) -> Iterator[bytes]:
    """The reports of a round as JSON, none too large.

    Without hosts, a single report says that the agent is up.

    `hostname` and `version` identify the agent; `labels` are the labels of all hosts. `observed` is the time
    of the round. `unknown` has the names of metrics to leave out, "labels" to leave out the labels, "engine"
    and "problem" to leave out these fields of hosts, and "observed" to leave out the time.
    `lease_of` returns the lease under which a host was polled.
    """
    head: Document = {"agentType": "MONITORING", "hostname": hostname, "version": version}
    if OBSERVED not in unknown:
        head[OBSERVED] = _time(observed)
    if _LABELS not in unknown:
        head[_LABELS] = dict(labels)  # An empty object removes the stored labels.
    batch: list[bytes] = []
    size = 0
    for reading in readings:
        host = _json(_host(reading, unknown, lease_of(reading.address)))
        if batch and (len(batch) == MOST_HOSTS or size + len(host) > LARGEST_BYTES):
            yield _with_hosts(head, batch)
            batch, size = [], 0
        batch.append(host)
        size += len(host)
    if batch or not readings:
        yield _with_hosts(head, batch)


def _with_hosts(head: Document, hosts: Sequence[bytes]) -> bytes:
    """A report with these hosts, each of them as JSON."""
    return b'%s,"hosts":[%s]}' % (_json(head)[:-1], b",".join(hosts))


def measurements_in(readings: Iterable[HostReading], unknown: Collection[str] = ()) -> int:
    """Number of measurements in the reports of a round."""
    return sum(
        sample.metric not in unknown
        for reading in readings
        for samples in (reading.samples, *(reading.databases or {}).values())
        for sample in samples
    )


def without(body: bytes, bad_fields: Iterable[str]) -> tuple[bytes | None, frozenset[str]]:
    """The report without rejected parts, and the names that the platform does not know.

    The names are of metrics, or "labels", or of fields in `_ADDED`. A rejected measurement, database, label
    or optional field of a host is removed alone; any other fault of a host removes the whole host. The body
    is None if the fault concerns the whole report or an unknown path, or if nothing was removed.
    """
    try:
        return _without(json.loads(body), bad_fields)
    except (IndexError, KeyError):
        return None, frozenset()


def without_time(body: bytes) -> bytes:
    """The report without the time of observation, so that it counts from its arrival."""
    if not _HAS_TIME.match(body):
        return body
    document = json.loads(body)
    document.pop(OBSERVED, None)
    return _json(document)


def with_time(body: bytes, observed: float) -> bytes:
    """The report with a time of observation, in seconds since 1970, if it has none.

    Reports that an earlier version of the agent left in the spool have none.
    """
    if _HAS_TIME.match(body):
        return body
    return _with_field(body, OBSERVED, _time(datetime.fromtimestamp(observed, timezone.utc)))


def with_waiting(body: bytes, waiting: int) -> bytes:
    """The report with the number of newer reports that are sent after it."""
    return _with_field(body, WAITING, waiting)


def with_hostname(body: bytes, hostname: str) -> bytes:
    """The report with this name of the agent."""
    return _NAME.sub(lambda match: match[1] + json.dumps(hostname).encode(), body, count=1)


def _with_field(body: bytes, name: str, value: object) -> bytes:
    return b'{"%s":%s,%s' % (name.encode(), json.dumps(value).encode(), body[1:])


def without_measurements(body: bytes, problem: str | None = None) -> bytes:
    """The report with its hosts, without measurements; `problem` is why reachable hosts have none."""
    document = json.loads(body)
    for host in document["hosts"]:
        if problem is not None and host.get("reachable"):
            host.setdefault("problem", problem)
    for owner in _owners(document):
        owner["measurements"] = []
    return _json(document)


def _without(document: Document, bad_fields: Iterable[str]) -> tuple[bytes | None, frozenset[str]]:
    hosts = document["hosts"]
    unknown: set[str] = set()
    refused: set[int] = set()
    optional: list[tuple[Document, str]] = []
    for name in bad_fields:
        if label := _label(document, name):
            optional.append(label)
            unknown |= {name} & {_LABELS}
            continue
        match = _FIELD.fullmatch(name)
        if match is None:
            return None, frozenset(unknown)
        host = hosts[int(match[1])]
        owner = host if match[2] is None else host["databases"][int(match[2])]
        if match[3] is not None:
            measurement = owner["measurements"][int(match[3])]
            refused.add(id(measurement))
            unknown |= {measurement["metricName"]} if match[4] == "metricName" else set()
        elif owner is host and match[4] in _OPTIONAL and match[4] in host:
            optional.append((host, match[4]))
            unknown |= {match[4]} & _ADDED
        else:
            refused.add(id(owner))
    if not refused and not optional:
        return None, frozenset()
    for owner, name in optional:
        owner.pop(name, None)
    # The platform lists only some of many faults, and no host may keep such a field.
    for name in unknown & _ADDED:
        for host in hosts:
            host.pop(name, None)
    _remove(document, refused, unknown)
    return _json(document), frozenset(unknown)


def _remove(document: Document, refused: Collection[int], unknown: Collection[str]) -> None:
    """Remove hosts, databases and measurements by the `id` of their objects, and metrics by name."""
    document["hosts"] = [host for host in document["hosts"] if id(host) not in refused]
    for host in document["hosts"]:
        if "databases" in host:
            host["databases"] = [database for database in host["databases"] if id(database) not in refused]
    for owner in _owners(document):
        owner["measurements"] = [
            measurement
            for measurement in owner["measurements"]
            if id(measurement) not in refused and measurement["metricName"] not in unknown
        ]


def _label(document: Document, field: str) -> tuple[Document, str] | None:
    """The owner and the name of a label, or of all labels; None if the field is another one.

    Raises KeyError if the report does not have the label.
    """
    match = _LABEL_FIELD.fullmatch(field)
    if match is None:
        return None
    owner, name = (document[_LABELS], match[1]) if match[1] else (document, _LABELS)
    if name not in owner:
        raise KeyError(name)
    return owner, name


def _owners(document: Document) -> Iterator[Document]:
    """The hosts and databases that have measurements."""
    for host in document["hosts"]:
        yield from (host, *host.get("databases", ()))


def _host(reading: HostReading, unknown: Collection[str], lease: str | None) -> Document:
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
        "lease": lease,
        "engine": reading.engine,
        "problem": reading.problem,
    }
    left_out = _ADDED.intersection(unknown)
    return {name: value for name, value in document.items() if value is not None and name not in left_out}


def _measurements(samples: Iterable[Sample], unknown: Collection[str]) -> list[Document]:
    times: dict[datetime, str] = {}
    measurements = []
    for sample in samples:
        if sample.metric in unknown:
            continue
        # All values of a poll have the same time.
        if sample.taken not in times:
            times[sample.taken] = _time(sample.taken)
        measurements.append(
            {"metricName": sample.metric, "number": sample.number, "timestamp": times[sample.taken]}
        )
    return measurements


def _time(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(document: Document) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
