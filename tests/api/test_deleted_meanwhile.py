"""A write is answered with 404 if its resource is deleted before the answer is read."""

from collections.abc import Callable

import pytest
from django.db.models import Model

from accesslist.models import Project
from opsapi.roles import Role
from tests.api.recipients import group, make_user, refusal
from tests.client import ApiClient
from tests.factories.accesslist import make_team

pytestmark = pytest.mark.django_db


def deleting(row: Model) -> Callable[..., None]:
    """A service right after which somebody else deletes the row."""

    def serve(**_: object) -> None:
        row.delete()

    return serve


def test_it_does_not_find_a_user_deleted_meanwhile(
    owner: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = make_user(group(Role.GROUP_OWNER, project))
    monkeypatch.setattr("accesslist.users.views.user_roles_replace", deleting(user))
    assert refusal(owner.patch(f"/users/{user.id}", {"roles": []})) == (404, "USER_NOT_FOUND")


def test_it_does_not_find_a_team_deleted_meanwhile(
    owner: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = make_team(project, make_user())
    monkeypatch.setattr("accesslist.teams.views.team_update", deleting(team))
    answer = owner.patch(f"/orgs/{project.org_id}/teams/{team.id}", {"name": "x"})
    assert refusal(answer) == (404, "TEAM_NOT_FOUND")


def test_it_does_not_find_a_team_that_left_the_project_meanwhile(
    owner: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = make_team(project)
    monkeypatch.setattr("accesslist.teams.views.group_team_update", deleting(team))
    answer = owner.patch(f"/groups/{project.id}/teams/{team.id}", {"roleNames": ["GROUP_OWNER"]})
    assert refusal(answer) == (404, "TEAM_NOT_FOUND")
