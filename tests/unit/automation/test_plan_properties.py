"""Any document that can be published has a plan, whatever agents report: no error, and an end."""

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from automation.desired_state.document.changes import ProcessAction, effects
from automation.desired_state.document.text import read
from automation.plan.concerns import CONCERN
from automation.plan.reading import read_goal
from automation.plan.reasons import PlanReason
from automation.plan.reported import FleetReports, ReportedProcess, drawn_plan
from automation.plan.values import MemberState
from automation.plan.wording import detail
from tests.factories.documents import document, process, version
from tests.hostile.budget import tries

NOW = datetime(2099, 11, 21, 12, tzinfo=UTC)
VERSIONS = ("3.4.24", "4.2.24", "4.4.29", "5.0.31", "6.0.20", "mine")
SERIES = ("3.4", "4.2", "4.4", "5.0", "6.0", "?")
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text("ab7é", max_size=3),
    st.lists(st.integers(), max_size=2),
)
members = st.fixed_dictionaries(
    {"_id": st.integers(-1, 4), "host": st.sampled_from(["p0", "p1", "p2", "p3", "nobody"])},
    optional={
        "priority": st.one_of(st.integers(0, 3), anything),
        "votes": st.one_of(st.integers(0, 1), anything),
        "hidden": st.one_of(st.booleans(), anything),
        "secondaryDelaySecs": st.one_of(st.integers(0, 9), anything),
        "arbiterOnly": st.one_of(st.booleans(), anything),
    },
)
sections = st.one_of(
    st.just([{"_id": "rs", "members": [{"_id": n, "host": f"p{n}"} for n in range(3)]}]),
    st.lists(
        st.one_of(
            anything,
            st.fixed_dictionaries({"_id": st.just("rs"), "members": st.lists(members, max_size=4)}),
        ),
        max_size=2,
    ),
    anything,
)
settings = st.fixed_dictionaries(
    {},
    optional={
        "net": st.one_of(st.just({"port": 27018}), st.none()),
        "replication": st.one_of(st.just({"replSetName": "rs"}), st.just({"replSetName": 7})),
        "sharding": st.just({"clusterRole": "shardsvr"}),
        "storage": st.fixed_dictionaries({"dbPath": st.sampled_from(["/a", "/b"])}),
        "setParameter": st.dictionaries(st.sampled_from(["a", "b"]), anything, max_size=2),
    },
)
concerns = st.fixed_dictionaries(
    {},
    optional={
        "defaultReadConcern": st.fixed_dictionaries({"level": anything}),
        "defaultWriteConcern": st.fixed_dictionaries(
            {"w": st.one_of(st.sampled_from(["majority", 1, "2"]), anything), "wtimeout": anything}
        ),
    },
)
times = st.sampled_from([None, "2099-10-01T11:00:00Z", "2099-11-21T11:00:00Z", "2099-11-21T13:00:00Z"])
processes = st.lists(
    st.builds(
        process,
        version=st.sampled_from([None, *VERSIONS]),
        featureCompatibilityVersion=st.sampled_from(SERIES),
        args2_6=settings,
        disabled=st.sampled_from([None, True, False]),
        manualMode=st.sampled_from([None, True, False]),
        lastRestart=times,
        lastResync=times,
        lastCompact=times,
        processType=st.sampled_from([None, "mongos", "mongod"]),
        cluster=st.sampled_from([None, "east"]),
        defaultRWConcern=st.one_of(st.none(), concerns),
    ),
    max_size=4,
)
reported = st.builds(
    ReportedProcess,
    is_down=st.booleans(),
    state=st.one_of(st.none(), st.sampled_from(MemberState)),
    version=st.sampled_from([None, *VERSIONS]),
    observed=st.just(NOW),
)
reports = st.builds(
    FleetReports,
    hosts=st.dictionaries(st.sampled_from(["p0", "p1", "p2", "p3"]), reported, max_size=4),
    others=st.just({}) | st.fixed_dictionaries({"rs": st.dictionaries(st.just("x:1"), reported)}),
    reached=st.dictionaries(st.sampled_from(["p0", "p1"]), st.integers(0, 2)),
)


def named(found: list[dict[str, Any]], section: Any) -> dict[str, Any]:
    listed = [{**part, "name": f"p{number}"} for number, part in enumerate(found)]
    versions = [version(name=name) for name in VERSIONS]
    sent = document(databaseVersions=versions, processes=listed, replicaSets=section)
    return read(json.dumps(sent))


@tries(40)
@given(processes, sections, processes, sections, reports)
def test_every_document_has_a_plan_with_words(
    old: list[dict[str, Any]],
    old_section: Any,
    new: list[dict[str, Any]],
    new_section: Any,
    seen: FleetReports,
) -> None:
    before, after = read_goal(named(old, old_section)), read_goal(named(new, new_section))
    drawn = drawn_plan(before, after, seen, NOW)
    holds = [*drawn.holds, *(hold for unit in drawn.units for hold in unit.holds)]
    assert all(hold.sentence for hold in holds)
    assert all(detail(planned.move) for unit in drawn.units for planned in unit.moves)


REFUSING = {
    ProcessAction.RESYNC: PlanReason.RESYNC_REFUSED,
    ProcessAction.COMPACT: PlanReason.COMPACT_REFUSED,
}


@tries(40)
@given(processes, sections, processes, sections, reports)
def test_no_effect_is_what_the_plan_refuses(
    old: list[dict[str, Any]],
    old_section: Any,
    new: list[dict[str, Any]],
    new_section: Any,
    seen: FleetReports,
) -> None:
    before, after = named(old, old_section), named(new, new_section)
    drawn = drawn_plan(read_goal(before), read_goal(after), seen, NOW)
    refused = {(hold.process, hold.reason) for hold in drawn.holds}
    refused |= {(hold.process, hold.reason) for unit in drawn.units for hold in unit.holds}
    for effect in effects(before, after, NOW, drawn.left_alone):
        assert (effect.process, REFUSING.get(effect.action)) not in refused
        if (effect.process, PlanReason.CONCERN_REFUSED) in refused:
            assert effect.action is not ProcessAction.RECONFIGURE or CONCERN not in effect.detail
