"""Invitations over the API."""

import re

import pytest

from accesslist.models import Project
from opsapi.roles import Role
from tests.api.recipients import client, org
from tests.client import ApiClient

GRACE = "grace@example.com"
NOTHING = "f" * 24
LINK = re.compile(r"http://testserver/admin/invitation/#([0-9a-f]{24}[A-Za-z0-9_-]{43})")
pytestmark = pytest.mark.django_db


def to_org(project: Project) -> str:
    """The invitations to the organization of the project."""
    return f"/orgs/{project.org_id}/invites"


def to_project(project: Project) -> str:
    """The invitations to the project."""
    return f"/groups/{project.id}/invites"


@pytest.fixture
def lead(project: Project) -> ApiClient:
    """An organization owner."""
    return client(org(Role.ORG_OWNER, project))


def test_a_link_is_in_the_answer_once(lead: ApiClient, project: Project) -> None:
    answer = lead.post(to_project(project), {"roles": ["GROUP_MONITORING_ADMIN"]})
    document = answer.json()
    assert answer.status_code == 201
    assert LINK.fullmatch(document.pop("link"))
    assert document["roles"] == ["GROUP_MONITORING_ADMIN"]
    assert (document["groupId"], document["groupName"]) == (project.id, project.name)
    assert not {"username", "emailSentAt", "emailError"} & document.keys()
    path = f"{to_project(project)}/{document['id']}"
    assert lead.get(path).json() == document
    (listed,) = lead.get(to_project(project)).json()["results"]
    assert "link" not in listed


def test_x(lead: ApiClient, project: Project) -> None:
    answer = lead.post(to_org(project), {"roles": ["ORG_MEMBER"], "username": GRACE, "sendEmail": False})
    document = answer.json()
    assert answer.status_code == 201
    assert document["username"] == GRACE
