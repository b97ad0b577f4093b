"""The plan of an automation configuration: which moves follow from what is observed, and why others wait."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from automation.plan import planner
from automation.plan.expected import expected
from automation.plan.planner import UnitPlan, step
from automation.plan.reading import read_goal
from automation.plan.reasons import PlanReason
from automation.plan.values import (
    DISTURBING,
    AutomationGoal,
    FailedMove,
    MemberState,
    Move,
    MoveKind,
    ObservedFleet,
    ObservedProcess,
    ObservedSet,
    PlanStep,
)
from automation.plan.versions import newest, series
from opsapi import VERSION
from tests.each import each
from tests.factories.documents import document, process, version

NOW = datetime(2099, 11, 21, 12, tzinfo=UTC)
P, S, A = MemberState.PRIMARY, MemberState.SECONDARY, MemberState.ARBITER
VERSIONS = ("4.4.29", "5.0.31", "6.0.20")
SETTINGS = {"net": {"port": 27017}, "storage": {"dbPath": "/data"}, "replication": {"replSetName": "rs"}}


def replica_set(count: int = 3, *, members: Mapping[int, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A document of a replica set `rs`; `fields` are of all processes, `members` change members."""
    fields = {"version": "5.0.31", "featureCompatibilityVersion": "5.0", "args2_6": SETTINGS, **fields}
    stated = [{"_id": n, "host": f"p{n}", **(members or {}).get(n, {})} for n in range(count)]
    return document(
        databaseVersions=[version(name=name) for name in VERSIONS],
        processes=[process(name=f"p{n}", hostname=f"db{n}.example.com", **fields) for n in range(count)],
        replicaSets=[{"_id": "rs", "members": stated}],
    )


def goal_of(sent: dict[str, Any]) -> AutomationGoal:
    return read_goal(sent)


def fleet(sent: dict[str, Any], **changes: Any) -> ObservedFleet:
    """What is observed when the document is reached; `p0` and so on replace fields, `of_set` of the set."""
    goal = goal_of(sent)
    unit = goal.units[0]
    of_set = changes.pop("of_set", {})
    members = unit.members or ()
    states = {m.process: A if m.is_arbiter else P if n == 0 else S for n, m in enumerate(members)}
    processes = {
        p.name: ObservedProcess(
            **{
                "is_running": True,
                "state": states.get(p.name, MemberState.STANDALONE),
                "version": p.version,
                "feature_version": p.feature_version,
                "has_data": True,
                "settings": p.settings,
                "file": p.settings,
                "settable": frozenset({"setParameter.ttlMonitorEnabled"}),
                "started": NOW - timedelta(days=1),
                "builds": frozenset({p.version}),
                "lag": timedelta(),
                **changes.get(p.name, {}),
            }
        )
        for p in unit.processes
    }
    found = ObservedSet(**{"config": members, "oplog": timedelta(hours=5), "alerts": (), **of_set})
    return ObservedFleet(now=NOW, processes=processes, sets={"rs": found})


def moves(found: PlanStep) -> list[tuple[str, str]]:
    return [(move.kind.value, move.process) for move in found.moves]


def disturbances(found: UnitPlan) -> list[tuple[str, str]]:
    """The moves of a plan that disturb, in order."""
    return [(p.move.kind.value, p.move.process) for p in found.moves if p.move.kind in DISTURBING]


def waiting(found: PlanStep) -> set[tuple[str, str]]:
    """The moves that wait, as the reasons name them."""
    return {(hold.move.kind.value, hold.move.process) for hold in found.holds if hold.move is not None}


def reasons(found: PlanStep) -> set[str]:
    return {hold.reason.name for hold in found.holds}


def plan_of(sent: dict[str, Any], observed: ObservedFleet) -> UnitPlan:
    (found,) = planner.plan(goal_of(sent), observed)
    return found


RESTARTED: dict[str, Any] = {"lastRestart": "2099-11-21T11:00:00Z"}


class TestRolling:
    """Members are interrupted one after the other, the primary last."""

    def test_a_restart_takes_the_secondaries_first_and_the_primary_steps_down(self) -> None:
        found = plan_of(replica_set(**RESTARTED), fleet(replica_set()))
        assert disturbances(found) == [
            ("RESTART", "p1"),
            ("RESTART", "p2"),
            ("STEP_DOWN", "p0"),
            ("RESTART", "p0"),
        ]
        assert found.holds == ()

    def test_two_major_versions_go_one_by_one_with_the_feature_version_between(self) -> None:
        old = replica_set(version="4.4.29", featureCompatibilityVersion="4.4")
        new = replica_set(version="6.0.20", featureCompatibilityVersion="6.0")
        found = plan_of(new, fleet(old))
        changes = [
            p.move.version
            for p in found.moves
            if p.move.kind in {MoveKind.CHANGE_VERSION, MoveKind.SET_FEATURE_VERSION}
        ]
        assert changes == [*["5.0.31"] * 3, "5.0", *["6.0.20"] * 3, "6.0"]
        assert found.holds == ()

    def test_a_downgrade_lowers_the_feature_version_first(self) -> None:
        new = replica_set(version="4.4.29", featureCompatibilityVersion="4.4")
        found = plan_of(new, fleet(replica_set()))
        kinds = [p.move.kind for p in found.moves if p.move.kind is not MoveKind.DOWNLOAD]
        assert kinds[0] is MoveKind.SET_FEATURE_VERSION
        assert kinds.count(MoveKind.CHANGE_VERSION) == 3

    def test_a_member_that_waits_for_the_feature_version_comes_before_the_primary(self) -> None:
        old = replica_set(featureCompatibilityVersion="4.4")
        new = replica_set(**RESTARTED)
        new["processes"][1]["version"] = "6.0.20"
        assert disturbances(plan_of(new, fleet(old))) == [
            ("RESTART", "p2"),
            ("CHANGE_VERSION", "p1"),
            ("STEP_DOWN", "p0"),
            ("RESTART", "p0"),
        ]

    def test_a_shutdown_of_the_whole_set_waits_for_the_turn_of_another_member(self) -> None:
        off = replica_set(disabled=True)
        found = step(goal_of(off), fleet(replica_set(), of_set={"turn": "p2"}))
        assert (moves(found), reasons(found)) == ([], {"TURN"})
        found = step(goal_of(off), fleet(replica_set(), of_set={"turn": "p1"}))
        assert moves(found) == [("STOP", "p1")]

    def test_one_restart_serves_a_new_version_settings_and_a_restart(self) -> None:
        settings = {**SETTINGS, "net": {"port": 27017, "maxIncomingConnections": 9}}
        old = replica_set(version="5.0.30")
        found = plan_of(replica_set(args2_6=settings, **RESTARTED), fleet(old))
        kinds = [p.move.kind.value for p in found.moves if p.move.process == "p1"]
        assert kinds == ["DOWNLOAD", "CHANGE_VERSION"]

    def test_a_server_that_ends_before_its_version_change_starts_with_its_version_and_file(self) -> None:
        settings = {**SETTINGS, "net": {"port": 27017, "maxIncomingConnections": 9}}
        old, new = replica_set(version="4.4.29"), replica_set(args2_6=settings)
        down = {"is_running": False, "state": None, "feature_version": None}
        found = step(goal_of(new), fleet(old, p1={**down, "settings": None, "builds": frozenset(VERSIONS)}))
        assert [(m.kind.value, m.version) for m in found.moves if m.process == "p1"] == [("START", "4.4.29")]

    def test_the_primary_waits_for_a_secondary_that_still_downloads(self) -> None:
        old, new = replica_set(version="5.0.30"), replica_set()
        builds = frozenset({"5.0.31"})
        done = {"version": "5.0.31", "builds": builds}
        observed = fleet(old, p0={"builds": builds}, p1=done)
        assert moves(step(goal_of(new), observed)) == [("DOWNLOAD", "p2")]

    def test_a_replica_set_of_one_member_is_interrupted_without_a_successor(self) -> None:
        found = plan_of(replica_set(1, **RESTARTED), fleet(replica_set(1)))
        assert disturbances(found) == [("RESTART", "p0")]

    def test_of_two_voting_members_none_is_interrupted(self) -> None:
        found = step(goal_of(replica_set(2, **RESTARTED)), fleet(replica_set(2)))
        assert (moves(found), reasons(found)) == ([], {"MAJORITY"})

    def test_nobody_steps_down_if_nobody_can_follow(self) -> None:
        passive = {1: {"priority": 0}, 2: {"arbiterOnly": True}}
        old, new = replica_set(members=passive), replica_set(members=passive, **RESTARTED)
        restarted = {"restart": NOW}
        found = step(goal_of(new), fleet(old, p1=restarted, p2=restarted))
        assert (moves(found), reasons(found)) == ([], {"NO_ELECTABLE"})


class TestGuards:
    """Why a disturbance waits."""

    @each(
        ("changes", "reason"),
        [
            ({"of_set": {"turn": "p2"}}, "TURN"),
            ({"p0": {"state": S}}, "NO_PRIMARY"),
            ({"p2": {"state": P}}, "SEVERAL_PRIMARIES"),
            ({"p2": {"is_running": False}}, "MAJORITY"),
            ({"p2": {"is_running": None}}, "MEMBER_UNKNOWN"),
            ({"p2": {"state": None}}, "MEMBER_UNKNOWN"),
            ({"p2": {"state": MemberState.SYNCING}}, "MEMBER_AWAY"),
            ({"p2": {"state": MemberState.RECOVERING}}, "MEMBER_AWAY"),
            ({"p2": {"state": MemberState.ROLLBACK}}, "MEMBER_AWAY"),
            ({"p2": {"lag": timedelta(seconds=11)}}, "LAG"),
            ({"p2": {"lag": None}}, "LAG_UNKNOWN"),
            ({"of_set": {"oplog": timedelta(minutes=59)}}, "OPLOG_SHORT"),
            ({"p1": {"away": timedelta(hours=6)}}, "OPLOG_SHORT"),
            ({"of_set": {"oplog": None}}, "OPLOG_UNKNOWN"),
            ({"of_set": {"alerts": ("NO_PRIMARY",)}}, "ALERT"),
            ({"of_set": {"alerts": None}}, "ALERTS_UNKNOWN"),
            ({"of_set": {"config": None}}, "SET_UNKNOWN"),
            ({"p1": {"state": MemberState.SYNCING}}, "MEMBER_BUSY"),
        ],
    )
    def test_a_guard_that_does_not_hold_says_why(self, changes: dict[str, Any], reason: str) -> None:
        restarted = {"restart": NOW}
        changes = {**changes, "p2": {**restarted, **changes.get("p2", {})}}
        found = step(goal_of(replica_set(**RESTARTED)), fleet(replica_set(), **changes))
        assert reason in reasons(found)
        assert not any(move.disturbs for move in found.moves)
        assert all(hold.sentence for hold in found.holds)

    @each(
        "changes",
        [
            {"p2": {"lag": timedelta(seconds=10)}},
            {"of_set": {"oplog": timedelta(hours=1)}},
            {"of_set": {"oplog": timedelta(minutes=1), "oplog_lost": False}},
            {"of_set": {"turn": "p1"}},
            {"p1": {"away": timedelta(hours=5)}},
            {"p1": {"away": None}},
        ],
    )
    def test_a_guard_that_just_holds_lets_the_move_pass(self, changes: dict[str, Any]) -> None:
        found = step(goal_of(replica_set(**RESTARTED)), fleet(replica_set(), **changes))
        assert moves(found) == [("RESTART", "p1")]

    @each(
        ("fields", "changes", "move"),
        [
            ({}, {"p1": {"state": MemberState.SYNCING}}, ("RESTART", "p1")),
            ({}, {"p1": {"settings": None}}, ("RESTART", "p1")),
            ({}, {"p1": {"is_running": None}}, ("RESTART", "p1")),
            ({"lastCompact": "2099-11-21T11:00:00Z"}, {"p1": {"state": None}}, ("RESTART", "p1")),
            ({}, {"p0": {"state": S}, "of_set": {"config": None}}, ("CHANGE_MEMBER", "p0")),
            ({}, {"p0": {"is_running": False}, "of_set": {"config": None}}, ("CHANGE_MEMBER", "p1")),
            ({"defaultRWConcern": {"defaultWriteConcern": {"w": 1}}}, {}, ("SET_DEFAULT_CONCERN", "p0")),
        ],
        ids=str,
    )
    def test_a_reason_names_the_move_that_waits_and_the_process_that_makes_it(
        self, fields: dict[str, Any], changes: dict[str, Any], move: tuple[str, str]
    ) -> None:
        found = step(goal_of(replica_set(**RESTARTED, **fields)), fleet(replica_set(), **changes))
        assert move in waiting(found)

    @each(
        ("primary", "maker"),
        [({}, "p0"), ({"state": S}, "p0"), ({"is_running": False, "state": None, "failure": None}, "p1")],
        ids=str,
    )
    def test_a_member_that_cannot_leave_is_said_by_one_process(
        self, primary: dict[str, Any], maker: str
    ) -> None:
        sent = replica_set()
        sent["replicaSets"][0]["members"].pop(1)
        away = {"state": MemberState.RECOVERING}
        found = step(goal_of(sent), fleet(replica_set(), p0=primary, p2=away))
        assert ("REMOVE_MEMBER", maker) in waiting(found)
        assert {process for _, process in waiting(found)} == {maker}

    def test_a_delayed_member_may_lag_by_its_delay(self) -> None:
        delayed = {2: {"priority": 0, "hidden": True, "secondaryDelaySecs": 3600}}
        old, new = replica_set(members=delayed), replica_set(members=delayed, **RESTARTED)
        found = step(goal_of(new), fleet(old, p2={"lag": timedelta(seconds=3605), "restart": NOW}))
        assert moves(found) == [("RESTART", "p1")]

    def test_a_pause_and_a_failure_stop_every_move(self) -> None:
        goal = goal_of(replica_set(**RESTARTED))
        failure = FailedMove(goal.number, MoveKind.RESTART, "it does not start", "p2")
        failed = step(goal, fleet(replica_set(), p2={"failure": failure}))
        assert (moves(failed), reasons(failed)) == ([], {"STOPPED"})
        paused = step(goal, replace(fleet(replica_set()), is_paused=True))
        assert (moves(paused), reasons(paused)) == ([], {"PAUSED"})

    def test_a_server_that_is_down_starts_as_it_ran_during_a_pause(self) -> None:
        down = {"is_running": False, "state": None}
        goal = goal_of(replica_set(**RESTARTED))
        paused = replace(fleet(replica_set(), p1=down), is_paused=True)
        assert moves(step(goal, paused)) == [("START", "p1")]
        assert step(goal_of(replica_set()), paused).holds == ()
        # The document has another version and other settings since.
        sent = replica_set(version="6.0.20", args2_6={**SETTINGS, "setParameter": {"notablescan": True}})
        found = step(goal_of(sent), paused)
        assert [(move.kind, move.process, move.version) for move in found.moves] == [
            (MoveKind.START, "p1", "5.0.31")
        ]
        assert reasons(found) == {"PAUSED"}

    def test_other_servers_that_are_down_start_as_they_ran_after_a_failure(self) -> None:
        down = {"is_running": False, "state": None}
        goal = goal_of(replica_set(**RESTARTED))
        failure = FailedMove(goal.number, MoveKind.START, "it ends again and again", "p2")
        seen = fleet(replica_set(), p1={**down, "failure": failure}, p2={**down, "failure": failure})
        found = step(goal, seen)
        assert (moves(found), reasons(found)) == ([("START", "p1")], {"STOPPED"})

    def test_a_member_that_is_down_before_its_version_can_change_starts_with_the_settings_of_its_version(
        self,
    ) -> None:
        """The set still has the feature version of the old version, and the document settings of the new."""
        old = replica_set(version="6.0.20", featureCompatibilityVersion="6.0")
        new = replica_set(args2_6={**SETTINGS, "setParameter": {"notablescan": True}})
        found = step(goal_of(new), fleet(old, p1={"is_running": False, "state": None}))
        assert [(move.kind, move.version) for move in found.moves if move.process == "p1"] == [
            (MoveKind.START, "6.0.20")
        ]

    @each(
        ("seen", "fields"),
        [
            ({"version": None}, {}),
            ({"version": None, "has_data": False}, {}),
            ({"file": {}}, {}),
            ({"builds": frozenset()}, {}),
            ({"is_running": None}, {}),
            ({"failure": FailedMove(1, MoveKind.START, "it does not start", "p1")}, {}),
            ({}, {"disabled": True}),
            ({}, {"manualMode": True}),
        ],
        ids=str,
    )
    def test_other_servers_that_are_down_stay_down_during_a_pause(
        self, seen: dict[str, Any], fields: dict[str, Any]
    ) -> None:
        down = {"is_running": False, "state": None, **seen}
        sent = replica_set(**RESTARTED)
        sent["processes"][1] |= fields
        assert step(goal_of(sent), replace(fleet(replica_set(), p1=down), is_paused=True)).moves == ()

    def test_another_document_goes_on_after_a_failure(self) -> None:
        goal = goal_of(replica_set(**RESTARTED))
        earlier = FailedMove(goal.number - 1, MoveKind.RESTART, "it does not start", "p2")
        assert moves(step(goal, fleet(replica_set(), p2={"failure": earlier}))) == [("RESTART", "p1")]

    def test_nothing_is_observed_and_nothing_is_done(self) -> None:
        found = step(goal_of(replica_set()), ObservedFleet(now=NOW))
        assert (moves(found), reasons(found)) == ([], {"RUNNING_UNKNOWN", "SET_UNKNOWN"})

    def test_a_reached_document_needs_nothing(self) -> None:
        assert step(goal_of(replica_set()), fleet(replica_set())) == PlanStep()

    @each(
        ("options", "is_late"), [({}, True), ({"maxLagSec": 59}, True), ({"maxLagSec": 60}, False)], ids=str
    )
    def test_the_document_says_how_much_other_members_may_lag(
        self, options: dict[str, Any], is_late: bool
    ) -> None:
        sent = replica_set(**RESTARTED)
        sent["options"] |= options
        p2 = {"restart": NOW, "lag": timedelta(seconds=60)}
        found = step(goal_of(sent), fleet(replica_set(), p2=p2))
        assert ("LAG" in reasons(found)) is is_late
        assert [move.disturbs for move in found.moves] == ([] if is_late else [True])

    @each("stated", [0, -1, 86_401, True, "60", 1.5, None], ids=repr)
    def test_options_of_earlier_documents_that_are_not_valid_say_nothing(self, stated: Any) -> None:
        sent = replica_set()
        sent["options"] |= {"maxLagSec": stated, "patienceMin": stated if stated != 86_401 else 10_081}
        (unit,) = goal_of(sent).units
        assert (unit.most_lag, unit.patience) == (timedelta(seconds=10), timedelta(minutes=30))


class TestSettings:
    """Parameters change at run time where the server can, otherwise by a restart."""

    def settings(self, name: str, value: int | None) -> dict[str, Any]:
        return {"args2_6": {**SETTINGS, "setParameter": {name: value}}}

    def test_a_parameter_changes_at_run_time_and_then_in_the_file(self) -> None:
        found = plan_of(replica_set(**self.settings("ttlMonitorEnabled", 1)), fleet(replica_set()))
        assert [p.move.kind.value for p in found.moves if p.move.process == "p1"] == [
            "SET_PARAMETER",
            "WRITE_FILE",
        ]
        assert disturbances(found) == []

    def test_another_parameter_needs_a_restart(self) -> None:
        found = plan_of(replica_set(**self.settings("other", 1)), fleet(replica_set()))
        assert ("RESTART", "p1") in disturbances(found)

    def test_a_default_returns_only_by_a_restart(self) -> None:
        old = replica_set(**self.settings("ttlMonitorEnabled", 1))
        assert ("RESTART", "p1") in disturbances(plan_of(replica_set(), fleet(old)))

    def test_a_null_is_a_setting_that_is_left_out(self) -> None:
        found = step(goal_of(replica_set(**self.settings("ttlMonitorEnabled", None))), fleet(replica_set()))
        assert found == PlanStep()

    @each("name", ["dbPath", "engine"])
    def test_a_setting_that_leaves_the_data_is_refused(self, name: str) -> None:
        settings = {**SETTINGS, "storage": {"dbPath": "/data", name: "other"}}
        found = step(goal_of(replica_set(args2_6=settings)), fleet(replica_set()))
        assert (moves(found), reasons(found)) == ([], {"FIXED_SETTING"})


class TestRestarts:
    """lastRestart restarts once, whatever clocks say."""

    def test_a_restart_in_the_future_has_its_time(self) -> None:
        found = plan_of(replica_set(lastRestart="2099-11-21T13:00:00Z"), fleet(replica_set()))
        assert {planned.at for planned in found.moves} == {NOW + timedelta(hours=1)}

    def test_a_process_that_was_started_for_it_is_not_restarted_again(self) -> None:
        """The clock of its machine is wrong: it says that the start was earlier."""
        done = {f"p{n}": {"restart": datetime(2099, 11, 21, 11, tzinfo=UTC)} for n in range(3)}
        assert step(goal_of(replica_set(**RESTARTED)), fleet(replica_set(), **done)) == PlanStep()


OLD_DATA: dict[str, Any] = {"data_since": NOW - timedelta(days=9)}
RESYNCED: dict[str, Any] = {"lastResync": "2099-11-21T11:00:00Z"}


def with_old_data(**changes: Any) -> ObservedFleet:
    """A fleet whose data is older than lastResync."""
    names = ("p0", "p1", "p2")
    return fleet(replica_set(), **{name: {**OLD_DATA, **changes.pop(name, {})} for name in names}, **changes)


class TestResyncs:
    """lastResync removes data that other members have, one member at a time."""

    def test_the_secondaries_come_first_and_old_data_goes_after_the_initial_sync(self) -> None:
        found = plan_of(replica_set(**RESYNCED), with_old_data())
        assert disturbances(found) == [
            ("RESYNC", "p1"),
            ("RESYNC", "p2"),
            ("STEP_DOWN", "p0"),
            ("RESYNC", "p0"),
        ]
        kinds = [planned.move.kind.value for planned in found.moves if planned.move.process == "p1"]
        assert kinds == ["RESYNC", "REMOVE_OLD_DATA"]
        assert found.holds == ()

    def test_younger_data_and_data_that_began_under_it_stay(self) -> None:
        """The clock of the second machine is wrong: it says that the data began earlier."""
        since = datetime(2099, 11, 21, 11, tzinfo=UTC)
        done = {"p0": {"data_since": since}, "p1": {**OLD_DATA, "resync": since}, "p2": {"data_since": NOW}}
        assert step(goal_of(replica_set(**RESYNCED)), fleet(replica_set(), **done)) == PlanStep()

    def test_a_resync_in_the_future_has_its_time(self) -> None:
        found = plan_of(replica_set(lastResync="2099-11-21T13:00:00Z"), with_old_data())
        assert {planned.at for planned in found.moves} == {NOW + timedelta(hours=1)}

    def test_data_of_an_unknown_age_stays(self) -> None:
        found = step(goal_of(replica_set(**RESYNCED)), with_old_data(p1={"data_since": None}))
        assert (moves(found), reasons(found)) == ([("RESYNC", "p2")], {"DATA_AGE_UNKNOWN"})

    def test_one_resync_serves_settings_and_a_restart_too(self) -> None:
        wanted = replica_set(**RESYNCED, **RESTARTED, args2_6={**SETTINGS, "setParameter": {"a": 1}})
        found = plan_of(wanted, with_old_data())
        assert [kind for kind, _ in disturbances(found)] == ["RESYNC", "RESYNC", "STEP_DOWN", "RESYNC"]

    @each(
        ("p2", "reason"),
        [
            ({"state": MemberState.SYNCING}, "MEMBER_AWAY"),
            ({"is_running": False, "state": None}, "MEMBER_AWAY"),
            ({"lag": timedelta(seconds=60)}, "LAG"),
        ],
    )
    def test_the_next_member_waits_until_the_others_have_all_data(
        self, p2: dict[str, Any], reason: str
    ) -> None:
        found = step(goal_of(replica_set(**RESYNCED)), with_old_data(p2={"data_since": NOW, **p2}))
        assert ("RESYNC", "p1") not in moves(found)
        assert reason in reasons(found)

    def test_arbiters_are_no_copies(self) -> None:
        """Of five voting members, the healthy majority without p1 has only one member with data."""
        kinds = {3: {"arbiterOnly": True}, 4: {"arbiterOnly": True}}
        sent = replica_set(5, members=kinds, **RESYNCED)
        sent["processes"][2]["disabled"] = True
        observed = fleet(replica_set(5, members=kinds), p1=OLD_DATA, p2={"is_running": False, "state": None})
        found = step(goal_of(sent), observed)
        assert ("RESYNC", "p1") not in moves(found)
        assert "COPIES" in reasons(found)

    def test_the_only_member_with_data_keeps_it(self) -> None:
        kinds = {1: {"arbiterOnly": True}, 2: {"arbiterOnly": True}}
        sent = replica_set(members=kinds, **RESYNCED)
        found = step(goal_of(sent), fleet(replica_set(members=kinds), p0=OLD_DATA, p1=OLD_DATA))
        assert (moves(found), reasons(found)) == ([], {"RESYNC_REFUSED"})
        assert [note.process for note in goal_of(sent).units[0].notes] == ["p1", "p2"]

    def test_single_servers_are_refused_and_go_on(self) -> None:
        single = process(version="5.0.31", featureCompatibilityVersion="5.0", **RESYNCED, **RESTARTED)
        sent = document(processes=[single], databaseVersions=[version(name="5.0.31")])
        assert [note.reason.name for note in goal_of(sent).units[0].notes] == ["RESYNC_REFUSED"]
        assert moves(step(goal_of(sent), fleet(sent, db_1=OLD_DATA))) == [("RESTART", "db_1")]

    def test_a_member_that_leaves_keeps_its_data(self) -> None:
        sent = replica_set(**RESYNCED)
        sent["replicaSets"][0]["members"].pop()
        found = step(goal_of(sent), with_old_data(of_set={"turn": "p2"}))
        assert ("RESYNC", "p2") not in moves(found)

    @each("state", [MemberState.SYNCING, MemberState.RECOVERING, MemberState.STARTING])
    def test_old_data_stays_until_the_member_has_all_data(self, state: MemberState) -> None:
        young = {"data_since": NOW, "has_old_data": True}
        done = {"p0": {"data_since": NOW}, "p1": {**young, "state": state}, "p2": young}
        found = step(goal_of(replica_set(**RESYNCED)), fleet(replica_set(), **done))
        assert moves(found) == [("REMOVE_OLD_DATA", "p2")]

    def test_old_data_stays_if_the_document_does_not_ask_for_its_removal(self) -> None:
        found = step(goal_of(replica_set()), with_old_data(p1={"has_old_data": True}))
        assert found == PlanStep()

    @each(("days", "is_refused"), [(30, False), (31, True)])
    def test_an_old_time_removes_no_data(self, days: int, is_refused: bool) -> None:
        """It can be of a document of another platform."""
        sent = replica_set(lastResync=(NOW - timedelta(days=days)).isoformat())
        old = {f"p{number}": {"data_since": NOW - timedelta(days=99)} for number in range(3)}
        found = step(goal_of(sent), with_old_data(**old))
        assert (moves(found) == [], "RESYNC_REFUSED" in reasons(found)) == (is_refused, is_refused)

    def test_a_member_whose_data_was_set_aside_starts_empty(self) -> None:
        gone: dict[str, Any] = {"is_running": False, "state": None, "has_data": False, "data_since": None}
        found = step(goal_of(replica_set(**RESYNCED)), with_old_data(p1=gone))
        assert moves(found) == [("START", "p1")]


COMPACTED: dict[str, Any] = {"lastCompact": "2099-11-21T11:00:00Z"}


class TestCompactions:
    """lastCompact compacts one member after the other, and no primary."""

    def test_the_secondaries_come_first_and_the_primary_steps_down(self) -> None:
        found = plan_of(replica_set(**COMPACTED), with_old_data())
        assert disturbances(found) == [
            ("COMPACT", "p1"),
            ("COMPACT", "p2"),
            ("STEP_DOWN", "p0"),
            ("COMPACT", "p0"),
        ]
        assert found.holds == ()

    def test_compacted_and_younger_data_needs_none(self) -> None:
        done = {"compacted": datetime(2099, 11, 21, 11, tzinfo=UTC)}
        observed = with_old_data(p0=done, p1={"data_since": NOW}, p2=done)
        assert step(goal_of(replica_set(**COMPACTED)), observed) == PlanStep()

    def test_a_time_without_a_zone_compacts_nothing(self) -> None:
        goal = goal_of(replica_set(lastCompact="2099-11-21T11:00:00"))
        assert step(goal, with_old_data()) == PlanStep()
        assert goal.units[0].notes == ()

    def test_a_compaction_in_the_future_has_its_time(self) -> None:
        found = plan_of(replica_set(lastCompact="2099-11-21T14:00:00+01:00"), with_old_data())
        assert {planned.at for planned in found.moves} == {NOW + timedelta(hours=1)}

    def test_a_resync_serves_a_compaction_too(self) -> None:
        found = plan_of(replica_set(**RESYNCED, **COMPACTED), with_old_data())
        assert not any(kind == "COMPACT" for kind, _ in disturbances(found))

    def test_the_next_member_waits_while_another_is_away(self) -> None:
        observed = with_old_data(p2={"state": MemberState.RECOVERING})
        found = step(goal_of(replica_set(**COMPACTED)), observed)
        assert moves(found) == []
        assert "MEMBER_AWAY" in reasons(found)

    def test_a_single_server_is_compacted_and_the_only_voting_member_is_not(self) -> None:
        single = document(
            processes=[process(version="5.0.31", featureCompatibilityVersion="5.0", **COMPACTED)],
            databaseVersions=[version(name="5.0.31")],
        )
        assert moves(step(goal_of(single), fleet(single, db_1=OLD_DATA))) == [("COMPACT", "db_1")]
        alone = replica_set(1)
        found = step(goal_of(replica_set(1, **COMPACTED)), fleet(alone, p0=OLD_DATA))
        assert (moves(found), reasons(found)) == ([], {"COMPACT_REFUSED"})

    def test_arbiters_and_other_storage_engines_are_left_alone(self) -> None:
        engine = {"storage": {"dbPath": "/data", "engine": "inMemory"}}
        sent = replica_set(members={2: {"arbiterOnly": True}}, **COMPACTED)
        sent["processes"][1]["args2_6"] = {**SETTINGS, **engine}
        goal = goal_of(sent)
        assert [note.process for note in goal.units[0].notes] == ["p1", "p2"]
        observed = fleet(sent, p0={"data_since": NOW}, p1=OLD_DATA, p2=OLD_DATA)
        assert step(goal, observed) == PlanStep()


EMPTY: dict[str, Any] = {
    "is_running": False,
    "state": None,
    "version": None,
    "feature_version": None,
    "has_data": False,
    "settings": None,
    "file": None,
    "builds": frozenset(),
}
UNINITIATED: dict[str, Any] = {"state": MemberState.UNINITIATED, "has_data": False}


class TestNewDeployment:
    """Processes start, and one of them initiates the replica set."""

    def test_from_nothing_to_a_replica_set(self) -> None:
        empty = fleet(replica_set(), of_set={"config": ()}, **{f"p{n}": EMPTY for n in range(3)})
        found = plan_of(replica_set(), empty)
        assert [p.move.kind.value for p in found.moves] == [
            *["DOWNLOAD"] * 3,
            *["WRITE_FILE"] * 3,
            *["START"] * 3,
            "INITIATE",
        ]
        assert found.holds == ()

    def test_a_member_with_data_initiates_alone_and_others_join_without_a_vote(self) -> None:
        others = {f"p{n}": EMPTY for n in (1, 2)}
        with_data = {"state": MemberState.UNINITIATED}
        observed = fleet(replica_set(), of_set={"config": ()}, p0=with_data, **others)
        found = plan_of(replica_set(), observed)
        of_set = [p.move for p in found.moves if p.move.members]
        assert [(m.kind.value, m.members[0].process, m.members[0].votes) for m in of_set] == [
            ("INITIATE", "p0", 1),
            ("ADD_MEMBER", "p1", 0),
            ("CHANGE_MEMBER", "p1", 1),
            ("ADD_MEMBER", "p2", 0),
            ("CHANGE_MEMBER", "p2", 1),
        ]
        assert found.holds == ()

    @each(
        ("changes", "reason"),
        [
            ({"p2": {"is_running": None}}, "RUNNING_UNKNOWN"),
            ({"p2": {**UNINITIATED, "has_data": None}}, "DATA_UNKNOWN"),
            (
                {"p1": {**UNINITIATED, "has_data": True}, "p2": {**UNINITIATED, "has_data": True}},
                "SEVERAL_WITH_DATA",
            ),
        ],
    )
    def test_what_is_not_known_or_would_lose_data_initiates_nothing(
        self, changes: dict[str, Any], reason: str
    ) -> None:
        changes = {**{f"p{n}": UNINITIATED for n in range(3)}, **changes}
        found = step(goal_of(replica_set()), fleet(replica_set(), of_set={"config": ()}, **changes))
        assert (moves(found), reason in reasons(found)) == ([], True)

    def test_a_member_that_prepares_its_version_is_awaited(self) -> None:
        """With its old version or settings, it may not be able to join."""
        sent = replica_set(version="6.0.20", featureCompatibilityVersion="6.0")
        old = {**UNINITIATED, "version": "5.0.31", "feature_version": "5.0", "builds": frozenset({"5.0.31"})}
        changes = {"p0": UNINITIATED, "p1": UNINITIATED, "p2": old}
        found = step(goal_of(sent), fleet(sent, of_set={"config": ()}, **changes))
        assert moves(found) == [("DOWNLOAD", "p2")]

    def test_without_the_section_nobody_knows_the_members(self) -> None:
        sent = {**replica_set(), "replicaSets": []}
        changes = {f"p{n}": UNINITIATED for n in range(3)}
        found = step(goal_of(sent), fleet(replica_set(), of_set={"config": ()}, **changes))
        assert (moves(found), reasons(found)) == ([], {"MEMBERS_NOT_STATED"})


class TestMembers:
    """Members join, change and leave, one at a time."""

    def test_a_member_that_is_no_longer_stated_leaves(self) -> None:
        found = plan_of(replica_set(3), fleet(replica_set(4)))
        assert disturbances(found) == [("REMOVE_MEMBER", "p0")]

    def test_a_primary_that_leaves_steps_down_first(self) -> None:
        sent = replica_set(4)
        sent["replicaSets"][0]["members"].pop(0)
        found = plan_of(sent, fleet(replica_set(4)))
        assert [kind for kind, _ in disturbances(found)] == ["STEP_DOWN", "REMOVE_MEMBER"]

    @pytest.mark.parametrize(
        ("seen", "leaves"),
        [
            ({"state": S}, False),
            ({"is_running": None, "state": None}, False),
            ({"is_running": True, "state": None}, False),
            ({"state": MemberState.REMOVED}, True),
            ({"is_running": False, "state": None}, True),
        ],
    )
    def test_a_member_that_may_be_a_process_under_another_name_stays(self, seen: Any, leaves: bool) -> None:
        sent = replica_set(3)
        observed = fleet(sent, p2=seen)
        first, second, third = observed.sets["rs"].config or ()
        renamed = replace(third, process="db2.internal:27017")
        of_set = replace(observed.sets["rs"], config=(first, second, renamed))
        stranger = replace(fleet(sent).processes["p2"], state=S)
        processes = {**observed.processes, renamed.process: stranger}
        found = step(goal_of(sent), replace(observed, processes=processes, sets={"rs": of_set}))
        removals = [move for move in found.moves if move.kind is MoveKind.REMOVE_MEMBER]
        assert ("MEMBER_UNCLEAR" in reasons(found)) is not leaves
        assert leaves or removals == []

    @each(
        ("stated", "kinds"),
        [
            ({"votes": 0, "priority": 0}, []),
            ({"priority": 0.5}, []),
            ({"priority": 0, "hidden": True}, []),
            ({"priority": 2}, []),
            ({"priority": 1}, ["CHANGE_MEMBER"]),
        ],
    )
    @each(
        ("seen", "reason"),
        [
            ({"p2": {"lag": timedelta(seconds=3600)}}, "LAG"),
            ({"p2": {"lag": None}}, "LAG_UNKNOWN"),
            ({"of_set": {"oplog": timedelta(seconds=60)}}, "OPLOG_SHORT"),
            ({"of_set": {"alerts": ("TOO_FEW_HEALTHY_MEMBERS",)}}, "ALERT"),
        ],
    )
    def test_a_change_waits_if_the_replica_set_loses_something_by_it(
        self, stated: dict[str, Any], kinds: list[str], seen: dict[str, Any], reason: str
    ) -> None:
        before = {1: {"priority": 0, "votes": 0}} if kinds else {}
        observed = fleet(replica_set(members=before), **seen)
        found = step(goal_of(replica_set(members={1: stated})), observed)
        assert [kind for kind, _ in moves(found)] == kinds
        assert reasons(found) == (set() if kinds else {reason})

    @each(
        ("seen", "reason"),
        [
            ({"p2": {"lag": timedelta(seconds=11)}}, "LAG"),
            ({"of_set": {"alerts": ("TOO_FEW_HEALTHY_MEMBERS",)}}, "ALERT"),
            ({"of_set": {"alerts": None}}, "ALERTS_UNKNOWN"),
            ({"of_set": {"oplog": timedelta(seconds=60)}}, None),
        ],
    )
    def test_a_healthy_member_leaves_only_if_the_others_are_well(
        self, seen: dict[str, Any], reason: str | None
    ) -> None:
        found = step(goal_of(replica_set(3)), fleet(replica_set(4), **seen))
        assert moves(found) == ([] if reason else [("REMOVE_MEMBER", "p0")])
        assert reasons(found) == ({reason} if reason else set())

    @each(
        "seen",
        [
            {"is_running": False, "state": None},
            {"state": MemberState.RECOVERING},
            {"lag": timedelta(seconds=3600)},
        ],
    )
    def test_a_member_that_is_away_or_lags_leaves_during_an_alert(self, seen: dict[str, Any]) -> None:
        of_set = {"alerts": ("TOO_FEW_HEALTHY_MEMBERS",)}
        for others in ({}, {"p2": {"lag": timedelta(seconds=60)}}):
            observed = fleet(replica_set(4), of_set=of_set, p3=seen, **others)
            assert moves(step(goal_of(replica_set(3)), observed)) == [("REMOVE_MEMBER", "p0")]

    def test_a_member_joins_while_another_lags_during_an_alert(self) -> None:
        of_set = {"alerts": ("TOO_FEW_HEALTHY_MEMBERS",), "config": goal_of(replica_set(3)).units[0].members}
        late = {"lag": timedelta(seconds=60)}
        joins = {"state": MemberState.UNINITIATED, "has_data": False}
        observed = fleet(replica_set(4), of_set=of_set, p2=late, p3=joins)
        assert moves(step(goal_of(replica_set(4)), observed)) == [("ADD_MEMBER", "p0")]

    def test_data_that_would_be_deleted_is_refused(self) -> None:
        observed = fleet(replica_set(4), p3={"state": MemberState.UNINITIATED})
        config = goal_of(replica_set(3)).units[0].members
        observed = replace(observed, sets={"rs": replace(observed.sets["rs"], config=config)})
        found = step(goal_of(replica_set(4)), observed)
        assert (moves(found), reasons(found)) == ([], {"DATA_WOULD_GO"})

    @each(
        ("seen", "expected_reasons", "kinds"),
        [
            ({"is_running": False}, {"MEMBER_AWAY"}, []),
            ({"is_running": None}, {"MEMBER_UNKNOWN"}, []),
            ({**UNINITIATED, "version": "4.4.29"}, {"MEMBER_VERSION"}, []),
            (UNINITIATED, set(), ["ADD_MEMBER"]),
        ],
    )
    def test_a_member_in_manual_mode_joins_when_its_operator_has_started_it(
        self, seen: dict[str, Any], expected_reasons: set[str], kinds: list[str]
    ) -> None:
        sent = replica_set(4)
        sent["processes"][3]["manualMode"] = True
        observed = fleet(replica_set(4), p3=seen)
        config = goal_of(replica_set(3)).units[0].members
        observed = replace(observed, sets={"rs": replace(observed.sets["rs"], config=config)})
        found = step(goal_of(sent), observed)
        assert (reasons(found), [kind for kind, _ in moves(found)]) == (expected_reasons, kinds)

    def test_an_arbiter_stays_an_arbiter(self) -> None:
        found = step(goal_of(replica_set(members={2: {"arbiterOnly": True}})), fleet(replica_set()))
        assert (moves(found), reasons(found)) == ([], {"FIXED_MEMBER"})


class TestInterruptedFeatureVersion:
    """A change of the feature compatibility version that was interrupted is repeated in its direction."""

    def interrupted(self, target: str, **changes: Any) -> ObservedFleet:
        """A replica set of 6.0 that was interrupted between 5.0 and 6.0."""
        sent = replica_set(version="6.0.20", featureCompatibilityVersion="6.0")
        between = {"feature_version": None, "feature_target": target}
        return fleet(sent, **{f"p{n}": {**between, **changes.get(f"p{n}", {})} for n in range(3)})

    @each("target", ["5.0", "6.0"])
    def test_the_command_is_repeated_with_its_target_whatever_the_goal_is_now(self, target: str) -> None:
        for goal in ("5.0", "6.0"):
            sent = replica_set(version="6.0.20", featureCompatibilityVersion=goal)
            found = plan_of(sent, self.interrupted(target))
            versions = [target] if target == goal else [target, goal]
            assert [(p.move.kind, p.move.process, p.move.version) for p in found.moves] == [
                (MoveKind.SET_FEATURE_VERSION, "p0", version) for version in versions
            ]
            assert found.holds == ()

    def test_an_upgrade_goes_on_after_it(self) -> None:
        found = plan_of(
            replica_set(version="6.0.20", featureCompatibilityVersion="6.0"),
            fleet(replica_set(), p0={"feature_version": None, "feature_target": "5.0"}),
        )
        first, *others = [p.move for p in found.moves if p.move.kind is not MoveKind.DOWNLOAD]
        assert (first.kind, first.version) == (MoveKind.SET_FEATURE_VERSION, "5.0")
        assert [move.version for move in others if move.kind is MoveKind.CHANGE_VERSION] == ["6.0.20"] * 3

    def test_it_waits_for_members_that_are_away_and_after_it_failed(self) -> None:
        sent = replica_set(version="6.0.20", featureCompatibilityVersion="6.0")
        away = self.interrupted("6.0", p2={"is_running": None})
        assert step(goal_of(sent), away).moves == ()
        failure = FailedMove(1, MoveKind.SET_FEATURE_VERSION, "interrupted", "p0")
        failed = step(goal_of(sent), self.interrupted("6.0", p0={"failure": failure}))
        assert (moves(failed), reasons(failed)) == ([], {"STOPPED"})

    def test_a_target_that_the_plan_does_not_know_waits(self) -> None:
        sent = replica_set(version="6.0.20", featureCompatibilityVersion="6.0")
        found = step(goal_of(sent), self.interrupted("99.0"))
        assert (moves(found), reasons(found)) == ([], {"FEATURE_VERSION_UNKNOWN"})

    def test_a_sharded_cluster_is_left_alone(self) -> None:
        settings = {**SETTINGS, "sharding": {"clusterRole": "shardsvr"}}
        sent = replica_set(args2_6=settings, **RESTARTED)
        goal = goal_of(sent)
        assert step(goal, fleet(sent, p1={"is_running": False, "state": None})) == PlanStep()
        assert [(note.process, note.sentence) for note in goal.units[0].notes] == [
            (f"p{number}", "the plan does not carry out sharded clusters") for number in range(3)
        ]


class TestRefusals:
    """What a document asks for and no plan does."""

    @each(
        ("sent", "reason"),
        [
            (replica_set(version="mine"), "VERSION_UNREADABLE"),
            (replica_set(version="6.0.20", featureCompatibilityVersion="4.4"), "FEATURE_VERSION_UNFIT"),
            (replica_set(members={1: {"host": "nobody"}}), "SECTION_INVALID"),
            (replica_set(members={1: {"host": "p0"}}), "SECTION_INVALID"),
            (replica_set(members={1: {"votes": 2}}), "SECTION_INVALID"),
            (replica_set(members={1: {"votes": 0}}), "SECTION_INVALID"),
            (replica_set(members={1: {"priority": "high"}}), "SECTION_INVALID"),
            (replica_set(members={n: {"priority": 0} for n in range(3)}), "SECTION_INVALID"),
            (replica_set(8), "SECTION_INVALID"),
            ({**replica_set(), "replicaSets": [{"_id": "rs"}]}, "SECTION_INVALID"),
            ({**replica_set(), "replicaSets": replica_set()["replicaSets"] * 2}, "SECTION_INVALID"),
        ],
    )
    def test_it_says_why(self, sent: dict[str, Any], reason: str) -> None:
        found = step(goal_of(sent), fleet(replica_set()))
        assert (moves(found), reason in reasons(found)) == ([], True)

    def test_a_version_between_must_be_listed(self) -> None:
        old = replica_set(version="4.4.29", featureCompatibilityVersion="4.4")
        new = replica_set(version="6.0.20", featureCompatibilityVersion="6.0")
        new["databaseVersions"] = [version(name="6.0.20")]
        found = step(goal_of(new), fleet(old))
        assert (moves(found), reasons(found)) == ([], {"NO_VERSION_BETWEEN"})

    def test_disabled_members_leave_a_majority_or_are_all(self) -> None:
        sent = replica_set()
        for member in sent["processes"][:2]:
            member["disabled"] = True
        assert reasons(step(goal_of(sent), fleet(replica_set()))) == {"MAJORITY_DISABLED"}
        found = plan_of(replica_set(disabled=True), fleet(replica_set()))
        assert disturbances(found) == [("STOP", "p1"), ("STOP", "p2"), ("STOP", "p0")]

    def test_fields_that_are_not_carried_out_are_named(self) -> None:
        goal = goal_of(replica_set(backupRestoreUrl="CANCEL"))
        named = [(hold.process, hold.sentence) for hold in (*goal.notes, *goal.units[0].notes)]
        why = "restores are not carried out, because the platform makes no backups of databases"
        sentence = f"the plan does not carry out backupRestoreUrl: {why}"
        assert named == [(f"p{number}", sentence) for number in range(3)]

    @each(
        ("stated", "what"),
        [
            ({"name": VERSION}, None),
            ({"name": "0.0.1"}, "name is 0.0.1"),
            ({"name": VERSION, "directoryUrl": "https://example.com/"}, "directoryUrl leads elsewhere"),
        ],
    )
    def test_only_the_agent_of_the_platform_is_handed_out(
        self, stated: dict[str, str], what: str | None
    ) -> None:
        notes = goal_of({**replica_set(), "agentVersion": stated}).notes
        assert [(note.reason.name, dict(note.names)["what"]) for note in notes] == (
            [("AGENT_VERSION_REFUSED", what)] if what else []
        )

    def test_a_replica_set_without_processes_is_named(self) -> None:
        goal = goal_of({**replica_set(), "replicaSets": [{"_id": "other", "members": []}]})
        assert [hold.replica_set for hold in goal.notes] == ["other"]


def test_a_member_that_was_away_keeps_its_version_until_it_has_the_feature_version_of_the_set() -> None:
    lower: dict[str, Any] = {"version": "4.4.29", "featureCompatibilityVersion": "4.4"}
    set_at = {f"p{n}": {"version": "5.0.31", "feature_version": "4.4"} for n in range(3)}
    late = {**set_at["p1"], "feature_version": "5.0"}
    found = step(goal_of(replica_set(**lower)), fleet(replica_set(**lower), **{**set_at, "p1": late}))
    assert ("CHANGE_VERSION", "p1") not in moves(found)
    found = step(goal_of(replica_set(**lower)), fleet(replica_set(**lower), **set_at))
    assert moves(found) == [("CHANGE_VERSION", "p1")]


def test_a_server_without_data_keeps_the_feature_version_of_its_files() -> None:
    sent = replica_set(2)
    sent["processes"][1]["version"] = "6.0.20"
    files = {"state": MemberState.UNINITIATED, "has_data": False, "feature_version": "4.4"}
    unit = goal_of(sent).units[0]
    move = Move(MoveKind.CHANGE_VERSION, "p1", "rs", "5.0.31")
    observed = fleet(sent, p1=files, of_set={"config": (unit.members or ())[:1]})
    assert expected(unit, observed, move).processes["p1"].feature_version == "4.4"


DOWN: dict[str, Any] = {"is_running": False, "state": None}


@each(
    ("feature_version", "expected_moves"),
    [(None, [("START", "p1")]), ("5.0", [("WRITE_FILE", "p1")])],
    ids=["it starts as it ran", "its last start failed"],
)
def test_a_server_whose_version_did_not_start_returns_to_the_version_before(
    feature_version: str | None, expected_moves: list[Any]
) -> None:
    failed = {**DOWN, "version": "6.0.20", "feature_version": feature_version, "file": {"net.port": "1"}}
    builds = {"builds": frozenset({"5.0.31", "6.0.20"})}
    found = step(goal_of(replica_set()), fleet(replica_set(), p1={**failed, **builds}))
    assert moves(found) == expected_moves
    assert found.moves[0].version == ("5.0.31" if feature_version else "6.0.20")


@each(
    ("sent", "seen", "expected_moves"),
    [
        ({}, {}, []),
        (RESYNCED, {}, [("START", "p1")]),
        (RESYNCED, {"resync": NOW}, []),
        ({}, {"is_data_gone": False}, [("START", "p1")]),
    ],
    ids=["nothing is published", "lastResync agrees", "an earlier lastResync", "it never had data"],
)
def test_a_server_whose_data_is_gone_starts_empty_only_if_the_document_agrees(
    sent: dict[str, Any], seen: dict[str, Any], expected_moves: list[Any]
) -> None:
    gone = {**DOWN, "has_data": False, "is_data_gone": True, **seen}
    others = {name: {"data_since": NOW} for name in ("p0", "p2")}
    found = step(goal_of(replica_set(**sent)), fleet(replica_set(), p1=gone, **others))
    assert moves(found) == expected_moves
    assert ("DATA_GONE" in reasons(found)) is not bool(expected_moves)


def test_a_version_has_a_series_and_the_newest_of_a_series_is_chosen() -> None:
    assert [series(text) for text in ("5.0.31", "v5.0.1-ent", "5.1.0", "mine", "", None)] == [
        series("5.0"),
        series("5.0"),
        None,
        None,
        None,
        None,
    ]
    place = series("5.0.0")
    assert place is not None
    assert newest(["5.0.9", "5.0.31", "6.0.1", "mine"], place) == "5.0.31"


@each(
    ("old", "new"),
    [
        (replica_set(version="4.4.29", featureCompatibilityVersion="4.4"), replica_set(**RESTARTED)),
        (replica_set(), replica_set(version="4.4.29", featureCompatibilityVersion="4.4")),
        (replica_set(5), replica_set(3, **RESTARTED)),
    ],
)
def test_from_every_state_of_a_plan_another_plan_leads_to_the_same_end(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    goal, observed = goal_of(new), fleet(old)
    unit = goal.units[0]
    ends = []
    for planned in plan_of(new, observed).moves:
        ends.append(end_of(goal, observed))
        observed = expected(unit, observed, planned.move)
    assert step(goal, observed) == PlanStep()
    assert ends
    assert all(end == end_of(goal, observed) for end in ends)


def end_of(goal: AutomationGoal, observed: ObservedFleet) -> Any:
    """What is observed at the end of the plan, apart from which member is the primary."""
    (found,) = planner.plan(goal, observed)
    for planned in found.moves:
        observed = expected(goal.units[0], observed, planned.move)
    states = {P: S}
    processes = {
        name: replace(seen, state=states.get(seen.state, seen.state) if seen.state else None, builds=None)
        for name, seen in observed.processes.items()
    }
    return processes, observed.sets


def test_an_endless_plan_is_an_error_and_not_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "expected", lambda unit, observed, move: observed)
    with pytest.raises(planner.EndlessPlanError):
        plan_of(replica_set(**RESTARTED), fleet(replica_set()))


@each("reason", list(PlanReason), ids=lambda reason: reason.name)
def test_each_reason_is_a_clause(reason: PlanReason) -> None:
    assert reason.sentence[0].islower() or reason.sentence.startswith("{")
    assert not reason.sentence.endswith(".")
