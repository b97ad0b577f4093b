"""The subject of a message: the same words for an alert and for a one-shot event."""

from typing import Any

from events.wording import target_of
from tests.each import each


@each(
    ("shown", "expected"),
    [
        ({}, None),
        ({"hostname": "db1", "port": 27017, "replicaSetName": "rs0"}, "db1:27017"),
        ({"hostname": "2001:db8::1", "port": 27017}, "[2001:db8::1]:27017"),
        ({"hostnameAndPort": "[2001:db8::1]:27017", "clusterName": "orders"}, "[2001:db8::1]:27017"),
        ({"hostname": "agent1"}, "agent1"),
        ({"replicaSetName": "rs0", "clusterName": "orders"}, "rs0"),
        ({"clusterName": "orders"}, "orders"),
    ],
    ids=str,
)
def test_it_is_about_a_host_else_a_replica_set_else_a_cluster(
    shown: dict[str, Any], expected: str | None
) -> None:
    assert target_of(shown) == expected
