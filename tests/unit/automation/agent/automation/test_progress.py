"""The progress of a process in reports of its agent."""

from automation.agent.automation.progress import ProcessProgress
from automation.plan.reasons import PlanReason
from automation.plan.values import PlanHold

LINES = "the server ended:\nline 1\nline 2"
LINE = "the server ended: line 1 line 2"


def test_a_reason_to_wait_is_a_line_although_a_failure_has_the_lines_of_a_log() -> None:
    """The platform refuses reports with others."""
    progress = ProcessProgress("db1.example.com")
    stop = PlanHold(PlanReason.STOPPED, "p1", "", (("move", "RESTART"), ("why", LINES)))
    progress.draw(None, [stop], "p1")
    sent = progress.document("p1")
    assert [wait["detail"] for wait in sent["plan"]["waits"]] == [f"the plan stopped: RESTART failed: {LINE}"]
    assert LINES in sent["errorString"]


def test_a_reason_of_the_platform_is_a_line() -> None:
    progress = ProcessProgress("db1.example.com")
    progress.wait(PlanReason.NO_TURN, LINES)
    (wait,) = progress.document("p1")["plan"]["waits"]
    assert wait == {"reason": "NO_TURN", "detail": LINE}
