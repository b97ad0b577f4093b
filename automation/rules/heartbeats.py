"""Decides when agents and hosts are silent, and when the platform itself was down; events of agents. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from automation.choices import AgentType
from events.types import EventType, closing_type

HEARTBEAT_TIMEOUT = timedelta(minutes=4)
"""Silent after this time without a report."""
ABSENCE = timedelta(seconds=60)
"""If no sweep ran for longer than this, the platform was down and nobody could report."""


def heard_limit(now: datetime) -> datetime:
    """A last report at or before this moment is too old for the current state."""
    return now - HEARTBEAT_TIMEOUT


def unheard_for(last_report: datetime | None, now: datetime) -> timedelta | None:
    """Time since the last report of a host, if it is longer than an agent may be silent.

    None while the report counts, and before the first report. Only pages use this: alerts follow from the
    sweep.
    """
    if last_report is None or last_report > heard_limit(now):
        return None
    return now - last_report


def timed_out_since(*, counting_since: datetime, now: datetime) -> datetime | None:
    """Silent if the last report was at or before this moment.

    None if the clocks, started at `counting_since`, have not run for that long: then nobody is silent.
    """
    limit = heard_limit(now)
    return limit if counting_since <= limit else None


def clocks_start(*, counting_since: datetime, swept: datetime | None, now: datetime) -> datetime:
    """When the clocks of silence started: unchanged, or now if the last sweep is too long ago.

    Clocks with a start in the future start at that time.
    """
    if swept is None or now - swept > ABSENCE:
        return max(counting_since, now)
    return counting_since


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
