"""The changes that a publish makes to each process, as its event records them."""

from typing import Any

from automation.desired_state.document.changes import (
    LONGEST_VALUE,
    MOST_PARAMS,
    MOST_PARAMS_OF_A_PROCESS,
    process_changes,
)
from automation.desired_state.document.text import read, write
from events.choices import DiffStatus
from opsapi.redaction import MASK
from tests.each import each
from tests.factories.documents import ABSENT, document, full_document, full_process, process

BEFORE, AFTER = "2099-11-21T07:26:14Z", "2099-11-21T07:26:15Z"
URL, OTHER_URL = "https://restore.example.com/1", "https://restore.example.com/2"

MODIFIED, SHUTDOWN, STARTUP, RESTART, RESTORE = (
    DiffStatus.MODIFIED,
    DiffStatus.SHUTDOWN,
    DiffStatus.STARTUP,
    DiffStatus.RESTART,
    DiffStatus.RESTORE,
)


def changes(old: Any, new: Any) -> list[dict[str, Any]]:
    """The diffs between two lists of processes."""
    found = process_changes(document(processes=old), document(processes=new))
    return [change.document() for change in found]


def param(name: str, **sides: str) -> dict[str, str]:
    return {"param": name, "display": name, **sides}


def test_an_unchanged_document_has_no_changes() -> None:
    assert process_changes(full_document(), full_document()) == []


def test_another_order_of_keys_and_of_processes_is_no_change() -> None:
    turned = dict(reversed(process().items()))
    assert changes([process(), process(name="b")], [process(name="b"), turned]) == []


def test_null_and_absent_are_no_change() -> None:
    assert changes([process(alias=None)], [process()]) == []


def test_changes_elsewhere_are_not_about_processes() -> None:
    assert process_changes(document(), document(options={"downloadBase": "/x"}, version=2)) == []


@each(
    ("old", "new", "status"),
    [
        ({"alias": "a"}, {"alias": "b"}, MODIFIED),
        ({"disabled": ABSENT}, {"disabled": True}, SHUTDOWN),
        ({"disabled": False}, {"disabled": True}, SHUTDOWN),
        ({"disabled": True}, {"disabled": False}, STARTUP),
        ({"disabled": True}, {"disabled": ABSENT}, STARTUP),
        ({"disabled": ABSENT}, {"disabled": False}, MODIFIED),
        ({"lastRestart": BEFORE}, {"lastRestart": AFTER}, RESTART),
        ({"lastRestart": AFTER}, {"lastRestart": BEFORE}, RESTART),
        ({"lastRestart": ABSENT}, {"lastRestart": AFTER}, RESTART),
        ({"lastRestart": BEFORE}, {"lastRestart": "2099-11-21T07:26:14.001Z"}, RESTART),
        ({"lastRestart": BEFORE}, {"lastRestart": "2099-11-21T08:26:14+01:00"}, MODIFIED),
        ({"lastRestart": BEFORE}, {"lastRestart": "2099-11-21T07:26:14"}, MODIFIED),
        ({"lastRestart": BEFORE}, {"lastRestart": ABSENT}, MODIFIED),
        ({"lastResync": BEFORE}, {"lastResync": AFTER}, MODIFIED),
        ({"backupRestoreUrl": ABSENT}, {"backupRestoreUrl": URL}, RESTORE),
        ({"backupRestoreUrl": URL}, {"backupRestoreUrl": OTHER_URL}, RESTORE),
        ({"backupRestoreUrl": "CANCEL"}, {"backupRestoreUrl": URL}, RESTORE),
        ({"backupRestoreUrl": URL}, {"backupRestoreUrl": "CANCEL"}, MODIFIED),
        ({"backupRestoreUrl": URL}, {"backupRestoreUrl": ABSENT}, MODIFIED),
        ({"backupRestoreUrl": URL, "alias": "a"}, {"backupRestoreUrl": URL, "alias": "b"}, MODIFIED),
        ({"lastRestart": BEFORE}, {"lastRestart": AFTER, "disabled": True}, SHUTDOWN),
        ({"disabled": True}, {"disabled": False, "lastRestart": AFTER}, STARTUP),
        ({"lastRestart": BEFORE}, {"lastRestart": AFTER, "backupRestoreUrl": URL}, RESTORE),
        ({"lastRestart": BEFORE}, {"lastRestart": AFTER, "alias": "a"}, RESTART),
    ],
)
def test_the_status_says_what_it_amounts_to(
    old: dict[str, Any], new: dict[str, Any], status: DiffStatus
) -> None:
    (change,) = changes([process(**old)], [process(**new)])
    assert (change["id"], change["type"], change["status"]) == ("db_1", "PROCESS", status.value)


def test_a_new_process_is_reported_with_all_its_fields() -> None:
    (change,) = changes([], [process(disabled=True)])
    assert change["status"] == "NEW"
    assert change["params"] == [
        param("name", new="db_1"),
        param("hostname", new="db1.example.com"),
        param("version", new="7.0.2"),
        param("args2_6", new='{"net":{"port":27017},"storage":{"dbPath":"/data"}}'),
        param("authSchemaVersion", new="5"),
        param("featureCompatibilityVersion", new="7.0"),
        param("disabled", new="true"),
    ]


def test_a_removed_process_is_reported_with_all_it_was() -> None:
    (change,) = changes([full_process()], [])
    assert change["status"] == "REMOVED"
    assert {param["param"] for param in change["params"]} == set(full_process())
    assert not any("new" in param for param in change["params"])


def test_a_renamed_process_is_a_new_one_and_a_removed_one() -> None:
    found = changes([process()], [process(name="db_2")])
    assert [(change["id"], change["status"]) for change in found] == [("db_2", "NEW"), ("db_1", "REMOVED")]


def test_the_new_documents_order_comes_first() -> None:
    old = [process(name=name) for name in ("x", "b", "a")]
    new = [process(name=name, alias="z") for name in ("a", "n", "b")]
    assert [change["id"] for change in changes(old, new)] == ["a", "n", "b", "x"]


def test_only_what_changed_is_reported_down_to_the_field() -> None:
    old = process(args2_6={"net": {"port": 27017, "tls": {"mode": "a"}}, "x": [1, 2]}, alias="gone")
    new = process(args2_6={"net": {"port": 27018, "tls": {"mode": "a"}}, "x": [2]}, numCores=4)
    (change,) = changes([old], [new])
    assert change["params"] == [
        param("args2_6.net.port", old="27017", new="27018"),
        param("args2_6.x", old="[1,2]", new="[2]"),
        param("alias", old="gone"),
        param("numCores", new="4"),
    ]


def test_below_a_long_path_an_object_is_reported_whole() -> None:
    old, new = ({"a" * 190: {"b" * 190: {"c": number}}} for number in (1, 2))
    (change,) = changes([process(extra=old)], [process(extra=new)])
    (shown_params,) = change["params"]
    assert shown_params["param"] == f"extra.{'a' * 190}.{'b' * 190}"
    assert (shown_params["old"], shown_params["new"]) == ('{"c":1}', '{"c":2}')


def test_an_endless_name_is_cut_short() -> None:
    (change,) = changes([process()], [process(**{"x" * 5000: 1})])
    assert len(change["params"][0]["param"]) < 300


def test_an_object_that_becomes_something_else_is_reported_whole() -> None:
    (change,) = changes([process(extra={"a": 1})], [process(extra=5)])
    assert change["params"] == [param("extra", old='{"a":1}', new="5")]


def test_a_number_written_otherwise_is_a_change() -> None:
    old, new = (read(write(document(processes=[process()])).replace(":5,", f":{n},")) for n in ("5", "5.0"))
    (change,) = process_changes(old, new)
    assert change.document()["params"] == [param("authSchemaVersion", old="5", new="5.0")]


def test_true_and_1_are_not_the_same() -> None:
    (change,) = changes([process(extra=1)], [process(extra=True)])
    assert change["params"] == [param("extra", old="1", new="true")]


def test_secrets_are_not_reported_but_that_they_changed_is() -> None:
    old = process(args2_6={"ldap": {"queryPassword": "old-Value"}}, auth={"key": "old-Value"})
    new = process(args2_6={"ldap": {"queryPassword": "new-Value"}}, auth={"key": "old-Value"})
    (change,) = changes([old], [new])
    assert change["params"] == [param("args2_6.ldap.queryPassword", old=MASK, new=MASK)]
    assert "-Value" not in write(changes([], [new]) + changes([old], []))


def test_a_process_without_a_name_is_called_by_its_address() -> None:
    old, new = process(name=ABSENT, numCores=2), process(name=ABSENT, numCores=4)
    (change,) = changes([old], [new])
    assert (change["id"], change["status"]) == ("db1.example.com:27017", "MODIFIED")


@each(
    ("value", "shown"),
    [
        ("x" * LONGEST_VALUE, "x" * LONGEST_VALUE),
        ("x" * (LONGEST_VALUE + 1), "x" * LONGEST_VALUE + "…"),
        (["é" * LONGEST_VALUE], '["' + "é" * (LONGEST_VALUE - 2) + "…"),
    ],
    ids=["as long as may be", "longer", "no string"],
)
def test_a_long_value_is_cut_short_on_both_sides(value: Any, shown: str) -> None:
    (change,) = changes([process(extra="a")], [process(extra=value)])
    assert change["params"] == [param("extra", old="a", new=shown)]
    (change,) = changes([process(extra=value)], [process(extra="a")])
    assert change["params"] == [param("extra", old=shown, new="a")]


@each(
    ("fields", "shown_params", "rest"),
    [
        (MOST_PARAMS_OF_A_PROCESS, MOST_PARAMS_OF_A_PROCESS, []),
        (MOST_PARAMS_OF_A_PROCESS + 1, MOST_PARAMS_OF_A_PROCESS, [param("… and 1 more")]),
        (MOST_PARAMS_OF_A_PROCESS + 70_000, MOST_PARAMS_OF_A_PROCESS, [param("… and 70000 more")]),
    ],
    ids=["as many as are told", "one more", "very many"],
)
def test_of_many_fields_the_first_are_reported_and_the_others_counted(
    fields: int, shown_params: int, rest: list[dict[str, str]]
) -> None:
    many = {f"f{number}": number for number in range(fields)}
    (change,) = changes([process(extra={})], [process(extra=many)])
    assert change["params"][:shown_params] == [param(f"extra.f{n}", new=str(n)) for n in range(shown_params)]
    assert change["params"][shown_params:] == rest


def test_of_many_processes_each_is_reported_though_not_with_its_fields() -> None:
    fields = {f"f{number}": number for number in range(MOST_PARAMS_OF_A_PROCESS - 1)}
    names = [f"db_{number}" for number in range(MOST_PARAMS // len(fields) + 2)]
    old = [process(name=name, extra={}) for name in names]
    found = changes(old, [process(name=name, extra=fields) for name in names])
    assert [(change["id"], change["status"]) for change in found] == [(name, "MODIFIED") for name in names]
    *whole, cut, last = [change["params"] for change in found]
    shown_params = MOST_PARAMS - len(fields) * len(whole)
    assert {len(params) for params in whole} == {len(fields)}
    assert len(cut) == shown_params + 1
    assert cut[-1] == param(f"… and {len(fields) - shown_params} more")
    assert last == [param(f"… and {len(fields)} more")]


def test_a_small_change_of_many_fields_is_not_reported_at_many_times_its_size() -> None:
    below = "a" * 190
    old = document(processes=[process(extra={below: {}})])
    new = document(processes=[process(extra={below: {str(number): 0 for number in range(20_000)}})])
    shown_params = [change.document() for change in process_changes(old, new)]
    assert len(write(shown_params)) < len(write(new))
