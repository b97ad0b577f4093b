"""Automation documents, each part valid from nothing; `changes` replace fields, ABSENT takes one away."""

from typing import Any

ABSENT: Any = object()


def _with(part: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**part, **changes}.items() if value is not ABSENT}


def document(**changes: Any) -> dict[str, Any]:
    """A document with one version and one process of it."""
    return _with(
        {
            "version": 1,
            "options": {"downloadBase": "/var/lib/ops-agent"},
            "databaseVersions": [version()],
            "processes": [process()],
        },
        changes,
    )


def version(**changes: Any) -> dict[str, Any]:
    """An entry of databaseVersions with one build."""
    return _with({"name": "7.0.2", "builds": [build()]}, changes)


def build(**changes: Any) -> dict[str, Any]:
    """A build of a version."""
    return _with(
        {
            "platform": "linux",
            "url": "https://downloads.example.com/7.0.2.tgz",
            "gitVersion": "a" * 40,
            "modules": [],
            "architecture": "amd64",
        },
        changes,
    )


def process(**changes: Any) -> dict[str, Any]:
    """A process."""
    return _with(
        {
            "name": "db_1",
            "hostname": "db1.example.com",
            "version": "7.0.2",
            "args2_6": {"net": {"port": 27017}, "storage": {"dbPath": "/data"}},
            "authSchemaVersion": 5,
            "featureCompatibilityVersion": "7.0",
        },
        changes,
    )


def agent(**changes: Any) -> dict[str, Any]:
    """An element of monitoringVersions or backupVersions."""
    return _with(
        {
            "name": "12.1.0",
            "hostname": "agent1.example.com",
            "urls": {"linux": {"default": "https://downloads.example.com/agent.tgz"}},
            "baseUrl": "https://ops.example.com",
            "logPath": "/var/log/agent",
        },
        changes,
    )


def rotation(**changes: Any) -> dict[str, Any]:
    """A logRotate with everything in it."""
    return _with(
        {
            "sizeThresholdMB": 1000,
            "timeThresholdHrs": 24,
            "numUncompressed": 5,
            "percentOfDiskspace": 0.02,
            "numTotal": 0,
        },
        changes,
    )


def full_document() -> dict[str, Any]:
    """A document with every field that the contract lists."""
    builds = [
        build(
            bits=64,
            win2008plus=True,
            winVCRedistUrl="https://downloads.example.com/vc.exe",
            winVCRedistOptions=["/quiet"],
            winVCRedistDll="msvcp.dll",
            winVCRedistVersion="12.0",
        )
    ]
    return document(
        options={"downloadBase": "/var/lib/ops-agent", "maxLagSec": 60, "patienceMin": 5},
        databaseVersions=[version(builds=builds)],
        agentVersion={"name": "13.1", "directoryUrl": "https://downloads.example.com/agents"},
        monitoringVersions=[agent(logRotate=rotation())],
        backupVersions=[agent(logRotate=rotation())],
        processes=[full_process()],
    )


def full_process(**changes: Any) -> dict[str, Any]:
    """A process with every field that the contract lists."""
    concerns = {
        "defaultReadConcern": {"level": "majority"},
        "defaultWriteConcern": {"j": True, "w": "2", "wtimeout": 1000},
    }
    settings = {"net": {"port": 27017}, "storage": {"dbPath": "/data"}, "replication": {"replSetName": "db"}}
    everything = {
        "args2_6": settings,
        "alias": "db.example.com",
        "backupRestoreUrl": "https://restore.example.com/1",
        "cluster": "east",
        "defaultRWConcern": concerns,
        "disabled": False,
        "lastCompact": "2099-11-21T07:26:14Z",
        "lastRestart": "2099-11-21T07:26:14Z",
        "lastResync": "2099-11-21T07:26:14Z",
        "lastKmipMasterKeyRotation": "2099-11-21T07:26:14Z",
        "logRotate": rotation(),
        "manualMode": False,
        "numCores": 4,
        "processType": "database",
    }
    return process(**{**everything, **changes})
