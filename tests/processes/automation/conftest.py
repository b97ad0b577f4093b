"""A platform for the tests of each file of this directory, in which agents carry out configurations.

The tests wait most of the time. With a platform of their own, files run side by side.
"""

from collections.abc import Iterator

import pytest

from tests.processes.automated_set import MACHINES, AutomatedSet, automated_set
from tests.processes.mongod import VERSION
from tests.processes.running.conftest import receiver, scenario
from tests.processes.scenario import RunningSite, Scenario, running_site

__all__ = ["receiver", "scenario"]


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    """A platform with its mail server and its first user. A test may restart it, and leaves it running."""
    with running_site() as made:
        yield made


@pytest.fixture
def three_machines(scenario: Scenario) -> Iterator[AutomatedSet]:
    """A machine for each member, on which nothing runs yet."""
    with automated_set(scenario, *MACHINES, versions=[VERSION]) as replica_set:
        yield replica_set
