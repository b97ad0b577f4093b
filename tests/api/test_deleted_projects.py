"""A deleted project, to everybody and on every route in it."""

from collections.abc import Mapping

import pytest

from accesslist.models import Project
from opsapi.api.permissions import Where
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api.routes import KEYED, Route
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key

IN_GROUP = [route for route in KEYED if route.access.where is Where.GROUP]
pytestmark = pytest.mark.django_db


@pytest.fixture
def project(known: Mapping[str, str], db: None) -> Project:
    """The project of these objects."""
    return Project.objects.get(id=known["group_id"])


@pytest.fixture
def callers(owner: ApiClient, project: Project) -> list[ApiClient]:
    """Callers who could read the deleted project, and callers who could not."""
    stranger = ApiClient(make_key(Grant(Role.GROUP_OWNER, group_id=ProjectFactory.create().id)))
    org_owner = ApiClient(make_key(Grant(Role.ORG_OWNER, org_id=project.org_id)))
    both = Grant(Role.GROUP_OWNER, group_id=project.id), Grant(Role.ORG_OWNER, org_id=project.org_id)
    was_owner = ApiClient(make_key(*both))
    assert owner.delete(f"/groups/{project.id}").status_code == 204
    return [owner, stranger, org_owner, was_owner]


@pytest.mark.slow
@each("route", IN_GROUP, ids=str)
def test_a_deleted_project_answers_like_one_that_never_was(
    callers: list[ApiClient], known: Mapping[str, str], project: Project, route: Route
) -> None:
    for caller in callers:
        answers = []
        for group_id in (project.id, new_id()):
            path = route.path({**known, "group_id": group_id})
            answer = caller.request(route.method, path, {} if route.takes_body else None, base="")
            assert answer.status_code in {403, 404}
            answers.append((answer.status_code, answer.content.decode().replace(group_id, "…")))
        assert answers[0] == answers[1]
