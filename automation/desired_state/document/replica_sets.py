"""Adds a new replica set to a document: its processes, its members, and their version. Pure.

The content of the document stays. Only before the first publication, the new replica set also decides about
the directory of downloads.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from automation.desired_state.document.machine import is_of_machine
from automation.desired_state.document.publish import NEW_PROJECT
from automation.plan.versions import SERIES, series
from automation.sections import (
    Section,
    items,
    machine_key,
    process_name,
    process_port,
    section,
    set_name,
    text,
)
from opsapi.wire_json import JsonObject

MOST_MACHINES: Final = 7
"""The most members of a new replica set: MongoDB allows seven that vote."""
FEWEST_WITH_ARBITER: Final = 3
"""With fewer machines, an arbiter would leave less than two copies of the data."""
LOG_ROTATION: Final[Mapping[str, int]] = {"sizeThresholdMB": 1000, "timeThresholdHrs": 24}
"""The log rotation of a new process that rotates its logs."""
_AUTH_SCHEMA: Final = 5
"""The schema of users since MongoDB 3.0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A version that the document does not have yet, with its build."""

    name: str
    url: str
    commit: str
    platform: str
    architecture: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedReplicaSet:
    """A new replica set with a member on each machine.

    `version`: the name of an entry of the document, or a new entry. `data_base`: the absolute directory below
    which each process has a directory with its own name. `download_base`: the directory of downloads,
    before the first publication. `has_arbiter`: whether the last member votes and has no data.
    """

    name: str
    machines: Sequence[str]
    port: int
    version: str | NewVersion
    data_base: str
    download_base: str = ""
    rotates_logs: bool = True
    has_arbiter: bool = False

    @property
    def version_name(self) -> str:
        """The name of the version."""
        return self.version if isinstance(self.version, str) else self.version.name

    def data_directory(self, process: str) -> str:
        """The directory of the data of a process."""
        return f"{self.data_base.rstrip('/')}/{process}"


@dataclass(frozen=True, slots=True)
class WantedFault:
    """Why a document cannot get the replica set.

    `field`: a field of `WantedReplicaSet`. `machine`: the place of the machine, if the field is `machines`.
    """

    field: str
    message: str
    machine: int = 0


def feature_version(version: str) -> str | None:
    """Return the feature compatibility version of a version: its series; None for an unknown series."""
    place = series(version)
    return None if place is None else SERIES[place]


def version_names(document: Section) -> list[str]:
    """Return the names of the versions of a document, in its order."""
    return [name for _, listed in items(document, "databaseVersions") if (name := text(listed, "name"))]


def data_bases(document: Section) -> list[str]:
    """Return the directories in which the processes of a document have their data, most frequent first."""
    paths = (_data_path(process) for _, process in items(document, "processes"))
    bases = Counter(path.rpartition("/")[0] for path in paths if path is not None)
    return [base for base, _ in bases.most_common() if base]


def process_names(document: Section, wanted: WantedReplicaSet) -> list[str]:
    """Return the name of the process on each machine: `<set>_<number>`, the first that are free."""
    taken = {process_name(process) for _, process in items(document, "processes")}
    free = (name for number in count(1) if (name := f"{wanted.name}_{number}") not in taken)
    return [name for _, name in zip(wanted.machines, free, strict=False)]


def replica_set_faults(document: Section, wanted: WantedReplicaSet) -> Iterator[WantedFault]:
    """Yield why the document cannot get the replica set."""
    if not isinstance(document.get("replicaSets") or [], list):
        yield WantedFault(
            "name", "The section replicaSets of the configuration is no list. Correct it first."
        )
    if wanted.name in _set_names(document):
        yield WantedFault("name", "The configuration has a replica set with this name. Choose another name.")
    yield from _version_faults(document, wanted)
    if wanted.has_arbiter and len(wanted.machines) < FEWEST_WITH_ARBITER:
        least = f"An arbiter needs at least {FEWEST_WITH_ARBITER} machines: two of them have the data."
        yield WantedFault("has_arbiter", least)
    keys = [machine_key(machine) for machine in wanted.machines]
    names = process_names(document, wanted)
    for place, (machine, key, name) in enumerate(zip(wanted.machines, keys, names, strict=True)):
        if key in keys[:place]:
            yield WantedFault("machines", "This machine is listed twice. Each member needs its own.", place)
        for process in _processes_of(document, key):
            if process_port(process) == wanted.port:
                other = process_name(process)
                in_use = f"{other} uses the port {wanted.port} of {machine}. Choose another port or machine."
                yield WantedFault("machines", in_use, place)
            if _data_path(process) == wanted.data_directory(name):
                other = process_name(process)
                yield WantedFault("data_base", f"{other} uses the directory {_data_path(process)} already.")


def with_replica_set(document: Section, wanted: WantedReplicaSet) -> JsonObject:
    """Return the document with the replica set, which has no `replica_set_faults`."""
    names = process_names(document, wanted)
    added = [_process(wanted, name, machine) for name, machine in zip(names, wanted.machines, strict=True)]
    versions = [_version(wanted.version)] if isinstance(wanted.version, NewVersion) else []
    replica_set = {"_id": wanted.name, "members": list(_members(wanted, names))}
    options = {"downloadBase": wanted.download_base}
    is_first = document["version"] == NEW_PROJECT["version"] and bool(wanted.download_base)
    return {
        **document,
        "options": {**section(document, "options"), **(options if is_first else {})},
        "databaseVersions": [*(document.get("databaseVersions") or ()), *versions],
        "processes": [*(document.get("processes") or ()), *added],
        "replicaSets": [*(document.get("replicaSets") or ()), replica_set],
    }


def _set_names(document: Section) -> set[str | None]:
    stated = (text(replica_set, "_id") for _, replica_set in items(document, "replicaSets"))
    return {*stated, *(set_name(process) for _, process in items(document, "processes"))}


def _version_faults(document: Section, wanted: WantedReplicaSet) -> Iterator[WantedFault]:
    name, names = wanted.version_name, version_names(document)
    if feature_version(name) is None:
        known = ", ".join(SERIES)
        yield WantedFault("version", f"{name} is of no known series. Known series: {known}.")
    if isinstance(wanted.version, NewVersion):
        if name in names:
            yield WantedFault("version", f"The configuration has the version {name}. Select it above.")
    elif name not in names:
        yield WantedFault("version", f"The configuration has no version {name} any more.")


def _processes_of(document: Section, key: str) -> Iterator[Section]:
    return (process for _, process in items(document, "processes") if is_of_machine(process, key))


def _data_path(process: Section) -> str | None:
    return text(section(section(process, "args2_6"), "storage"), "dbPath")


def _process(wanted: WantedReplicaSet, name: str, machine: str) -> JsonObject:
    directory = wanted.data_directory(name)
    return {
        "name": name,
        "hostname": machine,
        "version": wanted.version_name,
        "featureCompatibilityVersion": feature_version(wanted.version_name),
        "authSchemaVersion": _AUTH_SCHEMA,
        **({"logRotate": dict(LOG_ROTATION)} if wanted.rotates_logs else {}),
        "args2_6": {
            "net": {"port": wanted.port, "bindIp": machine, **({"ipv6": True} if ":" in machine else {})},
            "storage": {"dbPath": directory},
            "systemLog": {"destination": "file", "path": f"{directory}/mongod.log", "logAppend": True},
            "replication": {"replSetName": wanted.name},
        },
    }


def _members(wanted: WantedReplicaSet, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, name in enumerate(names):
        is_arbiter = wanted.has_arbiter and number == len(names) - 1
        yield {"_id": number, "host": name, **({"arbiterOnly": True} if is_arbiter else {})}


def _version(version: NewVersion) -> JsonObject:
    build = {
        "platform": version.platform,
        "architecture": version.architecture,
        "modules": [],
        "url": version.url,
        "gitVersion": version.commit,
    }
    return {"name": version.name, "builds": [build]}
