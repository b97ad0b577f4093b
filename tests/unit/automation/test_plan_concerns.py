"""The default read and write concern of a replica set: what the plan sets, and when it waits."""

from datetime import timedelta
from typing import Any

from automation.plan.concerns import READ, WRITE, implies_majority, set_concern, stated_concern
from automation.plan.expected import expected
from automation.plan.known import KnownProcess, KnownUnit, turn_holds
from automation.plan.planner import step
from automation.plan.values import MemberConfig, MemberState, MoveKind, ObservedFleet, PlanStep
from automation.plan.wording import detail
from tests.each import each
from tests.factories.documents import document, process
from tests.unit.automation.test_plan import (
    NOW,
    RESTARTED,
    SETTINGS,
    fleet,
    goal_of,
    moves,
    plan_of,
    reasons,
    replica_set,
)

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


def test_it_waits_for_a_primary_and_for_a_majority() -> None:
    sent, away = with_concerns(*[MAJORITY] * 3), {"is_running": False, "state": None}
    for changes, reason in (
        ({"p0": {"state": None}}, "MEMBER_UNKNOWN"),
        ({"p1": away, "p2": away}, "MAJORITY"),
        ({"p1": {"state": None}, "p2": away}, "MEMBER_UNKNOWN"),
    ):
        assert reason in reasons(step_of(sent, NONE_SET, **changes))
    assert SET in moves(step_of(sent, NONE_SET, p2=away))
    alone = step_of(with_concerns(MAJORITY), NONE_SET, p0={"state": None})
    assert reasons(alone) == {"NO_PRIMARY"}


def test_the_turn_needs_a_majority_and_not_all_members() -> None:
    states = {"p0": MemberState.PRIMARY, "p1": MemberState.SECONDARY}
    (unit,) = goal_of(with_concerns(*[MAJORITY] * 3)).units

    def turn(kind: MoveKind, *names: str) -> list[str]:
        reports = {
            name: KnownProcess(
                observed=NOW,
                arrived=NOW,
                is_down=False,
                state=states[name],
                is_member=True,
                oplog=timedelta(),
            )
            for name in names
        }
        known = KnownUnit(processes=reports, alerts=(), members=frozenset({"p0", "p1", "p2"}))
        return [hold.reason.name for hold in turn_holds(unit, known, "p0", kind, NOW)]

    assert turn(MoveKind.SET_DEFAULT_CONCERN, "p0", "p1") == []
    assert turn(MoveKind.SET_DEFAULT_CONCERN, "p0") == ["MEMBER_UNKNOWN"]
    assert turn(MoveKind.SET_FEATURE_VERSION, "p0", "p1") == ["MEMBER_UNKNOWN"]


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
    ("settings", "reason"),
    [
        ({"storage": {"dbPath": "/data"}}, "CONCERN_REFUSED"),
        ({"replication": {"replSetName": "rs"}, "sharding": {"clusterRole": "shardsvr"}}, "NOT_PLANNED"),
    ],
)
def test_a_single_server_and_a_sharded_cluster_have_none(settings: dict[str, Any], reason: str) -> None:
    sent = document(processes=[process(args2_6=settings, defaultRWConcern=MAJORITY)])
    (unit,) = goal_of(sent).units
    assert unit.concern == {}
    assert [(note.reason.name, note.process) for note in unit.notes] == [(reason, "db_1")]


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


ARBITER = {"arbiterOnly": True}


def with_arbiters(
    count: int, arbiters: int, concern: dict[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    """A replica set of members with data, and arbiters."""
    kinds = dict.fromkeys(range(count, count + arbiters), ARBITER)
    return replica_set(count + arbiters, members=kinds, defaultRWConcern=concern, **fields)


def added(old: dict[str, Any], new: dict[str, Any], of_set: dict[str, Any], **changes: Any) -> PlanStep:
    """The step from one replica set to another one; the processes that join are ready."""
    joining = {
        listed["name"]: {"state": MemberState.UNINITIATED, "has_data": False, "lag": None}
        for listed in new["processes"][len(old["processes"]) :]
    }
    config = goal_of(old).units[0].members
    return step_of(new, {"config": config, **of_set}, **joining, **changes)


@each(
    ("data", "arbiters", "is_majority"),
    [
        (1, 0, True),
        (3, 0, True),
        (7, 0, True),
        (2, 1, False),
        (3, 1, False),
        (4, 1, True),
        (5, 2, True),
        (4, 2, False),
    ],
)
def test_members_imply_a_majority_if_more_than_a_majority_has_data(
    data: int, arbiters: int, is_majority: bool
) -> None:
    members = goal_of(with_arbiters(data, arbiters, version="5.0.31")).units[0].members or ()
    assert implies_majority(members) is is_majority
    assert implies_majority((*members, MemberConfig("passive", 9, 0.0, votes=0))) is is_majority


@each(
    ("feature", "of_set", "expected_moves", "expected_reasons"),
    [
        ("5.0", NONE_SET, [], {"CONCERN_NEEDED"}),
        ("5.0", said({READ: {"level": "local"}}), [], {"CONCERN_NEEDED"}),
        ("5.0", {"concern": None}, [], {"CONCERN_UNKNOWN"}),
        ("5.0", said(ONE), [("ADD_MEMBER", "p0")], set()),
        ("4.4", NONE_SET, [("ADD_MEMBER", "p0")], set()),
    ],
)
def test_an_arbiter_joins_if_the_default_write_concern_stays(
    feature: str, of_set: dict[str, Any], expected_moves: list[Any], expected_reasons: set[str]
) -> None:
    fields: dict[str, Any] = {"featureCompatibilityVersion": feature}
    found = added(with_arbiters(2, 0, **fields), with_arbiters(2, 1, **fields), of_set)
    assert (moves(found), reasons(found)) == (expected_moves, expected_reasons)


def test_an_arbiter_of_many_members_changes_no_default_write_concern() -> None:
    assert moves(added(with_arbiters(4, 0), with_arbiters(4, 1), NONE_SET)) == [("ADD_MEMBER", "p0")]


def test_the_default_concern_of_the_document_is_set_before_an_arbiter_joins() -> None:
    wanted = with_arbiters(2, 1, MAJORITY)
    assert moves(added(with_arbiters(2, 0), wanted, NONE_SET)) == [SET]
    assert moves(added(with_arbiters(2, 0), wanted, said(MAJORITY))) == [("ADD_MEMBER", "p0")]
    waits = added(with_arbiters(2, 0), wanted, {**NONE_SET, "turn": "p1"})
    assert (moves(waits), reasons(waits)) == ([], {"TURN"})


def test_an_arbiter_leaves_if_the_default_write_concern_stays() -> None:
    old, new = with_arbiters(3, 1), with_arbiters(3, 0)
    refused = step(goal_of(new), fleet(old, of_set=NONE_SET))
    assert (moves(refused), reasons(refused)) == ([], {"CONCERN_NEEDED"})
    assert moves(step(goal_of(new), fleet(old, of_set=said(ONE)))) == [("REMOVE_MEMBER", "p0")]


def test_a_primary_does_not_step_down_for_a_change_that_servers_refuse() -> None:
    old = with_arbiters(4, 1)
    new = with_arbiters(4, 1)
    new["replicaSets"][0]["members"].pop(0)
    refused = step(goal_of(new), fleet(old, of_set=NONE_SET))
    assert (moves(refused), reasons(refused)) == ([], {"CONCERN_NEEDED"})
    assert moves(step(goal_of(new), fleet(old, of_set=said(ONE)))) == [("STEP_DOWN", "p0")]


def test_a_member_stays_without_which_nobody_acknowledges_writes() -> None:
    old, new = with_arbiters(3, 0), with_arbiters(2, 0)
    found = step(goal_of(new), fleet(old, of_set=said({WRITE: {"w": 3}})))
    assert (moves(found), reasons(found)) == ([], {"CONCERN_MEMBERS"})
    lowered = with_arbiters(2, 0, {WRITE: {"w": 2}})
    assert moves(step(goal_of(lowered), fleet(old, of_set=said({WRITE: {"w": 3}})))) == [SET]


NEW: dict[str, Any] = {"version": "6.0.20", "featureCompatibilityVersion": "6.0"}
ALLOWED = {"args2_6": {**SETTINGS, "setParameter": {"allowMultipleArbiters": True}}}


@each(
    ("fields", "is_refused"),
    [({}, False), (NEW, True), ({**NEW, **ALLOWED}, False)],
)
def test_several_arbiters_are_refused_by_versions_that_do_not_start_with_them(
    fields: dict[str, Any], is_refused: bool
) -> None:
    (unit,) = goal_of(with_arbiters(3, 2, **fields)).units
    assert [hold.reason.name for hold in unit.refused] == (["SEVERAL_ARBITERS"] if is_refused else [])


def test_an_upgrade_waits_until_one_arbiter_is_left() -> None:
    """Also of a replica set whose members the document does not state."""
    old, new = with_arbiters(3, 2), replica_set(5, **NEW)
    del new["replicaSets"]
    builds = {f"p{n}": {"builds": {"5.0.31", "6.0.20"}} for n in range(5)}
    observed = fleet(old, of_set=said(ONE), **builds)
    found = step(goal_of(new), observed)
    assert (moves(found), reasons(found)) == ([], {"SEVERAL_ARBITERS"})
    for listed in new["processes"]:
        listed.update(ALLOWED)
    assert moves(step(goal_of(new), observed)) == [("CHANGE_VERSION", "p3")]


@each("release", ["6.0.20", "6.0.21"])
def test_a_server_that_takes_several_arbiters_does_not_start_again_without_that(release: str) -> None:
    old, new = with_arbiters(3, 2, **{**NEW, **ALLOWED}), replica_set(5, **{**NEW, "version": release})
    del new["replicaSets"]
    runs = step(goal_of(new), fleet(old, of_set=said(ONE)))
    assert (moves(runs), reasons(runs)) == ([], {"SEVERAL_ARBITERS"})
    down = {"is_running": False, "state": None, "builds": {release}}
    stopped = step(goal_of(new), fleet(old, of_set=said(ONE), p1=down))
    assert (moves(stopped), "SEVERAL_ARBITERS" in reasons(stopped)) == ([], True)


def test_a_stopped_member_does_not_start_with_a_version_that_refuses_the_arbiters() -> None:
    old, new = with_arbiters(3, 2), replica_set(5, **NEW)
    del new["replicaSets"]
    down = {"is_running": False, "state": None, "feature_version": "5.0", "builds": {"5.0.31", "6.0.20"}}
    found = step(goal_of(new), fleet(old, of_set=said(ONE), p1=down))
    assert [(move.kind.value, move.version) for move in found.moves] == [("START", "5.0.31")]


def test_another_arbiter_joins_after_the_one_before_has_left() -> None:
    old = with_arbiters(3, 1, **NEW)
    new = replica_set(5, members={4: ARBITER}, **NEW)
    new["replicaSets"][0]["members"].pop(3)
    del new["processes"][3]
    found = added(old, new, said(ONE), p4={"state": MemberState.UNINITIATED, "has_data": False})
    assert moves(found) == [("REMOVE_MEMBER", "p0")]
