"""Reads the goal of a plan from an automation configuration: its processes, replica sets and versions. Pure.

The section `replicaSets` has the documented shape of Ops Manager: `_id`, and `members` with `_id`, `host` (a
process name), `priority`, `votes`, `hidden`, `secondaryDelaySecs` and `arbiterOnly`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from automation.moments import has_zone, moment
from automation.plan.arbiters import refuses_arbiters
from automation.plan.auth import (
    auth_faults,
    carried_auth,
    process_fault,
    refused_fields,
    user_names,
    with_auth,
)
from automation.plan.concerns import stated_concern, united_concern
from automation.plan.data_moves import COMPACTED_ENGINE
from automation.plan.places import place_faults
from automation.plan.reasons import PlanReason
from automation.plan.setting_values import setting_value
from automation.plan.stated_members import MOST_MEMBERS, set_faults, stated_members
from automation.plan.values import AutomationGoal, GoalProcess, GoalUnit, PlanHold
from automation.plan.versions import series, supports
from automation.sections import Section, items, process_name, section, text
from opsapi import VERSION

NOT_PLANNED: Mapping[str, str] = {
    "backupRestoreUrl": "restores are not carried out, because the platform makes no backups of databases",
    "lastKmipMasterKeyRotation": "no key is rotated, because a server rotates its master key only when it "
    "starts: start it by hand with --kmipRotateMasterKey",
    "numCores": "the contract does not say what it changes, and agents bind no server to processor cores",
}
"""Fields of processes that a plan does not carry out, and why: a change of them has no effect."""
NOT_PLANNED_FIELD = "not_planned"
"""The name of such a field among the names of its reason."""
MOST_LAG_SECONDS, MOST_PATIENCE_MINUTES = 86_400, 10_080
"""The largest values of options.maxLagSec and options.patienceMin."""
_ROUTER = "mongos"


def read_goal(
    document: Section,
    elsewhere: Sequence[Section] = (),
    faults: Sequence[str] | None = None,
    misplaced: Mapping[str, str] | None = None,
) -> AutomationGoal:
    """The goal of a document whose schema is valid, or of the part of a machine.

    `elsewhere`: processes of other machines, as far as the agent of the machine may know them. `faults`: of
    the section `auth`, if the document does not have the whole section. `misplaced`: the faults of the places
    of processes, by name, if the document does not have all processes.
    """
    faults = auth_faults(document) if faults is None else faults
    names = [text(version, "name") for _, version in items(document, "databaseVersions")]
    sets: dict[str, Section] = {}
    for _, stated in items(document, "replicaSets"):
        name = text(stated, "_id") or ""
        sets[name] = {} if name in sets else stated
    own = [process for _, process in items(document, "processes")]
    listed_processes = [
        *map(_process, own),
        *(replace(_process(process), is_elsewhere=True) for process in elsewhere),
    ]
    if elsewhere:  # All machines plan in the same order.
        listed_processes.sort(key=lambda process: process.name)
    sections = [*own, *elsewhere]
    notes = {process_name(process): _notes(process) for process in sections}
    clusters = {process_name(process): text(process, "cluster") or "" for process in sections}
    if misplaced is None:
        misplaced = place_faults(sections)
    by_name = {process_name(process): process for process in own}
    units = []
    for group in _groups(listed_processes, clusters):
        listed = tuple(note for process in group for note in notes[process.name])
        unit = _unit(group, sets, listed)
        if group[0].is_router:
            unit = replace(unit, cluster=clusters[group[0].name])
        if refused := tuple(_misplaced(unit, misplaced)):
            unit = replace(unit, refused=(*unit.refused, *refused))
        unit = _with_options(unit, section(document, "options"))
        units.append(_with_auth(unit, by_name, carried_auth(document), faults))
    return AutomationGoal(
        number=int(document.get("version") or 0),
        versions=tuple(name for name in names if name),
        units=tuple(units),
        notes=tuple(_document_notes(document, frozenset(unit.replica_set for unit in units))),
    )


def _with_options(unit: GoalUnit, options: Section) -> GoalUnit:
    """The unit with the waits that the options state. Options of earlier documents can have any values."""
    lag = _whole(options.get("maxLagSec"), MOST_LAG_SECONDS)
    patience = _whole(options.get("patienceMin"), MOST_PATIENCE_MINUTES)
    return replace(
        unit,
        most_lag=unit.most_lag if lag is None else timedelta(seconds=lag),
        patience=unit.patience if patience is None else timedelta(minutes=patience),
    )


def _whole(value: Any, most: int) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and 0 < value <= most else None


def _misplaced(unit: GoalUnit, faults: Mapping[str, str]) -> Iterator[PlanHold]:
    for process in unit.processes:
        if process.name in faults:
            names = (("section", "processes"), ("what", faults[process.name]))
            yield PlanHold(PlanReason.SECTION_INVALID, process.name, unit.replica_set, names)


def _document_notes(document: Section, planned: frozenset[str]) -> Iterator[PlanHold]:
    """The parts of the document that no unit carries out: agents, and replica sets without processes."""
    yield from _agent_notes(document)
    listed = document.get("replicaSets")
    if listed is None:
        return
    names = [text(stated, "_id") for _, stated in items(document, "replicaSets")]
    if not isinstance(listed, list) or len(names) < len(listed) or None in names:
        what = "it must be a list of objects with an _id"
        yield _invalid("", what)
    for name, count in Counter(name for name in names if name is not None).items():
        if count > 1:
            what = "two replica sets have the same _id"
            yield _invalid(name, what)
        if name not in planned:
            what = "no process has this replSetName"
            yield _invalid(name, what)


def _invalid(replica_set: str, what: str) -> PlanHold:
    names = (("section", "replicaSets"), ("what", what))
    return PlanHold(PlanReason.SECTION_INVALID, "", replica_set, names)


def wanted_agent(document: Section) -> str:
    """The version of the platform's agent that the document asks for; empty if it asks for none."""
    stated = section(document, "agentVersion")
    return "" if text(stated, "directoryUrl") else text(stated, "name") or ""


def _agent_notes(document: Section) -> Iterator[PlanHold]:
    """Why agents do not get the version of the document."""
    name, place = wanted_agent(document), text(section(document, "agentVersion"), "directoryUrl")
    what = "directoryUrl leads elsewhere" if place else f"name is {name}" if name not in {"", VERSION} else ""
    if what:
        names = (("version", VERSION), ("what", what))
        yield PlanHold(PlanReason.AGENT_VERSION_REFUSED, names=names)


def _groups(
    processes: Iterable[GoalProcess], clusters: Mapping[str, str]
) -> Iterable[tuple[GoalProcess, ...]]:
    """The processes that are planned together, in the order of the document."""
    groups: dict[tuple[str, str], list[GoalProcess]] = defaultdict(list)
    for process in processes:
        if process.replica_set:
            key = "set", process.replica_set
        elif process.is_router and clusters[process.name]:
            key = "routers", clusters[process.name]
        else:
            key = "process", process.name
        groups[key].append(process)
    return map(tuple, groups.values())


def _process(process: Section) -> GoalProcess:
    settings = dict(flat_settings(section(process, "args2_6")))
    is_router = text(process, "processType") == _ROUTER
    restart, resync = text(process, "lastRestart"), text(process, "lastResync")
    compact = text(process, "lastCompact") or ""
    set_name = text(section(section(process, "args2_6"), "replication"), "replSetName")
    return GoalProcess(
        name=process_name(process),
        version=text(process, "version") or "",
        feature_version=text(process, "featureCompatibilityVersion") or "",
        settings=settings,
        replica_set="" if is_router else set_name or "",
        is_router=is_router,
        is_disabled=process.get("disabled") is True,
        is_manual=process.get("manualMode") is True,
        restart=moment(restart) if restart else None,
        resync=moment(resync) if resync else None,
        compact=moment(compact) if has_zone(compact) else None,
        concern=stated_concern(process),
    )


def flat_settings(value: Section, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The settings by their dotted names; a null is a setting that is left out."""
    for name, member in value.items():
        if isinstance(member, Mapping):
            yield from flat_settings(member, f"{prefix}{name}.")
        elif member is not None:
            yield f"{prefix}{name}", setting_value(f"{prefix}{name}", member)


def _notes(process: Section) -> tuple[PlanHold, ...]:
    stated = [field for field in NOT_PLANNED if process.get(field) is not None]
    return tuple(not_planned(process_name(process), field) for field in stated)


def not_planned(process: str, field: str) -> PlanHold:
    """Why the plan does not carry out a field of a process."""
    names = (("what", f"{field}: {NOT_PLANNED[field]}"), (NOT_PLANNED_FIELD, field))
    return PlanHold(PlanReason.NOT_PLANNED, process, names=names)


def _unit(
    processes: tuple[GoalProcess, ...], sets: Mapping[str, Section], notes: tuple[PlanHold, ...]
) -> GoalUnit:
    name = processes[0].replica_set
    stated = sets.get(name) if name else None
    members = None if stated is None else stated_members(stated)
    faults = [] if stated is None else set_faults(stated, members or (), processes)
    refused = [_invalid(name, fault) for fault in faults]
    unit = GoalUnit(processes, name, None if faults else members)
    notes += tuple(_data_notes(unit))
    refused += _refusals(unit)
    if unit.is_sharded:
        names = (("what", "sharded clusters"),)
        notes = tuple(PlanHold(PlanReason.NOT_PLANNED, process.name, name, names) for process in processes)
        return GoalUnit(processes, name, members, tuple(refused), notes)
    if not name:
        what = "only replica sets have it"
        notes += tuple(_concern_hold(process.name, name, what) for process in processes if process.concern)
        return GoalUnit(processes, name, members, tuple(refused), notes)
    managed = [process for process in processes if not process.is_disabled and not process.is_manual]
    concern, fault = united_concern(managed, unit.members)
    hold = _concern_hold("", name, fault) if fault else None
    return GoalUnit(processes, name, members, tuple(refused), notes, concern, hold)


def _data_notes(unit: GoalUnit) -> Iterator[PlanHold]:
    """Processes that cannot copy their data from another member, or compact them, whatever is observed."""
    arbiters = {member.process for member in unit.members or () if member.is_arbiter}
    for process in unit.processes:
        kind = "it is an arbiter" if process.name in arbiters else ""
        alone = kind or ("" if unit.replica_set else "it is a single server")
        engine = process.settings.get("storage.engine", COMPACTED_ENGINE)
        kind = kind or ("" if engine == COMPACTED_ENGINE else f"its storage engine is {engine}")
        if process.resync is not None and alone:
            names = (("what", alone),)
            yield PlanHold(PlanReason.RESYNC_REFUSED, process.name, unit.replica_set, names)
        if process.compact is not None and kind:
            names = (("what", kind),)
            yield PlanHold(PlanReason.COMPACT_REFUSED, process.name, unit.replica_set, names)


def _with_auth(
    unit: GoalUnit, stated: Mapping[str, Section], auth: Section, faults: Sequence[str]
) -> GoalUnit:
    """The unit with the settings and the users that follow from the section `auth`."""
    managed = [process for process in unit.processes if not process.is_manual]
    if not managed or not (auth or faults) or unit.is_sharded:
        return unit
    own = [process for process in managed if not process.is_elsewhere]
    if faults:
        return replace(unit, refused=(*unit.refused, *(_auth_hold(unit, "", fault) for fault in faults)))
    refused = [
        PlanHold(PlanReason.AUTH_REFUSED, "", unit.replica_set, (("field", name), ("why", why)))
        for name, why in refused_fields(auth)
    ]
    refused += [
        _auth_hold(unit, process.name, fault)
        for process in own
        if (fault := process_fault(stated[process.name], auth))
    ]
    if refused:
        return replace(unit, refused=(*unit.refused, *refused))
    carried = {process.name: _carried(process, stated[process.name], auth) for process in own}
    return replace(
        unit,
        processes=tuple(carried.get(process.name, process) for process in unit.processes),
        users=user_names(auth),
    )


def _carried(process: GoalProcess, stated: Section, auth: Section) -> GoalProcess:
    settings = section(with_auth(stated, auth), "args2_6")
    return replace(process, settings=dict(flat_settings(settings)), key_file=text(auth, "keyfile") or "")


def _auth_hold(unit: GoalUnit, process: str, what: str) -> PlanHold:
    names = (("section", "auth"), ("what", what))
    return PlanHold(PlanReason.SECTION_INVALID, process, unit.replica_set, names)


def _concern_hold(process: str, replica_set: str, what: str) -> PlanHold:
    return PlanHold(PlanReason.CONCERN_REFUSED, process, replica_set, (("what", what),))


def _refusals(unit: GoalUnit) -> Iterator[PlanHold]:
    """Why the document has no plan for the unit, whatever is observed."""
    if len(unit.processes) > MOST_MEMBERS:
        names = (("count", str(len(unit.processes))), ("most", str(MOST_MEMBERS)))
        yield PlanHold(PlanReason.TOO_MANY_PROCESSES, "", unit.replica_set, names)
    running = [p for p in unit.processes if not p.is_disabled and not p.is_manual and not p.is_router]
    places = {place for p in running if (place := series(p.version)) is not None}
    if places and max(places) - min(places) > 1:
        versions = ", ".join(sorted({p.version for p in running}))
        yield PlanHold(PlanReason.VERSIONS_APART, "", unit.replica_set, (("versions", versions),))
    wanted = sorted({p.feature_version for p in running})
    if len(wanted) > 1:
        different = (("versions", ", ".join(wanted)),)
        yield PlanHold(PlanReason.FEATURE_VERSIONS_DIFFER, "", unit.replica_set, different)
    for process in running:
        place, target = series(process.version), series(process.feature_version)
        if place is not None and (target is None or not supports(place, target)):
            fit = (("version", process.version), ("target", process.feature_version))
            yield PlanHold(PlanReason.FEATURE_VERSION_UNFIT, process.name, unit.replica_set, fit)
    yield from _several_arbiters(unit, running)
    yield from _disabled_majority(unit)


def _several_arbiters(unit: GoalUnit, running: Iterable[GoalProcess]) -> Iterator[PlanHold]:
    """Versions that do not start, or refuse the initiation, with several arbiters."""
    arbiters = [member.process for member in unit.members or () if member.is_arbiter]
    own = [process for process in running if not process.is_elsewhere]
    for process in own if len(arbiters) > 1 else ():
        if refuses_arbiters(process.version, process.settings):
            names = (("version", process.version), ("others", ", ".join(arbiters)))
            yield PlanHold(PlanReason.SEVERAL_ARBITERS, "", unit.replica_set, names)
            return


def _disabled_majority(unit: GoalUnit) -> Iterator[PlanHold]:
    """Disabled members leave no majority, and they are not all members."""
    disabled = {process.name for process in unit.processes if process.is_disabled}
    if not unit.replica_set or not disabled or len(disabled) == len(unit.processes):
        return
    voters = [process.name for process in unit.processes]
    if unit.members is not None:
        voters = [member.process for member in unit.members if member.votes > 0]
    left = sum(name not in disabled for name in voters)
    majority = len(voters) // 2 + 1
    if left < majority:
        names = (("left", str(left)), ("voters", str(len(voters))), ("majority", str(majority)))
        yield PlanHold(PlanReason.MAJORITY_DISABLED, "", unit.replica_set, names)
