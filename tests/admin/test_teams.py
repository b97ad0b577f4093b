"""Teams in the console: created, renamed, deleted, with their members and roles."""

from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, Team, User
from accesslist.projects import team_roles
from events.models import Event
from events.types import EventType
from opsapi.roles import Role
from tests.admin.operators import action_url, operator_with, page_of
from tests.admin.reading import shown, text_of
from tests.admin.typed import typed_in
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


def do(project: Project, name: str, team: Team | None = None) -> str:
    """The form of an action on the teams of a project, as the list of teams leads to it."""
    return action_url(project, name) + (f"?team={team.id}" if team else "")


def typed(console: Client, project: Project, team: Team) -> dict[str, Any]:
    """The inputs of the form of the team's roles, as they are shown."""
    inputs = typed_in(shown(console, do(project, "team-roles", team)))
    return {name: values for name, values in inputs.items() if name in {"team", "roles", "offered_then"}}


def test_a_team_gets_roles_in_a_project_and_loses_them(
    console: Client, operator: User, project: Project
) -> None:
    team = Team.objects.create(org_id=project.org_id or "", name="on call", created=operator.created)
    with leaves_events(operator, EventType.TEAM_ADDED_TO_GROUP):
        granted = ["GROUP_READ_ONLY", "GROUP_MONITORING_ADMIN"]
        confirm(console, do(project, "add-team"), team=team.id, roles=granted)
    assert roles(team, project) == granted
    with leaves_events(operator, EventType.TEAM_ROLES_CHANGED_AUDIT):
        form = typed(console, project, team)
        confirm(console, do(project, "team-roles"), **{**form, "roles": ["GROUP_MONITORING_ADMIN"]})
    assert roles(team, project) == ["GROUP_MONITORING_ADMIN"]
    with leaves_events(operator, EventType.TEAM_REMOVED_FROM_GROUP):
        confirm(console, do(project, "remove-team"), team=team.id)
    assert roles(team, project) == []


def test_a_team_without_selected_roles_leaves_the_project(
    console: Client, operator: User, project: Project
) -> None:
    team = make_team(project)
    form = typed(console, project, team)
    assert form["roles"] == ["GROUP_READ_ONLY"]
    with leaves_events(operator, EventType.TEAM_REMOVED_FROM_GROUP):
        confirm(console, do(project, "team-roles"), **{**form, "roles": []})
    assert roles(team, project) == []


def test_roles_granted_since_the_page_was_loaded_stay(
    console: Client, operator: User, project: Project
) -> None:
    team = make_team(project)
    form = typed(console, project, team)
    team.grants.create(role=Role.GROUP_USER_ADMIN.value, project=project)
    confirm(console, do(project, "team-roles"), **{**form, "roles": ["GROUP_AUTOMATION_ADMIN"]})
    assert roles(team, project) == ["GROUP_USER_ADMIN", "GROUP_AUTOMATION_ADMIN"]


def test_unchanged_roles_leave_no_event(console: Client, operator: User, project: Project) -> None:
    team = make_team(project)
    with leaves_events(operator):
        confirm(console, do(project, "team-roles"), **typed(console, project, team))
    assert roles(team, project) == ["GROUP_READ_ONLY"]


def test_the_page_of_a_project_lists_its_teams_with_their_roles(console: Client, project: Project) -> None:
    page = shown(console, page_of(project))
    assert "No team has roles in the project." in page
    team = make_team(project)
    page = shown(console, page_of(project))
    assert page_of(team) in page
    assert "Reader" in page
    for name in ("team-roles", "remove-team"):
        assert do(project, name, team) in page
    assert f'href="{do(project, "add-team")}"' in page


def test_a_list_of_many_teams_ends_and_counts_the_rest(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_roles, "MOST_TEAMS", 2)
    for _ in range(4):
        make_team(project)
    page = shown(console, page_of(project))
    assert page.count("Change roles<span") == 2
    assert "2 more" in page


@each(
    ("chosen", "field", "recorded"),
    [
        ({"roles": ["GROUP_READ_ONLY"]}, "team", "required"),
        ({"team": "other", "roles": ["GROUP_READ_ONLY"]}, "team", "Is not a team of the organization"),
        ({"team": "own", "roles": []}, "roles", "required"),
        ({"team": "own", "roles": ["ORG_OWNER"]}, "roles", "not one of the available choices"),
        ({"team": "there", "roles": ["GROUP_OWNER"]}, "team", "has roles in the project already: Reader."),
    ],
)
def test_a_team_is_refused_next_to_the_field_and_the_input_stays(
    chosen: dict[str, Any], field: str, recorded: str, console: Client, project: Project
) -> None:
    teams = {"other": make_team(ProjectFactory.create()), "there": make_team(project)}
    teams["own"] = Team.objects.create(org_id=project.org_id or "", name="on call", created=project.created)
    sent = {**chosen, **({"team": teams[chosen["team"]].id} if "team" in chosen else {})}
    answer = confirm(console, do(project, "add-team"), **sent)
    assert not Event.objects.exists()
    assert recorded in str(answer.context["form"].errors[field])
    kept = typed_in(text_of(answer))
    assert kept.get("roles", []) == [role for role in chosen["roles"] if role != "ORG_OWNER"]
    if "team" in chosen:
        assert kept["team"] == [sent["team"]]
    assert roles(teams["there"], project) == ["GROUP_READ_ONLY"]


@each("action", ["team-roles", "remove-team"])
def test_a_team_that_is_gone_is_refused(
    action: str, console: Client, operator: User, project: Project
) -> None:
    other = make_team(ProjectFactory.create())
    for team_id in (other.id, "0" * 24, ""):
        page = shown(console, f"{do(project, action)}?team={team_id}")
        assert "has no such team" in page
        assert other.name not in page
        with leaves_events(operator):
            answer = confirm(console, do(project, action), team=team_id, roles=["GROUP_READ_ONLY"])
        assert "has no such team" in str(answer.context["form"].errors["team"])


def test_a_team_that_left_meanwhile_is_refused_next_to_the_field(
    console: Client, operator: User, project: Project
) -> None:
    team = make_team(project)
    form = typed(console, project, team)
    team.grants.all().delete()
    for action, field in (("team-roles", "roles"), ("remove-team", "team")):
        with leaves_events(operator):
            answer = confirm(console, do(project, action), **{**form, "roles": []})
        assert f"No team {team.id} exists here." in str(answer.context["form"].errors[field])


@each(("role", "may"), [(Role.GROUP_USER_ADMIN, True), (Role.GROUP_MONITORING_ADMIN, False)])
def test_roles_that_grant_roles_to_teams(role: Role, may: bool, project: Project) -> None:
    team = make_team(project)
    user, browser = operator_with(role, project=project)
    page = shown(browser, page_of(project))
    assert "Reader" in page
    for name in ("add-team", "team-roles", "remove-team"):
        assert (action_url(project, name) in page) is may
        assert browser.get(do(project, name, team)).status_code == (200 if may else 403)
    with leaves_events(user, as_owner=False):
        answer = confirm(browser, do(project, "team-roles"), team=team.id, roles=["GROUP_OWNER"])
    assert answer.status_code == (200 if may else 403)
    if may:
        assert "cannot grant the role GROUP_OWNER" in str(answer.context["form"].errors["roles"])
        assert typed_in(text_of(answer))["roles"] == ["GROUP_OWNER"]
    else:
        assert confirm(browser, do(project, "remove-team"), team=team.id).status_code == 403
        assert confirm(browser, do(project, "add-team"), team=team.id, roles=[]).status_code == 403
    assert roles(team, project) == ["GROUP_READ_ONLY"]


def test_a_role_in_another_project_grants_nothing_here(project: Project) -> None:
    team = make_team(project)
    user, browser = operator_with(Role.GROUP_OWNER, project=ProjectFactory.create())
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    with leaves_events(user, as_owner=False):
        assert confirm(browser, do(project, "remove-team"), team=team.id).status_code == 403
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
