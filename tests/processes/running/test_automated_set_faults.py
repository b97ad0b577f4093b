"""Faults while the agents of three machines change a replica set: real servers under a load."""

import os
import random
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tests.eventually import eventually
from tests.hostile.budget import COUNTED, LONG
from tests.plugin import SUMMARY
from tests.processes.automated_set import MACHINES, AutomatedSet, automated_set
from tests.processes.mongod import VERSION
from tests.processes.scenario import RunningSite, Scenario
from tests.receivers import HttpReceiver

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

NAMES = ("rs_0", "rs_1", "rs_2")
SMALL, LARGE = 0.25, 0.5
"""Sizes of the cache in GB. Another size needs a restart."""
KILLS = 200


only_in_faults = pytest.mark.skipif(not LONG, reason="it takes long: `make faults` runs it")


@pytest.fixture(scope="module")
def replica_set(site: RunningSite) -> Iterator[AutomatedSet]:
    """Three members on three machines, with small caches."""
    with HttpReceiver().running() as receiver:
        scenario = Scenario(site, receiver)
        with automated_set(scenario, *MACHINES, versions=[VERSION]) as made:
            made.reaches(publish(made, SMALL), *NAMES)
            yield made


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


def kill(replica_set: AutomatedSet, name: str) -> None:
    """Kill the agent of a member, and start it again."""
    agent = replica_set.machine(name).agent
    agent.stop(signal.SIGKILL)
    agent.start()


def test_a_document_that_is_taken_back_in_the_middle_ends_at_the_earlier_state_although_an_agent_is_killed(
    replica_set: AutomatedSet, record_property: Any
) -> None:
    size, before = cache(replica_set), begun(replica_set)
    with no_failed_write(replica_set, record_property):
        publish(replica_set, other(size))
        kill(replica_set, begun_after(replica_set, before, 2))  # The first member has changed.
        replica_set.reaches(publish(replica_set, size), *NAMES)
    assert cache(replica_set) == size


@only_in_faults
def test_agents_that_are_killed_at_random_come_to_the_same_end(
    replica_set: AutomatedSet, record_property: Any
) -> None:
    numbers, size = random.Random(39), cache(replica_set)
    with no_failed_write(replica_set, record_property):
        for _ in range(KILLS):
            before = begun(replica_set)
            size = other(size)
            goal = publish(replica_set, size)
            begun_after(replica_set, before)
            kill(replica_set, numbers.choice(NAMES))
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
            rounds = [len(machine.agent.rounds()) for machine in replica_set.machines]
            eventually(
                lambda: all(
                    len(machine.agent.rounds()) > number + 2
                    for machine, number in zip(replica_set.machines, rounds, strict=True)
                ),
                message="more rounds",
            )
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
