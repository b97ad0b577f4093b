"""API keys in the console: who changes what of them."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from accesslist.keys.changes import api_key_create
from accesslist.keys.store import key_creator, last_recorded_use
from accesslist.models import AccessListEntry, ApiKey, Project, RoleGrant, User
from events.log.changes import event_record
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import Grant, Role
from tests.admin.operators import action_url, no_ticks, operator_with, page_of, ticks
from tests.admin.reading import shown
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key, make_team

pytestmark = pytest.mark.django_db

CHANGED = EventType.API_KEY_CHANGED_AUDIT


@pytest.fixture
def other(db: None) -> Project:
    """A project of another organization."""
    found: Project = ProjectFactory.create(name="theirs")
    return found


def key_with(*grants: Grant) -> ApiKey:
    """A key with these roles."""
    return ApiKey.objects.get(id=make_key(*grants).id)


def in_project(project: Project, role: Role = Role.GROUP_READ_ONLY) -> Grant:
    """A role in the project."""
    return Grant(role, group_id=project.id)


def roles_of(key: ApiKey) -> list[tuple[str, str | None, str | None]]:
    """Role, organization, project of each, oldest first."""
    return list(key.grants.order_by("id").values_list("role", "org_id", "project_id"))


@pytest.mark.slow
@each("action", ["describe", "roles", "allow", "check-address", "delete"])
@each(("role", "may"), [(Role.GROUP_USER_ADMIN, True), (Role.GROUP_MONITORING_ADMIN, False)])
def test_roles_that_change_keys_of_a_project(role: Role, may: bool, action: str, project: Project) -> None:
    key = key_with(in_project(project))
    _, browser = operator_with(role, project=project)
    assert browser.get(action_url(key, action)).status_code == (200 if may else 403)
    assert (action_url(key, action) in browser.get(page_of(key)).content.decode()) is may


def test_a_key_of_another_project_is_not_found(project: Project, other: Project) -> None:
    key = key_with(in_project(other))
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    with leaves_events(user, as_owner=False):
        assert confirm(browser, action_url(key, "delete")).status_code == 404
    assert roles_of(key) == [("GROUP_READ_ONLY", None, other.id)]


def test_a_description_is_changed(console: Client, operator: User, project: Project) -> None:
    key = key_with(in_project(project))
    with leaves_events(operator, CHANGED) as events:
        confirm(console, action_url(key, "describe"), desc="other")
    key.refresh_from_db()
    assert key.desc == "other"
    assert events[0].group_id == project.id


def test_the_machine_of_an_agents_key_is_changed(console: Client, operator: User, project: Project) -> None:
    key = key_with(in_project(project, Role.GROUP_AGENT))
    url = action_url(key, "machine")
    with leaves_events(operator, CHANGED, CHANGED):
        confirm(console, url, hostnames="DB1.example.com., db1.example.com, 10.0.0.1")
        key.refresh_from_db()
        assert key.hostnames == ["db1.example.com", "10.0.0.1"]
        assert "db1.example.com, 10.0.0.1" in console.get(page_of(key)).content.decode()
        confirm(console, url, hostnames="")
    key.refresh_from_db()
    assert key.hostnames is None


def test_a_new_description_keeps_the_machine(console: Client, operator: User, project: Project) -> None:
    key = key_with(in_project(project, Role.GROUP_AGENT))
    ApiKey.objects.update(hostnames=["db1"])
    with leaves_events(operator, CHANGED):
        confirm(console, action_url(key, "describe"), desc="other")
    key.refresh_from_db()
    assert (key.desc, key.hostnames) == ("other", ["db1"])


def test_a_user_administrator_does_not_change_the_machine(project: Project) -> None:
    key = key_with(in_project(project, Role.GROUP_AGENT))
    ApiKey.objects.update(hostnames=["db1"])
    user, browser = operator_with(Role.GROUP_USER_ADMIN, project=project)
    with leaves_events(user, as_owner=False):
        answer = confirm(browser, action_url(key, "machine"), hostnames="")
    assert "GROUP_AGENT" in answer.content.decode()
    key.refresh_from_db()
    assert key.hostnames == ["db1"]


def test_a_key_with_another_role_has_no_machine(console: Client, project: Project) -> None:
    key = key_with(in_project(project))
    assert action_url(key, "machine") not in console.get(page_of(key)).content.decode()


def test_roles_are_revoked_and_granted(
    console: Client, operator: User, project: Project, other: Project
) -> None:
    key = key_with(in_project(project), in_project(project, Role.GROUP_AGENT))
    with leaves_events(operator, CHANGED, CHANGED):
        confirm(
            console,
            action_url(key, "roles"),
            **ticks(key, "GROUP_AGENT"),
            project=other.id,
            project_roles=["GROUP_OWNER"],
        )
    assert roles_of(key) == [("GROUP_READ_ONLY", None, project.id), ("GROUP_OWNER", None, other.id)]


def test_an_unchanged_form_changes_nothing(console: Client, operator: User, project: Project) -> None:
    key = key_with(in_project(project))
    with leaves_events(operator):
        assert confirm(console, action_url(key, "roles"), **ticks(key)).status_code == 302
    assert roles_of(key) == [("GROUP_READ_ONLY", None, project.id)]


def test_roles_in_other_manageable_scopes_stay(project: Project, other: Project) -> None:
    key = key_with(in_project(project), in_project(other), Grant(Role.GLOBAL_READ_ONLY))
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    page = browser.get(action_url(key, "roles")).content.decode()
    assert "theirs" not in page
    with leaves_events(user, CHANGED, as_owner=False):
        confirm(browser, action_url(key, "roles"), **no_ticks(key))
    assert roles_of(key) == [("GROUP_READ_ONLY", None, other.id), ("GLOBAL_READ_ONLY", None, None)]


def test_an_organization_owner_grants_roles_in_the_organization_and_its_projects(
    project: Project, other: Project
) -> None:
    neighbour = ProjectFactory.create(org=project.org)
    key = key_with(in_project(project))
    user, browser = operator_with(Role.ORG_OWNER, org=project.org)
    url = action_url(key, "roles")
    given: dict[str, Any] = {**ticks(key), "project_roles": ["GROUP_READ_ONLY"]}
    with leaves_events(user, CHANGED, as_owner=False):
        confirm(browser, url, project=neighbour.id, **given)
    assert ("GROUP_READ_ONLY", None, neighbour.id) in roles_of(key)
    with leaves_events(user, as_owner=False):
        assert confirm(browser, url, project=other.id, **given).status_code == 200
    with leaves_events(user, as_owner=False):
        answer = confirm(browser, url, **ticks(key), global_roles=["GLOBAL_READ_ONLY"])
    assert "Only a Global owner can grant" in str(answer.context["form"].errors["global_roles"])


def test_a_role_in_a_new_scope_needs_a_wider_manageable_scope(project: Project, other: Project) -> None:
    key = key_with(in_project(project))
    user, browser = operator_with(Role.GROUP_OWNER, project=project)
    user.grants.create(role=Role.GROUP_OWNER.value, project=other)
    with leaves_events(user, as_owner=False):
        answer = confirm(
            browser,
            action_url(key, "roles"),
            **ticks(key),
            project=other.id,
            project_roles=["GROUP_READ_ONLY"],
        )
    assert "have a role in a project or organization you administer" in str(
        answer.context["form"].errors["project_roles"]
    )


def test_a_key_keeps_at_least_one_role(console: Client, operator: User, project: Project) -> None:
    key = key_with(in_project(project))
    with leaves_events(operator):
        answer = confirm(console, action_url(key, "roles"), **no_ticks(key))
    assert "needs at least one role" in answer.content.decode()
    assert roles_of(key) == [("GROUP_READ_ONLY", None, project.id)]


def test_the_last_global_owner_among_keys_is_kept(console: Client, operator: User) -> None:
    key = key_with(Grant(Role.GLOBAL_OWNER))
    with leaves_events(operator):
        answer = confirm(
            console, action_url(key, "roles"), **no_ticks(key), global_roles=["GLOBAL_READ_ONLY"]
        )
    assert "last Global owner" in str(answer.context["form"].errors["held"])
    assert roles_of(key) == [("GLOBAL_OWNER", None, None)]


def test_a_key_is_deleted_with_all_its_roles(console: Client, operator: User, project: Project) -> None:
    key = key_with(in_project(project), Grant(Role.ORG_MEMBER, org_id=project.org_id))
    event_types = [EventType.API_KEY_DELETED_AUDIT] * 2 + [EventType.ORG_API_KEY_DELETED]
    with leaves_events(operator, *event_types):
        answer = confirm(console, action_url(key, "delete"))
    assert answer["Location"] == "/admin/accesslist/apikey/"
    assert not ApiKey.objects.filter(id=key.id).exists()


def test_a_project_administrator_revokes_the_roles_in_the_project(project: Project, other: Project) -> None:
    key = key_with(in_project(project), in_project(other))
    user, browser = operator_with(Role.GROUP_USER_ADMIN, project=project)
    with leaves_events(user, CHANGED, as_owner=False):
        confirm(browser, action_url(key, "delete"))
    assert roles_of(key) == [("GROUP_READ_ONLY", None, other.id)]


def test_a_reader_sees_only_roles_in_their_project(project: Project, other: Project) -> None:
    key = key_with(in_project(project), in_project(other, Role.GROUP_OWNER), Grant(Role.GLOBAL_READ_ONLY))
    _, browser = operator_with(Role.GROUP_READ_ONLY, project=project)
    for page in ("/admin/accesslist/apikey/", page_of(key)):
        text = browser.get(page).content.decode()
        assert "GROUP_READ_ONLY" in text
        assert "theirs" not in text
        assert "GROUP_OWNER" not in text
        assert "GLOBAL_READ_ONLY" not in text


def test_autocomplete_finds_readable_keys_and_teams(project: Project, other: Project) -> None:
    _, browser = operator_with(Role.GROUP_OWNER, project=project)
    found = {}
    for kind in ("api_key", "team", "project"):
        for place in (project, other):
            key_with(in_project(place))
            make_team(place)
        query = {"app_label": "accesslist", "model_name": "rolegrant", "field_name": kind, "term": ""}
        found[kind] = len(browser.get(reverse("admin:autocomplete"), query).json()["results"])
    assert found == {"api_key": 1, "team": 2, "project": 1}


def test_autocomplete_finds_projects_and_organizations(console: Client, project: Project) -> None:
    for field in ("project", "org"):
        query = {"app_label": "accesslist", "model_name": "rolegrant", "field_name": field, "term": ""}
        assert len(console.get(reverse("admin:autocomplete"), query).json()["results"]) == 1


def test_at_most_the_offered_number_of_roles_is_read(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accesslist.roles.console.MOST_HELD", 1)
    key = key_with(in_project(project), in_project(project, Role.GROUP_AGENT))
    form = console.get(action_url(key, "roles")).context["form"]
    ((_, label),) = form.fields["held"].choices
    assert f"Reader in {project.name}" in label
    assert "GROUP_READ_ONLY" in label
    # What is not offered stays.
    confirm(console, action_url(key, "roles"), **no_ticks(key))
    assert list(RoleGrant.objects.filter(api_key=key).values_list("role", flat=True)) == ["GROUP_AGENT"]


def test_a_key_says_who_created_it_and_when_its_use_was_last_recorded(
    console: Client, operator: User, project: Project
) -> None:
    unrecorded = key_with(in_project(project))
    page = shown(console, page_of(unrecorded))
    assert "not recorded" in page
    assert "none: only changes" in page
    actor = Actor(ActorKind.USER, str(operator.id), operator.username, is_global_admin=True)
    grants = [in_project(project)]
    key = api_key_create(values={"desc": "new"}, grants=grants, actor=actor, now=clock.now()).key
    assert key_creator(key) == operator.username
    assert last_recorded_use(key) is None
    called = clock.now() - timedelta(days=2)
    AccessListEntry.objects.create(
        api_key=key, cidr_block="192.0.2.0/24", created=called, updated=called, last_used=called
    )
    assert last_recorded_use(key) == called
    by_key = Actor(ActorKind.KEY, key.id, key.public_key)
    with transaction.atomic():
        event = event_record(
            event_type=EventType.ADD_HOST_AUDIT, actor=by_key, now=clock.now(), group_id=project.id
        )
    assert last_recorded_use(key) == event.created
    assert "not recorded" not in shown(console, page_of(key))
