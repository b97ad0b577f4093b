"""Decides on heartbeat timeouts, and when the platform itself was down; events of agents. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from automation.choices import AgentType
from events.types import EventType, closing_type

HEARTBEAT_TIMEOUT = timedelta(minutes=4)
"""An agent or host without a report for this long has a heartbeat timeout."""
ABSENCE = timedelta(seconds=60)
"""If no sweep ran for longer than this, the platform was down and nobody could report."""


def heard_limit(now: datetime) -> datetime:
    """A last report at or before this moment is too old for the current state."""
    return now - HEARTBEAT_TIMEOUT


def unheard_for(last_report: datetime | None, now: datetime) -> timedelta | None:
    """Time since the last report of a host, if it is longer than the heartbeat timeout.

    None while the report counts, and before the first report. Only pages use this: alerts follow from the
    sweep.
    """
    if last_report is None or last_report > heard_limit(now):
        return None
    return now - last_report


def timed_out_since(*, counting_since: datetime, now: datetime) -> datetime | None:
    """Agents whose last report was at or before this moment have a heartbeat timeout.

    None if the clocks, started at `counting_since`, have not run for that long: then no agent has a timeout.
    """
    limit = heard_limit(now)
    return limit if counting_since <= limit else None


def clocks_start(*, counting_since: datetime, swept: datetime | None, now: datetime) -> datetime:
    """When the clocks of heartbeat timeouts started: unchanged, or now if the last sweep is too long ago.

    Clocks with a start in the future start at that time.
    """
    if swept is None or now - swept > ABSENCE:
        return max(counting_since, now)
    return counting_since


AGENT_DOWN: Mapping[AgentType, EventType] = {
    agent_type: EventType(f"{agent_type.value}_AGENT_DOWN") for agent_type in AgentType
}
"""The event of the heartbeat timeout of an agent of this type."""

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
