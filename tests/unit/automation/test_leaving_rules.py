"""When a host has left its replica set, shard and cluster."""

from automation.choices import HostType
from automation.hosts.rules import has_left
from tests.each import each


@each(
    ("before", "after", "reachable", "left"),
    [
        ("REPLICA_PRIMARY", "STANDALONE", True, True),
        ("REPLICA_SECONDARY", "STANDALONE", True, True),
        ("RECOVERING", "STANDALONE", True, True),
        ("SHARD_MONGOS", "STANDALONE", True, True),
        ("SHARD_STANDALONE", "STANDALONE", True, True),
        ("NO_DATA", "STANDALONE", True, True),
        # What cannot be reached is no word of the host's own.
        ("REPLICA_SECONDARY", "STANDALONE", False, False),
        ("STANDALONE", "STANDALONE", True, False),
        ("STANDALONE", "STANDALONE", False, False),
        ("REPLICA_PRIMARY", "SHARD_STANDALONE", True, False),
        ("STANDALONE", "REPLICA_SECONDARY", True, False),
        ("REPLICA_SECONDARY", "REPLICA_PRIMARY", True, False),
        ("REPLICA_SECONDARY", "RECOVERING", True, False),
        ("REPLICA_SECONDARY", "SHARD_MONGOS", True, False),
    ],
)
def test_it_has_left_once_it_is_found_standing_alone(
    before: str, after: str, reachable: bool, left: bool
) -> None:
    assert has_left(HostType(before), HostType(after), reachable=reachable) is left
