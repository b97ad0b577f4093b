"""What signals say."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from alerting.engine.observations import Condition, of_agent, of_event, of_host, of_replica_set
from events.targets import target_key
from events.types import EventType, Target
from tests.each import each

HOST = {"hostId": "h1", "hostname": "db1", "port": 27017, "reachable": True, "typeName": "STANDALONE"}


@each(
    ("name", "expected"),
    [
        ("NO_PRIMARY", [(EventType.NO_PRIMARY, Condition.HOLDS)]),
        ("NEW_HOST", [(EventType.NEW_HOST, Condition.HAPPENED)]),
        (
            "HOST_NOW_PRIMARY",
            [
                (EventType.HOST_NOW_PRIMARY, Condition.HAPPENED),
                (EventType.OUTSIDE_METRIC_THRESHOLD, Condition.GONE),
            ],
        ),
        (
            "ONE_PRIMARY",
            [(EventType.NO_PRIMARY, Condition.ENDED), (EventType.MULTIPLE_PRIMARIES, Condition.ENDED)],
        ),
    ],
)
def test_an_event_opens_or_ends_an_alert_or_is_one_shot(
    name: str, expected: list[tuple[EventType, Condition]]
) -> None:
    seen = of_event({"eventId": "e1", "eventTypeName": name})
    assert [(observation.event_type, observation.condition) for observation in seen] == expected


@each(
    ("changes", "holds"),
    [
        ({}, set()),
        ({"reachable": False}, {"HOST_DOWN"}),
        ({"typeName": "RECOVERING"}, {"HOST_RECOVERING"}),
        ({"notMeasured": True}, {"HOST_NOT_MEASURED"}),
        ({"versionBehind": True}, {"VERSION_BEHIND"}),
        ({"reachable": False, "typeName": "RECOVERING"}, {"HOST_DOWN", "HOST_RECOVERING"}),
    ],
    ids=["well", "down", "recovering", "not-measured", "behind", "down-and-recovering"],
)
def test_a_hosts_states_hold_or_have_ended_at_every_report(changes: dict[str, Any], holds: set[str]) -> None:
    seen = of_host({**HOST, **changes}, {})
    assert {observation.event_type.value for observation in seen} == {
        "HOST_DOWN",
        "HOST_NOT_MEASURED",
        "HOST_RECOVERING",
        "VERSION_BEHIND",
    }
    assert {
        observation.event_type.value for observation in seen if observation.condition is Condition.HOLDS
    } == holds
    assert {observation.condition for observation in seen} <= {Condition.HOLDS, Condition.ENDED}


def test_measurements_are_left_to_the_threshold() -> None:
    *_, seen = of_host(HOST, {"CONNECTIONS": [1.0, 2.0]})
    assert (seen.event_type, seen.condition) == (EventType.OUTSIDE_METRIC_THRESHOLD, Condition.MEASURED)
    assert seen.samples == {"CONNECTIONS": [1.0, 2.0]}


@each(
    ("agent_type", "changes", "expected"),
    [
        ("MONITORING", {}, {"MONITORING_AGENT_DOWN": "ENDED", "MONITORING_AGENT_VERSION_BEHIND": "ENDED"}),
        (
            "BACKUP",
            {"down": True, "versionBehind": True},
            {"BACKUP_AGENT_DOWN": "HOLDS", "BACKUP_AGENT_VERSION_BEHIND": "HOLDS"},
        ),
        ("AUTOMATION", {"down": True, "versionBehind": True}, {"AUTOMATION_AGENT_DOWN": "HOLDS"}),
    ],
)
def test_an_agent_has_a_timeout_or_an_old_version(
    agent_type: str, changes: dict[str, bool], expected: dict[str, str]
) -> None:
    state = {"sourceTypeName": agent_type, "hostname": "a1", "down": False, "versionBehind": False}
    seen = of_agent({**state, **changes})
    assert {observation.event_type.value: observation.condition.value for observation in seen} == expected


@each(
    ("primaries", "expected"),
    [
        (0, {"NO_PRIMARY": "HOLDS"}),
        (1, {"NO_PRIMARY": "ENDED", "MULTIPLE_PRIMARIES": "ENDED"}),
        (2, {"MULTIPLE_PRIMARIES": "HOLDS"}),
        (3, {"MULTIPLE_PRIMARIES": "HOLDS"}),
    ],
)
def test_a_replica_set_has_one_primary_or_a_condition_holds(primaries: int, expected: dict[str, str]) -> None:
    seen = of_replica_set({"replicaSetName": "rs0", "primaries": primaries, "healthy": 3, "unhealthy": 1})
    about_primaries = {
        observation.event_type.value: observation.condition.value
        for observation in seen
        if observation.count is None
    }
    assert about_primaries == expected


def test_members_are_left_to_the_threshold() -> None:
    seen = of_replica_set({"replicaSetName": "rs0", "primaries": 1, "healthy": 3, "unhealthy": 0})
    counted = {
        observation.event_type.value: (observation.condition, observation.count)
        for observation in seen
        if observation.count is not None
    }
    assert counted == {
        "TOO_FEW_HEALTHY_MEMBERS": (Condition.MEASURED, 3),
        "TOO_MANY_UNHEALTHY_MEMBERS": (Condition.MEASURED, 0),
    }


def test_a_replica_set_without_members_is_gone_for_everything_about_it() -> None:
    seen = of_replica_set({"replicaSetName": "rs0", "primaries": 0, "healthy": 0, "unhealthy": 0})
    assert {observation.condition for observation in seen} == {Condition.GONE}
    assert {observation.event_type.value for observation in seen} == {
        "NO_PRIMARY",
        "MULTIPLE_PRIMARIES",
        "TOO_FEW_HEALTHY_MEMBERS",
        "TOO_MANY_UNHEALTHY_MEMBERS",
        "OPLOG_BEHIND",
        "RESYNC_REQUIRED",
    }


@each(
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
        # Its members can report different shards, or report the shard later.
        (
            Target.REPLICA_SET,
            {"replicaSetName": "rs0", "clusterName": "c", "shardName": "s0"},
            '["REPLICA_SET","rs0","c",null]',
        ),
        (Target.REPLICA_SET, {"clusterName": "c", "shardName": "s0"}, '["REPLICA_SET",null,"c","s0"]'),
        (Target.CLUSTER, {"clusterName": "c"}, '["CLUSTER","c",null]'),
        (Target.AGENT, {"sourceTypeName": "BACKUP", "hostname": "a1"}, '["AGENT","BACKUP","a1"]'),
        (Target.GROUP, HOST, '["GROUP"]'),
    ],
)
def test_a_target_follows_from_its_own_facts_only(
    target: Target, facts: dict[str, Any], expected: str
) -> None:
    assert target_key(target, facts) == expected


@given(name=st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_target_key_is_the_json_that_stored_alerts_have(name: str) -> None:
    stored = json.dumps(["CLUSTER", name, None], separators=(",", ":"), ensure_ascii=False)
    assert target_key(Target.CLUSTER, {"clusterName": name}) == stored


def test_names_with_separators_are_different_targets() -> None:
    first = target_key(Target.CLUSTER, {"clusterName": 'a","b'})
    other = target_key(Target.CLUSTER, {"clusterName": "a", "shardName": "b"})
    assert first != other


def test_a_target_of_any_length_fits_an_index_and_stays_its_own() -> None:
    name = "\U0001f4a5" * 200
    facts = {"replicaSetName": name, "clusterName": name}
    key = target_key(Target.REPLICA_SET, facts)
    assert len(key.encode()) < 500
    assert key != target_key(Target.REPLICA_SET, {**facts, "clusterName": name[:-1]})


def test_while_a_member_that_may_be_the_primary_is_unknown_nothing_is_said_of_primaries() -> None:
    unknown = {"replicaSetName": "rs0", "primaries": 0, "healthy": 0, "unhealthy": 0, "unknown": 1}
    (about_primaries, *counted) = of_replica_set(unknown)
    assert (about_primaries.event_type, about_primaries.condition) == ("NO_PRIMARY", Condition.HOLDS)
    seen = of_replica_set(unknown | {"primaryUnknown": True})
    assert [each.event_type for each in seen] == [each.event_type for each in counted]
    assert {each.condition for each in seen} == {Condition.MEASURED}
