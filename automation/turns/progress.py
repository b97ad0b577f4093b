"""The progress of a plan in words, from its status as the API shows it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from automation.plan.reasons import PlanReason
from automation.plan.values import MoveKind
from automation.turns.rules import MoveState
from opsapi.clock import ago_words, parse_time, time_words
from opsapi.console.widgets import Tone

MOVE_WORDS = {
    MoveKind.DOWNLOAD: "downloads a version",
    MoveKind.WRITE_FILE: "writes the configuration file",
    MoveKind.START: "starts",
    MoveKind.STOP: "stops",
    MoveKind.RESTART: "restarts",
    MoveKind.CHANGE_VERSION: "restarts with another version",
    MoveKind.RESYNC: "copies all its data from another member",
    MoveKind.REMOVE_OLD_DATA: "removes the data that was set aside",
    MoveKind.COMPACT: "compacts its collections",
    MoveKind.SET_PARAMETER: "changes settings without a restart",
    MoveKind.STEP_DOWN: "steps down",
    MoveKind.SET_FEATURE_VERSION: "sets the feature compatibility version",
    MoveKind.SET_DEFAULT_CONCERN: "sets the default read and write concern",
    MoveKind.INITIATE: "initiates the replica set",
    MoveKind.ADD_MEMBER: "adds a member",
    MoveKind.CHANGE_MEMBER: "changes a member",
    MoveKind.REMOVE_MEMBER: "removes a member",
}
"""A move in words, if its details are not known."""
_STATES = {
    MoveState.PLANNED: ("planned", Tone.PLAIN),
    MoveState.RUNNING: ("in progress", Tone.INFO),
    MoveState.DONE: ("done", Tone.GOOD),
    MoveState.FAILED: ("failed", Tone.BAD),
    MoveState.LOST: ("lost", Tone.WARNING),
}
_LOST = "Its agent did not renew the turn, and did not say how the move ended."


@dataclass(frozen=True, slots=True)
class MoveLine:
    """A move in words. `notes`: times, its step, and why it failed."""

    words: str
    state: str
    tone: str
    notes: Sequence[str] = ()
    disturbs: bool = False


@dataclass(frozen=True, slots=True)
class ProcessLine:
    """A process with its state in words, its moves, and why they wait or are not carried out."""

    name: str
    hostname: str
    state: str
    tone: str
    version: str
    moves: Sequence[MoveLine]
    waits: Sequence[str]
    refused: Sequence[str]
    origin: str

    @property
    def is_done(self) -> bool:
        """Whether nothing of it needs attention."""
        return self.tone == Tone.GOOD.value and not self.refused


def move_words(kind: str) -> str:
    """Return a kind of move in words. A kind that this version does not know stays as it is."""
    return MOVE_WORDS[MoveKind(kind)] if kind in MoveKind.__members__ else kind


def process_lines(status: Mapping[str, Any], now: datetime) -> list[ProcessLine]:
    """Return the processes of a status document; the processes that need attention come first."""
    lines = [_line(process, status["goalVersion"], now) for process in status["processes"]]
    return sorted(lines, key=lambda line: line.is_done)


def _line(process: Mapping[str, Any], goal: int, now: datetime) -> ProcessLine:
    plan = process.get("plan")
    moves = list(plan["moves"]) if plan else []
    waits = list(plan["waits"]) if plan else []
    reached = process["lastGoalVersionAchieved"]
    state, tone = _state(process, moves, waits, reached=reached == goal)
    error = process.get("errorString")
    return ProcessLine(
        name=process["name"],
        hostname=process["hostname"],
        state=state,
        tone=tone.value,
        version=f"has reached version {reached}" if reached else "no version reached yet",
        moves=list(_move_lines(moves, now)),
        waits=[*([f"Its agent reports: {error}"] if error else []), *map(_wait, waits)],
        refused=[_sentence(hold["detail"]) for hold in plan["refused"]] if plan else [],
        origin=plan["origin"] if plan else "",
    )


def _state(
    process: Mapping[str, Any],
    moves: Sequence[Mapping[str, Any]],
    waits: Sequence[Mapping[str, Any]],
    *,
    reached: bool,
) -> tuple[str, Tone]:
    """The first state that applies. Nothing is done that is not known."""
    reasons = {wait["reason"] for wait in waits}
    states = {move["state"] for move in moves}
    is_planned = MoveState.PLANNED.value in states
    candidates = (
        (PlanReason.STOPPED.name in reasons, "stopped", Tone.BAD),
        ("errorString" in process, "error", Tone.BAD),
        (MoveState.RUNNING.value in states, "in progress", Tone.INFO),
        (reached and not is_planned and not waits, "done", Tone.GOOD),
        (PlanReason.PAUSED.name in reasons, "paused", Tone.WARNING),
        (bool(waits), "waits", Tone.WARNING),
        (is_planned, "planned", Tone.INFO),
        ("plan" in process, "not reached", Tone.WARNING),
    )
    return next(
        ((words, tone) for applies, words, tone in candidates if applies), ("not known", Tone.WARNING)
    )


def _move_lines(moves: Iterable[Mapping[str, Any]], now: datetime) -> Iterable[MoveLine]:
    """The first move that is planned is the next one."""
    is_first = True
    for move in moves:
        words, tone = _STATES[MoveState(move["state"])]
        if move["state"] == MoveState.PLANNED.value:
            words, is_first = ("next" if is_first else words), False
        yield MoveLine(
            words=move.get("detail") or move_words(move["move"]),
            state=words,
            tone=tone.value,
            notes=list(_notes(move, now)),
            disturbs=move["disturbs"],
        )


def _notes(move: Mapping[str, Any], now: datetime) -> Iterable[str]:
    if "at" in move:
        yield f"not before {time_words(parse_time(move['at']))}"
    if "finished" in move:
        yield f"ended {ago_words(parse_time(move['finished']), now)}"
    elif "started" in move:
        yield f"began {ago_words(parse_time(move['started']), now)}"
    for step in [move["step"]] if "step" in move else [step["step"] for step in move.get("steps", ())][-1:]:
        yield f"step “{step}”"
    if move["state"] == MoveState.LOST.value:
        yield _LOST
    if "reason" in move:
        yield move["reason"]


def _wait(wait: Mapping[str, Any]) -> str:
    since = f", since {time_words(parse_time(wait['since']))}" if "since" in wait else ""
    return f"Waits: {wait['detail']}{since}."


def _sentence(detail: str) -> str:
    return f"Not carried out: {detail}."
