"""Rules between fields of the automation document, and with the stored revision."""

from typing import Any

from automation.desired_state.document.publish import document_faults, rule_faults
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS
from tests.each import each
from tests.factories.documents import (
    ABSENT,
    agent,
    build,
    document,
    full_document,
    process,
    rotation,
    version,
)

NOTHING: dict[str, Any] = {}
AUTH_SCHEMA = "/processes/1/authSchemaVersion"
TIMEOUT = "/processes/0/defaultRWConcern/defaultWriteConcern/wtimeout"
BITS = "/databaseVersions/0/builds/0/bits"


def places(document: dict[str, Any], stored: dict[str, Any] = NOTHING) -> list[str]:
    found = rule_faults(document, stored)
    assert {fault.code for fault in found} <= {ErrorCode.INVALID_SETTINGS}
    return [fault.field for fault in found]


def with_processes(*processes: Any) -> dict[str, Any]:
    return document(processes=list(processes))


def with_builds(*builds: Any, name: str = "7.0.2") -> dict[str, Any]:
    return document(databaseVersions=[version(name=name, builds=list(builds))])


def test_the_full_document_breaks_no_rule() -> None:
    assert places(full_document(), full_document()) == []


@each(
    ("name", "faults"),
    [
        ("7.0.2", []),
        (ABSENT, []),
        (None, []),
        ("7.0.3", ["/processes/0/version"]),
        ("7.0.2 ", ["/processes/0/version"]),
        ("", ["/processes/0/version"]),
    ],
    ids=["there", "absent", "null", "another", "a blank more", "empty"],
)
def test_the_version_of_a_process_names_an_entry_of_database_versions(name: Any, faults: list[str]) -> None:
    assert places(with_processes(process(version=name))) == faults


@each(("length", "allowed"), [(1000, ["v" * 1000]), (1001, [])])
def test_the_names_there_are_reported_unless_they_are_too_long(length: int, allowed: list[str]) -> None:
    (fault,) = rule_faults(document(databaseVersions=[version(name="v" * length)]), NOTHING)
    assert list(fault.allowed) == allowed


@each(
    ("names", "faults"),
    [
        (["a", "b"], []),
        (["a", "A"], []),
        (["a", "a"], ["1"]),
        (["a", "b", "a", "b", "a"], ["2", "3", "4"]),
    ],
    ids=["two", "another case", "twice", "many"],
)
def test_names_are_unique(names: list[Any], faults: list[str]) -> None:
    processes = [process(name=name, version=ABSENT) for name in names]
    versions = [version(name=name) for name in names]
    assert places(document(processes=processes, databaseVersions=[])) == [
        f"/processes/{at}/name" for at in faults
    ]
    assert places(document(processes=[], databaseVersions=versions)) == [
        f"/databaseVersions/{at}/name" for at in faults
    ]


def test_versions_without_a_name_are_left_to_the_schema() -> None:
    versions = [version(name=ABSENT), version(name=ABSENT), version(name=None)]
    assert places(document(processes=[], databaseVersions=versions)) == []


@each(
    ("second", "faults"),
    [
        ({}, ["1"]),
        ({"name": None}, ["1"]),
        ({"name": "db1.example.com:27017"}, ["1"]),
        ({"args2_6": {}}, ["1"]),
        ({"args2_6": {"net": {"port": 27018}}}, []),
        ({"hostname": ABSENT}, []),
        ({"name": "db_1"}, []),
    ],
    ids=["the same", "null", "that name", "default port", "another port", "another host", "another name"],
)
def test_a_process_without_a_name_goes_by_its_address(second: dict[str, Any], faults: list[str]) -> None:
    processes = [process(name=ABSENT), process(**{"name": ABSENT, **second})]
    assert places(with_processes(*processes)) == [f"/processes/{at}/name" for at in faults]


@each(
    ("clusters", "faults"),
    [
        ([("east", 5), ("east", 5)], []),
        ([("east", 5), ("east", 3)], [AUTH_SCHEMA]),
        ([("east", 5), ("west", 3)], []),
        ([("east", 5), ("EAST", 3)], []),
        ([(ABSENT, 5), (ABSENT, 3)], []),
        ([(None, 5), (None, 3)], []),
        ([("east", 5), ("east", "3")], []),
        ([("east", 5), ("east", True)], []),
    ],
    ids=[
        "equal",
        "differ",
        "other clusters",
        "another case",
        "no cluster",
        "null",
        "no integer",
        "a boolean",
    ],
)
def test_auth_schema_versions_are_equal_in_a_cluster(
    clusters: list[tuple[Any, Any]], faults: list[str]
) -> None:
    processes = [
        process(name=f"db_{at}", cluster=cluster, authSchemaVersion=schema)
        for at, (cluster, schema) in enumerate(clusters)
    ]
    assert places(document(processes=processes)) == faults


@each(
    ("concern", "faults"),
    [
        ({"w": "0", "wtimeout": 5}, [TIMEOUT]),
        ({"w": "1", "wtimeout": 5}, [TIMEOUT]),
        ({"w": "01", "wtimeout": 0}, [TIMEOUT]),
        ({"w": 0, "wtimeout": 5}, [TIMEOUT]),
        ({"w": 1, "wtimeout": 5}, [TIMEOUT]),
        ({"w": "1", "wtimeout": None}, []),
        ({"w": "1"}, []),
        ({"w": "2", "wtimeout": 5}, []),
        ({"w": "10", "wtimeout": 5}, []),
        ({"w": 2, "wtimeout": 5}, []),
        ({"w": "majority", "wtimeout": 5}, []),
        ({"w": "", "wtimeout": 5}, []),
        ({"w": True, "wtimeout": 5}, []),
        ({"w": None, "wtimeout": 5}, []),
        ({"wtimeout": 5}, []),
    ],
    ids=repr,
)
def test_a_time_limit_goes_with_more_than_one_member(concern: dict[str, Any], faults: list[str]) -> None:
    assert places(with_processes(process(defaultRWConcern={"defaultWriteConcern": concern}))) == faults


@each(
    ("older", "newer", "wrong"),
    [(5, 5, False), (5, 6, True), (5, ABSENT, False), (ABSENT, 5, False), (5, None, False), (None, 5, False)],
)
@each("array", ["processes", "monitoringVersions", "backupVersions"])
def test_the_older_name_must_not_say_otherwise(array: str, older: Any, newer: Any, *, wrong: bool) -> None:
    log_rotate = rotation(maxUncompressed=older, numUncompressed=newer)
    item = process(logRotate=log_rotate) if array == "processes" else agent(logRotate=log_rotate)
    assert places(document(**{array: [item]})) == ([f"/{array}/0/logRotate/maxUncompressed"] if wrong else [])


@each(
    ("stored", "sent", "faults"),
    [
        ([build(bits=64)], [build(bits=64)], []),
        ([build(bits=64)], [build(bits=32)], [BITS]),
        ([build(bits=64)], [build()], [BITS]),
        ([build(bits=64)], [build(bits=None)], [BITS]),
        ([build(bits=64)], [build(bits="64")], [BITS]),
        ([build()], [build(bits=64)], []),
        ([build(bits=None)], [build(bits=64)], []),
        ([build()], [build()], []),
        ([], [build(bits=64)], []),
        ([build(bits=64)], [], []),
        ([build(bits=64)], [build(bits=32, platform="osx")], []),
        ([build(bits=64)], [build(bits=32, architecture="ppc64le")], []),
        ([build(bits=64)], [build(bits=32, gitVersion="b" * 40)], []),
        ([build(bits=64)], [build(bits=32, modules=["enterprise"])], []),
        ([build(bits=64)], [build(bits=32, url="https://other.example.com")], [BITS]),
        ([build(bits=64, modules=["a", "b"])], [build(bits=32, modules=["b", "a"])], [BITS]),
        ([build(bits=64), build(bits=32)], [build(bits=32), build(bits=64)], []),
        ([build(bits=64), build(bits=32)], [build(bits=32)], []),
        ([build(bits=64), build(bits=32)], [build(bits=16), build(bits=32)], [BITS]),
        ([build(bits=64)], [build(bits=64), build(bits=32)], []),
    ],
)
def test_bits_are_neither_removed_nor_changed(stored: list[Any], sent: list[Any], faults: list[str]) -> None:
    assert places(with_builds(*sent), with_builds(*stored)) == faults


def test_a_build_of_another_version_is_another_build() -> None:
    stored = with_builds(build(bits=64), name="6.0")
    assert places(with_builds(build(bits=32)), stored) == []


def test_bits_that_must_stay_are_named() -> None:
    (fault,) = rule_faults(with_builds(build(bits=32)), with_builds(build(bits=64)))
    assert "64" in fault.message


@each(
    "wrong",
    [
        {},
        {"processes": None, "databaseVersions": 5, "monitoringVersions": {}},
        {"processes": [None, 5, [], "text"], "databaseVersions": [None, {"builds": 5}, {"builds": [5, {}]}]},
        {
            "processes": [
                {"name": "a", "defaultRWConcern": 5},
                {"defaultRWConcern": {"defaultWriteConcern": []}},
            ]
        },
        {"processes": [{"name": [], "version": {}, "cluster": [], "logRotate": 5}]},
        {"databaseVersions": [{"name": {}, "builds": [{"modules": 5, "bits": [], "platform": {}}]}]},
    ],
    ids=range(6),
)
def test_what_has_the_wrong_shape_is_left_to_the_schema(wrong: dict[str, Any]) -> None:
    assert places(wrong, wrong) == []


def test_not_more_faults_are_reported_than_the_most() -> None:
    assert len(places(with_processes(*[process()] * 1000))) == MOST_FAULTS


def test_faults_of_schema_and_rules_are_reported_together_in_the_documented_order() -> None:
    processes = [process(version="8.0"), process(alias=5, name="db_1", lastRestart="now")]
    found = document_faults(document(processes=processes, version=None), NOTHING)
    assert [(fault.field, fault.code) for fault in found] == [
        ("/version", ErrorCode.MISSING_ATTRIBUTE),
        ("/processes/0/version", ErrorCode.INVALID_SETTINGS),
        ("/processes/1/alias", ErrorCode.INVALID_ATTRIBUTE),
        ("/processes/1/lastRestart", ErrorCode.INVALID_ATTRIBUTE),
        ("/processes/1/name", ErrorCode.INVALID_SETTINGS),
    ]


def test_a_place_is_named_once() -> None:
    found = document_faults(with_builds(build(bits="32")), with_builds(build(bits=64)))
    assert [(fault.field, fault.code) for fault in found] == [(BITS, ErrorCode.INVALID_ATTRIBUTE)]


def test_together_there_are_not_more_faults_than_the_most() -> None:
    assert len(document_faults(with_processes(*[process(alias=5)] * 1000), NOTHING)) == MOST_FAULTS
