"""Decides on heartbeat timeouts, and when the platform itself was down; events of agents. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum, auto

from automation.choices import AgentType
from events.types import EventType, closing_type
from opsapi.clock import AHEAD, ago_words, time_words

HEARTBEAT_TIMEOUT = timedelta(minutes=4)
"""An agent or host without a report for this long has a heartbeat timeout."""
ABSENCE = timedelta(seconds=60)
"""If no sweep ran for longer than this, the platform was down and nobody could report."""


def heard_limit(now: datetime) -> datetime:
    """A last report at or before this moment is too old for the current state."""
    return now - HEARTBEAT_TIMEOUT


def unheard_for(last_report: datetime | None, now: datetime) -> timedelta | None:
    """Time since the last report of a host or agent, if it is at least the heartbeat timeout.

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
    """When the clocks of heartbeat timeouts started: unchanged, or now.

    They start now if the last sweep is too long ago, and if a stored time is in the future: then nobody knows
    since when they run.
    """
    if swept is None or abs(now - swept) > ABSENCE or counting_since > now + AHEAD:
        return now
    return counting_since


def reports_awaited_since(*, counting_since: datetime, now: datetime) -> datetime | None:
    """Return the time after which observations are recent if agents could not report before.

    None if agents have had the heartbeat timeout to report since the start of the clocks. The first report
    can start them, so it is observed a little earlier.
    """
    is_over = timed_out_since(counting_since=counting_since, now=now) is not None
    return None if is_over or counting_since > now + AHEAD else counting_since - ABSENCE


class DetectionGap(StrEnum):
    """Why agents and hosts that stop reporting are not noticed at the moment."""

    NO_AGENT = auto()
    """No agent has reported yet, so there is nothing to notice."""
    NEVER_SWEPT = auto()
    NOT_SWEPT = auto()
    """The last sweep is too long ago."""
    CLOCK_AHEAD = auto()
    """The last sweep, or the start of the clocks, is in the future. The next sweep repairs it."""
    COUNTING = auto()
    """The clocks started less than the heartbeat timeout ago."""


@dataclass(frozen=True, slots=True)
class Detection:
    """Whether agents and hosts that stop reporting are noticed.

    `gap` is None if they are, otherwise the reason. `since` is the stored time that the reason is about, and
    `until` when they are noticed again, if that is known.
    """

    gap: DetectionGap | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def has_failed(self) -> bool:
        """Whether somebody must act, because no worker sweeps."""
        return self.gap in {DetectionGap.NEVER_SWEPT, DetectionGap.NOT_SWEPT, DetectionGap.CLOCK_AHEAD}

    @property
    def is_pausing(self) -> bool:
        """Whether it is off for a known, short time, as after a restart."""
        return self.gap is DetectionGap.COUNTING


def detection(
    *, any_agent: bool, counting_since: datetime | None, swept: datetime | None, now: datetime
) -> Detection:
    """Whether agents and hosts that stop reporting are noticed at `now`.

    `counting_since` and `swept` are the start of the clocks and the last sweep, if there were any.
    """
    if not any_agent:
        return Detection(DetectionGap.NO_AGENT)
    if counting_since is None or swept is None:
        return Detection(DetectionGap.NEVER_SWEPT)
    if (newest := max(counting_since, swept)) > now + AHEAD:
        return Detection(DetectionGap.CLOCK_AHEAD, since=newest)
    if now - swept > ABSENCE:
        return Detection(DetectionGap.NOT_SWEPT, since=swept)
    if timed_out_since(counting_since=counting_since, now=now) is None:
        until = counting_since + HEARTBEAT_TIMEOUT
        return Detection(DetectionGap.COUNTING, since=counting_since, until=until)
    return Detection()


_UNNOTICED = "agents and hosts that stop reporting are not noticed"


def detection_words(state: Detection, now: datetime) -> str | None:
    """Why agents and hosts that stop reporting are not noticed, and until when; None if they are.

    None as well while there is no agent.
    """
    since = time_words(state.since) if state.since else ""
    match state.gap:
        case DetectionGap.NEVER_SWEPT:
            return f"{_UNNOTICED} until a worker runs: no worker has looked for them yet"
        case DetectionGap.NOT_SWEPT if state.since:
            ago = ago_words(state.since, now)
            return f"{_UNNOTICED} until a worker runs: no worker has looked for them since {since}, {ago}"
        case DetectionGap.CLOCK_AHEAD:
            return (
                f"{_UNNOTICED} until a worker looks for them again: a clock was wrong, and the last search"
                f" has the time {since}"
            )
        case DetectionGap.COUNTING if state.until:
            return (
                f"{_UNNOTICED} until {time_words(state.until)}: they have four minutes from {since} to"
                " report, because the platform was away or no agent reported"
            )
    return None


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
