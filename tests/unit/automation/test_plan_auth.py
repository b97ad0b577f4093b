"""The section `auth`: key files and users that the plan sets, and when it waits or refuses."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from automation.agent.automation.part import read_part
from automation.desired_state.document.machine import machine_part
from automation.plan.auth import KeyUse, auth_change, auth_faults, key_use
from automation.plan.expected import expected
from automation.plan.planner import step
from automation.plan.reading import read_goal
from automation.plan.reported import FleetReports, ReportedProcess, drawn_plan
from automation.plan.values import (
    WITH_TURN,
    KeyFile,
    MemberState,
    Move,
    MoveKind,
    ObservedFleet,
    ObservedSet,
    PlanStep,
)
from automation.plan.wording import detail
from automation.sections import machine_key
from tests.each import each
from tests.hostile.budget import tries
from tests.unit.automation.test_plan import (
    NOW,
    SETTINGS,
    disturbances,
    fleet,
    goal_of,
    moves,
    plan_of,
    reasons,
    replica_set,
)

SECRET = "c2VjcmV0"
FILE = "/keys/file"
TRANSITION: dict[str, Any] = {"security": {"transitionToAuth": True}}
SAME, MISSING = {"key_file": KeyFile.SAME}, {"key_file": KeyFile.MISSING}
USER = {"user": "app", "db": "admin", "roles": [{"db": "shop", "role": "readWrite"}], "pwd": SECRET}
READER = {"user": "reader", "db": "shop", "roles": [{"db": "shop", "role": "read"}], "initPwd": SECRET}
NAMES = ("admin.app", "admin.mms", "shop.reader")


def auth(**changes: Any) -> dict[str, Any]:
    """A section; None removes a field."""
    stated = {
        "disabled": False,
        "authoritativeSet": False,
        "autoUser": "mms",
        "autoPwd": SECRET,
        "autoAuthMechanism": "SCRAM-SHA-256",
        "deploymentAuthMechanisms": ["SCRAM-SHA-256"],
        "key": SECRET,
        "keyfile": FILE,
        "usersWanted": [USER, READER],
        **changes,
    }
    return {name: value for name, value in stated.items() if value is not None}


def secured(count: int = 3, *, stated: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    """A replica set with the section; `settings` are added to the settings of its processes."""
    sent = replica_set(count, args2_6={**SETTINGS, **settings})
    return {**sent, "auth": auth() if stated is None else stated}


def reached(sent: dict[str, Any], *, users: Any = (), **changes: Any) -> ObservedFleet:
    """The document is reached, with the key file. `users`: that are not as it wants."""
    names = [process["name"] for process in sent["processes"]]
    seen = {name: {**SAME, **changes.pop(name, {})} for name in names}
    of_set = {"concern": {}, "users": users, **changes.pop("of_set", {})}
    return fleet(sent, of_set=of_set, **seen, **changes)


def step_of(sent: dict[str, Any], observed: ObservedFleet) -> PlanStep:
    return step(goal_of(sent), observed)


def test_a_new_replica_set_gets_its_key_file_before_it_starts_and_its_users_after_it_is_initiated() -> None:
    sent = secured()
    down: dict[str, Any] = {
        "is_running": False,
        "state": None,
        "has_data": False,
        "settings": None,
        "file": {},
        **MISSING,
    }
    observed = fleet(sent, of_set={"config": (), "concern": {}}, p0=down, p1=down, p2=down)
    found = plan_of(sent, observed)
    kinds = [p.move.kind.value for p in found.moves if p.move.process == "p0"]
    assert kinds == ["WRITE_KEY_FILE", "WRITE_FILE", "START", "INITIATE", "SET_USERS"]
    assert found.holds == ()
    assert found.moves[-1].move.settings == NAMES


def test_settings_of_the_section_are_added_unless_the_process_states_them() -> None:
    (process, *_) = goal_of(secured()).units[0].processes
    assert process.settings["security.keyFile"] == f'"{FILE}"'
    assert process.settings["security.authorization"] == '"enabled"'
    (process, *_) = goal_of(secured(security={"authorization": "disabled"})).units[0].processes
    assert process.settings["security.authorization"] == '"disabled"'


def test_a_key_file_that_is_missing_under_a_running_server_is_written_without_a_restart() -> None:
    sent = secured()
    assert moves(step_of(sent, reached(sent, p1=MISSING))) == [("WRITE_KEY_FILE", "p1")]


@each(
    ("users", "changes", "expected_moves", "expected_reasons"),
    [
        (("admin.app",), {}, [("SET_USERS", "p0")], set()),
        ((), {}, [], set()),
        (None, {}, [], {"USERS_UNKNOWN"}),
        (("admin.app",), {"of_set": {"turn": "p1"}}, [], {"TURN"}),
        (("admin.app",), {"p0": {"state": MemberState.SECONDARY}}, [], {"NO_PRIMARY"}),
        (
            ("admin.app",),
            {name: {"is_running": False, "state": None, "file": None} for name in ("p1", "p2")},
            [("START", "p1"), ("START", "p2")],
            {"MAJORITY"},
        ),
    ],
)
def test_the_primary_sets_users_that_are_not_as_wanted(
    users: Any, changes: dict[str, Any], expected_moves: list[Any], expected_reasons: set[str]
) -> None:
    sent = secured()
    for name in ("p1", "p2") if "p1" in changes else ():
        changes[name]["file"] = goal_of(sent).units[0].processes[0].settings
    found = step_of(sent, reached(sent, users=users, **changes))
    assert moves(found) == expected_moves
    assert expected_reasons <= reasons(found)


def test_the_move_names_users_only_and_needs_a_turn() -> None:
    sent = secured()
    observed = reached(sent, users=NAMES)
    (move,) = step_of(sent, observed).moves
    assert (move.disturbs, move.kind in WITH_TURN) == (False, True)
    assert detail(move) == "creates, changes or deletes users: admin.app, admin.mms, shop.reader"
    assert expected(goal_of(sent).units[0], observed, move).sets["rs"].users == ()
    assert SECRET not in repr(goal_of(sent))


def test_a_server_gets_no_passwords_before_it_has_its_key_file() -> None:
    before, sent = replica_set(), secured(**TRANSITION)
    observed = fleet(before, of_set={"concern": {}, "users": NAMES}, **{f"p{n}": SAME for n in range(3)})
    kinds = [p.move.kind.value for p in plan_of(sent, observed).moves if p.move.kind in WITH_TURN]
    assert kinds == ["RESTART", "RESTART", "STEP_DOWN", "SET_USERS", "RESTART"]


def test_a_running_replica_set_gets_its_key_file_in_two_publications() -> None:
    open_set, between, full = replica_set(), secured(**TRANSITION), secured()
    direct = step_of(full, fleet(open_set, **{f"p{n}": SAME for n in range(3)}))
    assert (moves(direct), reasons(direct)) == ([], {"KEY_SPLIT"})
    for before, after in ((open_set, between), (between, full), (full, between), (between, open_set)):
        seen = {f"p{n}": SAME for n in range(3)}
        found = plan_of(after, fleet(before, of_set={"concern": {}, "users": ()}, **seen))
        assert len(disturbances(found)) == 4
        assert found.holds == ()
    back = step_of(open_set, fleet(full))
    assert (moves(back), reasons(back)) == ([], {"KEY_STAYS"})


def test_the_end_of_the_transition_waits_for_members_without_a_key_file() -> None:
    between, full = secured(**TRANSITION), secured()
    open_settings = goal_of(replica_set()).units[0].processes[0].settings
    late = {"settings": open_settings, "file": open_settings}
    found = step_of(full, reached(between, p2=late))
    assert [(hold.reason.name, hold.process) for hold in found.holds] == [
        ("KEY_SPLIT", "p0"),
        ("KEY_SPLIT", "p1"),
    ]
    assert moves(found) == [("RESTART", "p2")]  # It talks to members in transition.


def test_a_member_whose_key_file_is_not_known_lets_the_others_wait() -> None:
    between, full = secured(**TRANSITION), secured()
    found = step_of(full, reached(between, p2={"settings": None}))
    assert ("KEY_USE_UNKNOWN", "p1") in {(hold.reason.name, hold.process) for hold in found.holds}
    assert not found.moves


def test_a_process_with_another_key_does_not_join() -> None:
    sent, more = secured(3), secured(4)
    new = {"state": MemberState.UNINITIATED, "has_data": False, **SAME}
    config = goal_of(sent).units[0].members
    other = {name: {"key_file": KeyFile.DIFFERENT} for name in ("p0", "p1", "p2")}
    found = step_of(more, reached(more, p3=new, of_set={"config": config}, **other))
    assert moves(found) == []
    assert {("KEY_SPLIT", "p3"), ("KEY_CHANGE", "p0")} <= {(h.reason.name, h.process) for h in found.holds}
    ready = step_of(more, reached(more, p3=new, of_set={"config": config}))
    assert moves(ready) == [("ADD_MEMBER", "p0")]


@each(("key_file", "reason"), [(KeyFile.DIFFERENT, "KEY_CHANGE"), (None, "KEY_UNKNOWN")])
def test_another_key_and_an_unreadable_key_file_are_left_alone(key_file: KeyFile | None, reason: str) -> None:
    sent = secured(1)
    goal = goal_of(secured(1, net={"port": 27017, "maxIncomingConnections": 9}))
    found = step(goal, reached(sent, p0={"key_file": key_file}))
    assert (moves(found), reasons(found)) == ([], {reason})


DOWN: dict[str, Any] = {"is_running": False, "state": None}


def starts(found: PlanStep) -> list[tuple[str, str]]:
    """The moves of p1."""
    return [(move.kind.value, move.version) for move in found.moves if move.process == "p1"]


def test_a_server_that_ran_with_a_key_file_does_not_start_without_it() -> None:
    """The agent has found it running, and has written no configuration file."""
    sent = replica_set()
    for use, reason in ((KeyUse.FULL, "KEY_STAYS"), (None, "KEY_USE_UNKNOWN")):
        found = step_of(sent, fleet(sent, p1={**DOWN, "file": {}, "key_use": use}))
        assert starts(found) == []
        assert reason in reasons(found)
    found = step_of(sent, fleet(sent, p1={**DOWN, "file": {}, "key_use": KeyUse.NONE}))
    assert starts(found) == [("WRITE_FILE", "5.0.31")]


def test_a_member_that_is_down_starts_as_it_ran_while_its_key_file_may_not_change() -> None:
    before, without = secured(), replica_set()
    version = before["processes"][1]["version"]
    as_it_ran = {**DOWN, "file": goal_of(before).units[0].processes[1].settings}
    running = {f"p{number}": {"settings": as_it_ran["file"], **SAME} for number in (0, 2)}
    assert starts(step_of(without, fleet(without, p1=as_it_ran, **running))) == [("START", version)]
    # Another key, which the other members do not have.
    others = {name: {**seen, "key_file": KeyFile.DIFFERENT} for name, seen in running.items()}
    found = step_of(before, reached(before, p1={**as_it_ran, **MISSING}, **others))
    assert starts(found) == [("START", version)]


def test_a_member_that_is_down_starts_as_the_document_says_although_key_files_of_others_are_not_known() -> (
    None
):
    """Other agents have not got the document yet."""
    sent, unknown = replica_set(), {"settings": None}
    goal = goal_of(sent).units[0].processes[1]
    down = {**DOWN, "file": {**goal.settings, "net.bindIp": "192.0.2.1"}, "key_use": KeyUse.NONE}
    found = step_of(sent, fleet(sent, p0=unknown, p1=down, p2=unknown))
    assert starts(found) == [("WRITE_FILE", goal.version)]


def test_a_member_that_is_down_starts_as_it_ran_while_the_section_is_refused() -> None:
    sent = secured(stated=auth(key="short"))
    found = step_of(sent, reached(replica_set(), p1=DOWN))
    assert [kind for kind, _ in starts(found)] == ["START"]
    assert reasons(found) == {"SECTION_INVALID"}


def on_one_machine(sent: Any) -> list[Any]:
    """The processes of a document on one machine, each with its own port."""
    return [
        {**each, "hostname": "db1.example.com", "args2_6": {**each["args2_6"], "net": {"port": port}}}
        for port, each in enumerate(sent["processes"], 27017)
    ]


def test_a_machine_gets_the_faults_of_the_section() -> None:
    sent = {**secured(stated={"keyFile": FILE, "Key": SECRET}), "version": 1}
    sent["processes"] = on_one_machine(sent)
    part = machine_part(sent, machine_key("db1.example.com"))
    assert "auth" not in part
    assert part["authFaults"] == auth_faults(sent) != []
    carried = read_part({**part, "paused": False}, "db1.example.com", [Path("/")])
    assert {hold.reason.name for hold in carried.goal.units[0].refused} == {"SECTION_INVALID"}
    assert "authFaults" not in machine_part(sent, machine_key("db2.example.com"))


def test_empty_values_of_fields_that_are_not_carried_out_are_not_stated() -> None:
    empty = {"newKey": "", "newAutoPwd": "", "authoritativeSet": False, "autoLdapGroupDN": None, "other": []}
    sent = {**secured(stated=auth(**empty, keyfileWindows="C:\\keyfile")), "version": 1}
    sent["processes"] = on_one_machine(sent)
    assert not goal_of(sent).units[0].refused
    assert not {"newKey", "newAutoPwd"} & machine_part(sent, machine_key("db1.example.com"))["auth"].keys()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@tries(60)
@given(
    name=st.sampled_from(
        [*auth(), "authoritativeSet", "newKey", "newAutoPwd", "autoAuthMechanisms", "usersDeleted"]
    ),
    value=JSON,
    security=st.dictionaries(st.sampled_from(["keyFile", "clusterAuthMode", "authorization"]), JSON),
)
def test_any_value_in_the_section_is_carried_out_or_refused(name: str, value: Any, security: Any) -> None:
    sent = {**secured(stated={**auth(), name: value}, security=security), "version": 1}
    goal_of(sent)
    sent["processes"] = on_one_machine(sent)
    part = machine_part(sent, machine_key("db1.example.com"))
    read_part({**part, "paused": False}, "db1.example.com", [Path("/")])


def test_a_single_server_gets_its_key_file_and_its_users() -> None:
    sent = {**secured(1), "replicaSets": []}
    sent["processes"][0]["args2_6"] = {"net": {"port": 27017}, "storage": {"dbPath": "/data"}}
    before = {**sent, "auth": None}
    observed = fleet(before, p0=MISSING)
    found = plan_of(sent, ObservedFleet(NOW, observed.processes, {"": ObservedSet(users=NAMES)}))
    assert [p.move.kind.value for p in found.moves] == [
        "WRITE_KEY_FILE",
        "RESTART",
        "SET_USERS",
    ]
    back = step_of(before, fleet(sent, p0=SAME))
    assert (moves(back), reasons(back)) == ([], {"KEY_STAYS"})


@each("stated", [None, {}, {"disabled": True, "key": "x"}])
def test_without_the_section_nothing_changes(stated: dict[str, Any] | None) -> None:
    goal = read_goal({**replica_set(), "auth": stated})
    assert (goal.units, goal.notes) == (goal_of(replica_set()).units, ())


@each(
    ("changes", "what"),
    [
        ({"key": "short"}, "key must be"),
        ({"key": "with spaces is fine but not ö"}, "key must be"),
        ({"key": None}, "key must be"),
        ({"keyfile": "relative"}, "keyfile must be"),
        ({"keyfile": 7}, "keyfile must be"),
        ({"disabled": "no"}, "disabled must be"),
        ({"autoPwd": None}, "autoUser and autoPwd"),
        ({"autoPwd": 7}, "autoUser and autoPwd"),
        ({"autoAuthMechanism": "MONGODB-X509"}, "autoAuthMechanism can be"),
        ({"deploymentAuthMechanisms": ["PLAIN"]}, "deploymentAuthMechanisms can be"),
        ({"deploymentAuthMechanisms": "SCRAM-SHA-256"}, "deploymentAuthMechanisms can be"),
        ({"autoAuthRestrictions": ["127.0.0.1"]}, "autoAuthRestrictions must be"),
        ({"usersWanted": {}}, "usersWanted[0] must be"),
        ({"usersWanted": ["app"]}, "usersWanted[0] must be"),
        ({"usersWanted": [{**USER, "user": ""}]}, "usersWanted[0].user must be"),
        ({"usersWanted": [{**USER, "db": "a.b"}]}, "usersWanted[0].db must be"),
        ({"usersWanted": [{**USER, "roles": ["read"]}]}, "usersWanted[0].roles must be"),
        ({"usersWanted": [{**USER, "pwd": None}]}, "usersWanted[0] must have pwd"),
        ({"usersWanted": [{**USER, "pwd": 7}]}, "usersWanted[0].pwd must be"),
        ({"usersWanted": [{**USER, "mechanisms": ["PLAIN"]}]}, "usersWanted[0].mechanisms can be"),
        (
            {"usersWanted": [{**USER, "authenticationRestrictions": [{"clientSource": "10.0.0.1"}]}]},
            "usersWanted[0].authenticationRestrictions must be",
        ),
        ({"usersWanted": [USER, USER]}, "admin.app is stated twice"),
        ({"usersWanted": [{**USER, "user": "mms"}]}, "admin.mms is autoUser, too"),
        ({"usersDeleted": [{"user": "mms", "dbs": ["admin"]}]}, "admin.mms is autoUser"),
        ({"usersDeleted": [{"user": "app", "dbs": ["admin"]}]}, "admin.app is in usersWanted, too"),
        ({"usersDeleted": [{"user": "app", "dbs": "admin"}]}, "usersDeleted[0] must have"),
        ({"autoLdapGroupDN": "cn=agents"}, "carry out autoLdapGroupDN: allowed are disabled, autoUser"),
        ({"usersWanted": [{**USER, "customData": {"a": 1}}]}, "usersWanted[0]: the plan does not carry out"),
        ({"usersWanted": [{**USER, "roles": [{"db": "a", "role": "read", "x": 1}]}]}, "usersWanted[0].roles"),
        ({"usersDeleted": [{"user": "b", "dbs": ["admin"], "db": "x"}]}, "usersDeleted[0]: the plan does"),
    ],
)
def test_a_wrong_section_is_refused_with_the_name_of_the_field(changes: dict[str, Any], what: str) -> None:
    sent = secured(stated=auth(**changes))
    found = step_of(sent, reached(replica_set()))
    assert (moves(found), reasons(found)) == ([], {"SECTION_INVALID"})
    assert any(what in hold.sentence for hold in found.holds)
    assert SECRET not in repr(found.holds)


def test_a_section_that_is_no_object_is_refused() -> None:
    assert auth_faults({"auth": ["key"]}) == ["it must be an object"]
    assert auth_faults({"auth": {"disabled": True, "key": 7}}) == []


@each("field", ["authoritativeSet", "newKey", "newAutoPwd"])
def test_fields_that_the_plan_does_not_carry_out_refuse_it(field: str) -> None:
    found = step_of(secured(stated=auth(**{field: True})), reached(replica_set()))
    assert (moves(found), reasons(found)) == ([], {"AUTH_REFUSED"})
    assert field in found.holds[0].sentence


@each("security", [{"keyFile": "/other"}, {"clusterAuthMode": "x509"}])
def test_a_process_that_contradicts_the_section_is_refused(security: dict[str, Any]) -> None:
    found = step_of(secured(security=security), reached(replica_set()))
    assert reasons(found) == {"SECTION_INVALID"}


def test_a_sharded_cluster_is_left_alone_with_a_word() -> None:
    sent = secured(sharding={"clusterRole": "shardsvr"})
    (unit,) = goal_of(sent).units
    assert (unit.users, unit.processes[0].key_file) == ((), "")
    assert {hold.sentence for hold in unit.notes} == {"the plan does not carry out sharded clusters"}


@each(
    ("changes", "expected_users", "expected_reasons"),
    [
        ({}, (), set()),
        ({"key": f" {SECRET[:3]} {SECRET[3:]}"}, (), set()),
        ({"usersWanted": [{**USER, "pwd": "other"}, READER]}, ("admin.app",), set()),
        (
            {"autoPwd": "other", "usersDeleted": [{"user": "old", "dbs": ["shop"]}]},
            ("admin.mms", "shop.old"),
            set(),
        ),
        ({"deploymentAuthMechanisms": ["SCRAM-SHA-1"]}, NAMES, set()),
        ({"key": "b3RoZXI="}, (), {"KEY_CHANGE"}),
    ],
)
def test_a_dry_run_shows_users_and_keys_that_change(
    changes: dict[str, Any], expected_users: tuple[str, ...], expected_reasons: set[str]
) -> None:
    before, after = secured(), secured(stated=auth(**changes))
    states = [MemberState.PRIMARY, MemberState.SECONDARY, MemberState.SECONDARY]
    hosts = {
        f"p{n}": ReportedProcess(is_down=False, state=state, version=None, observed=NOW)
        for n, state in enumerate(states)
    }
    reports, change = FleetReports(hosts, {}, {}), auth_change(before, after)
    assert SECRET not in repr(change)
    drawn = drawn_plan(goal_of(before), goal_of(after), reports, NOW, change)
    made = [planned.move for unit in drawn.units for planned in unit.moves]
    users = [Move(MoveKind.SET_USERS, "p0", "rs", settings=expected_users)] if expected_users else []
    assert made == users
    assert {hold.reason.name for unit in drawn.units for hold in unit.holds} == expected_reasons
    unknown = drawn_plan(goal_of(before), goal_of(after), reports, NOW)
    assert "USERS_ASSUMED" in {hold.reason.name for hold in unknown.holds}


def test_which_members_can_talk_to_each_other() -> None:
    none, between, full, other = KeyUse.NONE, KeyUse.TRANSITION, KeyUse.FULL, KeyUse.OTHER
    talking = {(a, b) for a in KeyUse for b in KeyUse if a.talks_to(b)}
    same = {(use, use) for use in KeyUse}
    assert talking == same | {(none, between), (between, none), (between, full), (full, between)}
    assert key_use({"security.keyFile": '"/a"', "security.clusterAuthMode": '"x509"'}) is other
