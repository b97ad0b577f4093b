"""Who enters the console, and what is there to see."""

import pytest
from django.test import Client

from accesslist.models import Project, User
from tests.admin.rows import make_operator
from tests.receivers import http_receiver

__all__ = ["http_receiver"]


@pytest.fixture
def operator(db: None) -> User:
    """A Global Owner."""
    return make_operator(username="ada")


@pytest.fixture
def console(operator: User, project: Project) -> Client:
    """The browser of a Global Owner who has logged in; a project exists."""
    browser = Client()
    browser.force_login(operator)
    return browser
