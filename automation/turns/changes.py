"""Pauses and resumes the plan of a project, and grants and ends turns.

A request for a turn:

1. ends the turns that have expired,
2. answers a repeated request with its turn,
3. checks that nobody holds the turn, that the plan is not paused, and the guards,
4. grants the turn with the next fence, or remembers since when the move waits and why.

The turn for the restart of a primary follows directly upon the turn for its step-down. A move without a turn
that failed is a turn that has ended: it stops the plan of its unit.

All this runs one at a time in a project.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from accesslist.changes import RecordedAct, acting
from accesslist.locks import scope_lock_shared
from automation.agents.models import FleetWatch
from automation.desired_state.document.machine import is_of_machine
from automation.desired_state.store import (
    documents_room,
    goal_document,
    goal_version,
    hosts_of_processes,
)
from automation.hooks import turn_ended
from automation.hosts.models import Host
from automation.hosts.store import facts_of_host
from automation.observations.models import MemberObservation
from automation.plan.known import turn_holds
from automation.plan.reading import read_goal
from automation.plan.reasons import PlanReason
from automation.plan.values import AFTER_STEP_DOWN, WITH_TURN, GoalUnit, MoveKind, PlanHold
from automation.plan.wording import together
from automation.reports.growth import EVENT_OCTETS, day_counted, day_limited
from automation.reports.limits import limit_noted
from automation.sections import machine_key, process_name, processes
from automation.turns.known import known_unit, turns_of_unit
from automation.turns.models import FetchedConfig, PausedPlan, PlanTurn, WaitingMove
from automation.turns.rules import (
    FORGOTTEN_AFTER,
    TURN_LENGTH,
    MoveState,
    TurnOutcome,
    TurnReport,
    TurnRequest,
    TurnState,
    stored_key,
    stored_set,
)
from automation.turns.store import pause_of, stop_hold, stops_of, turn_with_id
from events.choices import DiffType
from events.diffs import Document, diff
from events.facts import EventFacts
from events.log.changes import NewEvent
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import SYSTEM, Actor
from opsapi.clock import wire_time
from opsapi.redaction import redact_urls
from opsapi.roles import Scope
from opsapi.sql import execute
from opsapi.wire_json import JsonObject

_LOCK_CLASS = 0x7475  # "tu": distinguishes these advisory locks from others
PROJECTS_AT_ONCE = 500
"""Maximum number of projects in a sweep; the next sweep continues."""
_EVENTS_OF_TURN = 2
"""Its begin and its end, or its failure and the stop of the plan."""
_MOST_KEPT = 50
"""So many of the newest turns of a unit are kept."""
NOT_HERE = "must be the name of a process of the automation configuration on this machine"
MANUAL = "is a process in manual mode"
REMEDY = (
    "Remove the cause and resume the plan (POST …/automationConfig/resume), or publish another document, "
    "such as the revision before."
)
"""What to do about a plan that stopped."""
_ENDED_BY_RESUME = (PlanReason.PAUSED.name, PlanReason.STOPPED.name)
NO_STEP_DOWN = (
    "must be the turn for the step-down of the process, before a stop, a restart or a compaction of it"
)
REUSED = "was used for another process or move: use a new one for each turn"


def turns_lock(here: Scope) -> None:
    """Let one transaction at a time decide about the turns and the pause of a project."""
    execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_CLASS, here.group_id])


def _acting(group_id: str, actor: Actor, now: datetime) -> AbstractContextManager[RecordedAct]:
    return acting(actor, now, here=Scope(group_id=group_id), locks=(scope_lock_shared, turns_lock))


# --- pause ----------------------------------------------------------------------------------------


def plan_pause(*, group_id: str, actor: Actor, now: datetime) -> PausedPlan:
    """Pause the plan of a project: agents get no turns. A paused plan stays as it is.

    Raises: ApiError: GROUP_NOT_FOUND, if the project was deleted meanwhile.
    """
    with _acting(group_id, actor, now) as act:
        pause = pause_of(group_id)
        if pause is None:
            pause = PausedPlan.objects.create(
                group_id=group_id,
                since=now,
                actor_kind=actor.kind.value,
                actor_id=actor.id,
                actor_name=actor.name,
            )
            act.record(
                _pause_event(EventType.AUTOMATION_PLAN_PAUSED_AUDIT, act, was_paused=False, is_paused=True)
            )
        return pause


def plan_resume(*, group_id: str, actor: Actor, now: datetime) -> None:
    """Resume the plan of a project, also after it stopped. Otherwise nothing happens.

    Raises: ApiError: GROUP_NOT_FOUND, if the project was deleted meanwhile.
    """
    with _acting(group_id, actor, now) as act:
        paused, _ = PausedPlan.objects.filter(group_id=group_id).delete()
        stopped = _clear_stops(act)
        _end_waits(act, WaitingMove.objects.filter(group_id=group_id, reason__in=_ENDED_BY_RESUME))
        if paused or stopped:
            event_type = EventType.AUTOMATION_PLAN_RESUMED_AUDIT
            act.record(
                _pause_event(event_type, act, was_paused=bool(paused), is_paused=False, stopped=stopped)
            )


def plan_begin_again(act: RecordedAct) -> None:
    """End the stops, waits and observations of a plan, because another document is being published."""
    turns_lock(act.here)
    _clear_stops(act)
    _end_waits(act, WaitingMove.objects.filter(group_id=act.here.group_id))
    MemberObservation.objects.filter(group_id=act.here.group_id).delete()


def _clear_stops(act: RecordedAct) -> list[str]:
    """Clear the failed moves. Return their processes."""
    failed = PlanTurn.objects.filter(group_id=act.here.group_id, state=TurnState.FAILED.value, cleared=None)
    stops = list(failed.order_by("id"))
    for stop in stops:
        act.record(NewEvent(event_type=EventType.AUTOMATION_PLAN_CONTINUED, facts=_facts_of(stop)))
    if stops:
        failed.update(cleared=act.now)
    return [redact_urls(stop.process) for stop in stops]


def _end_waits(act: RecordedAct, rows: QuerySet[WaitingMove]) -> None:
    for row in rows.order_by("id"):
        _end_wait(act, row)


def _pause_event(
    event_type: EventType,
    act: RecordedAct,
    *,
    was_paused: bool,
    is_paused: bool,
    stopped: Sequence[str] = (),
) -> NewEvent:
    old: JsonObject = {"paused": was_paused, **({"stopped": list(stopped)} if stopped else {})}
    new: JsonObject = {"paused": is_paused}
    diffs = diff(DiffType.AUTOMATION_AGENT, act.here.group_id or "", old=old, new=new)
    return NewEvent(event_type=event_type, diffs=diffs)


# --- fetch ----------------------------------------------------------------------------------------


def fetch_record(*, group_id: str, hostname: str, version: int, actor: Actor, now: datetime) -> None:
    """Record that the agent of a machine has fetched a version that it had not fetched before.

    Raises: ApiError: GROUP_NOT_FOUND, if the project was deleted meanwhile.
    """
    known = FetchedConfig.objects.filter(group_id=group_id, hostname=hostname)
    if known.filter(version=version).exists():
        return
    with _acting(group_id, actor, now) as act:
        row = known.first()
        if row is not None and row.version == version:
            return
        old = {"version": row.version} if row else None
        FetchedConfig.objects.update_or_create(
            group_id=group_id, hostname=hostname, defaults={"version": version, "fetched": now}
        )
        diffs = diff(DiffType.AUTOMATION_AGENT, hostname, old=old, new={"version": version})
        facts = EventFacts(hostname=hostname)
        act.record(NewEvent(event_type=EventType.AUTOMATION_CONFIG_FETCHED_AUDIT, facts=facts, diffs=diffs))


# --- ask for a turn -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Subject:
    """The process of a request, with its unit, the turns of the unit, and its hosts.

    `host`: the first of its hosts, which events name.
    """

    document: Mapping[str, Any]
    unit: GoalUnit
    key: str
    turns: QuerySet[PlanTurn]
    hosts: Sequence[Host]

    @property
    def host(self) -> Host | None:
        return self.hosts[0] if self.hosts else None

    @property
    def facts(self) -> EventFacts | None:
        return facts_of_host(self.host) if self.host else None


@dataclass(frozen=True, slots=True)
class _TurnRefusal:
    """Why the turn is not granted, and since when."""

    holds: Sequence[PlanHold]
    since: datetime


def turn_ask(*, group_id: str, request: TurnRequest, actor: Actor, now: datetime) -> PlanTurn:
    """Grant the turn of the unit of a process, or stop its plan. A repeated request gets the same turn.

    Raises: ApiError: AUTOMATION_TURN_REFUSED with the reason; AUTOMATION_TURN_OVER, if the turn of a repeated
    request has ended; AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, if the agent carries out another version;
    INVALID_ATTRIBUTE with the wrong field; LIMIT_REACHED, if the project has stored too much today and the
    turn is new, or the plan has stopped already; GROUP_NOT_FOUND, if the project was deleted meanwhile;
    RATE_LIMITED, as `documents_room`.
    """
    with documents_room([goal_version(group_id)], group_id=group_id):
        # Before the transaction, because a large document takes long to read.
        document = goal_document(group_id)
        with limit_noted(group_id=group_id, now=now), _acting(group_id, actor, now) as act:
            if goal_version(group_id) != document["version"]:
                document = goal_document(group_id)
            _expire(act, group_id)
            answer: PlanTurn | _TurnRefusal | None = _repeated(group_id, request, now)
            if answer is None:
                subject = _subject(group_id, document, request)
                answer = _failed(act, request, subject) or _decide(act, request, subject)
    if isinstance(answer, PlanTurn):
        return answer
    first = answer.holds[0]
    raise ApiError(
        ErrorCode.AUTOMATION_TURN_REFUSED,
        request.process,
        together(hold.sentence for hold in answer.holds),
        first.reason.name,
        wire_time(answer.since),
        note=f"It waits since {wire_time(answer.since)}.",
    )


def _repeated(group_id: str, request: TurnRequest, now: datetime) -> PlanTurn | None:
    turn = PlanTurn.objects.filter(group_id=group_id, request_id=request.request_id).first()
    if turn is None:
        return None
    asked = (request.process, request.move.value, machine_key(request.hostname))
    if (turn.process, turn.move, turn.hostname) != asked:
        raise ApiError.of_field("requestId", ErrorCode.INVALID_ATTRIBUTE, REUSED)
    is_same_failure = request.failure is not None and turn.state == TurnState.FAILED.value
    if not is_same_failure and (turn.ended is not None or turn.expires <= now):
        raise _over(turn)
    return turn


def _over(turn: PlanTurn) -> ApiError:
    words = TurnState.EXPIRED.value if turn.ended is None else turn.state
    return ApiError(ErrorCode.AUTOMATION_TURN_OVER, turn.id, words, str(turn.fence))


def _subject(group_id: str, document: Mapping[str, Any], request: TurnRequest) -> _Subject:
    version = document["version"]
    if request.goal_version not in (None, version):
        code = ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION
        raise ApiError(code, str(request.goal_version), str(version))
    by_name = {process_name(process): process for process in processes(document).values()}
    process = by_name.get(request.process)
    if process is None or not is_of_machine(process, machine_key(request.hostname)):
        raise ApiError.of_field("process", ErrorCode.INVALID_ATTRIBUTE, NOT_HERE)
    units = read_goal(document).units
    unit = next(unit for unit in units if any(goal.name == request.process for goal in unit.processes))
    if any(goal.is_manual for goal in unit.processes if goal.name == request.process):
        raise ApiError.of_field("process", ErrorCode.INVALID_ATTRIBUTE, MANUAL)
    hosts = hosts_of_processes(group_id, document, {request.process}).get(request.process, ())
    key = stored_key(unit)
    return _Subject(document, unit, key, turns_of_unit(group_id, document, unit, key), hosts)


def _expire(act: RecordedAct, group_id: str) -> None:
    over = PlanTurn.objects.filter(group_id=group_id, ended=None, expires__lte=act.now)
    for turn in over:
        turn.state, turn.ended = TurnState.EXPIRED.value, turn.expires
        turn.save(update_fields=["state", "ended"])
        act.record(_move_event(EventType.AUTOMATION_MOVE_ENDED_AUDIT, turn, _facts_of(turn), was_held=True))


def _decide(act: RecordedAct, request: TurnRequest, subject: _Subject) -> PlanTurn | _TurnRefusal:
    group_id = act.here.group_id or ""
    waiting = WaitingMove.objects.filter(group_id=group_id, process=request.process).first()
    before = _turn_before(group_id, request)
    standing = _standing_hold(group_id, request, subject, is_continued=before is not None)
    if standing is not None:
        hold, since = standing
        return _wait(act, request, subject, waiting, [hold], since=since)
    held = subject.turns.filter(ended=None).order_by("granted", "id")
    holder = held.exclude(id=before.id if before else None).first()
    if holder is not None:
        names = (("other", holder.process),)
        hold = PlanHold(PlanReason.TURN, request.process, subject.unit.replica_set, names)
        return _wait(act, request, subject, waiting, [hold], since=holder.granted)
    if before is not None:
        _end(act, before, TurnState.DONE)
        return _grant(act, request, subject)
    known = known_unit(group_id, subject.document, subject.unit, turns=subject.turns, holder="", now=act.now)
    known = replace(known, members=request.members)
    process, move, member = request.process, request.move, request.member or ""
    if holds := turn_holds(subject.unit, known, process, move, act.now, member=member):
        return _wait(act, request, subject, waiting, holds)
    day_limited(group_id=group_id, now=act.now)
    if waiting is not None:
        _end_wait(act, waiting)
    return _grant(act, request, subject)


def _standing_hold(
    group_id: str, request: TurnRequest, subject: _Subject, *, is_continued: bool
) -> tuple[PlanHold, datetime | None] | None:
    """Why nobody gets a turn now, or why the agent itself waits; and since when, if this is known.

    A turn that continues a step-down is given during a pause, too.
    """
    replica_set = subject.unit.replica_set
    pause = pause_of(group_id)
    if pause is not None and not is_continued:
        return PlanHold(PlanReason.PAUSED, request.process, replica_set), pause.since
    names = [process.name for process in subject.unit.processes]
    stop = stops_of(group_id, subject.document["version"]).filter(process__in=names).last()
    if stop is not None:
        return stop_hold(stop, request.process), stop.ended
    if request.waits is not None:
        why = (("why", request.waits),)
        return PlanHold(PlanReason.AGENT_WAITS, request.process, replica_set, why), None
    return None


def _turn_before(group_id: str, request: TurnRequest) -> PlanTurn | None:
    """The held turn for the step-down of the process, if the request continues it.

    The guards of a step-down include the guards of an interruption. The agent has seen that another member is
    the primary.
    """
    if request.follows is None:
        return None
    turn = turn_with_id(request.follows, group_id=group_id)
    asked = (request.process, machine_key(request.hostname), MoveKind.STEP_DOWN.value)
    is_own = turn is not None and (turn.process, turn.hostname, turn.move) == asked
    if turn is None or not is_own or request.move not in AFTER_STEP_DOWN:
        raise ApiError.of_field("follows", ErrorCode.INVALID_ATTRIBUTE, NO_STEP_DOWN)
    if turn.ended is not None:
        raise _over(turn)
    return turn


def _wait(
    act: RecordedAct,
    request: TurnRequest,
    subject: _Subject,
    row: WaitingMove | None,
    holds: Sequence[PlanHold],
    *,
    since: datetime | None = None,
) -> _TurnRefusal:
    """Remember that the move waits. After the patience of its unit it raises an alert.

    The time in which another turn of the unit is held does not count.
    """
    first, now = holds[0], act.now
    host_id = subject.host.id if subject.host else None
    # An alert is about the host of its event, so another host of the process gets another alert.
    is_same = row is not None and (row.move, row.host_id) == (request.move.value, host_id)
    if row is not None and (not is_same or row.asked <= now - FORGOTTEN_AFTER):
        _end_wait(act, row)
        row = None
    if row is None:
        row = WaitingMove(
            group_id=act.here.group_id or "",
            process=request.process,
            move=request.move.value,
            began=now,
            since=now,
        )
    else:
        row.began += _time_held(subject.turns, row.asked, now)
        row.since = row.since if row.reason == first.reason.name else now
    row.since = since or row.since
    row.replica_set, row.host_id = stored_set(subject.unit.replica_set), host_id
    row.reason, row.names, row.asked = first.reason.name, dict(first.names), now
    is_patient = first.reason is PlanReason.TURN or row.began > now - subject.unit.patience
    if not row.alerted and not is_patient:
        row.alerted = True
        new: Document = {
            "move": row.move,
            "reason": row.reason,
            "detail": redact_urls(first.sentence),
            "since": wire_time(row.since),
        }
        diffs = _process_diff(row.process, new=new)
        act.record(NewEvent(event_type=EventType.AUTOMATION_PLAN_WAITING, facts=subject.facts, diffs=diffs))
    row.save()
    return _TurnRefusal(holds, row.since)


def _time_held(turns: QuerySet[PlanTurn], since: datetime, now: datetime) -> timedelta:
    """How long turns of a unit were held in this time: only one turn at a time."""
    recent = turns.filter(Q(ended=None) | Q(ended__gt=since), granted__lt=now)
    times = [min(turn.ended or now, now) - max(turn.granted, since) for turn in recent]
    return max(min(sum(times, timedelta()), now - since), timedelta())


def _end_wait(act: RecordedAct, row: WaitingMove) -> None:
    if row.alerted:
        facts = _facts_at(row.host_id, row.group_id)
        act.record(NewEvent(event_type=EventType.AUTOMATION_PLAN_CONTINUED, facts=facts))
    row.delete()


def _grant(act: RecordedAct, request: TurnRequest, subject: _Subject) -> PlanTurn:
    turn = _new_turn(act, request, subject, expires=act.now + TURN_LENGTH, until=act.now + request.length)
    act.record(_move_event(EventType.AUTOMATION_MOVE_BEGUN_AUDIT, turn, subject.facts))
    return turn


def _failed(act: RecordedAct, request: TurnRequest, subject: _Subject) -> PlanTurn | None:
    """Stop the plan if a move without a turn failed. It is over, so neither a pause nor a guard matters."""
    if request.failure is None:
        return None
    known = stops_of(act.here.group_id or "", subject.document["version"])
    if known.filter(process=request.process).exists():
        day_limited(group_id=act.here.group_id or "", now=act.now)
    ended = {"state": TurnState.FAILED.value, "ended": act.now, "reason": request.failure}
    turn = _new_turn(act, request, subject, expires=act.now, until=act.now, **ended)
    act.record(_move_event(EventType.AUTOMATION_MOVE_ENDED_AUDIT, turn, subject.facts))
    _stop(act, turn)
    return turn


def _new_turn(act: RecordedAct, request: TurnRequest, subject: _Subject, **times: Any) -> PlanTurn:
    """A turn with the next fence. Of a unit, only the newest turns are kept."""
    group_id = act.here.group_id or ""
    of_unit = PlanTurn.objects.filter(group_id=group_id, unit=subject.key).order_by("-fence")
    newest = of_unit.values_list("fence", flat=True).first() or 0
    turn = PlanTurn.objects.create(
        group_id=group_id,
        unit=subject.key,
        replica_set=stored_set(subject.unit.replica_set),
        process=request.process,
        hostname=machine_key(request.hostname),
        host_id=subject.host.id if subject.host else None,
        other_host_ids=[host.id for host in subject.hosts[1:]],
        move=request.move.value,
        step=request.step,
        goal_version=subject.document["version"],
        request_id=request.request_id,
        fence=newest + 1,
        granted=act.now,
        **times,
    )
    octets = _EVENTS_OF_TURN * EVENT_OCTETS + len(turn.reason or "")
    day_counted(group_id=group_id, octets=octets, now=act.now)
    of_unit.filter(fence__lte=turn.fence - _MOST_KEPT).exclude(ended=None).delete()
    return turn


# --- sweep ----------------------------------------------------------------------------------------


def plans_sweep(*, clock: Callable[[], datetime]) -> None:
    """End the waits of agents that do not ask any more, and the turns that have expired.

    Workers call it after `heartbeats_sweep`: agents are given FORGOTTEN_AFTER to ask again after the platform
    was away. The clock is read again after each project, so a long sweep shows progress.
    """
    now = clock()
    watch = FleetWatch.objects.first()
    can_forget = watch is not None and watch.counting_since <= now - FORGOTTEN_AFTER
    forgotten = WaitingMove.objects.filter(asked__lte=now - FORGOTTEN_AFTER, group__deleted=None)
    expired = PlanTurn.objects.filter(ended=None, expires__lte=now, group__deleted=None)
    groups = expired.values_list("group_id")
    if can_forget:
        groups = groups.union(forgotten.values_list("group_id"))
    for (group_id,) in groups[:PROJECTS_AT_ONCE]:
        # A project can be deleted meanwhile. Its rows are deleted later.
        with suppress(ApiError), _acting(group_id, SYSTEM, now) as act:
            _expire(act, group_id)
            if can_forget:
                _end_waits(act, forgotten.filter(group_id=group_id))
        clock()


# --- renew and give back --------------------------------------------------------------------------


def turn_report(*, group_id: str, turn_id: str, report: TurnReport, actor: Actor, now: datetime) -> PlanTurn:
    """Renew a turn, or give it back with its outcome.

    Giving it back again with the same outcome changes nothing. A failure is accepted after the turn has
    expired, too, because otherwise the plan would go on.

    Raises: ApiError: TURN_NOT_FOUND; AUTOMATION_TURN_OVER, if the turn is not held any more or has another
    fence; GROUP_NOT_FOUND, if the project was deleted meanwhile.
    """
    with _acting(group_id, actor, now) as act:
        turn = get_or_404(turn_with_id(turn_id, group_id=group_id), ErrorCode.TURN_NOT_FOUND, turn_id)
        if report.fence != turn.fence:
            words = f"the fence is not {report.fence}"
            raise ApiError(ErrorCode.AUTOMATION_TURN_OVER, turn.id, words, str(turn.fence))
        if _is_repeated(turn, report):
            return turn
        is_held = turn.ended is None and turn.expires > now
        is_lost = turn.state == TurnState.EXPIRED.value or (turn.ended is None and not is_held)
        if not is_held and not (is_lost and report.outcome is TurnOutcome.FAILED):
            raise _over(turn)
        turn.step = report.step or turn.step
        if report.outcome is None:
            turn.expires = now + TURN_LENGTH
            turn.save()
            return turn
        if report.outcome is TurnOutcome.NOT_BEGUN:
            turn.until = now
        _end(act, turn, report.state, report.reason)
        if report.outcome is TurnOutcome.FAILED:
            _stop(act, turn)
        return turn


def _is_repeated(turn: PlanTurn, report: TurnReport) -> bool:
    """Whether the turn was given back with this outcome before. One that expired by itself has no reason."""
    was_given_back = turn.state != TurnState.EXPIRED.value or turn.reason is not None
    return report.outcome is not None and turn.state == report.state.value and was_given_back


def _end(act: RecordedAct, turn: PlanTurn, state: TurnState, reason: str | None = None) -> None:
    turn.state, turn.ended, turn.reason = state.value, act.now, reason
    turn.save()
    act.record(_move_event(EventType.AUTOMATION_MOVE_ENDED_AUDIT, turn, _facts_of(turn), was_held=True))
    turn_ended.send(sender=PlanTurn, group_id=turn.group_id, now=act.now)


def _stop(act: RecordedAct, turn: PlanTurn) -> None:
    """Stop the plan of the unit, unless another document has been published meanwhile."""
    if turn.goal_version != goal_version(turn.group_id):
        PlanTurn.objects.filter(id=turn.id).update(cleared=act.now)
        return
    new: Document = {"move": turn.move, "reason": turn.reason, "remedy": REMEDY}
    new = {**new, **({"step": turn.step} if turn.step else {})}
    diffs = _process_diff(turn.process, new=new)
    act.record(NewEvent(event_type=EventType.AUTOMATION_PLAN_STOPPED, facts=_facts_of(turn), diffs=diffs))


def ended_moves(process: str, *, before: Mapping[str, Any] | None, plan: Mapping[str, Any]) -> list[NewEvent]:
    """Return the events of moves without a turn that are done in a reported plan, and were not `before`.

    Turns have events of their own. A failed move has the event of the stopped plan.
    """
    known = {(move["move"], move.get("started")) for move in _done(before)}
    return [
        NewEvent(
            event_type=EventType.AUTOMATION_MOVE_ENDED_AUDIT,
            diffs=_process_diff(process, new={"move": move["move"], "state": move["state"]}),
        )
        for move in _done(plan)
        if MoveKind(move["move"]) not in WITH_TURN and (move["move"], move.get("started")) not in known
    ]


def _done(plan: Mapping[str, Any] | None) -> list[JsonObject]:
    moves = plan["moves"] if plan else []
    return [move for move in moves if move["state"] == MoveState.DONE.value]


def _process_diff(process: str, *, new: Document, old: Document | None = None) -> list[JsonObject]:
    return diff(DiffType.PROCESS, redact_urls(process), old=old, new=new)


def _facts_of(turn: PlanTurn) -> EventFacts | None:
    return _facts_at(turn.host_id, turn.group_id)


def _facts_at(host_id: str | None, group_id: str) -> EventFacts | None:
    host = Host.objects.filter(id=host_id, group_id=group_id).first() if host_id else None
    return facts_of_host(host) if host else None


def _move_event(
    event_type: EventType, turn: PlanTurn, facts: EventFacts | None, *, was_held: bool = False
) -> NewEvent:
    """An event of a move; a move that ends was held before."""
    known: Document = {"move": turn.move, "fence": turn.fence, **({"step": turn.step} if turn.step else {})}
    old = {**known, "state": TurnState.HELD.value} if was_held else None
    new = {**known, "state": turn.state, **({"reason": turn.reason} if turn.reason else {})}
    return NewEvent(event_type=event_type, facts=facts, diffs=_process_diff(turn.process, old=old, new=new))
