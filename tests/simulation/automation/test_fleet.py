"""The simulated servers refuse what MongoDB refuses, and record what destroys data."""

from random import Random

from automation.plan.values import MemberConfig, MemberState
from tests.simulation.automation.fleet import SET_SETTING, FleetPromise, SimulatedServer, SimulatedSet


def running_set(count: int) -> SimulatedSet:
    """A replica set of members that run, the first as the primary."""
    world = SimulatedSet(Random(0))
    world.config = tuple(MemberConfig(f"p{number}", number) for number in range(count))
    world.feature = 5
    for member in world.config:
        world.servers[member.process] = SimulatedServer(
            member.process,
            version="5.0.31",
            is_running=True,
            state=MemberState.SECONDARY,
            has_data=True,
            is_copy=True,
            feature=5,
            settings={SET_SETTING: '"rs"'},
            builds={"5.0.31", "7.0.14"},
        )
    world.tick()
    return world


def promises(world: SimulatedSet) -> set[FleetPromise]:
    return {promise for promise, _ in world.broken}


def test_the_first_of_equal_members_becomes_the_primary_and_another_follows_it() -> None:
    world = running_set(3)
    primary = world.primary()
    assert primary is not None
    assert primary.name == "p0"
    world.stop("p0")
    world.tick()
    follower = world.primary()
    assert follower is not None
    assert follower.name == "p1"


def test_a_minority_has_no_primary() -> None:
    world = running_set(3)
    world.stop("p1")
    world.stop("p2")
    world.tick()
    assert world.primary() is None


def test_a_second_disturbance_and_a_disturbed_primary_are_recorded() -> None:
    world = running_set(5)
    world.check_disturbance("p1")
    assert promises(world) == set()
    world.stop("p1")
    world.check_disturbance("p2")
    assert promises(world) == {FleetPromise.ONE_AT_A_TIME}
    world.check_disturbance("p0")
    assert FleetPromise.PRIMARY_LAST in promises(world)


def test_a_version_that_does_not_support_the_data_is_recorded() -> None:
    world = running_set(3)
    world.stop("p1")
    world.start("p1", "7.0.14", {SET_SETTING: '"rs"'}, None)
    assert promises(world) == {FleetPromise.VERSION}


def test_another_data_directory_is_recorded() -> None:
    world = running_set(3)
    world.servers["p1"].settings = {SET_SETTING: '"rs"', "storage.dbPath": '"/data"'}
    world.stop("p1")
    world.start("p1", "5.0.31", {SET_SETTING: '"rs"', "storage.dbPath": '"/other"'}, None)
    assert promises(world) == {FleetPromise.DATA}


def test_two_votes_that_change_at_once_are_recorded() -> None:
    world = running_set(5)
    world.reconfigure("p0", world.config[:3])
    assert promises(world) == {FleetPromise.SERVER}


def test_a_second_initiation_is_recorded() -> None:
    world = running_set(3)
    world.initiate("p0", world.config)
    assert FleetPromise.DATA in promises(world)
