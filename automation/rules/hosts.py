"""What follows from a report about one host and from what was known of it. Pure."""

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
"""The roles that are told when a host takes them on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """What was known of a host before a report."""

    type_name: HostType
    down: bool
    version: str | None
    uptime_seconds: int | None


def host_events(before: HostState, report: HostReport) -> list[EventType]:
    """Everything the report says happened to the host since."""
    events = (
        reachability_event(was_down=before.down, reachable=report.reachable),
        recovering_event(before.type_name, report.type_name),
        role_event(before.type_name, report.type_name),
        restart_event(before.uptime_seconds, report.uptime_seconds),
        version_event(before.version, report.version),
    )
    return [event for event in events if event]


def reachability_event(*, was_down: bool, reachable: bool) -> EventType | None:
    """HOST_DOWN when a host is found unreachable, HOST_UP when it is back, None while it stays so."""
    if was_down != reachable:
        return None
    return EventType.HOST_UP if reachable else EventType.HOST_DOWN


def recovering_event(before: HostType, after: HostType) -> EventType | None:
    """HOST_RECOVERING when a host begins to recover, HOST_RECOVERED when it is something else again."""
    if before is after or HostType.RECOVERING not in (before, after):
        return None
    return EventType.HOST_RECOVERING if after is HostType.RECOVERING else EventType.HOST_RECOVERED


def role_event(before: HostType, after: HostType) -> EventType | None:
    """HOST_NOW_…, when a host has another role; a first report tells none, nor does another prefix."""
    if before is HostType.NO_DATA or role(before) == role(after):
        return None
    return _NOW.get(role(after))


def restart_event(before: int | None, after: int | None) -> EventType | None:
    """HOST_RESTARTED, when the uptime in seconds went back; None where either is not known."""
    if before is None or after is None or after >= before:
        return None
    return EventType.HOST_RESTARTED


def has_left(before: HostType, after: HostType, *, reachable: bool) -> bool:
    """Whether the host is found to stand alone by now, and so in no replica set, shard or cluster.

    What stood alone before keeps what it was said to be in: reports may leave out what stays.
    """
    return reachable and after is HostType.STANDALONE and before is not HostType.STANDALONE


def role(type_name: HostType) -> str:
    """What a host is, whether in a replica set alone or in a shard."""
    return type_name.value.removeprefix("REPLICA_").removeprefix("SHARD_")
