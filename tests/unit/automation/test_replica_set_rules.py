"""The state of a replica set, from its members."""

from automation.choices import HostType
from automation.rules.hosts import Members, MemberTally, primary_event, tally
from events.types import EventType
from tests.each import each


def up(name: str, count: int = 1) -> Members:
    """Reachable ones."""
    return Members(type_name=HostType(name), reachable=True, count=count)


def away(name: str, count: int = 1) -> Members:
    """Unreachable ones."""
    return Members(type_name=HostType(name), reachable=False, count=count)


@each(
    ("members", "expected"),
    [
        ([], MemberTally()),
        ([up("REPLICA_PRIMARY")], MemberTally(primaries=1, healthy=1)),
        ([up("SHARD_PRIMARY"), up("SHARD_SECONDARY", 2)], MemberTally(primaries=1, healthy=3)),
        ([up("REPLICA_PRIMARY"), up("SHARD_PRIMARY")], MemberTally(primaries=2, healthy=2)),
        ([up("REPLICA_PRIMARY", 2)], MemberTally(primaries=2, healthy=2)),
        ([up("REPLICA_ARBITER"), up("REPLICA_SECONDARY")], MemberTally(healthy=2)),
        ([away("REPLICA_PRIMARY"), up("REPLICA_SECONDARY", 2)], MemberTally(healthy=2, unhealthy=1)),
        ([up("RECOVERING"), up("REPLICA_PRIMARY")], MemberTally(primaries=1, healthy=1, unhealthy=1)),
        ([up("STANDALONE"), up("SHARD_STANDALONE"), away("REPLICA_ARBITER")], MemberTally(unhealthy=3)),
        # Neither is a member whose role is known.
        ([up("SHARD_CONFIG", 3), up("SHARD_MONGOS"), away("SHARD_CONFIG")], MemberTally()),
    ],
)
def test_members_are_counted(members: list[Members], expected: MemberTally) -> None:
    assert tally(members) == expected
    assert expected.members == expected.healthy + expected.unhealthy


def with_primaries(count: int) -> MemberTally:
    """A set of many members."""
    return MemberTally(primaries=count, healthy=5)


NOT_THERE = MemberTally()


@each(
    ("before", "after", "expected"),
    [
        (NOT_THERE, with_primaries(0), EventType.NO_PRIMARY),
        (NOT_THERE, with_primaries(1), None),
        (NOT_THERE, with_primaries(2), EventType.MULTIPLE_PRIMARIES),
        (NOT_THERE, NOT_THERE, None),
        (with_primaries(0), with_primaries(0), None),
        (with_primaries(0), with_primaries(1), EventType.ONE_PRIMARY),
        (with_primaries(0), with_primaries(2), EventType.MULTIPLE_PRIMARIES),
        (with_primaries(1), with_primaries(0), EventType.NO_PRIMARY),
        (with_primaries(1), with_primaries(1), None),
        (with_primaries(1), with_primaries(2), EventType.MULTIPLE_PRIMARIES),
        (with_primaries(2), with_primaries(0), EventType.NO_PRIMARY),
        (with_primaries(2), with_primaries(1), EventType.ONE_PRIMARY),
        (with_primaries(2), with_primaries(3), None),
        (with_primaries(0), NOT_THERE, None),
        (with_primaries(2), NOT_THERE, None),
    ],
)
def test_only_what_begins_or_ends_is_an_event(
    before: MemberTally, after: MemberTally, expected: EventType | None
) -> None:
    assert primary_event(before, after) is expected
