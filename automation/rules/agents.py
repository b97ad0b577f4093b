"""The event types of an agent's states. Pure."""

from collections.abc import Mapping

from automation.choices import AgentType
from events.types import EventType, closing_type

AGENT_DOWN: Mapping[AgentType, EventType] = {one: EventType(f"{one.value}_AGENT_DOWN") for one in AgentType}
"""What is told when an agent of that type falls silent."""

AGENT_VERSION_BEHIND: Mapping[AgentType, EventType] = {
    one: EventType(f"{one.value}_AGENT_VERSION_BEHIND") for one in (AgentType.MONITORING, AgentType.BACKUP)
}
"""What is told when another agent of that type has a higher version; of others it is not told."""


def turned(opening: EventType, *, holds: bool) -> EventType:
    """The event of a condition that begins to hold, or ends.

    Raises ValueError when nothing closes that type.
    """
    if holds:
        return opening
    closing = closing_type(opening)
    if closing is None:
        raise ValueError(f"{opening} opens nothing that could end")
    return closing
