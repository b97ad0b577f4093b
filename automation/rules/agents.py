"""The event types of an agent's states. Pure."""

from collections.abc import Mapping

from automation.choices import AgentType
from events.types import EventType, closing_type

AGENT_DOWN: Mapping[AgentType, EventType] = {
    agent_type: EventType(f"{agent_type.value}_AGENT_DOWN") for agent_type in AgentType
}
"""The event when an agent of this type becomes silent."""

AGENT_VERSION_BEHIND: Mapping[AgentType, EventType] = {
    agent_type: EventType(f"{agent_type.value}_AGENT_VERSION_BEHIND")
    for agent_type in (AgentType.MONITORING, AgentType.BACKUP)
}
"""The event when another agent of this type runs a newer version; other types have none."""


def transition_event(opening: EventType, *, holds: bool) -> EventType:
    """The event when a condition starts or ends. Raises ValueError if no event closes the type."""
    if holds:
        return opening
    closing = closing_type(opening)
    if closing is None:
        raise ValueError(f"{opening} opens no alert")
    return closing
