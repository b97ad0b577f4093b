"""The automation configuration of one project, and its three revisions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alerting.demo.tables.fleet import HOSTS, NEWER_VERSION, PORT, VERSION, HostSpec
from alerting.demo.tables.people import DEPLOYS, SAMIR
from automation.choices import HostType

AUTOMATED = "catalogue"
"""The project whose processes are automated."""

_PASSWORD = "a password of the demonstration"  # noqa: S105 - shows how it is redacted, opens nothing
_LOGS = {"sizeThresholdMB": 500, "timeThresholdHrs": 24}


@dataclass(frozen=True, slots=True)
class Revision:
    """A version: who published it, and what it wants that the one before did not."""

    ago: int
    by: str
    newer_on: tuple[str, ...] = ()
    rotates_logs: bool = False


UPGRADED = ("cat-s0-b", "cat-s0-c")
"""Hosts, without their domain, that are brought to the newer version."""
REVISIONS = (
    Revision(1380, SAMIR),
    Revision(640, SAMIR, rotates_logs=True),
    Revision(336, DEPLOYS, newer_on=UPGRADED, rotates_logs=True),
)


def document(number: int, one: Revision) -> dict[str, Any]:
    """The document that becomes version `number` when it is published."""
    hosts = [host for host in HOSTS if host.group == AUTOMATED]
    return {
        "version": number - 1,
        "options": {"downloadBase": "/var/lib/ops-agent"},
        "databaseVersions": [_version(VERSION), *([_version(NEWER_VERSION)] if one.newer_on else [])],
        "processes": [_process(host, one) for host in hosts],
        "auth": {"autoUser": "ops-agent", "autoPwd": _PASSWORD},
    }


def _version(name: str) -> Mapping[str, Any]:
    build = {
        "platform": "linux",
        "url": f"https://downloads.brightside.example/{name}.tgz",
        "gitVersion": ("4" if name == VERSION else "5") * 40,
        "modules": [],
        "architecture": "amd64",
    }
    return {"name": name, "builds": [build]}


def _process(host: HostSpec, one: Revision) -> Mapping[str, Any]:
    name = host.hostname.partition(".")[0]
    return {
        "name": name,
        "hostname": host.hostname,
        "version": NEWER_VERSION if name in one.newer_on else VERSION,
        "authSchemaVersion": 5,
        "featureCompatibilityVersion": "8.0",
        "cluster": host.cluster,
        "args2_6": _arguments(host),
        **({"logRotate": _LOGS} if one.rotates_logs else {}),
    }


def _arguments(host: HostSpec) -> Mapping[str, Any]:
    stores = {} if host.type_name is HostType.SHARD_MONGOS else {"storage": {"dbPath": "/data/db"}}
    replicated = {"replication": {"replSetName": host.replica_set}} if host.replica_set else {}
    return {"net": {"port": PORT}, **stores, **replicated}
