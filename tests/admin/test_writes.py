"""What the console writes: by services, with an event that names the user, and no second log."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import ApiKey, Organization, Project, User
from alerting.models import AlertConfig
from events.types import EventType
from tests.admin.rows import fill
from tests.admin.writing import confirm, leaves_events, post
from tests.client import ApiClient
from tests.factories.accesslist import Key, OrganizationFactory, ProjectFactory

pytestmark = pytest.mark.django_db

CONFIGS = "/admin/alerting/alertconfig/"
ADD_PROJECT = "/admin/accesslist/project/add/"
ADD_KEY = "/admin/accesslist/apikey/add/"
NEW_PROJECT = [EventType.GROUP_CREATED, *[EventType.ALERT_CONFIG_ADDED_AUDIT] * 3]
"""What a project leaves that is made with its default configurations."""


def test_a_project_is_made_with_an_organization_of_its_name(console: Client, operator: User) -> None:
    with leaves_events(operator, EventType.ORG_CREATED_AUDIT, *NEW_PROJECT):
        answer = confirm(console, ADD_PROJECT, name="payments", orgId="", tags="a, b, a")
    made = Project.objects.get(name="payments")
    assert made.org
    assert (made.org.name, made.tags) == ("payments", ["a", "b"])
    assert answer.status_code == 302
    page = console.get(answer["Location"]).content.decode()
    assert reverse("admin:accesslist_project_change", args=[made.id]) in page


def test_a_project_is_made_in_an_organization(console: Client, operator: User) -> None:
    org = OrganizationFactory.create()
    with leaves_events(operator, *NEW_PROJECT):
        confirm(console, ADD_PROJECT, name="payments", orgId=org.id, tags="")
    assert Project.objects.get(name="payments").org == org


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"name": "", "tags": ""}, "This field is required."),
        ({"name": "x" * 201, "tags": ""}, "at most 200 characters"),
        ({"name": "a\x07b", "tags": ""}, "must not hold control characters"),
        ({"name": "good", "tags": "a\x07b"}, "must not hold control characters"),
        ({"name": "taken", "tags": ""}, "taken"),
        ({"name": "good", "orgId": "nothing", "tags": ""}, "Select a valid choice"),
    ],
)
def test_a_wrong_project_is_not_made(
    values: dict[str, str], told: str, console: Client, operator: User
) -> None:
    ProjectFactory.create(name="taken")
    before = (Project.objects.count(), Organization.objects.count())
    with leaves_events(operator):
        answer = confirm(console, ADD_PROJECT, **values)
    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert (Project.objects.count(), Organization.objects.count()) == before


def test_what_a_service_refuses_is_told_and_leaves_nothing(console: Client, operator: User) -> None:
    ProjectFactory.create(name="taken")
    before = Organization.objects.count()
    with leaves_events(operator):
        answer = confirm(console, ADD_PROJECT, name="taken", tags="")
    assert "taken" in answer.content.decode()
    assert Organization.objects.count() == before


def test_a_key_is_made_and_its_private_part_shown_once(
    console: Client, operator: User, project: Project
) -> None:
    with leaves_events(operator, EventType.API_KEY_CREATED_AUDIT) as events:
        answer = confirm(
            console,
            ADD_KEY,
            desc="agents",
            project=project.id,
            project_roles=["GROUP_AGENT", "GROUP_READ_ONLY"],
        )
    key = ApiKey.objects.get(desc="agents")
    private = answer.context["private_key"]
    assert private in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert not any(private in str(cookie) for cookie in console.cookies.values())
    assert private not in str(dict(console.session))
    assert events[0].group_id == project.id
    assert private not in str((events[0].details, events[0].diffs, events[0].raw))
    assert ApiClient(Key(key.id, key.public_key, private)).get(f"/groups/{project.id}").status_code == 200
    page = console.get(reverse("admin:accesslist_apikey_change", args=[key.id])).content.decode()
    assert private not in page
    assert "******" + private[-4:] in page


def test_a_key_has_the_roles_chosen_where_they_were_chosen(
    console: Client, operator: User, project: Project
) -> None:
    confirm(
        console,
        ADD_KEY,
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


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"desc": "", "global_roles": ["GLOBAL_OWNER"]}, "This field is required."),
        ({"desc": "a\x07b", "global_roles": ["GLOBAL_OWNER"]}, "must not hold control characters"),
        ({"desc": "none"}, "A key needs at least one role."),
        ({"desc": "nowhere", "project_roles": ["GROUP_OWNER"]}, "A project and roles in it go together."),
        ({"desc": "nowhere", "org_roles": ["ORG_OWNER"]}, "An organization and roles in it go together."),
        ({"desc": "mixed", "global_roles": ["GROUP_OWNER"]}, "Select a valid choice"),
    ],
)
def test_a_wrong_key_is_not_made(values: dict[str, Any], told: str, console: Client, operator: User) -> None:
    with leaves_events(operator):
        answer = confirm(console, ADD_KEY, **values)
    assert told in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_a_place_without_roles_is_refused(console: Client, operator: User, project: Project) -> None:
    answer = confirm(console, ADD_KEY, desc="x", project=project.id, global_roles=["GLOBAL_OWNER"])
    assert "A project and roles in it go together." in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_projects_and_organizations_are_found_by_typing(console: Client, project: Project) -> None:
    for field in ("project", "org"):
        query = {"app_label": "accesslist", "model_name": "rolegrant", "field_name": field, "term": ""}
        assert len(console.get(reverse("admin:autocomplete"), query).json()["results"]) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/admin/accesslist/rolegrant/add/",
        "/admin/accesslist/digestuse/add/",
        "/admin/events/event/add/",
        "/admin/alerting/notification/add/",
    ],
)
def test_nothing_else_can_be_added(path: str, console: Client, operator: User) -> None:
    with leaves_events(operator):
        assert post(console, path, name="x").status_code == 403


def test_nothing_is_changed_in_place(console: Client, operator: User, project: Project) -> None:
    fill(project)
    config = AlertConfig.objects.get()
    pages = [
        (f"/admin/accesslist/project/{project.id}/change/", {"name": "other"}),
        (f"/admin/accesslist/user/{operator.id}/change/", {"username": "other"}),
        (f"{CONFIGS}{config.id}/change/", {"enabled": "", "settings-TOTAL_FORMS": "0"}),
    ]
    for path, values in pages:
        with leaves_events(operator):
            assert post(console, path, **values).status_code == 403
    for path, _ in pages[:2]:
        with leaves_events(operator):
            refused = post(console, path.replace("/change/", "/delete/"), post="yes")
            assert refused.status_code in {302, 404}


def test_nothing_else_is_deleted_in_bulk(console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator):
        post(
            console,
            "/admin/accesslist/project/",
            action="delete_selected",
            _selected_action=[project.id],
            post="yes",
        )
    assert Project.objects.filter(id=project.id).exists()
