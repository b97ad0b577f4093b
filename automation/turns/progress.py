"""The progress of a plan in words, from its status as the API shows it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from automation.plan.reasons import PlanReason
from automation.plan.values import MoveKind
from automation.turns.rules import MoveState
from opsapi.clock import ago_words, parse_time, time_words
from opsapi.console.widgets import Tone

MOVE_WORDS = {
    MoveKind.DOWNLOAD: "downloads a version",
    MoveKind.WRITE_FILE: "writes the configuration file",
    MoveKind.WRITE_KEY_FILE: "writes the key file",
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
    MoveKind.SET_USERS: "creates, changes or deletes users",
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
_NOT_REACHED, _NOT_KNOWN = "not reached", "not known"
_LOST = "Its agent did not renew the turn, and did not say how the move ended."


@dataclass(frozen=True, slots=True)
class MoveLine:
    """A move in words. `notes`: times, its step, and why it failed."""

    words: str
    state: str
    tone: str
    notes: Sequence[str] = ()
    disturbs: bool = False
    is_done: bool = False
    is_running: bool = False


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


def moves_words(lines: Sequence[ProcessLine]) -> str:
    """Return how many moves are done: `5 of 8 moves are done`; empty while not all moves are known."""
    if any(line.state in {_NOT_REACHED, _NOT_KNOWN} for line in lines):
        return ""
    moves = [move for line in lines for move in line.moves]
    done = sum(move.is_done for move in moves)
    return f"{done} of {len(moves)} moves are done" if moves else ""


def moment_words(moment: datetime, now: datetime) -> str:
    """Return `00:29:16Z, 12 s ago`, with the date if it is another day: a move often takes seconds."""
    age = now - moment
    ago = (
        f"{max(0, int(age.total_seconds()))} s ago" if age < timedelta(minutes=1) else ago_words(moment, now)
    )
    text = time_words(moment)
    return f"{text.partition(' ')[2] if moment.date() == now.date() else text}, {ago}"


def _line(process: Mapping[str, Any], goal: int, now: datetime) -> ProcessLine:
    plan, reached = process.get("plan"), process["lastGoalVersionAchieved"]
    moves, waits = (plan["moves"], plan["waits"]) if plan else ([], [])
    state, tone = _state(process, moves, waits, reached=reached == goal)
    error = process.get("errorString", "")
    sentences = [f"Its agent reports: {error}"] if error and not _is_among(error, waits) else []
    sentences += map(_wait, waits)
    if state == _NOT_REACHED and plan and not sentences:
        sentences.append(f"Its agent has not reported a move to version {goal} yet.")
    return ProcessLine(
        name=process["name"],
        hostname=process["hostname"],
        state=state,
        tone=tone.value,
        version=f"has reached version {reached}" if reached else "no version reached yet",
        moves=list(_move_lines(moves, now)),
        waits=sentences,
        refused=[_sentence(hold["detail"]) for hold in plan["refused"]] if plan else [],
        origin=plan["origin"] if plan else "",
    )


def _is_among(error: str, waits: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the reasons say the error: a stop of the plan is both."""
    return any(wait["reason"] == PlanReason.STOPPED.name or wait["detail"] == error for wait in waits)


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
        (states == {MoveState.DONE.value}, "moves done", Tone.INFO),
        ("plan" in process, _NOT_REACHED, Tone.WARNING),
    )
    return next(((words, tone) for applies, words, tone in candidates if applies), (_NOT_KNOWN, Tone.WARNING))


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
            is_done=move["state"] == MoveState.DONE.value,
            is_running=move["state"] == MoveState.RUNNING.value,
        )


def _notes(move: Mapping[str, Any], now: datetime) -> Iterable[str]:
    if "at" in move:
        yield f"not before {time_words(parse_time(move['at']))}"
    if "finished" in move:
        yield f"ended {moment_words(parse_time(move['finished']), now)}"
    elif "started" in move:
        yield f"since {moment_words(parse_time(move['started']), now)}"
    if move["state"] == MoveState.DONE.value:
        return
    for step in [move["step"]] if "step" in move else [step["step"] for step in move.get("steps", ())][-1:]:
        yield f"step “{step}”"
    if move["state"] == MoveState.LOST.value:
        yield _LOST
    if "reason" in move:
        yield move["reason"]


def _wait(wait: Mapping[str, Any]) -> str:
    since = f", since {time_words(parse_time(wait['since']))}" if "since" in wait else ""
    return f"Waits: {wait['detail'].rstrip('.')}{since}."


def _sentence(detail: str) -> str:
    return f"Not carried out: {detail}."
