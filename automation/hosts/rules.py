"""Decides on events of hosts: versions, whether they are measured, members of replica sets. Pure."""

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from automation.agents.rules import HEARTBEAT_TIMEOUT
from automation.choices import HostType
from automation.metrics import Engine
from automation.reports.rules import HostReport
from events.types import EventType

UNMEASURED_TIMEOUT = HEARTBEAT_TIMEOUT
"""A host that is reachable without a measurement for this long is not measured."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """Whether a host is measured.

    `unmeasured_since` is the first of the newest observations that reached the host and did not measure it;
    None if the newest observation measured the host or did not reach it, or if the host timed out.
    `not_measured`: that lasted for the timeout, and no report has measured the host since.
    """

    unmeasured_since: datetime | None = None
    not_measured: bool = False


def measures(report: HostReport) -> bool:
    """Whether the report measures the host."""
    return report.problem is None and report.sample_count > 0


def measuring_after(
    before: Measuring,
    report: HostReport,
    *,
    type_name: HostType,
    observed: datetime,
    is_monitoring: bool = True,
) -> Measuring:
    """Whether the host is measured after a report, which is its newest observation.

    `is_monitoring`: a monitoring agent reports. Other agents never measure, so their reports decide nothing.
    `type_name`: its type after the report. An arbiter has no users and no data, so nothing is expected of it.
    While a host is down, `not_measured` stays as it is: HOST_DOWN says why there are no measurements. The
    time without measurements starts again when the host is reachable again.
    """
    if not report.reachable:
        return Measuring(not_measured=before.not_measured)
    if not is_monitoring:
        return before
    if measures(report) or type_name is HostType.REPLICA_ARBITER:
        return Measuring()
    since = before.unmeasured_since
    # A stored time that is later was stored while a clock was ahead.
    if since is None or since > observed:
        since = observed
    return Measuring(since, not_measured=before.not_measured or observed - since >= UNMEASURED_TIMEOUT)


def measuring_event(before: Measuring, after: Measuring) -> EventType | None:
    """HOST_NOT_MEASURED when the condition starts, HOST_MEASURED when it ends, otherwise None."""
    if before.not_measured is after.not_measured:
        return None
    return EventType.HOST_NOT_MEASURED if after.not_measured else EventType.HOST_MEASURED


def since_late_report(
    unmeasured_since: datetime | None, report: HostReport, *, observed: datetime
) -> datetime | None:
    """Since when the host is not measured, after a report that is not the newest observation.

    It measured the host after the stored time, so the newest observations without a measurement began later.
    """
    if unmeasured_since is None or unmeasured_since >= observed or not measures(report):
        return unmeasured_since
    return observed


_SHAPE = re.compile(r"v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,5})(?:[-+](.*))?", re.IGNORECASE | re.DOTALL)
_STAGES = ("dev", "alpha", "beta", "pre", "rc")
_STAGE = re.compile(rf"({'|'.join(_STAGES)})[-.]?([0-9]{{0,9}})", re.IGNORECASE)
_RELEASED = (len(_STAGES), 0)


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A parsed version; missing numbers are 0."""

    numbers: tuple[int, ...]
    stage: tuple[int, int]

    @property
    def series(self) -> tuple[int, int]:
        """Major and minor number: within a series, newer versions replace older ones."""
        major, minor, *_ = (*self.numbers, 0, 0)
        return major, minor


def read_version(text: str) -> Version | None:
    """The version; None if it cannot be parsed."""
    match = _SHAPE.fullmatch(text)
    if not match:
        return None
    numbers = [int(number) for number in match[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    stage = _STAGE.match(match[2] or "")
    if not stage:
        return Version(tuple(numbers), _RELEASED)
    return Version(tuple(numbers), (_STAGES.index(stage[1].lower()), int(stage[2] or 0)))


def version_event(before: str | None, after: str | None) -> EventType | None:
    """HOST_UPGRADED or HOST_DOWNGRADED; None if unchanged, missing or unparsable."""
    if before == after:
        return None
    old, new = (read_version(text) if text else None for text in (before, after))
    if old is None or new is None or old == new:
        return None
    return EventType.HOST_UPGRADED if new > old else EventType.HOST_DOWNGRADED


def behind(texts: Iterable[str]) -> frozenset[str]:
    """Versions below the highest."""
    return _behind(texts, lambda _: None)


def behind_in_series(texts: Iterable[str]) -> frozenset[str]:
    """Versions below the highest of their series (major.minor)."""
    return _behind(texts, lambda version: version.series)


def _behind(texts: Iterable[str], kind: Callable[[Version], Hashable]) -> frozenset[str]:
    versions = {text: version for text in texts if (version := read_version(text))}
    highest: dict[Hashable, Version] = {}
    for version in versions.values():
        highest[kind(version)] = max(version, highest.get(kind(version), version))
    return frozenset(text for text, version in versions.items() if version < highest[kind(version)])


_NOW = {
    "PRIMARY": EventType.HOST_NOW_PRIMARY,
    "SECONDARY": EventType.HOST_NOW_SECONDARY,
    "STANDALONE": EventType.HOST_NOW_STANDALONE,
}
"""Roles that cause an event when a host takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """The state of a host before a report. `type_guessed`: no report of the reachable host says its type."""

    type_name: HostType
    type_guessed: bool = False
    down: bool
    measuring: Measuring = field(default_factory=Measuring)
    version: str | None
    uptime_seconds: int | None


class KnownType(NamedTuple):
    """The type of a host. `is_guess`: the host was never reached, and its agent assumes the type."""

    type_name: HostType
    is_guess: bool = False


def type_after(before: KnownType, report: HostReport) -> KnownType:
    """The type of a host after a report: what is known stays until the reachable host shows another type.

    NO_DATA never replaces a type. An unreachable host keeps its type; without a type, it takes the type that
    its agent assumes.
    """
    if report.type_name is HostType.NO_DATA:
        return before
    if report.reachable:
        return KnownType(report.type_name)
    return KnownType(report.type_name, is_guess=True) if before.type_name is HostType.NO_DATA else before


def host_events(
    before: HostState, report: HostReport, *, observed: datetime, is_monitoring: bool = True
) -> list[EventType]:
    """All events that the report, the newest observation of the host, implies.

    `is_monitoring`: a monitoring agent reports.
    """
    after = type_after(KnownType(before.type_name, before.type_guessed), report).type_name
    events = (
        reachability_event(was_down=before.down, reachable=report.reachable),
        measuring_event(
            before.measuring,
            measuring_after(
                before.measuring,
                report,
                type_name=after,
                observed=observed,
                is_monitoring=is_monitoring,
            ),
        ),
        recovering_event(before.type_name, after),
        role_event(HostType.NO_DATA if before.type_guessed else before.type_name, after),
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
    """HOST_NOW_… when the role of a host changes; not for a first known role or another prefix."""
    if before is HostType.NO_DATA or role(before) == role(after):
        return None
    return _NOW.get(role(after))


def restart_event(before: int | None, after: int | None) -> EventType | None:
    """HOST_RESTARTED when the uptime has decreased; None if either value is unknown."""
    if before is None or after is None or after >= before:
        return None
    return EventType.HOST_RESTARTED


def engine_of(report: HostReport) -> Engine | None:
    """The database engine of a host: the one that the agent names, or the one that alone has its metrics.

    Older agents do not name it. None if neither says it: a host that is down is not measured.
    """
    if report.engine is not None:
        return report.engine
    measured = (report.samples, *(report.databases or {}).values())
    engine_groups = {metric.spec.engines for samples in measured for metric in samples}
    sole = {engines[0] for engines in engine_groups if len(engines) == 1}
    return sole.pop() if len(sole) == 1 else None


def has_left(before: HostType, after: HostType, *, reachable: bool) -> bool:
    """Whether the host has just become standalone, and so left its replica set, shard or cluster.

    A host that was already standalone keeps its values: reports may leave out unchanged fields.
    """
    return reachable and after is HostType.STANDALONE and before is not HostType.STANDALONE


def role(type_name: HostType) -> str:
    """The role of a host, whether in a plain replica set or in a shard."""
    return type_name.value.removeprefix("REPLICA_").removeprefix("SHARD_")


_HEALTHY = frozenset({"PRIMARY", "SECONDARY", "ARBITER"})
# A router is in no replica set, and the type of a config server does not reveal its role.
_NO_MEMBERS = frozenset({HostType.SHARD_MONGOS, HostType.SHARD_CONFIG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Number of hosts of a replica set by type and reachability.

    `type_unknown`: the newest observation reached them and did not see their type, so it may have changed.
    """

    type_name: HostType
    reachable: bool
    type_unknown: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTally:
    """Number of reachable primaries, and of healthy and unhealthy members; primaries are healthy, too.

    `unknown` are the reachable members whose role is not known. `primary_unknown`: there is no primary among
    the others, and NO_PRIMARY has not begun, because an unknown member may be the primary.
    """

    primaries: int = 0
    healthy: int = 0
    unhealthy: int = 0
    unknown: int = 0
    primary_unknown: bool = False

    @property
    def members(self) -> int:
        """All members; without members, the replica set does not exist."""
        return self.healthy + self.unhealthy + self.unknown

    @property
    def lacks_primary(self) -> bool:
        """Whether NO_PRIMARY has begun."""
        return bool(self.members) and not self.primaries and not self.primary_unknown


def tally(seen: Iterable[Members]) -> MemberTally:
    """Count the members: reachable PRIMARY, SECONDARY and ARBITER members are healthy.

    Reachable members of unknown type are neither healthy nor unhealthy.
    """
    all_members = [member for member in seen if member.type_name not in _NO_MEMBERS]
    unknown = [member for member in all_members if _has_unknown_role(member)]
    members = [member for member in all_members if not _has_unknown_role(member)]
    healthy = [member for member in members if member.reachable and role(member.type_name) in _HEALTHY]
    return MemberTally(
        primaries=sum(member.count for member in healthy if role(member.type_name) == "PRIMARY"),
        healthy=sum(member.count for member in healthy),
        unhealthy=sum(member.count for member in members) - sum(member.count for member in healthy),
        unknown=sum(member.count for member in unknown),
    )


def _has_unknown_role(member: Members) -> bool:
    return member.reachable and (member.type_unknown or member.type_name is HostType.NO_DATA)


def tally_after(before: MemberTally, seen: Iterable[Members]) -> MemberTally:
    """Count the members. With unknown members, NO_PRIMARY does not begin; it stays if it has begun."""
    after = tally(seen)
    may_have = bool(after.unknown) and not after.primaries
    return replace(after, primary_unknown=may_have and not before.lacks_primary)


def primary_event(before: MemberTally, after: MemberTally) -> EventType | None:
    """NO_PRIMARY or MULTIPLE_PRIMARIES when the condition starts, ONE_PRIMARY when it ends."""
    if not after.members:
        return None
    match after.primaries:
        case 0:
            began = after.lacks_primary and not before.lacks_primary
            return EventType.NO_PRIMARY if began else None
        case 1:
            ended = before.lacks_primary or before.primaries > 1
            return EventType.ONE_PRIMARY if ended else None
        case _:
            return EventType.MULTIPLE_PRIMARIES if before.primaries <= 1 else None
