"""The effects of a dry run: they say nothing else than its plan."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from automation.desired_state.document.changes import RESYNC_WARNING, Effect, effects
from automation.plan import reported
from automation.plan.reading import read_goal
from automation.plan.reasons import ReasonKind
from automation.plan.reported import DrawnPlan, FleetReports, ReportedProcess, drawn_plan
from automation.plan.values import MemberState, MoveKind
from tests.each import each
from tests.factories.documents import document, process, version

NOW = datetime(2099, 11, 21, 12, tzinfo=UTC)
PAST, LATER, LONG_AGO = "2099-11-21T11:00:00Z", "2099-11-21T13:00:00Z", "2099-10-21T11:00:00Z"
TOO_OLD = "the process keeps its data, although lastResync is set: it is more than 30 days old"
SETTINGS = {"net": {"port": 27017}, "storage": {"dbPath": "/data"}, "replication": {"replSetName": "rs"}}
MEMBERS = (MemberState.PRIMARY, MemberState.SECONDARY, MemberState.SECONDARY)
CONCERN = {"defaultWriteConcern": {"w": 1}}
NOTHING_PUBLISHED = document(processes=[])


def single(**fields: Any) -> dict[str, Any]:
    return document(processes=[process(name="p0", **fields)])


def replica_set(*, arbiter: int | None = None, **fields: Any) -> dict[str, Any]:
    """A document of three members; `fields` are of all processes."""
    fields = {"args2_6": SETTINGS, **fields}
    members = [{"_id": n, "host": f"p{n}", "arbiterOnly": n == arbiter} for n in range(3)]
    return document(
        databaseVersions=[version(), version(name="8.0.1")],
        processes=[process(name=f"p{n}", hostname=f"db{n}.example.com", **fields) for n in range(3)],
        replicaSets=[{"_id": "rs", "members": members}],
    )


def dry_run(
    old: dict[str, Any], new: dict[str, Any], states: Sequence[MemberState] = ()
) -> tuple[DrawnPlan, list[Effect]]:
    """The plan and the effects. `states`: of the processes that agents have reported."""
    hosts = {
        f"p{n}": ReportedProcess(is_down=False, state=state, version="7.0.2", observed=NOW)
        for n, state in enumerate(states)
    }
    drawn = drawn_plan(read_goal(old), read_goal(new), FleetReports(hosts, {}, {}), NOW)
    return drawn, effects(old, new, NOW, drawn.left_alone)


def refusals(drawn: DrawnPlan, name: str) -> set[str]:
    """What the plan refuses of a process."""
    holds = (*drawn.holds, *(hold for unit in drawn.units for hold in unit.holds))
    refused = (hold for hold in holds if hold.reason.kind is ReasonKind.REFUSED)
    return {hold.sentence for hold in refused if hold.process in {name, ""}}


def said(found: list[Effect], name: str) -> list[tuple[str, str | None]]:
    return [(effect.action.value, effect.warning) for effect in found if effect.process == name]


@each(
    ("fields", "reason"),
    [
        ({"lastResync": PAST}, "it is a single server"),
        ({"lastResync": LATER}, "it is a single server"),
        ({"defaultRWConcern": CONCERN}, "only replica sets have it"),
        ({"backupRestoreUrl": "https://example.com/1"}, "restores are not carried out"),
        ({"lastKmipMasterKeyRotation": PAST}, "no key is rotated"),
        ({"numCores": 4}, "agents bind no server to processor cores"),
    ],
)
def test_a_single_server_has_no_effect_that_its_plan_refuses(fields: dict[str, Any], reason: str) -> None:
    drawn, found = dry_run(single(), single(**fields), [MemberState.STANDALONE])
    ((action, warning),) = said(found, "p0")
    assert (action, {warning}) == ("NOTHING", refusals(drawn, "p0"))
    assert reason in str(warning)
    (new, _) = dry_run(NOTHING_PUBLISHED, single(**fields))[1]
    assert new.action.value == "START"


def test_other_fields_are_named_without_a_field_that_the_plan_refuses() -> None:
    changed = {"alias": "a", "defaultRWConcern": {"defaultReadConcern": {"level": "local"}}}
    old = single(defaultRWConcern={"defaultReadConcern": {"level": "majority"}})
    _, found = dry_run(old, single(**changed), [MemberState.STANDALONE])
    assert [(effect.action.value, effect.detail) for effect in found] == [
        ("RECONFIGURE", "changes alias"),
        ("NOTHING", "does not carry out defaultRWConcern"),
    ]


def test_an_arbiter_keeps_its_data_and_the_other_members_copy_them() -> None:
    old, new = replica_set(arbiter=2), replica_set(arbiter=2, lastResync=PAST)
    drawn, found = dry_run(old, new, (*MEMBERS[:2], MemberState.ARBITER))
    assert said(found, "p1") == [("RESYNC", RESYNC_WARNING)]
    (arbiter,) = said(found, "p2")
    assert arbiter == ("NOTHING", "the process keeps its data, although lastResync is set: it is an arbiter")
    assert arbiter[1] in refusals(drawn, "p2")


@each(
    ("new", "what"),
    [
        (replica_set(arbiter=2, lastCompact=PAST), "it is an arbiter"),
        (
            replica_set(
                args2_6={**SETTINGS, "storage": {"dbPath": "/data", "engine": "inMemory"}}, lastCompact=PAST
            ),
            'its storage engine is "inMemory"',
        ),
    ],
)
def test_an_arbiter_and_another_storage_engine_are_not_compacted(new: dict[str, Any], what: str) -> None:
    processes = [{**part, "lastCompact": None} for part in new["processes"]]
    drawn, found = dry_run({**new, "processes": processes}, new, MEMBERS)
    warning = f"the process is not compacted, although lastCompact is set: {what}"
    assert said(found, "p2") == [("NOTHING", warning)]
    assert warning in refusals(drawn, "p2")


def test_the_only_voting_member_is_not_compacted_as_its_plan_says() -> None:
    def alone(**fields: Any) -> dict[str, Any]:
        sent = replica_set(**fields)
        members = [{"_id": 0, "host": "p0"}]
        return {
            **sent,
            "processes": sent["processes"][:1],
            "replicaSets": [{"_id": "rs", "members": members}],
        }

    drawn, found = dry_run(alone(), alone(lastCompact=PAST), MEMBERS[:1])
    ((action, warning),) = said(found, "p0")
    assert (action, "it is the only voting member" in str(warning)) == ("NOTHING", True)
    assert warning in refusals(drawn, "p0")


@each("states", [(), MEMBERS])
def test_a_resync_of_more_than_30_days_ago_has_no_effect(states: Sequence[MemberState]) -> None:
    _, found = dry_run(replica_set(), replica_set(lastResync=LONG_AGO), states)
    assert said(found, "p0") == [("NOTHING", f"{TOO_OLD}: publish the present time")]


@each("states", [(), MEMBERS])
def test_members_that_are_known_copy_their_data(states: Sequence[MemberState]) -> None:
    _, found = dry_run(replica_set(), replica_set(lastResync=PAST, lastCompact=PAST), states)
    assert said(found, "p1") == [("RESYNC", RESYNC_WARNING), ("COMPACT", None)]


def test_a_new_process_has_no_data_that_is_older_unless_it_is_reported() -> None:
    new = replica_set(lastResync=PAST, lastCompact=PAST)
    drawn, found = dry_run(NOTHING_PUBLISHED, new)
    assumed = "the plan assumes that the new process has no data; older data would be"
    assert said(found, "p1") == [
        ("START", None),
        ("NOTHING", f"lastResync: {assumed} copied again"),
        ("NOTHING", f"lastCompact: {assumed} compacted"),
    ]
    kinds = {planned.move.kind for planned in drawn.units[0].moves}
    assert not kinds & {MoveKind.RESYNC, MoveKind.COMPACT}
    _, known = dry_run(NOTHING_PUBLISHED, new, MEMBERS)
    assert said(known, "p1")[1:] == [("RESYNC", RESYNC_WARNING), ("COMPACT", None)]


@each("field", ["lastResync", "lastCompact", "lastRestart"])
def test_a_new_process_has_what_is_asked_of_it_at_a_later_time(field: str) -> None:
    times: dict[str, Any] = {field: LATER}
    drawn, found = dry_run(NOTHING_PUBLISHED, replica_set(**times))
    kind = field.removeprefix("last").upper()
    assert [action for action, _ in said(found, "p1")] == ["START", kind]
    later = [planned.at for planned in drawn.units[0].moves if planned.move.kind.value == kind]
    assert later == [datetime(2099, 11, 21, 13, tzinfo=UTC)] * 3
    assert drawn.units[0].holds == ()


def test_a_disabled_process_keeps_its_data_until_it_is_enabled_again() -> None:
    new = replica_set(disabled=True, lastResync=PAST, lastCompact=PAST)
    _, found = dry_run(replica_set(), new, MEMBERS)
    assert said(found, "p1") == [
        ("SHUTDOWN", None),
        ("NOTHING", "lastResync: older data is copied again when the process is enabled again"),
        ("NOTHING", "lastCompact: older data is compacted when the process is enabled again"),
    ]


def test_a_default_concern_that_the_replica_set_cannot_have_has_no_effect() -> None:
    concern = {"defaultWriteConcern": {"w": 9}}
    drawn, found = dry_run(replica_set(), replica_set(defaultRWConcern=concern), MEMBERS)
    ((action, warning),) = said(found, "p1")
    assert (action, {warning}) == ("NOTHING", refusals(drawn, "p1"))
    assert "its w is 9" in str(warning)


def test_a_default_concern_that_is_left_out_stays() -> None:
    drawn, found = dry_run(replica_set(defaultRWConcern=CONCERN), replica_set(), MEMBERS)
    assert [(effect.action.value, "changes nothing" in str(effect.warning)) for effect in found] == [
        ("NOTHING", True)
    ] * 3
    assert drawn.units[0].moves == ()


@each(
    ("fields", "reason"),
    [
        ({"args2_6": {**SETTINGS, "storage": {"dbPath": "/other"}}}, "storage.dbPath cannot change"),
        ({"version": "9.0.1", "featureCompatibilityVersion": "9.0"}, "does not know the series"),
    ],
)
def test_a_process_whose_moves_are_refused_stays_as_it_is(fields: dict[str, Any], reason: str) -> None:
    new = replica_set(**{**fields, "lastRestart": PAST})
    drawn, found = dry_run(replica_set(), new, MEMBERS)
    ((action, warning),) = said(found, "p1")
    assert (action, {warning}) == ("NOTHING", refusals(drawn, "p1"))
    assert reason in str(warning)


def test_a_process_whose_moves_wait_has_its_effects() -> None:
    states = (MemberState.PRIMARY, MemberState.SECONDARY, MemberState.SYNCING)
    drawn, found = dry_run(replica_set(), replica_set(lastRestart=PAST), states)
    assert {hold.reason.kind for hold in drawn.units[0].holds} == {ReasonKind.WAITS}
    assert said(found, "p1") == [("RESTART", None)]
    old, new = ({**sent, "replicaSets": None} for sent in (replica_set(), replica_set(lastRestart=PAST)))
    drawn, found = dry_run(old, new, [MemberState.UNINITIATED] * 3)
    reasons = {hold.reason.kind for hold in drawn.units[0].holds if hold.process == "p1"}
    assert reasons == {ReasonKind.WAITS, ReasonKind.REFUSED}
    assert said(found, "p1") == [("RESTART", None)]


def test_a_plan_that_is_not_drawn_refuses_the_fields_that_no_plan_carries_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reported, "MOST_PROCESS_STEPS", -1)
    concern = {"defaultWriteConcern": {"w": 9}}
    fields: dict[str, Any] = {"defaultRWConcern": concern, "numCores": 4, "lastResync": LONG_AGO}
    drawn, found = dry_run(replica_set(), replica_set(**fields), MEMBERS)
    assert drawn.units == ()
    assert {action for action, _ in said(found, "p1")} == {"NOTHING"}
    assert len(said(found, "p1")) == len(fields)


def test_what_agents_leave_alone_as_a_whole_says_so_of_each_field() -> None:
    _, found = dry_run(single(), single(manualMode=True, lastResync=PAST), [MemberState.STANDALONE])
    assert said(found, "p0") == [("NOTHING", "manualMode: agents leave the process alone")]
