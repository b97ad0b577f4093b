"""Types and members, from what servers answered."""

from datetime import datetime
from typing import Any

from automation.agent.engine import ServerAddress
from automation.agent.mongodb.topology import Shard, members_of_cluster, members_of_set, own_address, type_of
from tests.each import each
from tests.unit.automation.agent.recorded import recording

NOW = datetime(2026, 11, 23, 12)  # noqa: DTZ001 - times of the server bear no zone
SET = {"setName": "rs0", "hosts": ["a:1", "b:1"]}


@each(
    ("hello", "is_shard", "type_name"),
    [
        ({"isWritablePrimary": True}, False, "STANDALONE"),
        ({"isWritablePrimary": True}, True, "SHARD_STANDALONE"),
        ({**SET, "isWritablePrimary": True}, False, "REPLICA_PRIMARY"),
        ({**SET, "ismaster": True}, False, "REPLICA_PRIMARY"),
        ({**SET, "isWritablePrimary": True}, True, "SHARD_PRIMARY"),
        ({**SET, "secondary": True}, False, "REPLICA_SECONDARY"),
        ({**SET, "secondary": True, "passive": True, "hidden": True}, True, "SHARD_SECONDARY"),
        ({**SET, "arbiterOnly": True}, True, "REPLICA_ARBITER"),
        ({**SET, "secondary": False}, False, "RECOVERING"),
        ({"isreplicaset": True, "isWritablePrimary": False}, False, "RECOVERING"),
        ({**SET, "secondary": True, "configsvr": 2}, False, "SHARD_CONFIG"),
        ({"msg": "isdbgrid", "isWritablePrimary": True}, False, "SHARD_MONGOS"),
    ],
)
def test_the_type_of_a_server(hello: dict[str, Any], is_shard: bool, type_name: str) -> None:
    assert type_of(hello, is_shard=is_shard) == type_name


@each(
    ("kind", "type_name"),
    [
        ("primary", "REPLICA_PRIMARY"),
        ("hidden", "REPLICA_SECONDARY"),
        ("arbiter", "REPLICA_ARBITER"),
        ("standalone", "STANDALONE"),
    ],
)
def test_the_type_of_a_recorded_server(kind: str, type_name: str) -> None:
    assert type_of(recording(kind).hello, is_shard=False) == type_name


def test_a_recorded_primary_names_the_hidden_member_by_its_status_alone() -> None:
    found = recording("primary")
    hidden = own_address(recording("hidden").hello)
    by_hello = {member.address for member in members_of_set(found.hello, None, None).members}
    by_status = {
        member.address
        for member in members_of_set(found.hello, found.polls[0]["replSetGetStatus"], None).members
    }
    assert len(by_hello) == 3
    assert by_status - by_hello == {hidden}


@each(
    ("me", "names", "hidden"),
    [
        ("a:1", ["a:1", "b:1", "h:1"], {"h"}),
        ("A:1", ["a:1", "b:1", "h:1"], {"h"}),
        ("a:1", ["a.svc:1", "b.svc:1", "h.svc:1"], set()),
        ("a:1", [], set()),
    ],
)
def test_members_in_the_status_count_if_the_server_has_one_name(
    me: str, names: list[str], hidden: set[str]
) -> None:
    status = {"members": [{"name": name, "stateStr": "SECONDARY"} for name in names]}
    named = members_of_set({**SET, "me": me}, status, None)
    assert {member.address.hostname for member in named.members} - {"a", "b"} == hidden
    assert named.has_other_names == (bool(names) and not hidden)


def test_hosts_passives_and_arbiters_are_members_with_their_types() -> None:
    hello = {**SET, "passives": ["[2001:DB8::1]:27018"], "arbiters": ["C.example.com:27019"]}
    found = {member.address: member.type_name for member in members_of_set(hello, None, None).members}
    assert found == {
        ServerAddress("a", 1): "NO_DATA",
        ServerAddress("b", 1): "NO_DATA",
        ServerAddress("2001:db8::1", 27018): "NO_DATA",
        ServerAddress("c.example.com", 27019): "REPLICA_ARBITER",
    }


def test_a_name_that_the_platform_does_not_take_is_reported() -> None:
    named = members_of_set({**SET, "hosts": ["db_1:27017", "a:1"]}, None, None)
    assert [str(member.address) for member in named.members] == ["a:1"]
    assert named.unreadable == ("db_1:27017",)


def test_members_of_a_shard_belong_to_its_cluster() -> None:
    (member, _) = members_of_set(SET, None, Shard("csrs", "shard0")).members
    assert (member.type_name, member.shard, member.cluster) == ("NO_DATA", "shard0", "csrs")


# As `listShards`, `getShardMap` and `config.mongos` of a cluster with two shards answer.
SHARDS = [
    {"_id": "shard0", "host": "rs0/a:27018,b:27018", "state": 1},
    {"_id": "shard1", "host": "rs1/c:27018", "state": 1},
    {"_id": "old", "host": "d:27018", "state": 1},
]
SHARD_MAP = {"config": "csrs/cfg1:27019,cfg2:27019", "shard0": "rs0/a:27018,b:27018"}
ROUTERS = [
    {"_id": "router1:27017", "ping": datetime(2026, 11, 23, 11, 59, 40)},  # noqa: DTZ001
    {"_id": "gone:27017", "ping": datetime(2026, 11, 22)},  # noqa: DTZ001
]


def test_a_router_reports_its_cluster() -> None:
    named = members_of_cluster(SHARDS, SHARD_MAP, ROUTERS, NOW)
    found = {
        str(member.address): (member.type_name, member.replica_set, member.shard) for member in named.members
    }
    assert found == {
        "a:27018": ("NO_DATA", "rs0", "shard0"),
        "b:27018": ("NO_DATA", "rs0", "shard0"),
        "c:27018": ("NO_DATA", "rs1", "shard1"),
        "d:27018": ("SHARD_STANDALONE", None, "old"),
        "cfg1:27019": ("SHARD_CONFIG", "csrs", None),
        "cfg2:27019": ("SHARD_CONFIG", "csrs", None),
        "router1:27017": ("SHARD_MONGOS", None, None),
    }
    assert {member.cluster for member in named.members} == {"csrs"}
    assert named.shards == {
        "csrs": Shard("csrs", None),
        "rs0": Shard("csrs", "shard0"),
        "rs1": Shard("csrs", "shard1"),
    }


@each(
    ("more", "status"),
    [
        ({"hosts": 5}, None),
        ({"arbiters": None, "passives": {"a": 1}}, None),
        ({"hosts": [1, None, ["a:1"]]}, None),
        ({}, {"members": [1, None, {"name": 7}, {}]}),
        ({}, {"members": 3}),
    ],
)
def test_what_a_broken_server_sends_for_members_names_nobody(more: dict[str, Any], status: Any) -> None:
    named = members_of_set({**SET, "hosts": [], **more}, status, None)
    assert (named.members, named.unreadable) == ((), ())
