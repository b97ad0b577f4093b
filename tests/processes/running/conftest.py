"""One platform for the tests of this directory. A test may restart the platform, and leaves it running.

A start is expensive, so these tests share a platform. Each test has projects, receivers and mail addresses of
its own. `is_idle` and the log are of the platform as a whole.
"""

from collections.abc import Iterator

import pytest

from tests.processes.conftest import ProcessCaller
from tests.processes.platform import RunningPlatform
from tests.processes.scenario import RunningSite, Scenario, running_site
from tests.receivers import HttpReceiver

WEB_PROCESSES, THREADS = 2, 8


@pytest.fixture(scope="package")
def site() -> Iterator[RunningSite]:
    """A platform with two web processes and a worker, its mail server and its first user."""
    with running_site(OPSAPI_WORKERS=str(WEB_PROCESSES), OPSAPI_THREADS=str(THREADS)) as made:
        yield made


@pytest.fixture(scope="package")
def running(site: RunningSite) -> RunningPlatform:
    """The platform."""
    return site.platform


@pytest.fixture(scope="package")
def owner(site: RunningSite) -> ProcessCaller:
    """The first user."""
    return site.owner


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    """A receiver of webhooks."""
    with HttpReceiver().running() as running:
        yield running


@pytest.fixture
def scenario(site: RunningSite, receiver: HttpReceiver) -> Scenario:
    """A new project with its receivers."""
    return Scenario(site, receiver)
