"""The state of a replica set, from its last reported members. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from automation.choices import HostType
from automation.rules.hosts import role
from events.types import EventType

_HEALTHY = frozenset({"PRIMARY", "SECONDARY", "ARBITER"})
# A router is in no replica set, and the type of a config server does not reveal its role.
_NO_MEMBERS = frozenset({HostType.SHARD_MONGOS, HostType.SHARD_CONFIG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Number of hosts of a replica set by type and reachability."""

    type_name: HostType
    reachable: bool
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTally:
    """Number of reachable primaries, and of healthy and unhealthy members; primaries are healthy, too."""

    primaries: int = 0
    healthy: int = 0
    unhealthy: int = 0

    @property
    def members(self) -> int:
        """All members; without members, the replica set does not exist."""
        return self.healthy + self.unhealthy


def tally(seen: Iterable[Members]) -> MemberTally:
    """Count the members: reachable PRIMARY, SECONDARY and ARBITER members are healthy."""
    members = [member for member in seen if member.type_name not in _NO_MEMBERS]
    healthy = [member for member in members if member.reachable and role(member.type_name) in _HEALTHY]
    return MemberTally(
        primaries=sum(member.count for member in healthy if role(member.type_name) == "PRIMARY"),
        healthy=sum(member.count for member in healthy),
        unhealthy=sum(member.count for member in members) - sum(member.count for member in healthy),
    )


def primary_event(before: MemberTally, after: MemberTally) -> EventType | None:
    """NO_PRIMARY or MULTIPLE_PRIMARIES when the condition starts, ONE_PRIMARY when it ends."""
    if not after.members:
        return None
    match after.primaries:
        case 0:
            began = before.primaries > 0 or not before.members
            return EventType.NO_PRIMARY if began else None
        case 1:
            ended = before.primaries != 1 and before.members
            return EventType.ONE_PRIMARY if ended else None
        case _:
            return EventType.MULTIPLE_PRIMARIES if before.primaries <= 1 else None
