"""Reads pauses and turns, and the progress of the processes with their plans."""

import hashlib
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db.models import Q, QuerySet

from automation.desired_state.document.machine import machine_part
from automation.desired_state.store import (
    ProcessState,
    document_at,
    documents_room,
    fleet_reports,
    goal_document,
    goal_version,
    process_status,
)
from automation.hosts.models import Host
from automation.hosts.store import facts_of_host, observation_delays
from automation.plan.reading import read_goal
from automation.plan.reasons import PlanReason
from automation.plan.reported import drawn_plan, reached_goal
from automation.plan.values import DISTURBING, AutomationGoal, MoveKind, PlanHold
from automation.sections import Section, machine_key, process_name, processes, set_name
from automation.turns.models import PausedPlan, PlanTurn, WaitingMove
from automation.turns.rules import (
    FORGOTTEN_AFTER,
    MOVE_STATES,
    MoveState,
    ShownMove,
    ShownPlan,
    ShownWait,
    TurnState,
    document_refusals,
    planned_until,
    shown_plans,
    stored_set,
    with_turns,
)
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.clock import wire_time
from opsapi.fields import Among
from opsapi.redaction import redact_urls
from opsapi.wire_json import JsonObject, without_nulls

logger = logging.getLogger("opsapi.automation")

MOST_DOCUMENTS = 5
"""The most versions that processes have reached of which documents are read for plans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationStatus:
    """The version and the pause of a plan, and each process with its plan.

    `plans`: by the name of the process; None if the document cannot be decrypted. `agent_waits`: since when
    agents let the next move of a process wait by what they see themselves.
    """

    version: int
    pause: PausedPlan | None
    processes: list[ProcessState]
    plans: Mapping[str, ShownPlan] | None
    agent_waits: Mapping[str, datetime]


def pause_of(group_id: str) -> PausedPlan | None:
    """Return the pause of the project's plan; None if the plan is not paused."""
    return PausedPlan.objects.filter(group_id=group_id).first()


def turn_with_id(turn_id: str, *, group_id: str) -> PlanTurn | None:
    """Return a turn of the project; None if it does not exist."""
    return PlanTurn.objects.filter(id=turn_id, group_id=group_id).first()


@dataclass(frozen=True, slots=True)
class PlannedTime:
    """The time in which a plan changes a host.

    `delay`: how long after its observation the last report of the host arrived.
    """

    group_id: str
    host_id: str
    begin: datetime
    until: datetime
    delay: timedelta

    def covers(self, began: datetime) -> bool:
        """Whether a condition that began then, perhaps by a clock that is behind, began in this time."""
        return self.begin <= began + self.delay and began <= self.until


def planned_times(group_ids: Collection[str], now: datetime) -> list[PlannedTime]:
    """Return the times of turns of these projects that have not passed."""
    turns = PlanTurn.objects.filter(group_id__in=group_ids, until__gt=now).exclude(host_id=None)
    planned = [(turn, host_id) for turn in turns for host_id in _host_ids(turn)] if group_ids else []
    delays = observation_delays({host_id for _, host_id in planned}) if planned else {}
    times = [
        PlannedTime(
            turn.group_id,
            host_id,
            turn.granted,
            planned_until(TurnState(turn.state), until=turn.until, ended=turn.ended),
            delays.get(host_id, timedelta()),
        )
        for turn, host_id in planned
    ]
    return [time for time in times if time.until > now]


def _host_ids(turn: PlanTurn) -> Sequence[str]:
    """The hosts of the process of a turn. An earlier build stored only the first."""
    return [turn.host_id or "", *(turn.other_host_ids or ())]


def planned_turn(group_id: str, host_id: str | None, at: datetime) -> PlanTurn | None:
    """Return the newest turn with which a plan changed a host at a time; None if the plan did not."""
    if host_id is None:
        return None
    is_of_host = Q(host_id=host_id) | Q(other_host_ids__contains=[host_id])
    turns = PlanTurn.objects.filter(is_of_host, group_id=group_id, granted__lte=at, until__gte=at)
    for turn in turns.order_by("-granted", "-id"):
        if planned_until(TurnState(turn.state), until=turn.until, ended=turn.ended) >= at:
            return turn
    return None


def stops_of(group_id: str, version: int) -> QuerySet[PlanTurn]:
    """Return the turns whose failed moves stop the plan of this version, newest last."""
    failed = PlanTurn.objects.filter(group_id=group_id, state=TurnState.FAILED.value, cleared=None)
    return failed.filter(goal_version=version).order_by("ended", "id")


def stop_hold(stop: PlanTurn, process: str) -> PlanHold:
    """Return the reason why a process waits for a stop."""
    names = (("move", stop.move), ("why", f"{stop.process}: {stop.reason}"))
    return PlanHold(PlanReason.STOPPED, process, stop.replica_set, names)


def turns_held(group_id: str, now: datetime) -> list[PlanTurn]:
    """Return the turns that agents hold now, oldest first."""
    held = PlanTurn.objects.filter(group_id=group_id, ended=None, expires__gt=now)
    return list(held.order_by("granted", "id"))


def standing_holds(group_id: str, version: int) -> list[PlanHold]:
    """Return why moves of the plan of this version do not begin: it is paused, or has stopped."""
    paused = [PlanHold(PlanReason.PAUSED)] if pause_of(group_id) else []
    return [*paused, *(stop_hold(stop, stop.process) for stop in stops_of(group_id, version))]


def plan_states(group_id: str) -> list[JsonObject]:
    """Return the hosts that a plan has stopped at, or waits too long to change, with their facts."""
    stops = set(stops_of(group_id, goal_version(group_id)).values_list("host_id", flat=True))
    alerted = WaitingMove.objects.filter(group_id=group_id, alerted=True)
    waits = set(alerted.values_list("host_id", flat=True))
    ids = {host_id for host_id in stops | waits if host_id}
    hosts = {host.id: host for host in Host.objects.filter(Among("id", ids), group_id=group_id)}
    stopped = {hosts.get(host_id or "") for host_id in stops}
    waiting = {hosts.get(host_id or "") for host_id in waits}
    return [
        {
            **(facts_of_host(host).document() if host else {}),
            "planStopped": host in stopped,
            "planWaits": host in waiting,
        }
        for host in sorted(stopped | waiting, key=lambda host: host.id if host else "")
    ]


def automation_status(group_id: str, now: datetime) -> AutomationStatus:
    """Return the progress of the processes of a project."""
    version, processes = process_status(group_id, now)
    pause = pause_of(group_id)
    try:
        drawn = _plans(group_id, version, processes, pause, now)
    except ApiError as refusal:
        if refusal.code is not ErrorCode.SERVICE_UNAVAILABLE:
            raise
        drawn = None
    granted = PlanTurn.objects.filter(group_id=group_id, goal_version=version).order_by("granted", "id")
    turns = granted.exclude(state=TurnState.EXPIRED.value, reason__isnull=False)  # No move began.
    waiting = WaitingMove.objects.filter(group_id=group_id, asked__gt=now - FORGOTTEN_AFTER)
    # Agents report themselves why they wait.
    by_agents = {row.process: row.since for row in waiting if row.reason == PlanReason.AGENT_WAITS.name}
    others = [row for row in waiting if row.process not in by_agents]
    held = turns_held(group_id, now)
    plans = (
        None
        if drawn is None
        else with_turns(
            drawn,
            [(turn.process, _shown_turn(turn, now)) for turn in turns],
            {row.process: wait for row in others if (wait := _shown_wait(row, held))},
        )
    )
    return AutomationStatus(
        version=version, pause=pause, processes=processes, plans=plans, agent_waits=by_agents
    )


def _shown_turn(turn: PlanTurn, now: datetime) -> ShownMove:
    kind, state = MoveKind(turn.move), TurnState(turn.state)
    is_over = state is TurnState.HELD and turn.expires <= now
    return ShownMove(
        kind=kind,
        disturbs=kind in DISTURBING,
        state=MoveState.LOST if is_over else MOVE_STATES[state],
        started=turn.granted,
        finished=turn.expires if is_over else turn.ended,
        reason=turn.reason,
        step=turn.step,
    )


def _shown_wait(row: WaitingMove, held: Sequence[PlanTurn]) -> ShownWait | None:
    """Why a move waits; None if it waited for a turn, and nobody holds one now."""
    reason, names, since = PlanReason[row.reason], row.names, row.since
    if reason is PlanReason.TURN:
        holder = next((turn for turn in held if _lets_wait(turn, row)), None)
        if holder is None:
            return None
        names, since = {"other": holder.process}, holder.granted
    texts = tuple((name, str(text)) for name, text in names.items())
    return ShownWait(PlanHold(reason, row.process, row.replica_set, texts), since)


def _lets_wait(turn: PlanTurn, row: WaitingMove) -> bool:
    """Whether a held turn is of the unit of a move that waits. Without a set, its process is known."""
    return turn.replica_set == row.replica_set and (
        bool(row.replica_set) or turn.process == row.names.get("other")
    )


def _plans(
    group_id: str, version: int, states: list[ProcessState], pause: PausedPlan | None, now: datetime
) -> Mapping[str, ShownPlan]:
    """The plans of replica sets and processes that have not reached the version, and what no agent does."""
    reached = {state.name: state.goal_version for state in states}
    plans: dict[str, ShownPlan] = {}
    if any(number != version for number in reached.values()):
        plans |= _drawn_plans(group_id, version, reached, pause, now)
    for process, refused in _refusals(group_id, version).items():
        plans.setdefault(process, ShownPlan()).refused.extend(refused)
    return plans


@lru_cache(maxsize=256)
def _refusals(group_id: str, version: int) -> Mapping[str, Sequence[PlanHold]]:
    """As `document_refusals`. The document of a version never changes, and takes long to read."""
    with documents_room([version], group_id=group_id):
        document = document_at(version, group_id=group_id)
        return document_refusals(read_goal(document)) if document else {}


def _drawn_plans(
    group_id: str, version: int, reached: Mapping[str, int], pause: PausedPlan | None, now: datetime
) -> Mapping[str, ShownPlan]:
    """The plans of replica sets and processes that have not reached the version."""
    candidates = sorted({number for number in reached.values() if 0 < number < version}, reverse=True)
    with documents_room([version, *candidates[:MOST_DOCUMENTS]], group_id=group_id):
        document = goal_document(group_id)
        goal = read_goal(document)
        behind = tuple(
            unit
            for unit in goal.units
            if any(reached.get(process.name, 0) != goal.number for process in unit.processes)
        )
        goal = replace(goal, units=behind)
        older = _older(group_id, goal, reached)
        goals = {number: read_goal(known) for number, known in older.items()}
        before = reached_goal(goal, {goal.number: goal, **goals}, reached)
        reports = fleet_reports(group_id, document, _processes_before(older, reached))
        drawn = drawn_plan(before, goal, reports, now)
    stops = {
        stop.process: ShownWait(stop_hold(stop, stop.process), stop.ended)
        for stop in stops_of(group_id, version)
    }
    return shown_plans(goal, drawn, paused_since=pause.since if pause else None, stops=stops)


def _older(
    group_id: str, goal: AutomationGoal, reached: Mapping[str, int]
) -> Mapping[int, Mapping[str, Any]]:
    """The newest of the older documents that processes have reached."""
    names = {process.name for unit in goal.units for process in unit.processes}
    numbers = {number for name, number in reached.items() if name in names and 0 < number < goal.number}
    documents = {
        number: document_at(number, group_id=group_id)
        for number in sorted(numbers, reverse=True)[:MOST_DOCUMENTS]
    }
    return {number: document for number, document in documents.items() if document is not None}


def _processes_before(
    older: Mapping[int, Mapping[str, Any]], reached: Mapping[str, int]
) -> Mapping[str, Section]:
    """The processes as in the documents that they have reached, or in the newest of the older documents."""
    before: dict[str, Section] = {}
    for number in sorted(older):
        for process in processes(older[number]).values():
            name = process_name(process)
            if name not in before or (reached.get(name) or number) == number:
                before[name] = process
    return before


@dataclass(frozen=True, slots=True)
class MachineState:
    """The version of the document, and the state of the plan that agents learn with it."""

    version: int
    pause: PausedPlan | None
    stops: tuple[PlanTurn, ...] = ()

    @property
    def etag(self) -> str:
        """The entity tag of the parts of all machines."""
        return self.etag_of(self.version)

    def etag_of(self, version: int) -> str:
        """As `etag`, of another version of the document."""
        state = " ".join([self.pause.id if self.pause else "", *(stop.id for stop in self.stops)])
        return f'"{version}.{hashlib.sha256(state.encode()).hexdigest()[:12]}"'


def machine_state(group_id: str) -> MachineState:
    """Return the state of a plan, without reading the document."""
    version = goal_version(group_id)
    return MachineState(version, pause_of(group_id), tuple(stops_of(group_id, version)))


def machine_config(group_id: str, hostname: str, state: MachineState) -> JsonObject:
    """Return the part of the document for a machine, with its secrets.

    Raises: ApiError: SERVICE_UNAVAILABLE, if the document cannot be decrypted; as `documents_room`.
    """
    with documents_room([state.version], group_id=group_id):
        part = machine_part(goal_document(group_id), machine_key(hostname))
    own = {process_name(process) for process in part["processes"]}
    sets = {stored_set(name) for name in map(set_name, part["processes"]) if name}
    stopped = [stop for stop in state.stops if stop.process in own or stop.replica_set in sets]
    return {
        **part,
        "paused": state.pause is not None,
        "stopped": [
            without_nulls(
                {
                    "process": redact_urls(stop.process),
                    "replicaSetName": stop.replica_set or None,
                    "move": stop.move,
                    "reason": stop.reason,
                    "since": wire_time(stop.ended) if stop.ended else None,
                }
            )
            for stop in stopped
        ],
    }
