"""The progress of a plan in words."""

from datetime import UTC, datetime, timedelta
from typing import Any

from automation.turns.progress import ProcessLine, moment_words, moves_words, process_lines
from tests.each import each

NOW = datetime(2026, 3, 1, 12, 0, 30, 500_000, tzinfo=UTC)
RESTART = {"move": "RESTART", "detail": "restarts", "disturbs": True}


def line(*moves: dict[str, Any], reached: int = 1, waits: Any = (), **fields: Any) -> ProcessLine:
    """A process of which version 2 is the goal."""
    plan = {"origin": "AGENT", "moves": list(moves), "waits": list(waits), "refused": []}
    process = {"name": "p1", "hostname": "db1", "lastGoalVersionAchieved": reached, "plan": plan, **fields}
    (found,) = process_lines({"goalVersion": 2, "processes": [process]}, NOW)
    return found


def test_a_process_without_moves_to_the_version_has_not_reached_it() -> None:
    process = line()
    assert (process.state, list(process.moves)) == ("not reached", [])
    assert list(process.waits) == ["Its agent has not reported a move to version 2 yet."]


def test_a_process_whose_moves_are_done_waits_for_nothing_of_its_own() -> None:
    process = line({**RESTART, "state": "DONE", "finished": "2026-03-01T12:00:00Z"})
    assert (process.state, list(process.waits)) == ("moves done", [])


def test_reasons_are_sentences() -> None:
    since = "2026-03-01T12:00:10Z"
    waits = [{"reason": "TURN", "detail": "busy", "since": since}, {"reason": "LAG", "detail": "p3 lags."}]
    process = line({**RESTART, "state": "PLANNED"}, waits=waits)
    assert list(process.waits) == ["Waits: busy, since 2026-03-01 12:00:10Z.", "Waits: p3 lags."]


def test_a_stop_is_not_repeated_as_the_error_of_the_agent() -> None:
    stop = {"reason": "STOPPED", "detail": "the plan stopped: START failed: p1: no disk"}
    process = line(waits=[stop], errorString="the plan stopped: START failed: no disk")
    assert list(process.waits) == ["Waits: the plan stopped: START failed: p1: no disk."]
    assert list(line(errorString="no disk").waits) == ["Its agent reports: no disk"]


def test_a_running_move_has_its_step_and_a_done_move_has_none() -> None:
    steps = {"steps": [{"step": "stop"}]}
    begun = {"started": "2026-03-01T12:00:10Z"}
    running = {**RESTART, **steps, **begun, "state": "RUNNING"}
    done = {**RESTART, **steps, **begun, "state": "DONE", "finished": "2026-03-01T12:00:20Z"}
    process = line(done, running)
    notes = [list(move.notes) for move in process.moves]
    assert notes == [["ended 12:00:20Z, 10 s ago"], ["since 12:00:10Z, 20 s ago", "step “stop”"]]
    assert [move.is_running for move in process.moves] == [False, True]
    assert moves_words([process]) == "1 of 2 moves are done"
    assert moves_words([process, line()]) == ""


@each(
    ("age", "expected"),
    [
        (timedelta(seconds=-2), "12:00:32Z, 0 s ago"),
        (timedelta(seconds=59), "11:59:31Z, 59 s ago"),
        (timedelta(minutes=5), "11:55:30Z, 5 min ago"),
        (timedelta(days=1), "2026-02-28 12:00:30Z, 1 d ago"),
    ],
)
def test_times_of_moves_have_seconds(age: timedelta, expected: str) -> None:
    assert moment_words(NOW - age, NOW) == expected
