"""What signals say."""

from typing import Any

import pytest

from alerting.rules.observations import Condition, of_event, of_host
from alerting.rules.targets import target_key
from events.types import EventType, Target

HOST = {"hostId": "h1", "hostname": "db1", "port": 27017, "reachable": True, "typeName": "STANDALONE"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NO_PRIMARY", [(EventType.NO_PRIMARY, Condition.HOLDS)]),
        ("NEW_HOST", [(EventType.NEW_HOST, Condition.HAPPENED)]),
        (
            "ONE_PRIMARY",
            [(EventType.NO_PRIMARY, Condition.ENDED), (EventType.MULTIPLE_PRIMARIES, Condition.ENDED)],
        ),
    ],
)
def test_an_event_opens_ends_or_is_told_once(name: str, expected: list[tuple[EventType, Condition]]) -> None:
    seen = of_event({"eventId": "e1", "eventTypeName": name})
    assert [(one.event_type, one.condition) for one in seen] == expected


@pytest.mark.parametrize(("reachable", "expected"), [(True, Condition.ENDED), (False, Condition.HOLDS)])
def test_a_host_is_up_or_down_at_every_report(reachable: bool, expected: Condition) -> None:
    (seen,) = of_host({**HOST, "reachable": reachable}, {})
    assert (seen.event_type, seen.condition) == (EventType.HOST_DOWN, expected)


def test_measurements_are_left_to_the_threshold() -> None:
    _, seen = of_host(HOST, {"CONNECTIONS": [1.0, 2.0]})
    assert (seen.event_type, seen.condition) == (EventType.OUTSIDE_METRIC_THRESHOLD, Condition.MEASURED)
    assert seen.samples == {"CONNECTIONS": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("target", "facts", "expected"),
    [
        (Target.HOST, HOST, '["HOST","db1",27017]'),
        (Target.HOST, {"hostname": "DB1", "port": 27017}, '["HOST","db1",27017]'),
        (
            Target.HOST_METRIC,
            {**HOST, "metricName": "CONNECTIONS"},
            '["HOST_METRIC","db1",27017,"CONNECTIONS"]',
        ),
        (
            Target.REPLICA_SET,
            {"replicaSetName": "rs0", "clusterName": "c"},
            '["REPLICA_SET","rs0","c",null]',
        ),
        (Target.CLUSTER, {"clusterName": "c"}, '["CLUSTER","c",null]'),
        (Target.AGENT, {"sourceTypeName": "BACKUP", "hostname": "a1"}, '["AGENT","BACKUP","a1"]'),
        (Target.GROUP, HOST, '["GROUP"]'),
    ],
)
def test_a_target_is_told_by_its_own_facts_alone(
    target: Target, facts: dict[str, Any], expected: str
) -> None:
    assert target_key(target, facts) == expected


def test_names_with_separators_are_different_targets() -> None:
    one = target_key(Target.CLUSTER, {"clusterName": 'a","b'})
    other = target_key(Target.CLUSTER, {"clusterName": "a", "shardName": "b"})
    assert one != other


def test_a_target_of_any_length_fits_an_index_and_stays_its_own() -> None:
    name = "\U0001f4a5" * 200
    facts = {"replicaSetName": name, "clusterName": name, "shardName": name}
    key = target_key(Target.REPLICA_SET, facts)
    assert len(key.encode()) < 500
    assert key != target_key(Target.REPLICA_SET, {**facts, "shardName": name[:-1]})
