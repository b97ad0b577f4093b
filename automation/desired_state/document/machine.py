"""The part of a document that the agent of a machine needs: its processes in full. Pure.

Of processes of other machines it has names, addresses and versions only, so no secret of theirs. A machine
without processes gets no secret.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from automation.desired_state.document.secrets import Surroundings, redacted_value
from automation.plan.auth import auth_faults, refused_fields
from automation.plan.places import place_faults
from automation.plan.versions import series
from automation.sections import (
    Section,
    items,
    machine_keys,
    process_host,
    process_name,
    process_port,
    section,
    set_name,
    text,
)
from opsapi.hostnames import canonical_hostname
from opsapi.redaction import MASK


def is_of_machine(process: Section, key: str) -> bool:
    """Whether the process is on the machine: its hostname or its alias is that of the machine."""
    return key in machine_keys(process)


def machine_part(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The version, the downloads, the processes of the machine with their users and key file, and the members
    of their replica sets.
    """
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
    agent = {"agentVersion": document["agentVersion"]} if own and document.get("agentVersion") else {}
    faults = auth_faults(document) if own else []
    auth = _auth(section(document, "auth"), own, replica_sets)
    misplaced = _misplaced(listed, own, others) if own else {}
    return {
        "version": document["version"],
        "options": section(document, "options") if own else {},
        "databaseVersions": list(_versions(document, own)) if own else [],
        **agent,
        **({"auth": auth} if auth else {}),
        **({"authFaults": faults} if faults else {}),
        **({"processFaults": misplaced} if misplaced else {}),
        "processes": own,
        "members": [_member(process) for process in others],
        "replicaSets": replica_sets,
    }


def _misplaced(
    listed: Sequence[Section], own: Sequence[Section], others: Sequence[Section]
) -> Mapping[str, str]:
    """The faults of the places of processes, without the names of others that the machine does not know."""
    known = {process_name(process) for process in (*own, *others)}
    faults = place_faults(listed)
    seen = place_faults([*own, *others])
    return {
        name: seen.get(name, "a process that this machine does not know has a name of its machine")
        for name in faults
        if name in known
    }


def _versions(document: Mapping[str, Any], own: Sequence[Section]) -> Iterator[Section]:
    """The versions. Of versions that no process of the machine can get, the URLs are redacted.

    A process can get the version that it names, and versions of other series on the way to it.
    """
    named = {text(process, "version") for process in own}
    own_series = {series(name) for name in named}
    for _, version in items(document, "databaseVersions"):
        name = text(version, "name")
        is_needed = name in named or series(name) not in own_series
        yield version if is_needed else redacted_value(version, Surroundings())


_AUTH = (
    "disabled",
    "authoritativeSet",
    "deploymentAuthMechanisms",
    "autoAuthMechanism",
    "autoAuthMechanisms",
    "key",
    "keyfile",
    "autoUser",
    "autoPwd",
    "autoAuthRestrictions",
)
"""The fields of `auth` that every process needs which the agent manages: the key file, and the user as which
the agent measures. An agent that manages an arbiter measures other members, too."""
_USERS = ("usersWanted", "usersDeleted")
"""The fields of `auth` that processes with users need: arbiters have none."""
_REFUSED = ("newKey", "newAutoPwd")
"""Secrets of which agents need to know only that they are stated."""


def _auth(auth: Section, own: Sequence[Section], replica_sets: Sequence[Section]) -> dict[str, Any]:
    """The fields of `auth` that processes of the machine need. A process in manual mode needs none."""
    managed = [process for process in own if process.get("manualMode") is not True]
    arbiters = {
        text(member, "host")
        for stated in replica_sets
        for _, member in items(stated, "members")
        if member.get("arbiterOnly") is True
    }
    has_users = any(process_name(process) not in arbiters for process in managed)
    wanted = (*(_AUTH if managed else ()), *(_USERS if has_users else ()))
    stated = {name for name, _ in refused_fields(auth)} if managed else set()
    refused = {name: MASK for name in _REFUSED if name in stated}
    return {**{name: auth[name] for name in wanted if auth.get(name) is not None}, **refused}


def _member(process: Section) -> dict[str, Any]:
    names = {
        "alias": text(process, "alias"),
        "replicaSetName": set_name(process),
        "cluster": text(process, "cluster"),
        "version": text(process, "version"),
        "featureCompatibilityVersion": text(process, "featureCompatibilityVersion"),
        "defaultRWConcern": section(process, "defaultRWConcern") or None,
    }
    return {
        "name": process_name(process),
        "hostname": canonical_hostname(process_host(process)) or process_host(process),
        "port": process_port(process),
        "disabled": process.get("disabled") is True,
        "manualMode": process.get("manualMode") is True,
        **{name: value for name, value in names.items() if value is not None},
    }
