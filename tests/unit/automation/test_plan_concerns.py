"""The default read and write concern of a replica set: what the plan sets, and when it waits."""

from typing import Any

from automation.plan.concerns import READ, WRITE, set_concern, stated_concern
from automation.plan.expected import expected
from automation.plan.planner import step
from automation.plan.values import ObservedFleet, PlanStep
from automation.plan.wording import detail
from tests.each import each
from tests.factories.documents import document, process
from tests.unit.automation.test_plan import RESTARTED, fleet, goal_of, moves, plan_of, reasons, replica_set

MAJORITY = {"defaultWriteConcern": {"w": "majority"}}
ONE = {"defaultWriteConcern": {"w": 1}}
SET = ("SET_DEFAULT_CONCERN", "p0")
NONE_SET: dict[str, Any] = {"concern": {}}


def said(*concerns: dict[str, Any]) -> dict[str, Any]:
    """The concern of a replica set whose server has these concerns."""
    answers = {
        name: {"wtimeout": 0, **value} if name == WRITE else value
        for concern in concerns
        for name, value in concern.items()
    }
    return {"concern": set_concern({**answers, f"{READ}Source": "global", f"{WRITE}Source": "global"})}


def with_concerns(*concerns: dict[str, Any] | None, **fields: Any) -> dict[str, Any]:
    """A replica set whose processes state these concerns."""
    sent = replica_set(len(concerns), **fields)
    for listed, concern in zip(sent["processes"], concerns, strict=True):
        listed.update({} if concern is None else {"defaultRWConcern": concern})
    return sent


def step_of(sent: dict[str, Any], of_set: dict[str, Any], **changes: Any) -> PlanStep:
    found: ObservedFleet = fleet(sent, of_set=of_set, **changes)
    return step(goal_of(sent), found)


def test_the_primary_sets_it_before_anything_else() -> None:
    wanted = replica_set(defaultRWConcern={**MAJORITY, READ: {"level": "local"}}, **RESTARTED)
    observed = fleet(replica_set(), of_set=said(MAJORITY))
    (first,) = step(goal_of(wanted), observed).moves
    assert (first.kind.value, first.process, first.disturbs) == (*SET, False)
    assert first.settings == (READ,)
    assert detail(first) == "sets defaultReadConcern of the replica set rs"
    after = expected(goal_of(wanted).units[0], observed, first)
    assert after.sets["rs"].concern == said(MAJORITY, {READ: {"level": "local"}})["concern"]
    assert [planned.move.kind.value for planned in plan_of(wanted, observed).moves].count(SET[0]) == 1


@each(
    ("concern", "of_set", "expected_moves", "expected_reasons"),
    [
        (MAJORITY, NONE_SET, [SET], set()),
        (MAJORITY, said(ONE), [SET], set()),
        (MAJORITY, said(MAJORITY), [], set()),
        (MAJORITY, said(MAJORITY, {READ: {"level": "majority"}}), [], set()),
        (MAJORITY, {"concern": None}, [], {"CONCERN_UNKNOWN"}),
        (MAJORITY, {**NONE_SET, "turn": "p1"}, [], {"TURN"}),
        ({}, {"concern": None}, [], set()),
        (None, said(ONE), [], set()),
    ],
)
def test_it_is_set_if_the_server_has_another_and_waits_if_that_is_not_known(
    concern: dict[str, Any] | None,
    of_set: dict[str, Any],
    expected_moves: list[Any],
    expected_reasons: set[str],
) -> None:
    found = step_of(with_concerns(concern, concern, concern), of_set)
    assert (moves(found), reasons(found)) == (expected_moves, expected_reasons)


@each(
    ("versions", "concern_waits"),
    [("4.4", False), ("4.2", True), (None, True)],
)
def test_it_waits_for_feature_version_4_4(versions: str | None, concern_waits: bool) -> None:
    sent = with_concerns(*[MAJORITY] * 3, version="4.4.29", featureCompatibilityVersion="4.4")
    seen = {f"p{n}": {"feature_version": versions} for n in range(3)}
    found = step_of(sent, NONE_SET, **seen)
    assert (SET in moves(found)) is not concern_waits
    assert found.moves or found.holds


def test_it_waits_for_a_primary_and_for_other_members() -> None:
    sent = with_concerns(*[MAJORITY] * 3)
    for changes, reason in (
        ({"p0": {"state": None}}, "MEMBER_UNKNOWN"),
        ({"p2": {"is_running": False, "state": None}}, "MEMBER_AWAY"),
    ):
        assert reason in reasons(step_of(sent, NONE_SET, **changes))
    alone = step_of(with_concerns(MAJORITY), NONE_SET, p0={"state": None})
    assert reasons(alone) == {"NO_PRIMARY"}


def test_one_process_can_state_it_for_all() -> None:
    assert moves(step_of(with_concerns(None, None, MAJORITY), NONE_SET)) == [SET]


@each(
    ("first", "second"),
    [
        (MAJORITY, ONE),
        (ONE, {WRITE: {"w": 1, "j": False}}),
        ({WRITE: {"w": 0}}, None),
        ({WRITE: {"w": "4"}}, None),
        ({WRITE: {"w": 1, "wtimeout": -1}}, None),
        ({WRITE: {"w": 2, "wtimeout": 10**300}}, None),
        ({READ: {"level": "linearizable"}}, None),
        ({READ: {"level": "snapshot"}}, None),
    ],
)
def test_a_statement_that_cannot_be_carried_out_is_refused_and_stops_nothing_else(
    first: dict[str, Any], second: dict[str, Any] | None
) -> None:
    found = step_of(with_concerns(first, second, None, **RESTARTED), said(ONE))
    assert moves(found) == [("RESTART", "p1")]
    assert reasons(found) == {"CONCERN_REFUSED"}


def test_members_that_only_their_operator_manages_state_nothing() -> None:
    sent = with_concerns(MAJORITY, ONE, None)
    sent["processes"][1]["manualMode"] = True
    assert moves(step_of(sent, NONE_SET)) == [SET]


def test_an_older_feature_version_has_none() -> None:
    sent = with_concerns(MAJORITY, None, None, version="4.4.29", featureCompatibilityVersion="4.2")
    found = step_of(sent, NONE_SET)
    assert (moves(found), reasons(found)) == ([], {"CONCERN_REFUSED"})


@each(
    "settings",
    [
        {"storage": {"dbPath": "/data"}},
        {"replication": {"replSetName": "rs"}, "sharding": {"clusterRole": "shardsvr"}},
    ],
)
def test_a_single_server_and_a_sharded_cluster_have_none(settings: dict[str, Any]) -> None:
    sent = document(processes=[process(args2_6=settings, defaultRWConcern=MAJORITY)])
    (unit,) = goal_of(sent).units
    assert unit.concern == {}
    assert [(note.reason.name, note.process) for note in unit.notes] == [("CONCERN_REFUSED", "db_1")]


def test_it_waits_until_enough_members_have_data() -> None:
    sent = with_concerns(*[{WRITE: {"w": 3}}] * 3)
    config = goal_of(sent).units[0].members or ()
    found = step_of(sent, {**NONE_SET, "config": config[:2]}, p2={"state": None, "is_running": False})
    assert SET not in moves(found)
    assert "CONCERN_MEMBERS" in reasons(found)


@each(
    ("stated", "server"),
    [
        ({"w": "majority"}, {"w": "majority", "wtimeout": 0}),
        ({"w": "2"}, {"w": 2, "wtimeout": 0}),
        ({"w": 2, "wtimeout": 500.5}, {"w": 2, "wtimeout": 500}),
        ({"j": True}, {"w": 1, "j": True, "wtimeout": 0}),
        ({"wtimeout": 7, "w": None}, {"w": 1, "wtimeout": 7}),
    ],
)
def test_a_write_concern_is_completed_as_a_server_does(
    stated: dict[str, Any], server: dict[str, Any]
) -> None:
    wanted = stated_concern({"defaultRWConcern": {WRITE: stated}})
    assert wanted == set_concern({WRITE: server})


@each(
    ("source", "is_set"),
    [(None, True), ("global", True), ("implicit", False)],
)
def test_a_concern_that_the_server_computes_is_not_set(source: str | None, is_set: bool) -> None:
    answer: dict[str, Any] = {WRITE: {"w": "majority", "wtimeout": 0}, READ: {"level": "local"}}
    if source is not None:
        answer |= {f"{WRITE}Source": source, f"{READ}Source": source}
    assert set(set_concern(answer)) == ({READ, WRITE} if is_set else set())


@each("stated", [{}, {"defaultRWConcern": None}, {"defaultRWConcern": {READ: {}, WRITE: {"w": None}}}])
def test_an_empty_statement_states_nothing(stated: dict[str, Any]) -> None:
    assert stated_concern(stated) == {}
