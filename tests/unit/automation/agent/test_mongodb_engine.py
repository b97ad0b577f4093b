"""What is reported of a deployment, by what its servers answered; no connection is created."""

import gc
import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from automation.agent.engine import HostReading, Sample, ServerAddress
from automation.agent.faults import MOST_PROBLEMS
from automation.agent.mongodb.engine import MOST_HOSTS, MOST_MEMBERS, Deployment, MongoDB
from automation.agent.mongodb.host import MongoAnswer
from automation.agent.mongodb.topology import members_of_cluster
from tests.each import each
from tests.unit.automation.agent.test_topology import NOW, ROUTERS, SHARD_MAP, SHARDS

A, B, C = ServerAddress("a", 1), ServerAddress("b", 1), ServerAddress("c", 1)


def member(address: ServerAddress, **more: Any) -> MongoAnswer:
    """An answer of a member of rs0."""
    hello = {"setName": "rs0", "hosts": ["a:1", "b:1"], "me": str(address), "secondary": True, **more}
    return MongoAnswer(address, hello, version="6.0.5", uptime=9)


def primary(address: ServerAddress) -> MongoAnswer:
    """An answer of its primary."""
    return member(address, secondary=False, isWritablePrimary=True)


def no_answer(address: ServerAddress) -> MongoAnswer:
    """No answer."""
    return MongoAnswer(address, problem="[Errno 111] Connection refused")


def round_of(deployment: Deployment, *answers: MongoAnswer) -> dict[ServerAddress, HostReading]:
    """What is reported after a round with these answers."""
    deployment.targets()
    for answer in answers:
        deployment.learn(answer)
    for answer in answers:
        deployment.take(answer)
    return {reading.address: reading for reading in deployment.readings()}


def asked(deployment: Deployment) -> set[ServerAddress]:
    """The servers that the next round asks."""
    return {host.address for host in deployment.targets()}


def test_members_that_a_seed_names_are_asked_in_the_same_round() -> None:
    deployment = Deployment("mongodb://a:1")
    assert asked(deployment) == {A}
    assert {host.address for host in deployment.learn(primary(A))} == {B}


def test_a_member_that_does_not_answer_keeps_its_last_type() -> None:
    deployment = Deployment("mongodb://a:1")
    round_of(deployment, primary(A), member(B))
    found = round_of(deployment, no_answer(A), member(B))
    assert (found[A].type_name, found[A].reachable, found[A].uptime) == ("REPLICA_PRIMARY", False, None)
    assert found[B].reachable


def test_a_member_that_never_answered_has_the_type_its_set_knows_or_none() -> None:
    deployment = Deployment("mongodb://a:1")
    named = primary(A)
    assert named.hello is not None
    answer = MongoAnswer(A, {**named.hello, "arbiters": ["c:1"]})
    found = round_of(deployment, answer, no_answer(B), no_answer(C))
    assert (found[B].type_name, found[B].replica_set, found[B].cluster) == ("NO_DATA", "rs0", "rs0")
    assert (found[C].type_name, found[C].reachable) == ("REPLICA_ARBITER", False)


def test_a_seed_that_is_another_name_of_a_member_is_not_reported_and_not_asked_again() -> None:
    deployment = Deployment("mongodb://alias:9")
    alias = ServerAddress("alias", 9)
    seen = primary(A)
    found = round_of(deployment, MongoAnswer(alias, seen.hello), primary(A), member(B))
    assert found.keys() == {A, B}
    assert asked(deployment) == {A, B}


def test_seeds_are_asked_again_while_no_member_answers() -> None:
    deployment = Deployment("mongodb://alias:9")
    round_of(deployment, MongoAnswer(ServerAddress("alias", 9), primary(A).hello))
    round_of(deployment, no_answer(A), no_answer(B))
    assert asked(deployment) == {A, B, ServerAddress("alias", 9)}
    assert round_of(deployment, no_answer(A), no_answer(B), no_answer(ServerAddress("alias", 9))).keys() == {
        A,
        B,
    }


@each(("text", "replica_set"), [("mongodb://a:1", None), ("mongodb://a:1/?replicaSet=rs0", "rs0")])
def test_a_seed_that_never_answered_is_reported_without_a_type(text: str, replica_set: str | None) -> None:
    found = round_of(Deployment(text), no_answer(A))
    assert (found[A].type_name, found[A].reachable, found[A].replica_set) == ("NO_DATA", False, replica_set)


def test_a_member_that_was_down_at_first_gets_the_type_that_its_set_learns() -> None:
    deployment = Deployment("mongodb://a:1")
    named = member(A, arbiters=["c:1"])
    round_of(deployment, no_answer(A))
    found = round_of(deployment, named, no_answer(C))
    assert found[C].type_name == "REPLICA_ARBITER"


def test_a_server_that_is_reachable_and_not_measured_is_reported_with_the_reason() -> None:
    deployment = Deployment("mongodb://a:1")
    round_of(deployment, primary(A), member(B))
    refused = replace(member(B), problem="Authentication failed.", is_measured=False)
    listens = MongoAnswer(A, problem="no TLS\n", listens=True, is_measured=False)
    found = round_of(deployment, listens, refused)
    assert [(reading.reachable, reading.problem, reading.type_name) for reading in found.values()] == [
        (True, "no TLS", "NO_DATA"),
        (True, "Authentication failed.", "REPLICA_SECONDARY"),
    ]
    after = round_of(deployment, no_answer(A), member(B))
    assert [(reading.reachable, reading.problem) for reading in after.values()] == [
        (False, None),
        (True, None),
    ]


@each("is_look", [False, True])
def test_an_earlier_answer_is_no_observation_of_now(is_look: bool) -> None:
    deployment = Deployment("mongodb://a:1")
    round_of(deployment, replace(primary(A), is_look=is_look), member(B))
    listens = MongoAnswer(A, problem="no TLS", listens=True, is_measured=False)
    found = round_of(deployment, listens, member(B))[A]
    refused = HostReading(A, "NO_DATA", reachable=True, engine="MONGODB", problem="no TLS")
    assert found == replace(refused, replica_set="rs0", cluster="rs0")  # As the other member says.
    unreachable = round_of(deployment, no_answer(A), member(B))[A]
    assert (unreachable.type_name, unreachable.replica_set, unreachable.version) == (
        "REPLICA_PRIMARY",
        "rs0",
        None,
    )


def test_a_part_that_is_refused_is_no_problem_of_the_host() -> None:
    found = round_of(Deployment("mongodb://a:1"), replace(primary(A), problem="refused: systemMetrics"))
    assert found[A].problem is None


def test_members_with_split_horizons_have_the_names_of_hello_and_it_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    deployment = Deployment("mongodb://a:1")
    names = ["mongo-0.svc:27017", "mongo-1.svc:27017", "hidden.svc:27017"]
    status = {"members": [{"name": name, "stateStr": "SECONDARY"} for name in names]}
    for _ in range(2):
        found = round_of(deployment, replace(primary(A), status=status), replace(member(B), status=status))
        assert found.keys() == {A, B} == asked(deployment)
    assert len([line for line in caplog.messages if "split horizons" in line]) == 1


def test_a_standalone_server_stays_when_it_stops_answering() -> None:
    deployment = Deployment("mongodb://a:1")
    found = round_of(deployment, MongoAnswer(A, {"isWritablePrimary": True}, uptime=5))
    assert (found[A].type_name, found[A].cluster) == ("STANDALONE", None)
    assert not round_of(deployment, no_answer(A))[A].reachable


def test_a_member_that_left_its_set_is_asked_no_more() -> None:
    deployment = Deployment("mongodb://a:1")
    round_of(deployment, primary(A), member(B))
    alone = MongoAnswer(A, {"setName": "rs0", "hosts": ["a:1"], "me": "a:1", "isWritablePrimary": True})
    round_of(deployment, alone, MongoAnswer(B, {"isreplicaset": True, "secondary": False}))
    assert asked(deployment) == {A}


def test_a_member_that_was_removed_while_it_did_not_answer_is_asked_no_more() -> None:
    deployment = Deployment("mongodb://a:1")
    round_of(deployment, primary(A), member(B))
    alone = MongoAnswer(A, {"setName": "rs0", "hosts": ["a:1"], "me": "a:1", "isWritablePrimary": True})
    round_of(deployment, alone, no_answer(B))
    assert asked(deployment) == {A}


def test_a_member_stays_while_nobody_answers() -> None:
    deployment = Deployment("mongodb://a:1")
    round_of(deployment, primary(A), member(B))
    round_of(deployment, no_answer(A), no_answer(B))
    assert asked(deployment) == {A, B}


def test_a_router_leads_to_all_servers_of_its_cluster() -> None:
    deployment = Deployment("mongodb://router1")
    router = ServerAddress("router1", 27017)
    cluster = members_of_cluster(SHARDS, SHARD_MAP, ROUTERS, NOW)
    hello = {"msg": "isdbgrid", "isWritablePrimary": True}
    shard = ServerAddress("a", 27018)
    of_shard = {"setName": "rs0", "hosts": ["a:27018", "b:27018"], "me": "a:27018", "isWritablePrimary": True}
    status = {"members": [{"name": name, "stateStr": "SECONDARY"} for name in ("a:27018", "hidden:27018")]}
    found = round_of(
        deployment,
        MongoAnswer(router, hello, cluster=cluster, own_name="router1:27017"),
        MongoAnswer(shard, of_shard, status=status),
    )
    assert (found[router].type_name, found[router].cluster, found[router].replica_set) == (
        "SHARD_MONGOS",
        "csrs",
        None,
    )
    logged = found[shard]
    assert (logged.type_name, logged.shard, logged.cluster, logged.replica_set) == (
        "SHARD_PRIMARY",
        "shard0",
        "csrs",
        "rs0",
    )
    assert len(asked(deployment)) == 8
    hidden = round_of(deployment, no_answer(ServerAddress("hidden", 27018)))[ServerAddress("hidden", 27018)]
    assert (hidden.type_name, hidden.shard) == ("NO_DATA", "shard0")


def test_a_router_under_another_name_is_known_by_its_own() -> None:
    deployment = Deployment("mongodb://balancer:1")
    cluster = members_of_cluster(SHARDS, SHARD_MAP, ROUTERS, NOW)
    balancer = ServerAddress("balancer", 1)
    found = round_of(
        deployment, MongoAnswer(balancer, {"msg": "isdbgrid"}, cluster=cluster, own_name="router1:27017")
    )
    assert found == {}
    assert balancer not in asked(deployment)


def test_a_late_answer_is_reported_with_the_next_and_loses_no_sample() -> None:
    deployment = Deployment("mongodb://a:1")
    taken = datetime(2026, 11, 23, tzinfo=UTC)
    for number in (1.0, 2.0):
        answer = primary(A)
        sample = Sample("CONNECTIONS", number, taken)
        deployment.learn(answer)
        deployment.take(MongoAnswer(A, answer.hello, samples=[sample]))
    (found,) = deployment.readings()
    assert [sample.number for sample in found.samples] == [1.0, 2.0]
    assert found.engine == "MONGODB"


def test_a_problem_is_reported_once_and_its_end_as_well(caplog: pytest.LogCaptureFixture) -> None:
    deployment = Deployment("mongodb://a:1")
    with caplog.at_level(logging.INFO):
        for answer in (no_answer(A), no_answer(A), primary(A), primary(A)):
            round_of(deployment, answer)
    logged = [record.getMessage() for record in caplog.records]
    assert len(logged) == 2
    assert "does not answer" in logged[0]
    assert "again" in logged[1]


def test_two_sets_of_one_name_are_two_clusters() -> None:
    engine = MongoDB(["mongodb://a:1", "mongodb://c:1"])
    first, second = engine.targets()
    engine.learn(first, MongoAnswer(A, {"setName": "rs0", "hosts": ["a:1"], "me": "a:1"}))
    engine.learn(second, MongoAnswer(C, {"setName": "rs0", "hosts": ["c:1"], "me": "c:1"}))
    assert [(reading.address, reading.cluster) for reading in engine.readings()] == [
        (A, "rs0"),
        (C, "rs0 (c:1)"),
    ]


def test_a_cluster_keeps_its_name_when_another_agent_watches_the_other_of_that_name() -> None:
    engine = MongoDB(["mongodb://a:1", "mongodb://c:1"])
    first, second = engine.targets()
    looked = MongoAnswer(A, {"setName": "rs0", "hosts": ["a:1"], "me": "a:1"}, is_look=True)
    engine.learn(first, looked)
    engine.learn(second, MongoAnswer(C, {"setName": "rs0", "hosts": ["c:1"], "me": "c:1"}))
    assert [(reading.address, reading.cluster) for reading in engine.readings()] == [(C, "rs0 (c:1)")]


def test_a_member_that_is_only_looked_at_leads_to_others_and_is_not_reported() -> None:
    deployment = Deployment("mongodb://a:1")
    looked = replace(primary(A), is_look=True)
    assert asked(deployment) == {A}
    assert {host.address for host in deployment.learn(looked)} == {B}
    deployment.take(looked)
    assert deployment.readings() == []
    assert asked(deployment) == {A, B}
    # When it is ours later and does not answer, it is known what it was.
    found = round_of(deployment, no_answer(A), member(B))
    assert (found[A].type_name, found[A].reachable) == ("REPLICA_PRIMARY", False)


def test_a_server_of_two_connection_strings_is_asked_and_reported_once() -> None:
    engine = MongoDB(["mongodb://a:1", "mongodb://a:1,b:1"])
    assert [host.address for host in engine.targets()] == [A, B]
    for host in engine.targets():
        engine.learn(host, primary(A) if host.address == A else member(B))
    assert sorted(reading.address for reading in engine.readings()) == [A, B]


def test_a_set_has_no_more_members_than_mongodb_allows(caplog: pytest.LogCaptureFixture) -> None:
    deployment = Deployment("mongodb://a:1")
    named = member(A, hosts=["a:1", *(f"db{number}:1" for number in range(500))])
    deployment.targets()
    found = [*deployment.learn(named), *deployment.learn(named)]
    assert len(found) <= MOST_MEMBERS
    assert len(asked(deployment)) <= MOST_MEMBERS + 1
    assert len([record for record in caplog.records if "501 members" in record.getMessage()]) == 1


def test_a_deployment_has_no_more_hosts_than_are_asked_in_a_round(caplog: pytest.LogCaptureFixture) -> None:
    deployment = Deployment("mongodb://router1")
    shards = [{"_id": "shard0", "host": "rs0/" + ",".join(f"db{number}:1" for number in range(3000))}]
    cluster = members_of_cluster(shards, {}, [], NOW)
    router = ServerAddress("router1", 27017)
    deployment.targets()
    deployment.learn(MongoAnswer(router, {"msg": "isdbgrid"}, cluster=cluster))
    assert len(asked(deployment)) == MOST_HOSTS
    assert len([record for record in caplog.records if "servers" in record.getMessage()]) == 1


@pytest.mark.slow
def test_names_from_servers_are_logged_quoted_and_cut_and_remembered_in_bounds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    deployment = Deployment("mongodb://a:1")
    for turn in range(MOST_PROBLEMS // 40 + 1):
        names = ["a:1", *(f"bad_{turn}_{number}\n\x1b{'x' * 500}" for number in range(40))]
        deployment.learn(member(A, hosts=names))
    lines = [record.getMessage() for record in caplog.records]
    assert lines
    assert all(line.isprintable() and len(line) < 250 for line in lines)
    assert len(deployment._problems._known) <= MOST_PROBLEMS


def test_the_name_of_a_set_loses_what_cannot_be_printed() -> None:
    found = round_of(Deployment("mongodb://a:1"), member(A, setName="r\x00s\x1b0"))
    assert (found[A].replica_set, found[A].cluster) == ("rs0", "rs0")


def test_a_server_that_is_gone_is_forgotten_by_the_engine() -> None:
    engine = MongoDB(["mongodb://a:1"])
    for turn in range(20):
        (host,) = [target for target in engine.targets() if target.address == A]
        engine.learn(host, member(A, hosts=["a:1", f"db{turn}:1"]))
    engine.targets()
    gc.collect()
    assert len(engine._owners) <= 3
