"""A replica set as its processes on a machine show it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from automation.agent.automation.observe import SeenProcess, seen_fleet
from automation.agent.automation.part import read_part
from automation.plan.values import MemberConfig, MemberState, ObservedFleet, ObservedProcess, ObservedSet
from tests.each import each
from tests.factories.documents import document, process

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)
NOT_INITIATED = ObservedSet(config=(), alerts=())
UNKNOWN = ObservedSet(config=None, alerts=())


def running(state: MemberState | None, of_set: ObservedSet = UNKNOWN, own_name: str = "") -> SeenProcess:
    return SeenProcess(ObservedProcess(is_running=True, state=state), of_set=of_set, own_name=own_name)


def fleet(**seen: SeenProcess) -> ObservedFleet:
    settings = {"net": {"port": 1}, "replication": {"replSetName": "rs"}, "storage": {"dbPath": "/data"}}
    sent = [process(name=name, hostname="127.0.0.1", args2_6=settings) for name in seen]
    part = read_part(document(processes=sent), "127.0.0.1", [Path("/")])
    return seen_fleet(seen, part.goal.units[0], part, NOON)


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
