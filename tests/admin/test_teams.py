"""Teams in the console: created, renamed, deleted, with their members and roles."""

import pytest
from django.test import Client

from accesslist.models import Project, Team, User
from events.types import EventType
from opsapi.roles import Role
from tests.admin.operators import action_url, operator_with
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory, UserFactory, make_team

pytestmark = pytest.mark.django_db

ADD = "/admin/accesslist/team/add/"
JOINS = [EventType.USER_ROLES_CHANGED_AUDIT, EventType.JOINED_ORG, EventType.USER_ADDED_TO_TEAM]
"""What it leaves when a user comes to a team who was not in the organization."""


def names(team: Team) -> list[str]:
    """Who is in it."""
    return list(team.members.order_by("username_key").values_list("username", flat=True))


def test_a_team_is_created(console: Client, operator: User, project: Project) -> None:
    UserFactory.create(username="grace")
    with leaves_events(operator, EventType.TEAM_CREATED, *JOINS):
        confirm(console, ADD, org=project.org_id, name="on call", usernames="Grace\n\nGrace ")
    team = Team.objects.get(name="on call")
    assert (team.org_id, names(team)) == (project.org_id, ["grace"])


@pytest.mark.parametrize(
    ("values", "field", "recorded"),
    [
        ({"name": "", "usernames": "ada"}, "name", "required"),
        ({"name": "x" * 201, "usernames": "ada"}, "name", "Must have 1 to 200"),
        ({"name": "x", "usernames": ""}, "usernames", "at least one"),
        ({"name": "x", "usernames": "ada\nnobody"}, "usernames", "Names no user"),
        ({"name": "x", "usernames": "ada\nADA "}, "usernames", "twice"),
    ],
)
@pytest.mark.usefixtures("operator")
def test_an_invalid_team_is_refused_next_to_the_field(
    values: dict[str, str], field: str, recorded: str, console: Client, project: Project
) -> None:
    answer = confirm(console, ADD, org=project.org_id, **values)
    assert recorded in str(answer.context["form"].errors[field])
    assert not Team.objects.exists()


@each(("role", "may"), [(Role.ORG_OWNER, True), (Role.ORG_READ_ONLY, False), (Role.ORG_GROUP_CREATOR, False)])
def test_roles_that_write_teams(role: Role, may: bool, project: Project) -> None:
    user, browser = operator_with(role, org=project.org)
    team = Team.objects.create(org_id=project.org_id or "", name="old", created=user.created)
    recorded = [EventType.TEAM_CHANGED_AUDIT, EventType.USER_ADDED_TO_TEAM] if may else []
    with leaves_events(user, *recorded, as_owner=False):
        answer = confirm(
            browser,
            action_url(team, "change"),
            name="new",
            usernames=user.username,
            members_then=_members(team),
        )
    assert answer.status_code == (302 if may else 403)
    assert browser.get(ADD).status_code == (200 if may else 403)
    assert names(team) == ([user.username] if may else [])


def test_a_team_needs_an_owner_of_its_organization(project: Project) -> None:
    user, browser = operator_with(Role.ORG_OWNER, org=project.org)
    other = OrganizationFactory.create()
    user.grants.create(role=Role.ORG_MEMBER.value, org=other)
    with leaves_events(user, as_owner=False):
        answer = confirm(browser, ADD, org=other.id, name="x", usernames=user.username)
    assert "role ORG_OWNER" in answer.content.decode()
    assert not Team.objects.exists()


def test_members_are_added_and_removed(console: Client, operator: User, project: Project) -> None:
    grace = UserFactory.create(username="grace")
    team = make_team(project, grace)
    recorded = [EventType.TEAM_CHANGED_AUDIT, EventType.USER_REMOVED_FROM_TEAM_AUDIT, *JOINS]
    with leaves_events(operator, *recorded):
        confirm(
            console, action_url(team, "change"), name=team.name, usernames="ada", members_then=_members(team)
        )
    assert names(team) == ["ada"]
    with leaves_events(operator, EventType.TEAM_CHANGED_AUDIT, EventType.USER_REMOVED_FROM_TEAM_AUDIT):
        confirm(
            console, action_url(team, "change"), name=team.name, usernames="", members_then=_members(team)
        )
    assert names(team) == []


def test_a_team_is_deleted_with_its_roles(console: Client, operator: User, project: Project) -> None:
    team = make_team(project)
    with leaves_events(
        operator,
        EventType.TEAM_REMOVED_FROM_GROUP,
        EventType.TEAM_DELETED,
    ):
        confirm(console, action_url(team, "delete"))
    assert not Team.objects.exists()


def roles(team: Team, project: Project) -> list[str]:
    """What it holds in the project."""
    return list(team.grants.filter(project=project).order_by("id").values_list("role", flat=True))


def test_roles_of_a_team_are_granted_and_revoked(console: Client, operator: User, project: Project) -> None:
    team = Team.objects.create(org_id=project.org_id or "", name="on call", created=operator.created)
    url = action_url(project, "team-roles")
    with leaves_events(operator, EventType.TEAM_ADDED_TO_GROUP):
        confirm(console, url, team=team.id, roles=["GROUP_READ_ONLY", "GROUP_MONITORING_ADMIN"])
    assert roles(team, project) == ["GROUP_READ_ONLY", "GROUP_MONITORING_ADMIN"]
    with leaves_events(operator, EventType.TEAM_REMOVED_FROM_GROUP):
        confirm(console, url, team=team.id)
    assert roles(team, project) == []


def test_a_team_of_another_organization_is_refused_next_to_the_field(
    console: Client, operator: User, project: Project
) -> None:
    team = make_team(ProjectFactory.create())
    url = action_url(project, "team-roles")
    for chosen, recorded in ((["GROUP_READ_ONLY"], "Is not a team of the organization"), ([], "No team")):
        with leaves_events(operator):
            answer = confirm(console, url, team=team.id, roles=chosen)
        assert recorded in str(answer.context["form"].errors["team"])


@each(("role", "status"), [(Role.GROUP_USER_ADMIN, 200), (Role.GROUP_MONITORING_ADMIN, 403)])
def test_roles_that_grant_roles_to_teams(role: Role, status: int, project: Project) -> None:
    team = make_team(project)
    user, browser = operator_with(role, project=project)
    with leaves_events(user, as_owner=False):
        answer = confirm(browser, action_url(project, "team-roles"), team=team.id, roles=["GROUP_OWNER"])
    assert answer.status_code == status
    if status == 200:
        assert "cannot grant the role GROUP_OWNER" in str(answer.context["form"].errors["roles"])
    assert roles(team, project) == ["GROUP_READ_ONLY"]


def _members(team: Team) -> str:
    """As the form shows them."""
    return "\n".join(team.members.order_by("username_key").values_list("username", flat=True))


def test_members_who_joined_since_the_page_was_loaded_stay(
    console: Client, operator: User, project: Project
) -> None:
    team = Team.objects.create(org_id=project.org_id, name="on call", created=project.created)
    team.members.add(operator)
    then = _members(team)
    team.members.add(UserFactory.create(username="grace"))
    confirm(console, action_url(team, "change"), name="new", usernames=then, members_then=then)
    assert set(team.members.values_list("username", flat=True)) == {operator.username, "grace"}
