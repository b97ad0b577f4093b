"""Who enters the console, and what is there to see."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.test import Client

from accesslist.models import Project, User
from opsapi.roles import Role
from tests.admin.operators import browser_with
from tests.admin.rows import make_operator
from tests.admin.times import NOON
from tests.factories.second_factors import make_second_factor
from tests.receivers import http_receiver

__all__ = ["http_receiver"]


@pytest.fixture
def operator(db: None) -> User:
    """A Global owner."""
    return make_operator(username="ada")


@pytest.fixture
def console(operator: User, project: Project) -> Client:
    """The browser of a Global owner who has logged in; a project exists."""
    browser = Client()
    browser.force_login(operator)
    return browser


@pytest.fixture
def monitor(project: Project) -> Client:
    """The browser of a Project Monitoring Admin, the least who may do something to alerts."""
    return browser_with(Role.GROUP_MONITORING_ADMIN, project=project)


@pytest.fixture
def automator(project: Project) -> Client:
    """The browser of a Project Automation Admin, who may do much, but nothing to alerts."""
    return browser_with(Role.GROUP_AUTOMATION_ADMIN, project=project)


@pytest.fixture
def noon() -> Iterator[time_machine.Traveller]:
    """A clock that stays at NOON unless the test moves it."""
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture
def factor(operator: User, project: Project) -> tuple[str, list[str]]:
    """The operator's second factor: its secret and its recovery codes. It was set up an hour before noon."""
    return make_second_factor(operator, NOON - timedelta(hours=1))
