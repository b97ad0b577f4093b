"""The agents of three machines carry out a replica set: real servers under a load."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.eventually import eventually
from tests.plugin import SUMMARY
from tests.processes.automated_set import AutomatedSet

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

NAMES = ("rs_0", "rs_1", "rs_2")
OF_A_NEW_MEMBER = ("SET_DEFAULT_CONCERN", "ADD_MEMBER", "CHANGE_MEMBER")
FOLLOWING = """
SELECT array_agg(restart.process)
FROM automation_planturn down
JOIN automation_planturn restart
  ON restart.process = down.process AND restart.granted = down.ended AND restart.fence = down.fence + 1
WHERE down.move = 'STEP_DOWN' AND restart.move = 'RESTART' AND down.group_id = restart.group_id
  AND down.group_id = '{group}'
"""
"""The processes of a project whose restart had the turn directly after their step-down."""


def test_members_on_three_machines_restart_compact_copy_their_data_and_change_without_a_failed_write(
    three_machines: AutomatedSet, record_property: Any
) -> None:
    replica_set = three_machines
    replica_set.reaches(replica_set.publish(*map(replica_set.process, NAMES)), *NAMES)
    assert all(map(replica_set.is_serving, NAMES))
    states = ["PRIMARY", "SECONDARY", "SECONDARY"]
    eventually(lambda: sorted(replica_set.member_states().values()) == states, message="all are healthy")
    with replica_set.load() as writes:
        larger = [replica_set.process(name, cache=0.5) for name in NAMES]
        replica_set.reaches(replica_set.publish(*larger), *NAMES)
        moves = replica_set.moves(*NAMES)
        restarts = [name for name, move, _ in moves if move == "RESTART"]
        assert sorted(restarts) == list(NAMES)
        assert (restarts[-1], "STEP_DOWN", "DONE") in moves
        scenario = replica_set.machines[0].scenario
        assert restarts[-1] in scenario.site.ask(FOLLOWING.format(group=scenario.group))
        writes.end_of("restart")
        # All members are compacted, and then copy their data again.
        compacted = [{**sent, "lastCompact": datetime.now(UTC).isoformat()} for sent in larger]
        replica_set.reaches(replica_set.publish(*compacted), *NAMES, killed_at=["COMPACT"])
        moves = replica_set.moves(*NAMES)
        assert {name for name, move, state in moves if (move, state) == ("COMPACT", "DONE")} == {*NAMES}
        writes.end_of("compaction")
        resync = datetime.now(UTC).isoformat()
        larger = [{**sent, "lastResync": resync} for sent in larger]
        goal = replica_set.publish(*larger)
        replica_set.reaches(goal, *NAMES, killed_at=["RESYNC", "REMOVE_OLD_DATA"])
        moves = replica_set.moves(*NAMES)
        resyncs = [name for name, move, state in moves if (move, state) == ("RESYNC", "DONE")]
        assert (resyncs[-1], "STEP_DOWN", "DONE") in moves
        assert all(replica_set.data_since(name) > datetime.fromisoformat(resync) for name in NAMES)
        assert replica_set.set_aside() == []
        writes.end_of("initial sync")
        # A member less, and another one more.
        rest = [sent for sent in larger if sent["name"] != "rs_2"]
        replica_set.reaches(replica_set.publish(*rest), "rs_0", "rs_1", killed_at=["REMOVE_MEMBER"])
        assert set(replica_set.member_states()) == {"rs_0", "rs_1"}
        writes.end_of("member removed")
        # And an arbiter, with which the replica set would have another default write concern.
        rest[0]["defaultRWConcern"] = {"defaultWriteConcern": {"w": "majority"}}
        added, arbiter = (replica_set.process(name, cache=0.5) for name in ("rs_3", "rs_4"))
        kinds, names = [{}, {}, {}, {"arbiterOnly": True}], ("rs_0", "rs_1", "rs_3")
        goal = replica_set.publish(*rest, added, arbiter, members=kinds)
        replica_set.reaches(goal, *names, "rs_4", killed_at=OF_A_NEW_MEMBER)
        states_of = replica_set.member_states
        assert replica_set.is_serving("rs_3")
        eventually(lambda: states_of()["rs_4"] == "ARBITER", message="the primary hears from the arbiter")
        assert replica_set.default_write_concern() == "majority"
        writes.end_of("member and arbiter added")
        replica_set.reaches(replica_set.publish(*rest, added), *names)
        assert set(states_of()) == {*names}
    record_property(SUMMARY, writes.summary)
    assert writes.failures == []
    with replica_set.client() as client:
        assert client.shop.orders.count_documents({}) == writes.count
