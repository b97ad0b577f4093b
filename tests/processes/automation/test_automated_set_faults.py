"""The agents of three machines change a replica set under a load, and meanwhile there are faults."""

import os
import random
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from opsapi.clock import wire_time
from tests.eventually import eventually
from tests.hostile.budget import COUNTED, LONG
from tests.plugin import SUMMARY
from tests.processes.automated import AutomatedMachine
from tests.processes.automated_set import MACHINES, AutomatedSet, automated_set
from tests.processes.cable import Cable
from tests.processes.clock import SteppedClock
from tests.processes.disk import small_disk
from tests.processes.mongod import VERSION
from tests.processes.scenario import RunningSite, Scenario
from tests.receivers import HttpReceiver

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

NAMES = ("rs_0", "rs_1", "rs_2")
SMALL, LARGE = 0.25, 0.5
"""Sizes of the cache in GB. Another size needs a restart."""
KILLS = 200
ROUNDS_AWAY, ROUNDS_STOPPED = 300, 5
"""The rounds of agents without the platform, ten minutes, and after their plan has stopped."""
LEAST_MEGABYTES = 300
HOUR = 3600
PARAMETER, CHANGED = "ttlMonitorSleepSecs", 30
"""A parameter that changes at run time."""
NO_ADDRESS = "192.0.2.1"
"""No machine has this address, so a server cannot listen there. It does not check this before its start."""
DISK_MEGABYTES = 512
"""The size of the disk with the data of `rs_1`."""

only_in_faults = pytest.mark.skipif(not LONG, reason="it takes long: `make faults` runs it")


@pytest.fixture(scope="module")
def replica_set(site: RunningSite) -> Iterator[AutomatedSet]:
    """Three members on three machines, with small caches."""
    with HttpReceiver().running() as receiver:
        scenario = Scenario(site, receiver)
        with automated_set(scenario, *MACHINES, versions=[VERSION]) as made:
            made.reaches(publish(made, SMALL), *NAMES)
            yield made


@pytest.fixture
def cables(site: RunningSite, replica_set: AutomatedSet) -> Iterator[Mapping[str, Cable]]:
    """The cable between the agent of each member and the platform."""
    with ExitStack() as stack:
        laid = {}
        for name in NAMES:
            laid[name] = stack.enter_context(Cable(site.platform.port).laid())
            url = {"OPSAPI_AGENT_URL": f"http://127.0.0.1:{laid[name].port}"}
            stack.enter_context(agent_with(replica_set.machine(name), url))
        yield laid


def publish(replica_set: AutomatedSet, cache: float) -> int:
    """Publish the members with caches of this size; the version of the document."""
    return replica_set.publish(*(replica_set.process(name, cache=cache) for name in NAMES))


def cache(replica_set: AutomatedSet) -> float:
    """The size of the caches of all members."""
    (size,) = {replica_set.cache_megabytes(name) / 1024 for name in NAMES}
    return size


def other(size: float) -> float:
    """The other size of caches."""
    return SMALL if size == LARGE else LARGE


def primary_of(replica_set: AutomatedSet) -> str:
    """The primary of a healthy set."""
    (name,) = (name for name, state in healthy(replica_set).items() if state == "PRIMARY")
    return name


def healthy(replica_set: AutomatedSet) -> dict[str, str]:
    """The states of all members, once they are a primary and secondaries."""
    wanted = ["PRIMARY", "SECONDARY", "SECONDARY"]

    def states() -> dict[str, str]:
        found = replica_set.member_states()
        return found if sorted(found.values()) == wanted else {}

    return eventually(states, message="all members are healthy")


@contextmanager
def no_failed_write(replica_set: AutomatedSet, record_property: Any) -> Iterator[None]:
    """Write to a majority meanwhile. At the end, no write has failed."""
    with replica_set.load() as writes:
        yield
    record_property(SUMMARY, writes.summary)
    assert writes.failures == []


def begun(replica_set: AutomatedSet) -> list[str]:
    """The members whose restarts have begun, in the order of time, by the logs of the agents."""
    lines = [line for machine in replica_set.machines for line in machine.agent.log.splitlines()]
    move = ": RESTART begins"
    return [line.partition(move)[0].rpartition(" ")[2] for line in sorted(lines) if move in line]


def begun_after(replica_set: AutomatedSet, before: Sequence[str], number: int = 1) -> str:
    """The member whose restart has begun last, when so many have begun after `before`."""
    names = eventually(
        lambda: begun(replica_set)[len(before) + number - 1 :],
        300,
        message="another restart",
        longest_pause=0.02,
    )
    return names[-1]


@contextmanager
def agent_with(machine: AutomatedMachine, environment: Mapping[str, str]) -> Iterator[None]:
    """The agent of a machine runs with other values in its environment."""
    before = machine.agent.environment
    machine.agent.environment = {**before, **environment}
    machine.kill_agent()
    try:
        yield
    finally:
        machine.agent.environment = before
        machine.kill_agent()


@contextmanager
def one_at_a_time(replica_set: AutomatedSet) -> Iterator[None]:
    """Look at all members meanwhile. No two of them are away together."""
    with replica_set.looked_at(*NAMES) as away:
        yield
    assert away.ever == {*NAMES}
    assert away.together == set()


def has_move(replica_set: AutomatedSet, name: str, state: str) -> bool:
    """Whether a move of the member is in this state, as the platform says."""
    moves = replica_set.statuses()[name].get("plan", {}).get("moves", [])
    return state in {move["state"] for move in moves}


def is_stopped(status: Mapping[str, Any]) -> bool:
    """Whether a process waits because the plan stopped."""
    return "STOPPED" in {wait["reason"] for wait in status.get("plan", {}).get("waits", [])}


def wait_rounds(replica_set: AutomatedSet, number: int) -> None:
    """Until each agent has begun more than so many rounds."""
    rounds = [len(machine.agent.rounds()) for machine in replica_set.machines]
    eventually(
        lambda: all(
            len(machine.agent.rounds()) > before + number
            for machine, before in zip(replica_set.machines, rounds, strict=True)
        ),
        1_200,
        message="more rounds",
    )


def test_a_document_that_is_taken_back_in_the_middle_ends_at_the_earlier_state_although_an_agent_is_killed(
    replica_set: AutomatedSet, record_property: Any
) -> None:
    size, before = cache(replica_set), begun(replica_set)
    with no_failed_write(replica_set, record_property):
        publish(replica_set, other(size))
        replica_set.machine(begun_after(replica_set, before, 2)).kill_agent()  # The first member has changed.
        replica_set.reaches(publish(replica_set, size), *NAMES)
    assert cache(replica_set) == size


@only_in_faults
def test_a_parameter_a_restart_and_a_stop_fail_no_operation(
    replica_set: AutomatedSet, record_property: Any
) -> None:
    size, before = cache(replica_set), begun(replica_set)
    pids = [*map(replica_set.pid, NAMES)]
    with replica_set.load() as writes:
        changed = [replica_set.process(name, cache=size) for name in NAMES]
        for sent in changed:
            sent["args2_6"]["setParameter"][PARAMETER] = CHANGED
        replica_set.reaches(replica_set.publish(*changed), *NAMES)
        writes.end_of("parameter at run time")
        assert {replica_set.parameter(name, PARAMETER) for name in NAMES} == {CHANGED}
        assert ([*map(replica_set.pid, NAMES)], begun(replica_set)) == (pids, before)
        # A restart of all members, one at a time.
        primary = primary_of(replica_set)
        restart = wire_time(datetime.now(UTC))
        restarted = [{**sent, "lastRestart": restart} for sent in changed]
        with one_at_a_time(replica_set):
            replica_set.reaches(replica_set.publish(*restarted), *NAMES)
        writes.end_of("lastRestart of all members")
        restarts = begun(replica_set)[len(before) :]
        assert sorted(restarts) == [*NAMES]
        assert restarts[-1] == primary
        ended = [(name, move) for name, move, _ in replica_set.moves(*NAMES) if move != "WRITE_FILE"]
        first = [(name, "RESTART") for name in restarts[:-1]]
        assert ended == [*first, (primary, "STEP_DOWN"), (primary, "RESTART")]
        # The primary is away for a while.
        primary = primary_of(replica_set)
        others = {name: replica_set.pid(name) for name in NAMES if name != primary}
        without = [{**sent, "disabled": True} if sent["name"] == primary else sent for sent in restarted]
        replica_set.reaches(replica_set.publish(*without), *NAMES)
        assert not replica_set.is_running(primary)
        writes.end_of("the primary disabled")
        replica_set.reaches(replica_set.publish(*restarted), *NAMES)
        assert healthy(replica_set)[primary] == "SECONDARY"
        writes.end_of("its return")
        assert {name: replica_set.pid(name) for name in others} == others
    record_property(SUMMARY, writes.summary)
    assert writes.failures == []


@only_in_faults
def test_a_member_that_does_not_start_again_stops_the_plan_and_returns_with_the_earlier_revision(
    replica_set: AutomatedSet, record_property: Any
) -> None:
    size = cache(replica_set)
    replica_set.reaches(publish(replica_set, size), *NAMES)
    primary, before = primary_of(replica_set), begun(replica_set)
    wrong = [replica_set.process(name, cache=size) for name in NAMES]
    for sent in wrong:
        sent["args2_6"]["net"]["bindIp"] += f",{NO_ADDRESS}"
    with no_failed_write(replica_set, record_property):
        replica_set.publish(*wrong)
        failed = begun_after(replica_set, before)
        assert failed != primary
        others = {name: replica_set.pid(name) for name in NAMES if name != failed}
        eventually(lambda: has_move(replica_set, failed, "FAILED"), 300, message="the plan stops")
        eventually(
            lambda: all(map(is_stopped, replica_set.statuses().values())), message="all agents know it"
        )
        wait_rounds(replica_set, ROUNDS_STOPPED)
        assert not any("is not reported" in machine.agent.log for machine in replica_set.machines)
        assert "Cannot assign requested address" in replica_set.statuses()[failed]["errorString"]
        assert not replica_set.is_running(failed)
        assert begun(replica_set) == [*before, failed]
        replica_set.reaches(publish(replica_set, size), *NAMES)
        assert healthy(replica_set)[failed] == "SECONDARY"
        assert {name: replica_set.pid(name) for name in others} == others


@only_in_faults
def test_agents_that_are_killed_at_random_come_to_the_same_end(
    replica_set: AutomatedSet, record_property: Any
) -> None:
    numbers = random.Random(39)
    with no_failed_write(replica_set, record_property):
        for number in range(KILLS):
            before = begun(replica_set)
            size = (LEAST_MEGABYTES + number) / 1024  # Another size each time, so each member has to restart.
            goal = publish(replica_set, size)
            begun_after(replica_set, before, numbers.randint(1, len(NAMES)))
            replica_set.machine(numbers.choice(NAMES)).kill_agent()
        replica_set.reaches(goal, *NAMES)
    record_property(COUNTED, KILLS)
    assert cache(replica_set) == size


@only_in_faults
def test_agents_disturb_no_member_while_the_platform_is_away(
    replica_set: AutomatedSet, site: RunningSite, record_property: Any
) -> None:
    size, before = other(cache(replica_set)), begun(replica_set)
    with no_failed_write(replica_set, record_property):
        goal = publish(replica_set, size)
        begun_after(replica_set, before)
        site.platform.stop()
        try:
            eventually(lambda: all(map(replica_set.is_serving, NAMES)), message="all members serve")
            lines = len(begun(replica_set))
            wait_rounds(replica_set, ROUNDS_AWAY)
            assert len(begun(replica_set)) == lines
        finally:
            site.platform.start()
        replica_set.reaches(goal, *NAMES)
    assert cache(replica_set) == size


@only_in_faults
def test_a_primary_that_is_killed_while_a_secondary_restarts_starts_again_and_the_plan_goes_on(
    replica_set: AutomatedSet,
) -> None:
    size, before = other(cache(replica_set)), begun(replica_set)
    states = replica_set.member_states()
    primary = next(name for name, state in states.items() if state == "PRIMARY")
    with replica_set.load() as writes:
        goal = publish(replica_set, size)
        assert begun_after(replica_set, before) != primary
        os.kill(replica_set.pid(primary), signal.SIGKILL)
        replica_set.reaches(goal, *NAMES)
    assert cache(replica_set) == size
    # Without a majority, a write can fail. Each write that was acknowledged is there.
    with replica_set.client() as client:
        assert client.shop.orders.count_documents({}) >= writes.count - len(writes.failures)


@only_in_faults
def test_an_agent_that_is_cut_off_while_it_holds_the_turn_disturbs_no_member_together_with_another(
    replica_set: AutomatedSet, cables: Mapping[str, Cable], record_property: Any
) -> None:
    size, before = other(cache(replica_set)), begun(replica_set)
    with no_failed_write(replica_set, record_property), one_at_a_time(replica_set):
        goal = publish(replica_set, size)
        holder = begun_after(replica_set, before)
        cables[holder].cut()
        eventually(lambda: has_move(replica_set, holder, "LOST"), 120, message="the turn expires")
        cables[holder].mend()
        replica_set.reaches(goal, *NAMES)
    assert cache(replica_set) == size


@only_in_faults
def test_an_agent_that_stands_still_while_it_holds_the_turn_disturbs_no_member_together_with_another(
    replica_set: AutomatedSet, record_property: Any
) -> None:
    size, before = other(cache(replica_set)), begun(replica_set)
    with no_failed_write(replica_set, record_property), one_at_a_time(replica_set):
        goal = publish(replica_set, size)
        holder = begun_after(replica_set, before)
        agent = replica_set.machine(holder).agent.process
        assert agent is not None
        agent.send_signal(signal.SIGSTOP)
        try:
            eventually(lambda: has_move(replica_set, holder, "LOST"), 120, message="the turn expires")
        finally:
            agent.send_signal(signal.SIGCONT)
        replica_set.reaches(goal, *NAMES)
    assert cache(replica_set) == size


@only_in_faults
def test_a_machine_whose_agent_has_a_clock_an_hour_ahead_or_behind_changes_with_the_others(
    replica_set: AutomatedSet, tmp_path: Path, record_property: Any
) -> None:
    """The server keeps the clock of the system: a test cannot step the clock by which one process waits.

    The platform's clock counts for lastRestart, too.
    """
    size, clock = cache(replica_set), SteppedClock(tmp_path)
    with (
        agent_with(replica_set.machine("rs_1"), {**clock.environment, "OPSAPI_TEST_CLOCK_OF": "python"}),
        no_failed_write(replica_set, record_property),
        one_at_a_time(replica_set),
    ):
        for step in (HOUR, -HOUR):
            size = other(size)
            clock.step(step)
            replica_set.reaches(publish(replica_set, size), *NAMES)
            before = replica_set.pid("rs_1")
            restart: dict[str, Any] = {"lastRestart": wire_time(datetime.now(UTC))}
            members = [
                replica_set.process(name, cache=size, **(restart if name == "rs_1" else {})) for name in NAMES
            ]
            replica_set.reaches(replica_set.publish(*members), *NAMES)
            assert replica_set.pid("rs_1") != before
    assert cache(replica_set) == size


@only_in_faults
def test_a_member_whose_disk_is_full_stops_the_plan_and_no_other_member_is_disturbed(
    scenario: Scenario, record_property: Any
) -> None:
    with automated_set(scenario, *MACHINES, versions=[VERSION]) as made, ExitStack() as stack:
        disk = stack.enter_context(small_disk(made.directory("rs_1"), DISK_MEGABYTES))
        stack.callback(made.end)
        made.reaches(publish(made, SMALL), *NAMES)
        with no_failed_write(made, record_property):
            disk.fill()
            with suppress(ProcessLookupError):  # It may have ended by itself.
                os.kill(made.pid("rs_1"), signal.SIGKILL)
            goal = publish(made, LARGE)
            eventually(lambda: has_move(made, "rs_1", "FAILED"), 300, message="the plan stops")
            assert begun(made) == []
            disk.free()
            made.machines[0].resume()
            made.reaches(goal, *NAMES)
        assert cache(made) == LARGE
