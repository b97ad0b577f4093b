"""What a report means, held against what was known before (decisions 8 "derived signals"). Pure."""

from events.types import EventType


def reachability_event(*, was_down: bool, reachable: bool) -> EventType | None:
    """HOST_DOWN when a host is found unreachable, HOST_UP when it is back, None while it stays so."""
    if was_down != reachable:
        return None
    return EventType.HOST_UP if reachable else EventType.HOST_DOWN
