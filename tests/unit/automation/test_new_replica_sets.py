"""A new replica set in an automation configuration: what is added, and what is refused."""

from dataclasses import replace
from typing import Any

from automation.desired_state.document.publish import NEW_PROJECT, publication
from automation.desired_state.document.replica_sets import (
    LOG_ROTATION,
    NewVersion,
    WantedReplicaSet,
    data_bases,
    feature_version,
    replica_set_faults,
    with_replica_set,
)
from automation.plan.reading import read_goal
from tests.each import each
from tests.factories.documents import document, process

NEW = NewVersion(
    name="6.0.5",
    url="https://downloads.example.com/6.0.5.tgz",
    commit="c" * 40,
    platform="linux",
    architecture="amd64",
)
ORDERS = WantedReplicaSet(
    name="orders",
    machines=["db1.example.com", "db2.example.com", "db3.example.com"],
    port=27017,
    version=NEW,
    data_base="/srv/mongodb",
    download_base="/srv/mongodb/downloads",
)
MEMBERS = [{"_id": 0, "host": "orders_1"}, {"_id": 1, "host": "orders_2"}, {"_id": 2, "host": "orders_3"}]


def faults(found: Any, **changes: Any) -> list[tuple[str, int]]:
    return [(fault.field, fault.machine) for fault in replica_set_faults(found, replace(ORDERS, **changes))]


def test_a_new_project_gets_the_document_of_the_how_to() -> None:
    made = with_replica_set(NEW_PROJECT, ORDERS)
    assert made["version"] == 0
    assert made["options"] == {"downloadBase": "/srv/mongodb/downloads"}
    assert [listed["name"] for listed in made["databaseVersions"]] == ["6.0.5"]
    assert made["replicaSets"] == [{"_id": "orders", "members": MEMBERS}]
    assert [listed["name"] for listed in made["processes"]] == ["orders_1", "orders_2", "orders_3"]
    assert made["processes"][1] == {
        "name": "orders_2",
        "hostname": "db2.example.com",
        "version": "6.0.5",
        "featureCompatibilityVersion": "6.0",
        "authSchemaVersion": 5,
        "logRotate": LOG_ROTATION,
        "args2_6": {
            "net": {"port": 27017, "bindIp": "db2.example.com"},
            "storage": {"dbPath": "/srv/mongodb/orders_2"},
            "systemLog": {
                "destination": "file",
                "path": "/srv/mongodb/orders_2/mongod.log",
                "logAppend": True,
            },
            "replication": {"replSetName": "orders"},
        },
    }


def test_the_result_can_be_published_and_the_plan_reads_it_without_a_fault() -> None:
    made = publication(with_replica_set(NEW_PROJECT, replace(ORDERS, has_arbiter=True)), NEW_PROJECT)
    goal = read_goal(made.new)
    (unit,) = goal.units
    assert [process.feature_version for process in unit.processes] == ["6.0"] * 3
    assert [member.is_arbiter for member in unit.members or ()] == [False, False, True]
    assert (unit.refused, unit.notes, goal.notes) == ((), (), ())


def test_what_the_document_has_stays() -> None:
    stated = {"_id": "rs", "members": [{"_id": 0, "host": "db_1"}]}
    before = document(version=4, replicaSets=[stated], auth={"key": "a secret"}, tags=["kept"])
    after = with_replica_set(before, ORDERS)
    assert after["options"] == before["options"]
    assert after["databaseVersions"][:1] == before["databaseVersions"]
    assert after["processes"][:1] == before["processes"]
    assert after["replicaSets"][0] == stated
    assert {name: after[name] for name in ("version", "auth", "tags")} == {
        "version": 4,
        "auth": {"key": "a secret"},
        "tags": ["kept"],
    }


def test_a_version_of_the_document_is_not_added_again() -> None:
    before = document()
    after = with_replica_set(before, replace(ORDERS, version="7.0.2"))
    assert after["databaseVersions"] == before["databaseVersions"]
    assert after["processes"][-1]["featureCompatibilityVersion"] == "7.0"


def test_names_of_processes_that_are_in_use_are_skipped() -> None:
    before = document(processes=[process(name="orders_2", hostname="other.example.com")])
    after = with_replica_set(before, ORDERS)
    assert [listed["name"] for listed in after["processes"][1:]] == ["orders_1", "orders_3", "orders_4"]
    assert [member["host"] for member in after["replicaSets"][0]["members"]] == [
        "orders_1",
        "orders_3",
        "orders_4",
    ]


def test_logs_are_rotated_only_if_wanted_and_an_address_of_six_is_allowed() -> None:
    made = with_replica_set(NEW_PROJECT, replace(ORDERS, rotates_logs=False, machines=["2001:db8::1"]))
    (member,) = made["processes"]
    assert "logRotate" not in member
    assert member["args2_6"]["net"] == {"port": 27017, "bindIp": "2001:db8::1", "ipv6": True}


@each(
    ("changes", "expected"),
    [
        ({}, []),
        ({"name": "rs"}, [("name", 0)]),
        ({"name": "stated"}, [("name", 0)]),
        ({"version": replace(NEW, name="7.0.2")}, [("version", 0)]),
        ({"version": replace(NEW, name="2.6.1")}, [("version", 0)]),
        ({"version": "4.4.2"}, [("version", 0)]),
        ({"version": "7.0.2"}, []),
        ({"machines": ["a.example.com", "B.example.com", "b.example.com"]}, [("machines", 2)]),
        ({"machines": ["a.example.com", "DB9.example.com"]}, [("machines", 1)]),
        ({"machines": ["a.example.com", "alias.example.com"]}, [("machines", 1)]),
        ({"machines": ["a.example.com", "db9.example.com"], "port": 27018}, []),
        ({"machines": ["db9.example.com"], "port": 27018, "data_base": "/data/"}, [("data_base", 0)]),
        ({"machines": ["a.example.com"], "data_base": "/data"}, []),
        ({"machines": ["a.example.com", "b.example.com"], "has_arbiter": True}, [("has_arbiter", 0)]),
    ],
)
def test_each_fault_names_its_field(changes: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    settings = {"storage": {"dbPath": "/data/orders_1"}, "replication": {"replSetName": "rs"}}
    used = process(hostname="db9.example.com", alias="alias.example.com", args2_6=settings)
    before = document(processes=[used], replicaSets=[{"_id": "stated", "members": []}])
    assert faults(before, **changes) == expected


def test_a_section_that_is_no_list_is_refused() -> None:
    assert ("name", 0) in faults(document(replicaSets={"rs": 1}))


def test_the_directories_of_data_are_listed_by_frequency() -> None:
    paths = ["/a/one", "/b/two", "/b/three", "/four", "relative"]
    listed = [process(args2_6={"storage": {"dbPath": path}}) for path in paths]
    assert data_bases(document(processes=[*listed, process(args2_6={})])) == ["/b", "/a"]


@each(("version", "expected"), [("4.4.2", "4.4"), ("8.0.1-ent", "8.0"), ("5.1.0", None), ("newest", None)])
def test_the_feature_compatibility_version_is_the_series(version: str, expected: str | None) -> None:
    assert feature_version(version) == expected
