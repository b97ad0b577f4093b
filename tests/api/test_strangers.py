"""What users who share no organization cannot learn of each other."""

from typing import Any

import pytest

from accesslist.models import Project, User
from events.models import Event
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api.recipients import client, fields, group, held, is_member, make_user, org, refusal, wire
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key, make_team
from tests.racing import at_once

pytestmark = pytest.mark.django_db
EMAIL = "eve@example.com"


@pytest.fixture
def stranger(db: None) -> User:
    """A user of another organization."""
    return make_user(org(Role.ORG_MEMBER, ProjectFactory.create()), username="Eve", email_address=EMAIL)


@pytest.fixture
def org_owner(project: Project) -> ApiClient:
    """An owner of the project's organization, and of nothing else."""
    return client(org(Role.ORG_OWNER, project))


def test_a_stranger_given_no_role_is_not_shown(org_owner: ApiClient, stranger: User) -> None:
    before = Event.objects.count()
    bodies: list[dict[str, Any]] = [{"roles": []}, {"id": stranger.id, "roles": []}]
    for body in bodies:
        answer = org_owner.patch(f"/users/{stranger.id}", body)
        assert refusal(answer) == (404, "USER_NOT_FOUND")
        assert (EMAIL in answer.text, "Eve" in answer.text) == (False, False)
    assert Event.objects.count() == before


def test_a_stranger_given_a_role_is_shown(org_owner: ApiClient, stranger: User, project: Project) -> None:
    given = group(Role.GROUP_READ_ONLY, project)
    answer = org_owner.patch(f"/users/{stranger.id}", {"roles": wire(given)})
    assert (answer.status_code, answer.json()["emailAddress"]) == (200, EMAIL)
    assert answer.json()["roles"] == wire(given)
    assert org_owner.get(f"/users/{stranger.id}").json() == answer.json()
    taken = org_owner.patch(f"/users/{stranger.id}", {"roles": []})
    assert (taken.status_code, taken.json()["roles"]) == (200, [])


@each("roles", ["none", "one"])
@each("field", ["emailAddress", "username", "firstName", "mobileNumber"])
def test_guessing_what_is_stored_shows_nothing(
    org_owner: ApiClient, stranger: User, project: Project, field: str, roles: str
) -> None:
    known = {"emailAddress": EMAIL, "username": "Eve", "firstName": "Ada", "mobileNumber": "+1"}
    User.objects.filter(id=stranger.id).update(mobile_number="+1")
    asked, before = wire(group(Role.GROUP_READ_ONLY, project)) if roles == "one" else [], held(stranger)
    right, wrong = (
        org_owner.patch(f"/users/{stranger.id}", {field: guess, "roles": asked})
        for guess in (known[field], "something else")
    )
    assert refusal(right) == (400, "ATTRIBUTE_READ_ONLY")
    assert right.content == wrong.content
    assert held(stranger) == before


def by_each_way(caller: ApiClient, project: Project, username: str) -> list[Any]:
    """The answers to naming a user in each of the ways a team takes them."""
    teams, team = f"/orgs/{project.org_id}/teams", make_team(project)
    return [
        caller.post(teams, {"name": "on call", "usernames": [username]}),
        caller.patch(f"{teams}/{team.id}", {"usernames": [username]}),
        caller.post(f"{teams}/{make_team(project).id}/users", [{"username": username}]),
    ]


def test_a_team_takes_a_stranger_no_more_than_one_who_does_not_exist(
    org_owner: ApiClient, stranger: User, project: Project
) -> None:
    in_team, everywhere = make_user(username="t"), make_user(Grant(Role.GLOBAL_READ_ONLY), username="g")
    make_team(ProjectFactory.create(), in_team)
    unknown = by_each_way(org_owner, project, "nobody")
    assert [fields(answer) for answer in unknown] == [["usernames[0]"], ["usernames[0]"], ["[0].username"]]
    for user in (stranger, in_team, everywhere):
        answers = by_each_way(org_owner, project, user.username)
        assert [answer.content for answer in answers] == [answer.content for answer in unknown]
        assert not user.teams.filter(org_id=project.org_id).exists()
    users = f"/orgs/{project.org_id}/teams/{make_team(project).id}/users"
    by_id = [org_owner.post(users, [{"id": user_id}]) for user_id in (stranger.id, new_id())]
    assert refusal(by_id[0]) == (400, "INVALID_ATTRIBUTE")
    assert by_id[0].content == by_id[1].content


def test_a_team_takes_who_is_in_the_organization_or_nowhere(org_owner: ApiClient, project: Project) -> None:
    colleague, fresh = make_user(group(Role.GROUP_READ_ONLY, project)), make_user()
    for user in (colleague, fresh):
        answers = by_each_way(org_owner, project, user.username)
        assert [answer.status_code for answer in answers] == [201, 200, 201]
        assert is_member(user, project)


def test_whoever_reads_every_organization_takes_anyone(
    owner: ApiClient, stranger: User, project: Project
) -> None:
    assert [answer.status_code for answer in by_each_way(owner, project, "eve")] == [201, 200, 201]
    assert is_member(stranger, project)


@pytest.mark.django_db(transaction=True)
def test_of_many_organizations_only_one_takes_a_new_user() -> None:
    places: list[Project] = ProjectFactory.create_batch(10)
    owners, fresh = [make_key(org(Role.ORG_OWNER, place)) for place in places], make_user(username="Ada")

    def call(number: int) -> int:
        teams = f"/orgs/{places[number].org_id}/teams"
        body = {"name": "on call", "usernames": ["ada"]}
        status: int = ApiClient(owners[number]).post(teams, body).status_code
        return status

    assert sorted(at_once(call)) == [201, *[400] * 9]
    assert fresh.teams.count() == 1
