"""Derives events from a report about a host and its previous state. Pure."""

from dataclasses import dataclass

from automation.choices import HostType
from automation.reports import HostReport
from automation.rules.versions import version_event
from events.types import EventType

_NOW = {
    "PRIMARY": EventType.HOST_NOW_PRIMARY,
    "SECONDARY": EventType.HOST_NOW_SECONDARY,
    "STANDALONE": EventType.HOST_NOW_STANDALONE,
}
"""Roles that cause an event when a host takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """The state of a host before a report."""

    type_name: HostType
    down: bool
    version: str | None
    uptime_seconds: int | None


def host_events(before: HostState, report: HostReport) -> list[EventType]:
    """All events that the report implies."""
    events = (
        reachability_event(was_down=before.down, reachable=report.reachable),
        recovering_event(before.type_name, report.type_name),
        role_event(before.type_name, report.type_name),
        restart_event(before.uptime_seconds, report.uptime_seconds),
        version_event(before.version, report.version),
    )
    return [event for event in events if event]


def reachability_event(*, was_down: bool, reachable: bool) -> EventType | None:
    """HOST_DOWN when a host becomes unreachable, HOST_UP when it is reachable again, otherwise None."""
    if was_down != reachable:
        return None
    return EventType.HOST_UP if reachable else EventType.HOST_DOWN


def recovering_event(before: HostType, after: HostType) -> EventType | None:
    """HOST_RECOVERING when a host starts to recover, HOST_RECOVERED when it has finished."""
    if before is after or HostType.RECOVERING not in (before, after):
        return None
    return EventType.HOST_RECOVERING if after is HostType.RECOVERING else EventType.HOST_RECOVERED


def role_event(before: HostType, after: HostType) -> EventType | None:
    """HOST_NOW_… when the role of a host changes; not for a first report or another prefix."""
    if before is HostType.NO_DATA or role(before) == role(after):
        return None
    return _NOW.get(role(after))


def restart_event(before: int | None, after: int | None) -> EventType | None:
    """HOST_RESTARTED when the uptime has decreased; None if either value is unknown."""
    if before is None or after is None or after >= before:
        return None
    return EventType.HOST_RESTARTED


def has_left(before: HostType, after: HostType, *, reachable: bool) -> bool:
    """Whether the host has just become standalone, and so left its replica set, shard or cluster.

    A host that was already standalone keeps its values: reports may leave out unchanged fields.
    """
    return reachable and after is HostType.STANDALONE and before is not HostType.STANDALONE


def role(type_name: HostType) -> str:
    """The role of a host, whether in a plain replica set or in a shard."""
    return type_name.value.removeprefix("REPLICA_").removeprefix("SHARD_")
