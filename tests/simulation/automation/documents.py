"""Random documents, and the fleets that they begin with. A seed always draws the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

JsonDocument = dict[str, Any]
VERSIONS = ("4.2.24", "4.4.29", "5.0.31", "6.0.20", "7.0.14")
"""The listed versions, one of each series; `NEWER` adds a second one of two series."""
NEWER = ("4.4.30", "6.0.21")
SET_NAME = "rs"
ROUND_SETTINGS = ("setParameter.cursorTimeoutMillis", "setParameter.ttlMonitorEnabled")
"""Settings that the simulated servers can change at run time."""
START_SETTINGS = ("storage.wiredTiger.engineConfig.cacheSizeGB", "net.maxIncomingConnections")
FIELDS_LEFT_ALONE = (
    "backupRestoreUrl",
    "lastKmipMasterKeyRotation",
)
"""Fields of processes that change nothing on the simulated servers: the plan must say so."""
KEYS = ("a2V5IG9uZQ==", "a2V5IHR3bw==")
OPEN, TRANSITION, FULL = "open", "transition", "full"
"""How the members of a document take part: without a key file, with one in transition, and with one."""
REACHABLE_AUTH = ((FULL, FULL), (OPEN, TRANSITION), (TRANSITION, FULL), (FULL, TRANSITION))
"""Of the first document and of the others, so that each document can follow from the one before."""
CONCERNS: Sequence[JsonDocument] = (
    {"defaultWriteConcern": {"w": "majority"}},
    {"defaultWriteConcern": {"w": 1, "j": True}},
    {"defaultWriteConcern": {"w": "1"}, "defaultReadConcern": {"level": "majority"}},
    {"defaultReadConcern": {"level": "available"}},
)
REFUSED_CONCERNS: Sequence[JsonDocument] = (
    {"defaultWriteConcern": {"w": 0}},
    {"defaultWriteConcern": {"w": 9}},
    {"defaultReadConcern": {"level": "snapshot"}},
)
RESTARTS = ("2026-11-21T07:00:00Z", "2026-11-21T08:10:00Z", "2026-11-21T08:40:00Z")
"""Times of lastRestart, lastResync and lastCompact: before the run, and in it."""
WITHOUT_ZONE = "2026-11-21T07:00:00"
"""A lastCompact that changes nothing."""


@dataclass(frozen=True)
class SimulatedFleetPlan:
    """What a seed draws: documents that are published one after the other, and the faults.

    `is_benign`: the last document can be reached, so that the plan must reach it.
    """

    seed: int
    documents: tuple[JsonDocument, ...]
    is_new: bool
    first_version: str
    faults: float
    is_benign: bool
    strangers: int


def draw_fleet(seed: int) -> SimulatedFleetPlan:
    """The documents and faults of a seed."""
    random = Random(seed)
    size = random.choice((3, 3, 3, 5, 5, 7))
    if random.random() < 0.12:
        size = random.choice((0, 1, 2, 4))
    is_odd = random.random() < 0.15
    first = _first_document(random, size)
    documents = [first]
    for _ in range(random.choice((1, 1, 2, 3))):
        documents.append(_changed(random, documents[-1], is_odd=is_odd))
    if random.random() < 0.25:
        documents.append(documents[-2])
    strangers = 1 if is_odd and size and random.random() < 0.3 else 0
    if is_odd and random.random() < 0.25:
        documents = [first, *map(_with_manual, documents[1:])]
    left_alone = Random(seed + 2 * 10**9)
    concerns = Random(seed + 3 * 10**9)
    documents = [_with_concern(concerns, document, is_odd=is_odd) for document in documents]
    secured = Random(seed + 4 * 10**9)
    steps = secured.choice(REACHABLE_AUTH) if secured.random() < 0.45 else (OPEN, OPEN)
    documents = [
        _with_auth(secured, document, steps[number > 0], is_odd=is_odd)
        for number, document in enumerate(documents)
    ]
    documents = [
        _with_arbiters(document, is_odd=is_odd and number > 0) for number, document in enumerate(documents)
    ]
    resyncs = Random(seed + 7 * 10**9)
    documents = [_with_time(resyncs, document, "lastResync", RESTARTS) for document in documents]
    compacts = Random(seed + 6 * 10**9)
    times = (*RESTARTS, WITHOUT_ZONE)
    documents = [_with_time(compacts, document, "lastCompact", times) for document in documents]
    return SimulatedFleetPlan(
        seed=seed,
        documents=tuple(
            {**_with_fields_left_alone(left_alone, document), "version": number}
            for number, document in enumerate(documents, 1)
        ),
        is_new=random.random() < 0.3,
        first_version=first["processes"][0]["version"],
        faults=random.choice((0.0, 0.05, 0.15, 0.3)),
        is_benign=not is_odd
        and all(_voters(document) not in {2, 4} for document in documents)
        # All members restart, which new members and members that leave can make impossible.
        and (steps[0] == steps[1] or all(_members(document) == _members(first) for document in documents)),
        strangers=strangers,
    )


def _with_fields_left_alone(random: Random, document: JsonDocument) -> JsonDocument:
    def added(names: Sequence[str]) -> JsonDocument:
        return {name: {} for name in names if random.random() < 0.1}

    processes = [{**process, **added(FIELDS_LEFT_ALONE)} for process in document["processes"]]
    return {**document, "processes": processes}


def _with_time(random: Random, document: JsonDocument, field: str, times: Sequence[str]) -> JsonDocument:
    """The document with a time in the field of all processes, or of some."""
    if random.random() < 0.75:
        return document
    time, share = random.choice(times), random.choice((1.0, 1.0, 0.4))
    processes = [
        {**process, field: time} if random.random() < share else process for process in document["processes"]
    ]
    return {**document, "processes": processes}


def _with_concern(random: Random, document: JsonDocument, *, is_odd: bool) -> JsonDocument:
    """The document with a default read and write concern, in all processes or in one of them."""
    processes = [dict(process) for process in document["processes"]]
    feature = processes[0]["featureCompatibilityVersion"]
    if random.random() < 0.4 or "replicaSets" not in document or (feature == "4.2" and not is_odd):
        return document
    concern = random.choice(CONCERNS)
    for process in processes if random.random() < 0.7 else processes[-1:]:
        process["defaultRWConcern"] = concern
    if is_odd and random.random() < 0.4:
        processes[0]["defaultRWConcern"] = random.choice((*CONCERNS, *REFUSED_CONCERNS))
    return {**document, "processes": processes}


def _with_auth(random: Random, document: JsonDocument, use: str, *, is_odd: bool) -> JsonDocument:
    """The document with a key file and users, or without. An odd document can be anything."""
    key = KEYS[0]
    if is_odd and random.random() < 0.5:
        use = random.choice((OPEN, TRANSITION, FULL))
        key = random.choice((*KEYS[:1] * 3, *KEYS))
    if use == OPEN:
        return {**document, "auth": {"disabled": True, "key": key}} if random.random() < 0.1 else document
    roles = [{"db": "shop", "role": "read"}]
    users = [
        {"user": name, "db": "admin", "roles": roles, "pwd": random.choice(("one", "two"))}
        for name in random.sample(("ann", "ben", "cat"), random.choice((0, 1, 2)))
    ]
    processes = document["processes"]
    if use == TRANSITION:
        path = ["security", "transitionToAuth"]
        processes = [{**process, "args2_6": _with(process["args2_6"], path, True)} for process in processes]
    auth = {"key": key, "keyfile": "/keys/file", "usersWanted": users}
    return {**document, "auth": auth, "processes": processes}


def _with_arbiters(document: JsonDocument, *, is_odd: bool) -> JsonDocument:
    """The document, in which servers that refuse several arbiters take them."""
    members = [member for stated in document.get("replicaSets", []) for member in stated["members"]]
    versions = {process["version"] for process in document["processes"]}
    if (
        is_odd
        or sum("arbiterOnly" in member for member in members) < 2
        or versions <= {*VERSIONS[:3], *NEWER[:1]}
    ):
        return document
    path = ["setParameter", "allowMultipleArbiters"]
    return {
        **document,
        "processes": [
            {**process, "args2_6": _with(process["args2_6"], path, True)} for process in document["processes"]
        ],
    }


def _voters(document: JsonDocument) -> int:
    sets = document.get("replicaSets", [])
    return sum(member.get("votes", 1) for stated in sets for member in stated["members"])


def _members(document: JsonDocument) -> list[JsonDocument]:
    return [member for stated in document.get("replicaSets", []) for member in stated["members"]]


def _with_manual(document: JsonDocument) -> JsonDocument:
    """The document without the management of its second process."""
    processes = [
        {**process, "manualMode": True} if process["name"] == "p1" else process
        for process in document["processes"]
    ]
    return {**document, "processes": processes}


def _first_document(random: Random, size: int) -> JsonDocument:
    version = random.choice(VERSIONS)
    feature = _series(version)
    if random.random() < 0.2 and version != VERSIONS[0]:
        feature = _series(VERSIONS[VERSIONS.index(version) - 1])
    processes = [_process(number, version, feature, size) for number in range(size or 1)]
    document: JsonDocument = {
        "options": {"downloadBase": "/var/lib/ops-agent"},
        "databaseVersions": [{"name": name, "builds": []} for name in (*VERSIONS, *NEWER)],
        "processes": processes,
    }
    if size:
        members = [_member(random, number, size) for number in range(size)]
        for member in members[2:] if sum(member.get("votes", 1) for member in members) < 3 else ():
            member.pop("votes", None)
        document["replicaSets"] = [{"_id": SET_NAME, "members": members}]
    return document


def _process(number: int, version: str, feature: str, size: int) -> JsonDocument:
    settings: JsonDocument = {"net": {"port": 27017}, "storage": {"dbPath": "/data"}}
    if size:
        settings["replication"] = {"replSetName": SET_NAME}
    return {
        "name": f"p{number}",
        "hostname": f"db{number}.example.com",
        "version": version,
        "featureCompatibilityVersion": feature,
        "authSchemaVersion": 5,
        "args2_6": settings,
    }


def _member(random: Random, number: int, size: int) -> JsonDocument:
    """The first two members can become the primary."""
    member: JsonDocument = {"_id": number, "host": f"p{number}"}
    kind = random.random() if number > 1 else 1.0
    if kind < 0.15 and size > 2:
        member["arbiterOnly"] = True
    elif kind < 0.25:
        member |= {"priority": 0, "hidden": True}
    elif kind < 0.35:
        member |= {"priority": 0, "hidden": True, "secondaryDelaySecs": 3600}
    elif kind < 0.45:
        member |= {"priority": 0, "votes": 0}
    elif random.random() < 0.3:
        member["priority"] = random.choice((2, 5))
    return member


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _changed(random: Random, document: JsonDocument, *, is_odd: bool) -> JsonDocument:
    """The document with one or two changes."""
    processes = [dict(process) for process in document["processes"]]
    changed: JsonDocument = {**document, "processes": processes}
    if "replicaSets" in document:
        members = [dict(member) for member in document["replicaSets"][0]["members"]]
        changed["replicaSets"] = [{"_id": SET_NAME, "members": members}]
    for change in random.sample(_CHANGES, random.choice((1, 1, 2))):
        change(random, changed)
    if is_odd:
        random.choice(_ODD_CHANGES)(random, changed)
    return changed


def _set_version(random: Random, document: JsonDocument) -> None:
    """All members get another version, up to two series away."""
    place = VERSIONS.index(
        next(name for name in VERSIONS if _series(name) == _series(document["processes"][0]["version"]))
    )
    place = min(max(place + random.choice((-2, -1, 0, 1, 1, 2, 2)), 0), len(VERSIONS) - 1)
    same_series = [name for name in (*VERSIONS, *NEWER) if _series(name) == _series(VERSIONS[place])]
    feature = _series(VERSIONS[max(place - 1, 0)] if random.random() < 0.25 else VERSIONS[place])
    for process in document["processes"]:
        process["version"], process["featureCompatibilityVersion"] = random.choice(same_series), feature


def _set_parameter(random: Random, document: JsonDocument) -> None:
    name = random.choice((*ROUND_SETTINGS, *START_SETTINGS))
    value = random.choice((1, 2, 3, None))
    for process in _some(random, document):
        process["args2_6"] = _with(process["args2_6"], name.split("."), value)


def _with(settings: JsonDocument, steps: list[str], value: Any) -> JsonDocument:
    inner = value if len(steps) == 1 else _with(settings.get(steps[0], {}), steps[1:], value)
    return {**settings, steps[0]: inner}


def _some(random: Random, document: JsonDocument) -> list[JsonDocument]:
    processes: list[JsonDocument] = document["processes"]
    return processes if random.random() < 0.7 else random.sample(processes, 1)


def _restart(random: Random, document: JsonDocument) -> None:
    time = random.choice(RESTARTS)
    for process in _some(random, document):
        process["lastRestart"] = time


def _add_member(random: Random, document: JsonDocument) -> None:
    if "replicaSets" not in document or len(document["processes"]) >= 8:
        return
    first = document["processes"][0]
    number = max(int(process["name"][1:]) for process in document["processes"]) + 1
    added = _process(number, first["version"], first["featureCompatibilityVersion"], 3)
    document["processes"].append(added)
    members = document["replicaSets"][0]["members"]
    member = _member(random, number, 3)
    if sum(other.get("votes", 1) for other in members) >= 7:
        member = {"_id": number, "host": f"p{number}", "priority": 0, "votes": 0}
    members.append(member)


def _remove_member(random: Random, document: JsonDocument) -> None:
    """A member leaves the section; its process stays, or leaves the document too."""
    if "replicaSets" not in document:
        return
    members = document["replicaSets"][0]["members"]
    electable = [member for member in members if _is_electable(member)]
    leaving = random.choice(members)
    rest = [member for member in electable if member is not leaving]
    if sum(member.get("votes", 1) for member in members if member is not leaving) < 3 or len(rest) < 2:
        return
    members.remove(leaving)
    if random.random() < 0.5:
        document["processes"][:] = [
            process for process in document["processes"] if process["name"] != leaving["host"]
        ]


def _is_electable(member: JsonDocument) -> bool:
    return not member.get("arbiterOnly") and member.get("priority", 1) > 0


def _change_member(random: Random, document: JsonDocument) -> None:
    if "replicaSets" not in document:
        return
    members = document["replicaSets"][0]["members"]
    changing = random.choice(members)
    if changing.get("arbiterOnly"):
        return
    rest = [member for member in members if member is not changing]
    if random.random() < 0.5 or sum(map(_is_electable, rest)) < 2:
        if sum(member.get("votes", 1) for member in rest) < 7:
            number, host = changing["_id"], changing["host"]
            changing.clear()
            changing |= {"_id": number, "host": host, "priority": 3}
    elif sum(member.get("votes", 1) for member in rest) >= 3:
        changing |= {"priority": 0, "votes": 0}


def _disable(random: Random, document: JsonDocument) -> None:
    process = random.choice(document["processes"])
    process["disabled"] = not process.get("disabled", False)


def _move_data(random: Random, document: JsonDocument) -> None:
    process = random.choice(document["processes"])
    process["args2_6"] = _with(process["args2_6"], ["storage", "dbPath"], "/other")


def _mix_versions(random: Random, document: JsonDocument) -> None:
    """A single member gets another version."""
    process = random.choice(document["processes"])
    process["version"] = random.choice(VERSIONS)


def _lose_version(random: Random, document: JsonDocument) -> None:
    """The versions between are not listed."""
    named = {process["version"] for process in document["processes"]}
    document["databaseVersions"] = [{"name": name, "builds": []} for name in sorted(named)]


def _break_setting(random: Random, document: JsonDocument) -> None:
    """A server refuses to start with this setting."""
    process = random.choice(document["processes"])
    process["args2_6"] = _with(process["args2_6"], ["setParameter", "refused"], 1)


def _without_members(random: Random, document: JsonDocument) -> None:
    document.pop("replicaSets", None)


def _one_electable(random: Random, document: JsonDocument) -> None:
    """Nobody can follow the first member as the primary."""
    for stated in document.get("replicaSets", []):
        for member in stated["members"][1:]:
            if not member.get("arbiterOnly"):
                member["priority"] = 0
        stated["members"][0] = {"_id": stated["members"][0]["_id"], "host": stated["members"][0]["host"]}


def _nothing(random: Random, document: JsonDocument) -> None:
    """Only what `is_odd` means for the fleet."""


_CHANGES = (
    _set_version,
    _set_version,
    _set_parameter,
    _restart,
    _add_member,
    _remove_member,
    _change_member,
)
_ODD_CHANGES = (
    _disable,
    _move_data,
    _mix_versions,
    _lose_version,
    _break_setting,
    _without_members,
    _one_electable,
    _nothing,
)
