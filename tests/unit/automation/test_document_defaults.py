"""What a checked automation document becomes: defaults, older names, read-only names."""

from copy import deepcopy
from typing import Any

from automation.desired_state.document.publish import completed
from automation.desired_state.document.text import write
from tests.each import each
from tests.factories.documents import ABSENT, agent, document, full_document, process, rotation

NOTHING: dict[str, Any] = {}


def completed_process(**changes: Any) -> Any:
    return completed(document(processes=[process(**changes)]), NOTHING)["processes"][0]


def test_a_full_document_stays_as_it_is() -> None:
    assert completed(full_document(), full_document()) == full_document()


def test_what_comes_in_is_not_touched() -> None:
    given = document(processes=[process(hostname=ABSENT, logRotate=rotation(numTotal=ABSENT), alias=None)])
    before = deepcopy(given)
    completed(given, NOTHING)
    assert given == before


@each("left_out", [ABSENT, None], ids=["absent", "null"])
def test_the_host_is_localhost(left_out: Any) -> None:
    assert completed_process(hostname=left_out)["hostname"] == "localhost"


@each("left_out", [ABSENT, None], ids=["absent", "null"])
@each("array", ["monitoringVersions", "backupVersions"])
def test_agents_log_to_nowhere(array: str, left_out: Any) -> None:
    found = completed(document(**{array: [agent(logPath=left_out)]}), NOTHING)
    assert found[array][0]["logPath"] == "/dev/null"


def test_a_process_has_no_log_path() -> None:
    assert "logPath" not in completed_process()


@each("left_out", [ABSENT, None], ids=["absent", "null"])
@each(("name", "default"), [("numUncompressed", "5"), ("percentOfDiskspace", "0.02"), ("numTotal", "0")])
def test_a_log_rotation_has_its_defaults(name: str, default: str, left_out: Any) -> None:
    rotations = rotation(**{name: left_out})
    found = completed(
        document(processes=[process(logRotate=rotations)], monitoringVersions=[agent(logRotate=rotations)]),
        NOTHING,
    )
    assert write(found["processes"][0]["logRotate"][name]) == default
    assert write(found["monitoringVersions"][0]["logRotate"][name]) == default


def test_a_log_rotation_that_is_not_there_stays_so() -> None:
    assert "logRotate" not in completed_process()
    assert "logRotate" not in completed_process(logRotate=None)


@each(("older", "newer", "kept"), [(3, ABSENT, 3), (3, None, 3), (3, 3, 3), (None, 4, 4), (None, ABSENT, 5)])
def test_the_older_name_becomes_the_newer_one(older: Any, newer: Any, kept: int) -> None:
    log_rotate = completed_process(logRotate=rotation(maxUncompressed=older, numUncompressed=newer))[
        "logRotate"
    ]
    assert "maxUncompressed" not in log_rotate
    assert log_rotate["numUncompressed"] == kept


def test_nulls_in_optional_fields_are_as_good_as_absent() -> None:
    found = completed(document(agentVersion={"name": None}, backupVersions=None, processes=[]), NOTHING)
    assert found == document(agentVersion={}, processes=[])
    assert "alias" not in completed_process(alias=None)


def test_what_the_contract_does_not_list_stays_as_it_came() -> None:
    more = {"z": None, "hostname": None, "logRotate": {"maxUncompressed": 5}, "list": [None, {"a": None}]}
    given = document(
        extra=more, processes=[process(args2_6={"net": {"bindIp": None}, "x": None}, extra=more)]
    )
    found = completed(given, NOTHING)
    assert found["extra"] == more
    assert found["processes"][0]["extra"] == more
    assert found["processes"][0]["args2_6"] == {"net": {"bindIp": None}, "x": None}


def test_the_order_of_keys_stays_and_defaults_come_last() -> None:
    given = {"b": 1, "name": "x", "args2_6": {}, "a": None}
    found = completed(document(processes=[given]), NOTHING)["processes"][0]
    assert list(found) == ["b", "name", "args2_6", "a", "hostname"]


def test_a_completed_document_is_complete() -> None:
    once = completed(
        document(processes=[process(hostname=ABSENT, logRotate=rotation(numTotal=ABSENT))]), NOTHING
    )
    assert completed(once, once) == once


@each("array", ["monitoringVersions", "backupVersions"])
def test_agents_keep_the_name_stored_for_their_host(array: str) -> None:
    stored = document(**{array: [agent(name="1", hostname="a"), agent(name="2", hostname="b")]})
    sent = document(**{array: [agent(name="9", hostname="b"), agent(name="8", hostname="c")]})
    names = [(agent["hostname"], agent["name"]) for agent in completed(sent, stored)[array]]
    assert names == [("b", "2"), ("c", "8")]


def test_agents_of_one_host_keep_their_names_in_their_order() -> None:
    stored = document(backupVersions=[agent(name="1"), agent(name="2")])
    assert completed(stored, stored) == stored


def test_the_two_kinds_of_agents_have_their_own_names() -> None:
    stored = document(monitoringVersions=[agent(name="1")])
    sent = document(backupVersions=[agent(name="9")])
    assert completed(sent, stored)["backupVersions"][0]["name"] == "9"


@each("replication", [None, {"replSetName": None}], ids=str)
def test_a_null_of_a_field_whose_type_is_not_checked_stays(replication: Any) -> None:
    settings = {"net": {"port": 27017}, "replication": replication}
    assert completed_process(args2_6=settings)["args2_6"] == settings
