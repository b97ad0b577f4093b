"""The part of the automation configuration for this machine, as the agent carries it out. Pure.

A process that the agent must not carry out is left alone, and `faults` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from automation.agent.automation.directories import real_place
from automation.agent.engine import ServerAddress, address_of
from automation.agent.settings import PREFIX
from automation.plan.auth import carried_auth, key_of, with_auth
from automation.plan.reading import read_goal
from automation.plan.values import AutomationGoal, FailedMove, GoalProcess, GoalUnit, MoveKind
from automation.sections import items, process_host, process_name, process_port, section, set_name, text
from opsapi.hostnames import canonical_hostname

Document = Mapping[str, Any]

WRITTEN_PLACES = (
    "auditLog.path",
    "net.unixDomainSocket.pathPrefix",
    "processManagement.pidFilePath",
    "setParameter.diagnosticDataCollectionDirectoryPath",
    "storage.dbPath",
    "systemLog.path",
)
"""Settings that name files or directories that a server writes."""


@dataclass(frozen=True)
class ManagedProcess:
    """A process of this machine. `document` is its part of the configuration, with secrets.

    `addresses`: where the members of its replica set find each other, by the name of the process. `names`:
    the names of these processes, by all their addresses. `auth`: the section of its key file and users, empty
    if the plan does not carry it out. `key_place`: of the key file, without symbolic links before its name.
    """

    goal: GoalProcess
    unit: GoalUnit
    document: Document
    address: ServerAddress
    hostname: str
    addresses: Mapping[str, ServerAddress]
    names: Mapping[ServerAddress, str]
    auth: Document = field(default_factory=dict, repr=False)
    key_place: Path | None = None

    @property
    def key(self) -> str:
        """The key of its key file; empty if the plan writes none."""
        return key_of(self.auth)

    @property
    def settings(self) -> Document:
        """Its settings, as in its configuration file."""
        return section(self.document, "args2_6")

    @property
    def data(self) -> Path:
        """The directory of its data."""
        return Path(str(setting(self.settings, "storage.dbPath")))

    def process_at(self, host: str) -> str:
        """The name of the process of a member; `host` itself, `name:port`, if the document has none there."""
        name, _, port = host.rpartition(":")
        address = address_of(name.strip("[]"), int(port))
        return self.names.get(address, host) if address is not None else host


@dataclass(frozen=True)
class MachinePart:
    """The part of this machine.

    `builds`: the builds of each version. `by_hand`: processes in manual mode, which are only observed.
    `faults`: why processes are left alone. `failures`: the moves that stopped plans.
    """

    version: int
    is_paused: bool
    base: Path
    goal: AutomationGoal
    builds: Mapping[str, Sequence[Document]]
    processes: Mapping[str, ManagedProcess]
    by_hand: Mapping[str, ManagedProcess]
    hostnames: Mapping[str, str]
    faults: Mapping[str, str]
    failures: Mapping[str, FailedMove]

    def of_unit(self, unit: GoalUnit) -> Sequence[ManagedProcess]:
        """The processes of the unit that the agent observes."""
        known = {**self.processes, **self.by_hand}
        return [known[process.name] for process in unit.processes if process.name in known]


def read_part(document: Document, hostname: str, allowed: Sequence[Path]) -> MachinePart:
    """Read the answer of the platform for the machine with this name."""
    own_sets = {set_name(process) for _, process in items(document, "processes")} - {None}
    elsewhere = [
        _as_process(member)
        for _, member in items(document, "members")
        if text(member, "replicaSetName") in own_sets
    ]
    misplaced = {name: str(fault) for name, fault in section(document, "processFaults").items()}
    goal = read_goal(document, elsewhere, _auth_faults(document), misplaced)
    base = Path(text(section(document, "options"), "downloadBase") or "")
    listed = {process_name(process): process for _, process in items(document, "processes")}
    units = {process.name: unit for unit in goal.units for process in unit.processes}
    everywhere = {**listed, **{process_name(process): process for process in elsewhere}}
    processes: dict[str, ManagedProcess] = {}
    by_hand: dict[str, ManagedProcess] = {}
    faults: dict[str, str] = {}
    for name, process in listed.items():
        unit = units[name]
        goal_process = next(process for process in unit.processes if process.name == name)
        address = _address(process)
        auth = carried_auth(document) if goal_process.key_file else {}
        key_place = _key_place(goal_process.key_file, allowed)
        fault = _fault(process, unit, hostname, base, allowed)
        if auth and key_place is None and not fault:
            fault = f"auth.keyfile is not below {PREFIX}AUTOMATION_DIRS"
        if address is None or fault:
            faults[name] = fault or "its host name is not valid"
        else:
            of_unit = [everywhere[other.name] for other in unit.processes]
            known = by_hand if goal_process.is_manual else processes
            known[name] = ManagedProcess(
                goal_process,
                unit,
                with_auth(process, auth) if auth else process,
                address,
                process_host(process),
                addresses={
                    process_name(other): place for other in of_unit if (place := _address(other)) is not None
                },
                names={place: process_name(other) for other in of_unit for place in _all_addresses(other)},
                auth=auth,
                key_place=key_place,
            )
    return MachinePart(
        version=goal.number,
        is_paused=document.get("paused") is True,
        base=base,
        goal=goal,
        builds=dict(_builds(document)),
        processes=processes,
        by_hand=by_hand,
        hostnames={name: process_host(process) for name, process in listed.items()},
        faults=faults,
        failures=dict(_failures(document, goal, processes)),
    )


def _auth_faults(document: Document) -> Sequence[str] | None:
    """Why the section `auth` cannot be carried out, as the platform says; None if it says nothing."""
    faults = document.get("authFaults")
    return [str(fault) for fault in faults] if isinstance(faults, list) and faults else None


def _address(process: Document) -> ServerAddress | None:
    return address_of(text(process, "alias") or process_host(process), process_port(process))


def _all_addresses(process: Document) -> Iterator[ServerAddress]:
    """Its addresses by its alias and by its host name."""
    for host in {text(process, "alias") or process_host(process), process_host(process)}:
        address = address_of(host, process_port(process))
        if address is not None:
            yield address


def setting(settings: Document, name: str) -> object:
    """The value of the setting with this dotted name; None if it is missing."""
    *sections, last = name.split(".")
    for part in sections:
        settings = section(settings, part)
    return settings.get(last)


def _as_process(member: Document) -> Document:
    """A process of another machine in the shape of the processes of this machine, as far as it is known."""
    settings = {"net": {"port": member.get("port")}, "replication": {"replSetName": member["replicaSetName"]}}
    return {**member, "args2_6": settings}


def _fault(process: Document, unit: GoalUnit, hostname: str, base: Path, allowed: Sequence[Path]) -> str:
    """Why the agent leaves the process alone; empty if it carries it out."""
    own = _key(hostname)
    alias = text(process, "alias")
    if own not in {_key(process_host(process)), _key(alias or process_host(process))}:
        return f"its host name is not {PREFIX}HOSTNAME"
    if unit.is_sharded:
        return unit.notes[0].sentence
    if real_place(base, allowed) is None:
        return f"options.downloadBase is not below {PREFIX}AUTOMATION_DIRS"
    settings = section(process, "args2_6")
    for name in WRITTEN_PLACES:
        place = setting(settings, name)
        if place is None and name != "storage.dbPath":
            continue
        if not isinstance(place, str) or real_place(Path(place), allowed) is None:
            return f"args2_6.{name} is not below {PREFIX}AUTOMATION_DIRS"
    return ""


def _key_place(key_file: str, allowed: Sequence[Path]) -> Path | None:
    """The place of the key file. A symbolic link there stays a link, which is no key file."""
    place = Path(key_file)
    directory = real_place(place.parent, allowed) if key_file and place.name else None
    return directory and directory / place.name


def _key(hostname: str) -> str:
    return (canonical_hostname(hostname) or hostname).lower()


def _builds(document: Document) -> Iterator[tuple[str, Sequence[Document]]]:
    for _, version in items(document, "databaseVersions"):
        yield text(version, "name") or "", [build for _, build in items(version, "builds")]


def _failures(
    document: Document, goal: AutomationGoal, processes: Mapping[str, ManagedProcess]
) -> Iterator[tuple[str, FailedMove]]:
    """The moves that stopped plans, by process: a move of the process, or else of its replica set."""
    known = {kind.value: kind for kind in MoveKind}
    own: dict[str, FailedMove] = {}
    for _, stop in items(document, "stopped"):
        kind = known.get(text(stop, "move") or "")
        named, replica_set = text(stop, "process") or "", text(stop, "replicaSetName")
        failure = FailedMove(goal.number, kind or MoveKind.RESTART, text(stop, "reason") or "", named)
        for name, process in processes.items():
            if name == named:
                own[name] = failure
            elif replica_set and process.unit.replica_set == replica_set:
                yield name, failure
    yield from own.items()
