"""Who is notified as the holder of a role, as a user, or as a member of a team."""

from collections.abc import Collection

import pytest

from accesslist.models import Organization, Project, RoleGrant, Team, User
from accesslist.users.store import (
    Recipients,
    administrators,
    org_recipients,
    project_recipients,
    team_recipients,
    user_recipient,
)
from opsapi import clock
from opsapi.roles import Role
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory, UserFactory, make_team

pytestmark = pytest.mark.django_db

Place = Project | Organization | None


def make_user(name: str, role: Role | None = None, place: Place = None) -> User:
    """A user of that name, with an address of that name, who holds the role there."""
    user: User = UserFactory.create(username=name, email_address=f"{name}@example.com")
    if role is not None:
        project = place if isinstance(place, Project) else None
        org = place if isinstance(place, Organization) else None
        RoleGrant.objects.create(role=role.value, user=user, project=project, org=org)
    return user


def names(recipients: Recipients) -> set[str]:
    """The names in their addresses."""
    return {str(row["email_address"]).partition("@")[0] for row in recipients}


@pytest.fixture
def crowd(project: Project) -> Project:
    """A project whose people, and others, have one role each; the team reads it."""
    other = ProjectFactory.create()
    make_user("group_owner", Role.GROUP_OWNER, project)
    make_user("group_reader", Role.GROUP_READ_ONLY, project)
    make_user("org_owner", Role.ORG_OWNER, project.org)
    make_user("org_member", Role.ORG_MEMBER, project.org)
    make_user("global_owner", Role.GLOBAL_OWNER)
    make_user("global_reader", Role.GLOBAL_READ_ONLY)
    make_user("other_owner", Role.GROUP_OWNER, other)
    make_user("other_org_owner", Role.ORG_OWNER, other.org)
    make_user("nobody")
    make_team(project, make_user("in_team"))
    return project


@each(
    ("roles", "expected"),
    [
        pytest.param([], {"group_owner", "group_reader", "in_team"}, id="any role there, none above"),
        pytest.param(
            [Role.GROUP_READ_ONLY], {"group_reader", "in_team"}, id="that role and none that implies it"
        ),
        pytest.param(
            [Role.GROUP_OWNER], {"group_owner", "org_owner"}, id="owners with those of the organization"
        ),
        pytest.param([Role.GROUP_USER_ADMIN], set(), id="nobody holds it"),
    ],
)
def test_a_projects_people(crowd: Project, roles: Collection[str], expected: set[str]) -> None:
    assert names(project_recipients(crowd.id, roles)) == expected


@each(
    ("roles", "expected"),
    [
        pytest.param([], {"org_owner", "org_member"}, id="any role there"),
        pytest.param([Role.ORG_OWNER], {"org_owner"}, id="that role"),
    ],
)
def test_an_organizations_people(crowd: Project, roles: Collection[str], expected: set[str]) -> None:
    assert names(org_recipients(crowd.id, roles)) == expected


def test_administrators_are_the_holders_of_global_roles(crowd: Project) -> None:
    assert names(administrators()) == {"global_owner", "global_reader"}


@each(
    ("name", "in_project", "everywhere"),
    [
        pytest.param("group_reader", True, True, id="in the project"),
        pytest.param("GROUP_Reader", True, True, id="whatever the case"),
        pytest.param("org_member", True, True, id="in its organization"),
        pytest.param("in_team", True, True, id="in one of its teams"),
        pytest.param("other_owner", False, True, id="of another organization"),
        pytest.param("nobody", False, False, id="without any role"),
        pytest.param("unknown", False, False, id="unknown"),
    ],
)
def test_a_user_of_that_name(crowd: Project, name: str, in_project: bool, everywhere: bool) -> None:
    assert len(user_recipient(name, group_id=crowd.id)) == in_project
    assert len(user_recipient(name, group_id=None)) == everywhere


def test_a_team_notifies_its_members_with_a_role(crowd: Project) -> None:
    team = Team.objects.get()
    assert names(team_recipients(team.id, group_id=crowd.id)) == {"in_team"}
    assert names(team_recipients(team.id, group_id=None)) == {"in_team"}
    RoleGrant.objects.filter(team=team).delete()
    assert names(team_recipients(team.id, group_id=crowd.id)) == set()


def test_a_team_of_another_organization_is_not_notified(crowd: Project) -> None:
    foreign = Team.objects.create(org=OrganizationFactory.create(), name="foreign", created=clock.now())
    foreign.members.add(User.objects.get(username="group_owner"))
    assert names(team_recipients(foreign.id, group_id=crowd.id)) == set()
    assert names(team_recipients(foreign.id, group_id=None)) == {"group_owner"}


def test_a_user_with_several_roles_is_notified_once(project: Project) -> None:
    user = make_user("ada", Role.GROUP_OWNER, project)
    RoleGrant.objects.create(role=Role.GROUP_READ_ONLY.value, user=user, project=project)
    make_team(project, user)
    assert len(project_recipients(project.id)) == 1


def test_a_deleted_project_has_no_people_of_its_own(crowd: Project) -> None:
    Project.objects.filter(id=crowd.id).update(deleted=clock.now(), org=None)
    assert names(org_recipients(crowd.id)) == set()
    assert names(user_recipient("org_member", group_id=crowd.id)) == set()
