"""A replica set as its processes on a machine show it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from automation.agent.automation.part import read_part
from automation.agent.automation.seen_fleet import SeenProcess, SeenState, SeenUnit, seen_fleet
from automation.plan.values import MemberConfig, MemberState, ObservedFleet, ObservedProcess, ObservedSet
from tests.each import each
from tests.factories.documents import document, process

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)
NOT_INITIATED = ObservedSet(config=(), alerts=())
UNKNOWN = ObservedSet(config=None, alerts=())


def running(state: MemberState | None, of_set: ObservedSet = UNKNOWN, own_name: str = "") -> SeenProcess:
    return SeenProcess(ObservedProcess(is_running=True, state=state), of_set=of_set, own_name=own_name)


SETTINGS = {"net": {"port": 1}, "replication": {"replSetName": "rs"}, "storage": {"dbPath": "/data"}}
OWN = process(name="db_1", hostname="127.0.0.1", args2_6=SETTINGS)


def fleet(**seen: SeenProcess) -> ObservedFleet:
    sent = [process(name=name, hostname="127.0.0.1", args2_6=SETTINGS) for name in seen]
    part = read_part(document(processes=sent), "127.0.0.1", [Path("/")])
    return seen_fleet(SeenUnit(seen), part.goal.units[0], NOON)


def with_others(own: SeenProcess, since: datetime | None = None, **others: SeenProcess) -> ObservedFleet:
    """The replica set of the process `db_1` of this machine, and of the processes of other machines."""
    members = [
        {"name": name, "hostname": f"{name}.example.com", "port": 1, "replicaSetName": "rs"}
        for name in ("db_2", "db_3")
    ]
    part = read_part({**document(processes=[OWN]), "members": members}, "127.0.0.1", [Path("/")])
    return seen_fleet(SeenUnit({"db_1": own}, others), part.goal.units[0], NOON, since=since)


def config(found: ObservedFleet) -> tuple[MemberConfig, ...] | None:
    return found.sets["rs"].config


@each(
    ("other", "expected"),
    [
        (running(MemberState.UNINITIATED, NOT_INITIATED), ()),
        (SeenProcess(ObservedProcess(is_running=False)), ()),
        (running(MemberState.SECONDARY), None),
        (running(None), None),
        (SeenProcess(ObservedProcess()), None),
    ],
)
def test_a_replica_set_is_new_only_if_each_process_that_runs_says_so(
    other: SeenProcess, expected: tuple[MemberConfig, ...] | None
) -> None:
    new = running(MemberState.UNINITIATED, NOT_INITIATED)
    assert config(fleet(db_1=new, db_2=other)) == expected


def test_the_primary_knows_the_replica_set_best() -> None:
    now = ObservedSet(config=(MemberConfig("db_1"), MemberConfig("db_2", 1)), alerts=())
    before = ObservedSet(config=(MemberConfig("db_1"),), alerts=())
    found = fleet(db_1=running(MemberState.SECONDARY, before), db_2=running(MemberState.PRIMARY, now))
    assert config(found) == now.config


def test_a_member_with_another_name_of_the_machine_is_its_process() -> None:
    of_set = ObservedSet(config=(MemberConfig("db:1"), MemberConfig("db:2", 1)), alerts=())
    primary = SeenProcess(
        ObservedProcess(is_running=True, state=MemberState.PRIMARY),
        of_set=of_set,
        lags={"db:2": timedelta(seconds=7)},
        own_name="db:1",
    )
    found = fleet(db_1=primary, db_2=running(MemberState.SECONDARY, own_name="db:2"))
    assert [member.process for member in config(found) or ()] == ["db_1", "db_2"]
    assert found.processes["db_2"].lag == timedelta(seconds=7)


CONFIG = tuple(MemberConfig(f"db_{number}", number) for number in (1, 2, 3))
OF_SET = ObservedSet(config=CONFIG)


def secondary(**states: SeenState) -> SeenProcess:
    """The process of this machine, a secondary that knows the other members."""
    return replace(running(MemberState.SECONDARY, OF_SET), states=states)


def test_a_member_of_this_machine_knows_other_members_better_than_their_agents() -> None:
    own = secondary(db_2=SeenState(True, MemberState.PRIMARY), db_3=SeenState(False))
    found = with_others(own, db_2=running(MemberState.SECONDARY), db_3=running(MemberState.SECONDARY))
    assert found.processes["db_2"].state is MemberState.PRIMARY
    assert found.processes["db_3"].is_running is False
    assert found.processes["db_3"].state is None


def test_a_process_that_nobody_reports_is_unknown_and_so_is_a_new_replica_set() -> None:
    found = with_others(running(MemberState.UNINITIATED, NOT_INITIATED))
    assert found.processes["db_2"].is_running is None
    assert config(found) is None


def test_a_process_that_is_no_member_knows_the_replica_set_from_the_primary() -> None:
    primary = running(MemberState.PRIMARY, replace(OF_SET, oplog=timedelta(hours=2), oplog_lost=True))
    own = running(MemberState.UNINITIATED, NOT_INITIATED)
    found = with_others(own, db_2=running(MemberState.SECONDARY, OF_SET), db_3=primary)
    assert config(found) == CONFIG
    assert found.sets["rs"].oplog == timedelta(hours=2)


def test_a_state_that_was_heard_before_the_turn_was_given_is_unknown() -> None:
    own = secondary(
        db_2=SeenState(True, MemberState.PRIMARY, NOON),
        db_3=SeenState(True, MemberState.SECONDARY, NOON - timedelta(seconds=1)),
    )
    found = with_others(own, since=NOON)
    assert found.processes["db_2"].state is MemberState.PRIMARY
    assert found.processes["db_3"].is_running is None


def test_a_member_without_a_heartbeat_is_unknown_whatever_its_agent_reports() -> None:
    found = with_others(
        secondary(db_2=SeenState(True, MemberState.PRIMARY)), db_3=running(MemberState.SECONDARY)
    )
    assert found.processes["db_3"].is_running is None


def test_a_process_that_left_the_replica_set_does_not_know_the_members() -> None:
    left = running(MemberState.REMOVED, OF_SET)
    sent = [process(name=name, hostname="127.0.0.1", args2_6=SETTINGS) for name in ("db_0", "db_1")]
    members = [{"name": "db_2", "hostname": "db_2.example.com", "port": 1, "replicaSetName": "rs"}]
    part = read_part({**document(processes=sent), "members": members}, "127.0.0.1", [Path("/")])
    own = {"db_0": left, "db_1": secondary(db_2=SeenState(False))}
    found = seen_fleet(SeenUnit(own, {"db_2": running(MemberState.ARBITER)}), part.goal.units[0], NOON)
    assert found.processes["db_2"].is_running is False


def test_the_agent_of_a_member_reports_its_name_in_the_configuration() -> None:
    of_set = ObservedSet(config=(MemberConfig("db_1"), MemberConfig("db-2.internal:1", 1)))
    states = {"db-2.internal:1": SeenState(True, MemberState.SECONDARY)}
    own = replace(running(MemberState.PRIMARY, of_set), states=states)
    found = with_others(own, db_2=running(None, own_name="db-2.internal:1"))
    assert [member.process for member in config(found) or ()] == ["db_1", "db_2"]
    assert found.processes["db_2"].state is MemberState.SECONDARY


def test_the_oplog_is_of_the_primary_that_heartbeats_name() -> None:
    former = running(MemberState.PRIMARY, replace(OF_SET, oplog=timedelta(hours=9)))
    primary = running(MemberState.PRIMARY, replace(OF_SET, oplog=timedelta(hours=2)))
    own = secondary(db_2=SeenState(False), db_3=SeenState(True, MemberState.PRIMARY))
    assert with_others(own, db_2=former, db_3=primary).sets["rs"].oplog == timedelta(hours=2)


def test_members_have_heard_from_all_that_run_since_a_time() -> None:
    now = SeenState(True, MemberState.PRIMARY, NOON)
    before = replace(now, heard=NOON - timedelta(seconds=1))
    down = SeenState(False, None, NOON - timedelta(hours=1))
    assert SeenUnit({"db_1": secondary(db_2=now, db_3=down)}).is_heard(NOON)
    assert not SeenUnit({"db_1": secondary(db_2=now, db_3=before)}).is_heard(NOON)
