"""The state of a replica set, from its members."""

from automation.choices import HostType
from automation.hosts.rules import Members, MemberTally, primary_event, tally, tally_after
from events.types import EventType
from tests.each import each


def up(name: str, count: int = 1) -> Members:
    """Reachable ones."""
    return Members(type_name=HostType(name), reachable=True, count=count)


def away(name: str, count: int = 1) -> Members:
    """Unreachable ones."""
    return Members(type_name=HostType(name), reachable=False, count=count)


def unknown(name: str, reachable: bool = True) -> Members:
    """A member with this stored type, whose newest report does not say its type."""
    return Members(type_name=HostType(name), reachable=reachable, type_unknown=True)


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
        ([unknown("REPLICA_PRIMARY"), up("REPLICA_PRIMARY")], MemberTally(primaries=1, healthy=1, unknown=1)),
        ([up("NO_DATA", 2), up("REPLICA_SECONDARY")], MemberTally(healthy=1, unknown=2)),
        ([away("NO_DATA"), unknown("REPLICA_SECONDARY", False)], MemberTally(unhealthy=2)),
        ([unknown("SHARD_MONGOS")], MemberTally()),
        ([up("SHARD_CONFIG", 3), up("SHARD_MONGOS"), away("SHARD_CONFIG")], MemberTally()),
    ],
)
def test_members_are_counted(members: list[Members], expected: MemberTally) -> None:
    assert tally(members) == expected
    assert expected.members == expected.healthy + expected.unhealthy + expected.unknown


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


BEGUN, ONE, TWO = (
    MemberTally(healthy=2),
    MemberTally(primaries=1, healthy=2),
    MemberTally(primaries=2, healthy=2),
)
PERHAPS = MemberTally(healthy=1, unknown=1, primary_unknown=True)
STAYS = MemberTally(healthy=1, unknown=1)


@each(
    ("before", "seen", "after", "event"),
    [
        (NOT_THERE, [up("REPLICA_SECONDARY"), up("NO_DATA")], PERHAPS, None),
        (ONE, [up("REPLICA_SECONDARY"), unknown("REPLICA_PRIMARY")], PERHAPS, None),
        (TWO, [up("REPLICA_SECONDARY"), unknown("REPLICA_PRIMARY")], PERHAPS, None),
        (PERHAPS, [up("REPLICA_SECONDARY"), unknown("REPLICA_PRIMARY")], PERHAPS, None),
        (PERHAPS, [up("REPLICA_SECONDARY"), up("REPLICA_PRIMARY")], ONE, None),
        (PERHAPS, [up("REPLICA_PRIMARY", 2)], TWO, "MULTIPLE_PRIMARIES"),
        (PERHAPS, [up("REPLICA_SECONDARY", 2)], BEGUN, "NO_PRIMARY"),
        (BEGUN, [up("REPLICA_SECONDARY"), unknown("REPLICA_SECONDARY")], STAYS, None),
        (STAYS, [up("REPLICA_SECONDARY"), unknown("REPLICA_SECONDARY")], STAYS, None),
        (STAYS, [up("REPLICA_SECONDARY", 2)], BEGUN, None),
        (STAYS, [up("REPLICA_SECONDARY"), up("REPLICA_PRIMARY")], ONE, "ONE_PRIMARY"),
    ],
)
def test_an_unknown_member_may_be_the_primary(
    before: MemberTally, seen: list[Members], after: MemberTally, event: str | None
) -> None:
    found = tally_after(before, seen)
    assert (found, primary_event(before, found)) == (after, event)
