"""When moves are tried again."""

from automation.agent.automation.retries import PATIENCE_SECONDS, PAUSE_SECONDS, Retries
from automation.plan.values import Move, MoveKind

DOWNLOAD, START = Move(MoveKind.DOWNLOAD, "db_1"), Move(MoveKind.START, "db_1")


def test_a_server_that_is_down_does_not_wait_for_the_next_try_of_its_download() -> None:
    seconds = [0.0]
    retries = Retries(lambda: seconds[0])
    assert retries.note(DOWNLOAD, "no answer")
    assert (retries.why_not_yet(DOWNLOAD), retries.why_not_yet(START)) == ("no answer", "")
    assert retries.why_not_yet(Move(MoveKind.DOWNLOAD, "db_2")) == ""
    retries.forget(START)  # The start is done, and the patience with the download goes on.
    seconds[0] = PAUSE_SECONDS
    assert retries.why_not_yet(DOWNLOAD) == ""
    seconds[0] = PATIENCE_SECONDS
    assert not retries.note(DOWNLOAD, "no answer")


def test_tries_of_another_document_are_forgotten() -> None:
    retries = Retries(lambda: 0.0)
    retries.note(DOWNLOAD, "no answer")
    retries.forget_all()
    assert retries.why_not_yet(DOWNLOAD) == ""
