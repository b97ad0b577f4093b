"""Faults of the section replicaSets: each names the member, the field and the allowed values."""

from typing import Any

from automation.plan.reading import read_goal
from automation.plan.reasons import PlanReason
from automation.plan.values import MemberConfig
from tests.each import each
from tests.unit.automation.test_plan import goal_of, replica_set

ALLOWED = "allowed are _id, host, priority, votes, hidden, secondaryDelaySecs, arbiterOnly"


def faults(sent: dict[str, Any]) -> list[str]:
    """Why the plan refuses the section."""
    (unit,) = goal_of(sent).units
    assert {hold.reason for hold in unit.refused} <= {PlanReason.SECTION_INVALID}
    return [dict(hold.names)["what"] for hold in unit.refused]


@each(
    ("values", "what"),
    [
        ({"arbiterOnly": "yes"}, "arbiterOnly must be true or false"),
        ({"hidden": "true"}, "hidden must be true or false"),
        ({"votes": 2}, "votes must be 0 or 1"),
        ({"votes": "1"}, "votes must be 0 or 1"),
        ({"votes": True}, "votes must be 0 or 1"),
        ({"priority": "high"}, "priority must be a number from 0 to 1000"),
        ({"priority": 1001}, "priority must be a number from 0 to 1000"),
        ({"priority": -1}, "priority must be a number from 0 to 1000"),
        ({"_id": -1}, "_id must be a whole number from 0 to 2147483647"),
        ({"_id": None}, "_id must be a whole number from 0 to 2147483647"),
        ({"_id": 1.5}, "_id must be a whole number from 0 to 2147483647"),
        ({"_id": 2**31}, "_id must be a whole number from 0 to 2147483647"),
        ({"secondaryDelaySecs": "60"}, "secondaryDelaySecs must be a whole number from 0 to 2147483647"),
        ({"slaveDelay": 60}, f"the plan does not carry out slaveDelay: {ALLOWED}"),
        ({"tags": {"dc": "east"}}, f"the plan does not carry out tags: {ALLOWED}"),
        ({"buildIndexes": False}, f"the plan does not carry out buildIndexes: {ALLOWED}"),
        ({"Hidden": True, "x": 0}, f"the plan does not carry out Hidden, x: {ALLOWED}"),
        ({"hidden": True}, "priority must be 0, because hidden is true"),
        ({"votes": 0, "secondaryDelaySecs": 5},
         "priority must be 0, because secondaryDelaySecs is 5 and votes is 0"),
        ({"arbiterOnly": True, "votes": 0}, "votes must be 1, because arbiterOnly is true"),
    ],
)  # fmt: skip
def test_a_fault_names_member_field_and_allowed_values(values: dict[str, Any], what: str) -> None:
    assert faults(replica_set(members={1: values})) == [f"members[1] (p1): {what}"]


def test_a_host_that_is_no_process_is_named() -> None:
    (fault,) = faults(replica_set(members={1: {"host": "nobody"}}))
    assert fault == "members[1] (nobody): host must be the name of a process with this replSetName"
    (fault,) = faults(replica_set(members={1: {"host": 5}}))
    assert fault == "members[1]: host must be the name of a process with this replSetName"


def test_what_is_repeated_is_named() -> None:
    assert faults(replica_set(members={1: {"_id": 0}})) == ["two members have the same _id: 0"]
    assert faults(replica_set(members={1: {"host": "p0"}})) == ["two members have the same host: p0"]


@each("field", ["settings", "protocolVersion", "force"])
def test_a_field_of_the_set_that_is_not_carried_out_is_named(field: str) -> None:
    sent = replica_set()
    sent["replicaSets"][0][field] = {"chainingAllowed": False}
    assert faults(sent) == [f"the plan does not carry out {field}: allowed are _id, members"]


def test_values_that_change_nothing_are_no_faults() -> None:
    defaults = {"arbiterOnly": False, "buildIndexes": True, "hidden": False, "tags": {}, "slaveDelay": 0}
    sent = replica_set(members={1: {**defaults, "votes": None, "other": None, "priority": 0.5}})
    sent["replicaSets"][0] |= {"protocolVersion": 1, "settings": {}}
    assert faults(sent) == []
    members = goal_of(sent).units[0].members
    assert members is not None
    assert members[1] == MemberConfig(process="p1", number=1, priority=0.5)


@each(("version", "refused"), [("4.4.29", True), ("5.0.31", False)])
def test_servers_before_5_0_refuse_a_large_id(version: str, refused: bool) -> None:
    of_version: dict[str, Any] = {"version": version, "featureCompatibilityVersion": version[:3]}
    assert faults(replica_set(members={1: {"_id": 255}}, **of_version)) == []
    found = faults(replica_set(members={1: {"_id": 256}}, **of_version))
    words = "the _id of p1 must be at most 255, because a version is 4.4.29"
    assert found == ([words] if refused else [])


def test_the_faults_of_a_section_are_bounded() -> None:
    sent = replica_set(50, members={n: {"tags": {"n": n}} for n in range(50)})
    assert len(read_goal(sent).units[0].refused) == 20
