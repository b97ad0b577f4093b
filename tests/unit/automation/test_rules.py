"""What a report means against what was known."""

import pytest

from automation.rules import reachability_event
from events.types import EventType


@pytest.mark.parametrize(
    ("was_down", "reachable", "expected"),
    [
        (False, False, EventType.HOST_DOWN),
        (True, True, EventType.HOST_UP),
        (False, True, None),
        (True, False, None),
    ],
)
def test_only_an_edge_is_an_event(was_down: bool, reachable: bool, expected: EventType | None) -> None:
    assert reachability_event(was_down=was_down, reachable=reachable) is expected
