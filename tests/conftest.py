"""Fixtures: people and keys; everything else is created by factories."""

from collections.abc import Iterator
from datetime import datetime

import pytest
import time_machine
from django.test import override_settings
from hypothesis import settings as hypothesis
from pytest_django import DjangoDbBlocker

from accesslist.models import Project
from automation.reports import views as reports
from automation.turns import views as turns
from opsapi import urls  # noqa: F401 - imports the pages of the console, which some tests list
from opsapi.clock import follow_machine, now
from opsapi.roles import Grant, Role
from opsapi.sql import database_time
from tests.client import ApiClient
from tests.database import emptied_quickly, use_own_database
from tests.factories.accesslist import ProjectFactory, make_key
from tests.hostile.budget import EXAMPLES, tries
from tests.middlewares import loaded_once

hypothesis.register_profile("ours", tries(EXAMPLES))
hypothesis.load_profile("ours")


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A migrated database of this process: pytest-django's own would migrate one for each."""
    with django_db_blocker.unblock():
        use_own_database()
    with emptied_quickly():
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Every person a test makes has a password: at the cost of service that is most of a run."""
    with override_settings(PASSWORD_HASHERS=["tests.passwords.QuickArgon2Hasher"]):
        yield


@pytest.fixture(scope="session", autouse=True)
def middlewares() -> Iterator[None]:
    """Loaded for the first client of many."""
    with loaded_once():
        yield


@pytest.fixture(autouse=True)
def _follows_no_database() -> Iterator[None]:
    """The next test may travel in time. A worker of this test may have compared its clock."""
    yield
    follow_machine()


@pytest.fixture(scope="session", autouse=True)
def reports_travel() -> Iterator[None]:
    """The time of reports is the time of the database, which cannot travel as the tests do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports, "database_time", _time_of_reports)
        patch.setattr(turns, "database_time", _time_of_reports)
        yield


def _time_of_reports() -> datetime:
    return now() if time_machine.escape_hatch.is_travelling() else database_time()


@pytest.fixture
def project(db: None) -> Project:
    """A project."""
    made: Project = ProjectFactory.create()
    return made


@pytest.fixture
def owner(db: None) -> ApiClient:
    """A Global owner."""
    return ApiClient(make_key(Role.GLOBAL_OWNER))


@pytest.fixture
def reader(project: Project) -> ApiClient:
    """Project Read Only in the project."""
    return ApiClient(make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id)))


@pytest.fixture
def agent(project: Project) -> ApiClient:
    """An agent of the project."""
    return ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=project.id)))


@pytest.fixture
def stranger(db: None) -> ApiClient:
    """Nobody: no credentials at all."""
    return ApiClient()
