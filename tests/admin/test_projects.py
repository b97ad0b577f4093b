"""Organizations and projects in the console: created, renamed, tagged, deleted."""

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Organization, Project, User
from events.types import EventType
from opsapi.roles import Role
from tests.admin.operators import action_url, operator_with, page_of
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory

pytestmark = pytest.mark.django_db

ADD_ORG = "/admin/accesslist/organization/add/"
ADD_PROJECT = "/admin/accesslist/project/add/"
NEW_PROJECT = [EventType.GROUP_CREATED, *[EventType.ALERT_CONFIG_ADDED_AUDIT] * 3]
"""What a project leaves that is created with its default configurations."""


def test_an_organization_is_created_renamed_and_deleted(console: Client, operator: User) -> None:
    with leaves_events(operator, EventType.ORG_CREATED_AUDIT):
        confirm(console, ADD_ORG, name="finance")
    org = Organization.objects.get(name="finance")
    with leaves_events(operator, EventType.ORG_RENAMED):
        confirm(console, action_url(org, "rename"), name="accounting")
    org.refresh_from_db()
    assert org.name == "accounting"
    with leaves_events(operator, EventType.ORG_DELETED_AUDIT):
        answer = confirm(console, action_url(org, "delete"))
    assert answer["Location"] == "/admin/accesslist/organization/"
    assert not Organization.objects.filter(id=org.id).exists()


def test_an_organization_with_projects_stays(console: Client, operator: User, project: Project) -> None:
    assert project.org
    with leaves_events(operator):
        answer = confirm(console, action_url(project.org, "delete"))
    assert "still has projects: 1" in answer.content.decode()
    assert Organization.objects.filter(id=project.org_id).exists()


@each(("role", "may"), [(Role.ORG_OWNER, True), (Role.ORG_READ_ONLY, False)])
def test_roles_that_rename_an_organization(role: Role, may: bool, project: Project) -> None:
    assert project.org
    user, browser = operator_with(role, org=project.org)
    with leaves_events(user, *([EventType.ORG_RENAMED] if may else []), as_owner=False):
        answer = confirm(browser, action_url(project.org, "rename"), name="new")
    assert answer.status_code == (302 if may else 403)
    assert browser.get(ADD_ORG).status_code == 403


def test_a_project_is_created_with_an_organization_of_its_name(console: Client, operator: User) -> None:
    with leaves_events(operator, EventType.ORG_CREATED_AUDIT, *NEW_PROJECT):
        answer = confirm(console, ADD_PROJECT, name="payments", orgId="", tags="a, b, a")
    made = Project.objects.get(name="payments")
    assert made.org
    assert (made.org.name, made.tags) == ("payments", ["a", "b"])
    assert answer.status_code == 302
    page = console.get(answer["Location"]).content.decode()
    assert reverse("admin:accesslist_project_change", args=[made.id]) in page


def test_a_project_is_created_in_an_organization(console: Client, operator: User) -> None:
    org = OrganizationFactory.create()
    with leaves_events(operator, *NEW_PROJECT):
        confirm(console, ADD_PROJECT, name="payments", orgId=org.id, tags="")
    assert Project.objects.get(name="payments").org == org


@each(
    ("values", "recorded"),
    [
        ({"name": "", "tags": ""}, "This field is required."),
        ({"name": "x" * 201, "tags": ""}, "200 characters"),
        ({"name": "a\x07b", "tags": ""}, "control characters"),
        ({"name": "good", "tags": "a\x07b"}, "control characters"),
        ({"name": "taken", "tags": ""}, "already exists"),
        ({"name": "good", "orgId": "nothing", "tags": ""}, "Select a valid choice"),
    ],
)
def test_an_invalid_project_is_not_created(
    values: dict[str, str], recorded: str, console: Client, operator: User
) -> None:
    ProjectFactory.create(name="taken")
    before = (Project.objects.count(), Organization.objects.count())
    with leaves_events(operator):
        answer = confirm(console, ADD_PROJECT, **values)
    assert answer.status_code == 200
    assert recorded in answer.content.decode()
    assert (Project.objects.count(), Organization.objects.count()) == before


def test_a_project_is_renamed_and_tagged(console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator, EventType.GROUP_CHANGED_AUDIT):
        confirm(console, action_url(project, "change"), name="new", tags="a, b")
    with leaves_events(operator, EventType.GROUP_CHANGED_AUDIT):
        confirm(console, action_url(project, "change"), name="new", tags="")
    project.refresh_from_db()
    assert (project.name, project.tags) == ("new", [])


def test_an_unchanged_project_records_no_event(console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator):
        confirm(console, action_url(project, "change"), name=project.name, tags="")


def test_a_used_name_is_refused_next_to_the_field(console: Client, operator: User, project: Project) -> None:
    ProjectFactory.create(name="taken")
    for url in (ADD_PROJECT, action_url(project, "change")):
        with leaves_events(operator):
            answer = confirm(console, url, name="taken", tags="")
        assert "already exists" in str(answer.context["form"].errors["name"])


def test_deleting_asks_for_the_name(console: Client, operator: User, project: Project) -> None:
    for typed in ("", project.name.upper()):
        with leaves_events(operator):
            answer = confirm(console, action_url(project, "delete"), name=typed)
        assert "Type the name of the project to confirm" in answer.content.decode()
    with leaves_events(operator, EventType.GROUP_DELETED_AUDIT):
        confirm(console, action_url(project, "delete"), name=project.name)
    assert not Project.objects.filter(id=project.id).exists()


@each(
    ("role", "may"), [(Role.GROUP_OWNER, True), (Role.GROUP_USER_ADMIN, False), (Role.GROUP_READ_ONLY, False)]
)
def test_roles_that_change_and_delete_a_project(role: Role, may: bool, project: Project) -> None:
    user, browser = operator_with(role, project=project)
    recorded = [EventType.GROUP_CHANGED_AUDIT] if may else []
    with leaves_events(user, *recorded, as_owner=False):
        answer = confirm(browser, action_url(project, "change"), name="new", tags="")
    assert answer.status_code == (302 if may else 403)
    assert browser.get(action_url(project, "delete")).status_code == (200 if may else 403)


@each(("role", "may"), [(Role.ORG_GROUP_CREATOR, True), (Role.ORG_OWNER, True), (Role.ORG_READ_ONLY, False)])
def test_the_creator_of_a_project_in_an_organization_owns_it(role: Role, may: bool) -> None:
    org = OrganizationFactory.create()
    ProjectFactory.create()
    user, browser = operator_with(role, org=org)
    joined = [EventType.USER_ROLES_CHANGED_AUDIT, EventType.JOINED_GROUP]
    recorded = [NEW_PROJECT[0], *joined, *NEW_PROJECT[1:]] if may else []
    with leaves_events(user, *recorded, as_owner=False):
        answer = confirm(browser, ADD_PROJECT, name="mine", orgId=org.id, tags="")
    assert answer.status_code == (302 if may else 403)
    made = Project.objects.filter(name="mine").first()
    if may and made:
        assert browser.get(page_of(made)).status_code == 200
        assert user.grants.filter(role="GROUP_OWNER", project=made).exists()
    assert bool(made) is may


def test_a_project_without_an_organization_needs_a_global_owner() -> None:
    org = OrganizationFactory.create()
    ProjectFactory.create()
    user, browser = operator_with(Role.ORG_OWNER, org=org)
    with leaves_events(user, as_owner=False):
        answer = confirm(browser, ADD_PROJECT, name="mine", tags="")
    assert "GLOBAL_OWNER" in answer.content.decode()
    assert not Project.objects.filter(name="mine").exists()
