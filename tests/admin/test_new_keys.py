"""Creating API keys in the console: the chosen roles, and the private key that is shown once."""

import re
from typing import Any

import pytest
from django.test import Client

from accesslist.models import ApiKey, Project, User
from events.types import EventType
from opsapi.roles import Role
from tests.admin.operators import operator_with, page_of
from tests.admin.writing import confirm, leaves_events
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory

pytestmark = pytest.mark.django_db

ADD = "/admin/accesslist/apikey/add/"


def test_a_new_key_shows_its_private_part_once(console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator, EventType.API_KEY_CREATED_AUDIT) as events:
        answer = confirm(
            console,
            ADD,
            desc="agents",
            project=project.id,
            project_roles=["GROUP_AGENT", "GROUP_READ_ONLY"],
        )
    key = ApiKey.objects.get(desc="agents")
    private = answer.context["private_key"]
    page = answer.content.decode()
    assert page.count(private) == 1
    assert 'data-copy="#private-key"' in page
    assert "no-store" in answer["Cache-Control"]
    assert not any(private in str(cookie) for cookie in console.cookies.values())
    assert private not in str(dict(console.session))
    assert events[0].group_id == project.id
    assert private not in str((events[0].details, events[0].diffs, events[0].raw))
    assert ApiClient(KeyPair(key.id, key.public_key, private)).get(f"/groups/{project.id}").status_code == 200
    page = console.get(page_of(key)).content.decode()
    assert private not in page
    assert "******" + private[-4:] in page


def test_a_key_has_the_selected_roles_in_their_scopes(
    console: Client, operator: User, project: Project
) -> None:
    confirm(
        console,
        ADD,
        desc="mixed",
        project=project.id,
        project_roles=["GROUP_OWNER"],
        org=project.org_id,
        org_roles=["ORG_MEMBER"],
        global_roles=["GLOBAL_READ_ONLY"],
    )
    grants = ApiKey.objects.get(desc="mixed").grants.order_by("id")
    assert list(grants.values_list("role", "org_id", "project_id")) == [
        ("GROUP_OWNER", None, project.id),
        ("ORG_MEMBER", project.org_id, None),
        ("GLOBAL_READ_ONLY", None, None),
    ]


@each(
    ("values", "message"),
    [
        ({"desc": "", "global_roles": ["GLOBAL_OWNER"]}, "This field is required."),
        ({"desc": "a\x07b", "global_roles": ["GLOBAL_OWNER"]}, "control characters"),
        ({"desc": "none"}, "Choose at least one role."),
        ({"desc": "nowhere", "project_roles": ["GROUP_OWNER"]}, "Choose a project."),
        ({"desc": "nowhere", "org_roles": ["ORG_OWNER"]}, "Choose an organization."),
        ({"desc": "mixed", "global_roles": ["GROUP_OWNER"]}, "Select a valid choice"),
    ],
)
def test_an_invalid_key_is_not_created(
    values: dict[str, Any], message: str, console: Client, operator: User
) -> None:
    with leaves_events(operator):
        answer = confirm(console, ADD, **values)
    assert message in answer.content.decode()
    assert not ApiKey.objects.exists()


@each(
    ("values", "notes"),
    [
        ({"desc": "x"}, ["Choose at least one role."]),
        ({"desc": "", "global_roles": ["GLOBAL_OWNER"]}, ["Please correct the error below."]),
    ],
    ids=["as a whole", "in a field"],
)
def test_each_fault_is_shown_once(values: dict[str, Any], notes: list[str], console: Client) -> None:
    page = confirm(console, ADD, **values).content.decode()
    assert [" ".join(note.split()) for note in re.findall(r'class="errornote[^>]*>([^<]*)<', page)] == notes


def test_a_place_without_roles_is_refused(console: Client, operator: User, project: Project) -> None:
    answer = confirm(console, ADD, desc="x", project=project.id, global_roles=["GLOBAL_OWNER"])
    assert "project_roles" in answer.context["form"].errors
    assert "Choose at least one role." in answer.content.decode()
    assert not ApiKey.objects.exists()


@each(
    ("role", "may"),
    [
        (Role.GROUP_USER_ADMIN, True),
        (Role.GROUP_OWNER, True),
        (Role.GROUP_AUTOMATION_ADMIN, False),
        (Role.GROUP_READ_ONLY, False),
    ],
)
def test_roles_that_create_keys_of_a_project(role: Role, may: bool, project: Project) -> None:
    user, browser = operator_with(role, project=project)
    made = [EventType.API_KEY_CREATED_AUDIT] if may else []
    with leaves_events(user, *made, as_owner=False):
        answer = confirm(browser, ADD, desc="mine", project=project.id, project_roles=["GROUP_READ_ONLY"])
    assert answer.status_code == (200 if may else 403)
    assert ApiKey.objects.filter(desc="mine").exists() is may


def test_a_key_needs_an_administrator_of_its_project(project: Project) -> None:
    other = ProjectFactory.create()
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=other)
    with leaves_events(user, as_owner=False):
        answer = confirm(browser, ADD, desc="x", project=other.id, project_roles=["GROUP_READ_ONLY"])
    assert "role GROUP_OWNER or GROUP_USER_ADMIN" in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_a_role_that_the_operator_lacks_is_refused_next_to_its_field(project: Project) -> None:
    user, browser = operator_with(Role.GROUP_USER_ADMIN, project=project)
    with leaves_events(user, as_owner=False):
        answer = confirm(browser, ADD, desc="x", project=project.id, project_roles=["GROUP_OWNER"])
    assert "cannot grant the role GROUP_OWNER" in str(answer.context["form"].errors["project_roles"])
    assert not ApiKey.objects.exists()
