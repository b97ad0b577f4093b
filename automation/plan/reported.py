"""The state that a dry run knows from reports, and the facts that it assumes without a report. Pure.

Reports say whether a process runs, its role and its version, and the version of the document that it has
reached. A real plan waits for facts that are not known. A dry run assumes them, and says so.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from itertools import chain

from automation.plan.auth import AuthChange
from automation.plan.left_alone import DrawnUnit, LeftAlone
from automation.plan.planner import EndlessPlanError, UnitPlan, unit_plan
from automation.plan.reasons import PlanReason
from automation.plan.values import (
    AutomationGoal,
    GoalProcess,
    GoalUnit,
    KeyFile,
    MemberConfig,
    MemberState,
    ObservedFleet,
    ObservedProcess,
    ObservedSet,
    PlanHold,
    Settings,
)
from automation.plan.versions import SERIES, series

MOST_PROCESS_STEPS = 20_000
"""The steps of a drawn plan, each times the processes of its unit: about a second of processor time."""
NO_CHANGE_KNOWN = AuthChange()
OLD = timedelta(minutes=4)
"""A report of this age says nothing about the present."""
_OLDEST = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class ReportedProcess:
    """The newest report of the host of a process. `state`: None if its role is not known."""

    is_down: bool
    state: MemberState | None
    version: str | None
    observed: datetime


@dataclass(frozen=True)
class FleetReports:
    """The reports of the processes of a document.

    `hosts`: by the name of the process. `others`: hosts without a process, by replica set and address, or by
    the name of their process in the document before. `reached`: the version of the document that each process
    has reached. `renamed`: names for processes of the document before, where their names do not stay.
    """

    hosts: Mapping[str, ReportedProcess]
    others: Mapping[str, Mapping[str, ReportedProcess]]
    reached: Mapping[str, int]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def name(self, before: str) -> str:
        """The name of a process of the document before."""
        return self.renamed.get(before, before)


@dataclass(frozen=True)
class DrawnPlan:
    """The plans of all units, and what they assume or refuse.

    `left_alone`: what the plan does not carry out of a process, by the name of the process.
    """

    units: tuple[UnitPlan, ...]
    holds: tuple[PlanHold, ...]
    left_alone: Mapping[str, LeftAlone] = field(default_factory=dict)


def drawn_plan(
    old: AutomationGoal,
    new: AutomationGoal,
    reports: FleetReports,
    now: datetime,
    change: AuthChange = NO_CHANGE_KNOWN,
) -> DrawnPlan:
    """Return the plan from the old document to the new document, from the reports at this time.

    `change`: of the section `auth` between the documents.
    """
    published = {reports.name(process.name): process for unit in old.units for process in unit.processes}
    stated = {unit.replica_set: unit for unit in old.units if unit.replica_set}
    plans: list[UnitPlan] = []
    holds: list[PlanHold] = list(new.notes)
    steps = left_out = 0
    for unit in new.units:
        holds += unit.notes
        if steps > MOST_PROCESS_STEPS:
            left_out += len(unit.processes)
            continue
        before = stated.get(unit.replica_set)
        scene = _Scene(
            old.number,
            unit,
            reports,
            published,
            _members(before, reports),
            before.concern if before else {},
            change,
            now,
        )
        try:
            drawn = unit_plan(new, unit, scene.fleet())
        except EndlessPlanError:
            drawn = _without_end(unit)
        steps += (len(drawn.moves) + 1) * len(unit.processes)
        plans.append(drawn)
        if drawn.moves or drawn.holds:
            holds += scene.assumptions()
    if any(plan.moves for plan in plans):
        holds += (PlanHold(PlanReason.MOMENT_ASSUMED), PlanHold(PlanReason.MACHINES_ASSUMED))
        if any(planned.move.settings for plan in plans for planned in plan.moves):
            holds.append(PlanHold(PlanReason.RUN_TIME_ASSUMED))
    if left_out:
        holds.append(PlanHold(PlanReason.NOT_DRAWN, names=(("count", str(left_out)),)))
    unknown = _unknown(new, published, reports)
    drawn_plans = [*plans, *[None] * (len(new.units) - len(plans))]
    drawn_units = (
        DrawnUnit(unit, plan, unknown, now) for unit, plan in zip(new.units, drawn_plans, strict=True)
    )
    left_alone = dict(chain.from_iterable(drawn.left_alone() for drawn in drawn_units))
    return DrawnPlan(tuple(plans), tuple(holds), left_alone)


def _unknown(goal: AutomationGoal, published: Container[str], reports: FleetReports) -> frozenset[str]:
    """The processes that are new in the document, and that no agent has reported."""
    names = (process.name for unit in goal.units for process in unit.processes)
    return frozenset(name for name in names if name not in published and name not in reports.hosts)


def reached_goal(
    new: AutomationGoal, goals: Mapping[int, AutomationGoal], reached: Mapping[str, int]
) -> AutomationGoal:
    """Return the document that the processes have reached: each as in the version that it has reached.

    `goals`: the documents by their versions. A process whose document is not among them is left out. The
    members of a replica set are as in the oldest of these documents that states them, and so is its default
    read and write concern.
    """
    processes = {
        number: {process.name: process for unit in goal.units for process in unit.processes}
        for number, goal in goals.items()
    }
    sets = {
        number: {unit.replica_set: unit for unit in goal.units if unit.replica_set}
        for number, goal in goals.items()
    }
    units = []
    for unit in new.units:
        numbers = {name: reached.get(name, 0) for name in (process.name for process in unit.processes)}
        before = [
            processes[number][name]
            for name, number in numbers.items()
            if number in processes and name in processes[number]
        ]
        stated = [
            sets[number][unit.replica_set]
            for number in sorted(goals.keys() & {*numbers.values()})
            if unit.replica_set in sets[number]
        ]
        known = next((older.members for older in stated if older.members is not None), None)
        concern = stated[0].concern if stated else {}
        units.append(GoalUnit(tuple(before), unit.replica_set, known, concern=concern))
    return AutomationGoal(number=new.number, versions=(), units=tuple(units))


def _members(before: GoalUnit | None, reports: FleetReports) -> tuple[MemberConfig, ...] | None:
    """The members that the document before states."""
    if before is None or before.members is None:
        return None
    return tuple(replace(member, process=reports.name(member.process)) for member in before.members)


def _without_end(unit: GoalUnit) -> UnitPlan:
    names = [""] if unit.replica_set else [process.name for process in unit.processes]
    return UnitPlan((), tuple(PlanHold(PlanReason.NO_END, name, unit.replica_set) for name in names))


@dataclass(frozen=True)
class _Scene:
    """A unit with its reports, and the document before."""

    reached: int
    unit: GoalUnit
    reports: FleetReports
    published: Mapping[str, GoalProcess]
    stated: tuple[MemberConfig, ...] | None
    concern: Settings
    change: AuthChange
    now: datetime

    def fleet(self) -> ObservedFleet:
        """The observed state, completed with the assumptions."""
        processes = {process.name: self._process(process) for process in self.unit.processes}
        name = self.unit.replica_set
        for address, reported in self.reports.others.get(name, {}).items() if name else ():
            processes[address] = ObservedProcess(
                is_running=not reported.is_down,
                state=None if reported.is_down else reported.state or MemberState.SECONDARY,
                version=reported.version,
                has_data=True,
                lag=timedelta(),
            )
        observed = ObservedSet(
            self._config(),
            timedelta(),
            oplog_lost=False,
            alerts=(),
            concern=self.concern,
            users=self._users(),
        )
        return ObservedFleet(self.now, processes, {name: observed})

    def _process(self, process: GoalProcess) -> ObservedProcess:
        reported = self.reports.hosts.get(process.name)
        if reported is None:
            return ObservedProcess(
                is_running=False,
                has_data=False,
                builds=frozenset(),
                lag=timedelta(),
                key_file=KeyFile.MISSING,
            )
        before = self.published.get(process.name, process)
        version = reported.version or before.version
        return ObservedProcess(
            is_running=not reported.is_down,
            state=None if reported.is_down else reported.state or self._assumed_state(process),
            version=version,
            feature_version=self._feature_version(),
            has_data=reported.state is not MemberState.UNINITIATED,
            settings=before.settings,
            file=before.settings,
            settable=frozenset(),
            restart=before.restart if process.name in self.published else process.restart,
            resync=self._known(process).resync,
            compacted=self._known(process).compact,
            data_since=_OLDEST,
            builds=frozenset({version}),
            lag=timedelta(),
            key_file=self._key_file(before),
        )

    def _known(self, process: GoalProcess) -> GoalProcess:
        """The process of the document before, whose lastResync and lastCompact are carried out."""
        return self.published.get(process.name, GoalProcess(process.name))

    def _users(self) -> tuple[str, ...]:
        """The users that are not as wanted: a server that runs has the users of the document before."""
        is_there = any(process.name in self.reports.hosts for process in self.unit.processes)
        different = self.change.users if is_there else None
        return tuple(name for name in self.unit.users if different is None or name in different)

    def _key_file(self, before: GoalProcess) -> KeyFile:
        """The key file that the document before has left."""
        if not before.key_file:
            return KeyFile.MISSING
        return KeyFile.SAME if self.change.is_key_same else KeyFile.DIFFERENT

    def _assumed_state(self, process: GoalProcess) -> MemberState:
        if not process.replica_set:
            return MemberState.STANDALONE
        member = next((m for m in self._config() if m.process == process.name), None)
        is_arbiter = member is not None and member.is_arbiter
        return MemberState.ARBITER if is_arbiter else MemberState.SECONDARY

    def _config(self) -> tuple[MemberConfig, ...]:
        """The members of the published section, or the reported members, also on other hosts."""
        if not self.unit.replica_set or not self._is_initiated():
            return ()
        known = self.stated
        if known is None:
            running = [p.name for p in self.unit.processes if self._is_member(p.name)]
            stated = {member.process: member for member in self.unit.members or ()}
            known = tuple(stated.get(name, MemberConfig(name, at)) for at, name in enumerate(running))
        listed = {member.process for member in known}
        reported = self.reports.others.get(self.unit.replica_set, {})
        others = {name: seen for name, seen in reported.items() if name not in listed}
        first = max((member.number for member in known), default=-1) + 1
        return (*known, *(_other(address, first + at, others) for at, address in enumerate(sorted(others))))

    def _is_initiated(self) -> bool:
        is_known = any(self._is_member(process.name) for process in self.unit.processes)
        return is_known or bool(self.reports.others.get(self.unit.replica_set))

    def _is_member(self, name: str) -> bool:
        reported = self.reports.hosts.get(name)
        return reported is not None and reported.state is not MemberState.STANDALONE

    def _feature_version(self) -> str:
        """The feature compatibility version as published, or of the oldest version that runs."""
        before = [self.published[p.name] for p in self.unit.processes if p.name in self.published]
        versions = [text for p in before if (text := p.feature_version)]
        if versions:
            return versions[0]
        reported = (self.reports.hosts.get(process.name) for process in self.unit.processes)
        places = [place for r in reported if r and (place := series(r.version)) is not None]
        return SERIES[min(places)] if places else self.unit.processes[0].feature_version

    def assumptions(self) -> Iterator[PlanHold]:
        """The assumptions of the plan of the unit."""
        for process in self.unit.processes:
            yield from self._assumptions_of(process)
        name = self.unit.replica_set
        if any(p.name in self.reports.hosts for p in self.unit.processes):
            yield _hold(PlanReason.FEATURE_VERSION_ASSUMED, "", name, version=self._feature_version())
        if self.unit.users:
            is_new = self._users() == self.unit.users
            source = "that all users are new" if is_new else "the users of the document before"
            yield _hold(PlanReason.USERS_ASSUMED, "", name, source=source)
        if self._config():
            source = "the document before" if self.stated is not None else "this document, or one vote each"
            yield _hold(PlanReason.CONFIG_ASSUMED, "", name, source=source)
            arbiters = any(member.is_arbiter for member in (*self._config(), *(self.unit.members or ())))
            if self.unit.concern or arbiters:
                source = "that of the document before" if self.concern else "that nobody has set one"
                yield _hold(PlanReason.CONCERN_ASSUMED, "", name, source=source)

    def _assumptions_of(self, process: GoalProcess) -> Iterator[PlanHold]:
        name, replica_set = process.name, self.unit.replica_set
        reported = self.reports.hosts.get(name)
        if reported is None:
            yield _hold(PlanReason.NOT_REPORTED, name, replica_set)
            return
        if self.now - reported.observed >= OLD:
            when = reported.observed.strftime("%Y-%m-%dT%H:%M:%SZ")
            yield _hold(PlanReason.REPORT_OLD, name, replica_set, when=when)
        if reported.state is None and not reported.is_down:
            assumed = self._assumed_state(process).value
            yield _hold(PlanReason.ROLE_ASSUMED, name, replica_set, state=assumed)
        if reported.version is None:
            version = self.published.get(name, process).version
            yield _hold(PlanReason.VERSION_ASSUMED, name, replica_set, version=version)
        if name not in self.published or self.reports.reached.get(name, 0) != self.reached:
            source = "the document before" if name in self.published else "this document"
            yield _hold(PlanReason.SETTINGS_ASSUMED, name, replica_set, source=source)
        known = self._known(process)
        times = (
            ("lastResync", process.resync, known.resync),
            ("lastCompact", process.compact, known.compact),
        )
        fields = [field for field, time, before in times if time not in {None, before}]
        if fields:
            yield _hold(PlanReason.DATA_AGE_ASSUMED, name, replica_set, fields=" and ".join(fields))


def _other(address: str, number: int, others: Mapping[str, ReportedProcess]) -> MemberConfig:
    is_arbiter = others[address].state is MemberState.ARBITER
    member = MemberConfig(address, number, is_arbiter=is_arbiter)
    return replace(member, priority=0.0) if is_arbiter else member


def _hold(reason: PlanReason, process: str, replica_set: str, **names: str) -> PlanHold:
    return PlanHold(reason, process, replica_set, tuple(names.items()))
