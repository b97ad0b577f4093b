"""The part of a document that the agent of a machine needs: its processes in full. Pure.

Of processes of other machines it has names, host names and ports only, so no secret of theirs.
"""

from collections.abc import Mapping
from typing import Any

from automation.sections import (
    Section,
    items,
    process_address,
    process_host,
    process_name,
    process_port,
    section,
    text,
)
from opsapi.hostnames import canonical_hostname


def machine_key(hostname: str) -> str:
    """The identity of a machine: its host name in the stored form, in lower case."""
    return (canonical_hostname(hostname) or hostname).lower()


def is_of_machine(process: Section, key: str) -> bool:
    """Whether the process is on the machine: its hostname or its alias is that of the machine."""
    alias = text(process, "alias")
    return machine_key(process_host(process)) == key or (alias is not None and machine_key(alias) == key)


def machine_part(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The version, the downloads, the processes of the machine, and the members of their replica sets."""
    listed = [process for _, process in items(document, "processes")]
    own = [process for process in listed if is_of_machine(process, key)]
    sets = {name for process in own if (name := set_name(process))}
    clusters = {name for process in own if (name := text(process, "cluster"))}
    others = [
        process
        for process in listed
        if not is_of_machine(process, key)
        and (set_name(process) in sets or text(process, "cluster") in clusters)
    ]
    replica_sets = [stated for _, stated in items(document, "replicaSets") if text(stated, "_id") in sets]
    agent = {"agentVersion": document["agentVersion"]} if document.get("agentVersion") else {}
    return {
        "version": document["version"],
        "options": section(document, "options"),
        "databaseVersions": [version for _, version in items(document, "databaseVersions")] if own else [],
        **agent,
        "processes": own,
        "members": [_member(process) for process in others],
        "replicaSets": replica_sets,
    }


def set_name(process: Section) -> str | None:
    """The replica set of a process; None without one."""
    return text(section(section(process, "args2_6"), "replication"), "replSetName")


def _member(process: Section) -> dict[str, Any]:
    address = process_address(process)
    names = {
        "alias": text(process, "alias"),
        "replicaSetName": set_name(process),
        "cluster": text(process, "cluster"),
    }
    return {
        "name": process_name(process),
        "hostname": address.hostname if address else process_host(process),
        "port": process_port(process),
        **{name: value for name, value in names.items() if value is not None},
    }
