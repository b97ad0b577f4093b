"""The words for moves, without the values of settings, which can be secrets. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from automation.plan.values import Move, MoveKind

_MOST_NAMES = 10
_BETWEEN = ("; ", ". ")
"""What ends a clause in a text of several."""
_DETAILS = {
    MoveKind.DOWNLOAD: "downloads version {version}, and checks it",
    MoveKind.WRITE_FILE: "writes the configuration file",
    MoveKind.WRITE_KEY_FILE: "writes the key file",
    MoveKind.START: "starts with version {version}",
    MoveKind.STOP: "stops",
    MoveKind.RESTART: "restarts{settings}",
    MoveKind.CHANGE_VERSION: "restarts with version {version}{settings}",
    MoveKind.RESYNC: "sets its data aside, and copies all data from another member{settings}",
    MoveKind.REMOVE_OLD_DATA: "removes the data that was set aside",
    MoveKind.COMPACT: "compacts its collections: some operations on a collection wait until it is compacted",
    MoveKind.SET_PARAMETER: "changes without a restart: {names}",
    MoveKind.STEP_DOWN: "steps down, so that another member becomes the primary",
    MoveKind.SET_FEATURE_VERSION: "sets the feature compatibility version {version}",
    MoveKind.SET_DEFAULT_CONCERN: "sets {names} of the replica set {set}",
    MoveKind.SET_USERS: "creates, changes or deletes users: {names}",
    MoveKind.INITIATE: "initiates the replica set {set} with {members}",
    MoveKind.ADD_MEMBER: "adds {members} to the replica set {set}",
    MoveKind.CHANGE_MEMBER: "changes {members}: {member}",
    MoveKind.REMOVE_MEMBER: "removes {members} from the replica set {set}",
}


def detail(move: Move) -> str:
    """Return the action of the process in the move, as a clause."""
    names = ", ".join(move.settings[:_MOST_NAMES])
    left_out = len(move.settings) - _MOST_NAMES
    names += f" and {left_out} more" if left_out > 0 else ""
    return _DETAILS[move.kind].format(
        version=move.version,
        settings=f", and changes {names}" if names else "",
        names=names,
        set=move.replica_set,
        members=", ".join(member.process for member in move.members),
        member=_values(move),
    )


def _values(move: Move) -> str:
    if not move.members:
        return ""
    member = move.members[0]
    hidden = ", hidden" if member.is_hidden else ""
    delay = f", delay {member.delay} s" if member.delay else ""
    return f"priority {member.priority:g}, votes {member.votes}{hidden}{delay}"


def together(clauses: Iterable[str]) -> str:
    """Return the clauses, each once, as a text."""
    return _BETWEEN[0].join(dict.fromkeys(clauses))


def cut_at_clause(text: str, most: int) -> str:
    """Return the text with its first clauses, up to `most` characters. A long clause is cut itself."""
    if len(text) <= most:
        return text
    end = max(text.rfind(between, 0, most + 1) for between in _BETWEEN)
    return text[:end] if end > most // 2 else text[: most - 1] + "…"
