"""A name or a description of blanks alone is refused like an empty text."""

from typing import Any

import pytest

from accesslist.models import Project
from opsapi.roles import Role
from tests.api import bodies
from tests.api.recipients import fields, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import make_key, make_team

BLANKS = [" ", "\u3000", "\u200b\ufeff", "\u202e "]
pytestmark = pytest.mark.django_db


def writes(project: Project, blank: str) -> list[tuple[str, str, Any, str]]:
    """Method, path, body, and the field that is blank."""
    key, team = make_key(Role.GLOBAL_READ_ONLY), make_team(project)
    window = bodies.window(description=blank)
    configs = f"/groups/{project.id}/alertConfigs"
    return [
        ("POST", "/orgs", {"name": blank}, "name"),
        ("PATCH", f"/orgs/{project.org_id}", {"name": blank}, "name"),
        ("POST", "/groups", {"name": blank}, "name"),
        ("PATCH", f"/groups/{project.id}", {"name": blank}, "name"),
        ("POST", "/admin/apiKeys", {"desc": blank, "roles": ["GLOBAL_READ_ONLY"]}, "desc"),
        ("PATCH", f"/admin/apiKeys/{key.id}", {"desc": blank}, "desc"),
        ("POST", f"/orgs/{project.org_id}/teams", {"name": blank, "usernames": ["ada"]}, "name"),
        ("PATCH", f"/orgs/{project.org_id}/teams/{team.id}", {"name": blank}, "name"),
        ("POST", "/admin/accessList", {"cidrBlock": "0.0.0.0/0", "description": blank}, "description"),
        ("POST", f"/groups/{project.id}/maintenanceWindows", window, "description"),
        ("POST", configs, bodies.alert_config(name=blank), "name"),
        ("POST", configs, bodies.alert_config(description=blank), "description"),
    ]


@each("blank", BLANKS, ids=ascii)
def test_a_name_or_description_of_blanks_is_refused(owner: ApiClient, project: Project, blank: str) -> None:
    for method, path, body, field in writes(project, blank):
        answer = owner.request(method, path, body)
        refused = (path, refusal(answer), fields(answer))
        assert refused == (path, (400, "INVALID_ATTRIBUTE"), [field])


@each("path", ["/unauth/users", "/users"])
@each("name", ["username", "firstName", "lastName"])
@each("blank", BLANKS, ids=ascii)
def test_a_name_of_a_user_is_refused(owner: ApiClient, path: str, name: str, blank: str) -> None:
    answer = owner.post(path, bodies.user(**{name: blank}))
    assert (refusal(answer), fields(answer)) == ((400, "INVALID_ATTRIBUTE"), [name])


def test_blanks_around_a_name_stay(owner: ApiClient) -> None:
    assert owner.post("/orgs", {"name": " a  b "}).json()["name"] == " a  b "
    user = owner.post("/unauth/users", bodies.user(lastName=" L ")).json()["user"]
    assert user["lastName"] == " L "
