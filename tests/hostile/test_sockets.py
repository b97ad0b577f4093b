"""The real server and those who do not speak its language: it refuses or closes, and serves the next one."""

import random
from collections.abc import Callable

import pytest

from tests.hostile.budget import COUNTED, budget
from tests.hostile.wire import GOOD, converse, dialogue
from tests.processes.conftest import running
from tests.processes.platform import RunningPlatform

__all__ = ["running"]

RecordProperty = Callable[[str, object], None]
ROUNDS, DIALOGUES = 8, 10
UNSUPPORTED = {501, 505}
"""The server's own answers to codings and versions it does not know."""

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("number", range(ROUNDS))
def test_whatever_is_sent_the_server_serves_the_next_one(
    running: RunningPlatform, number: int, record_property: RecordProperty
) -> None:
    rng = random.Random(f"dialogue {number}")
    for _ in range(budget(DIALOGUES)):
        pieces = dialogue(rng)
        statuses = converse(running.port, pieces, listens=rng.random() < 0.9)
        faults = [status for status in statuses if status >= 500 and status not in UNSUPPORTED]
        assert not faults, pieces
    assert converse(running.port, [GOOD], listens=True) == [200]
    record_property(COUNTED, budget(DIALOGUES))


def test_nothing_that_was_sent_was_a_fault_of_the_server(running: RunningPlatform) -> None:
    assert "Traceback" not in running.log
    assert "unexpected error" not in running.log
    assert running.child("gunicorn worker")
