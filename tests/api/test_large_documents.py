"""Documents that grew: what was read can be written back; and how far a team grows."""

import pytest

from accesslist.models import Organization, Project, RoleGrant, User
from accesslist.teams import changes as teams
from accesslist.teams.resource import MOST_JOINING
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api.recipients import client, fields, make_user, org, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, UserFactory, make_key, make_team

pytestmark = pytest.mark.django_db


def crowd(size: int) -> list[User]:
    """Users without roles."""
    return User.objects.bulk_create(UserFactory.build_batch(size, password=None))


def written_back(caller: ApiClient, path: str) -> int:
    """Write the document back: it is unchanged and records no event. Return the number of its items."""
    before, document = Event.objects.count(), caller.get(path).json()
    answer = caller.patch(path, document)
    assert (answer.status_code, answer.json()) == (200, document)
    assert Event.objects.count() == before
    return len(document.get("usernames") or document["roles"])


def test_a_team_larger_than_a_new_one_can_be_written_back(project: Project) -> None:
    team = make_team(project, *crowd(MOST_JOINING + 1))
    path = f"/orgs/{project.org_id}/teams/{team.id}"
    assert written_back(client(org(Role.ORG_OWNER, project)), path) == MOST_JOINING + 1


@pytest.mark.slow
@each("kind", ["user", "key"])
def test_a_holder_of_more_roles_than_a_new_one_can_be_written_back(owner: ApiClient, kind: str) -> None:
    user, key = make_user(Grant(Role.GLOBAL_READ_ONLY)), make_key(Grant(Role.GLOBAL_READ_ONLY))
    holder = {"user_id": user.id} if kind == "user" else {"api_key_id": key.id}
    orgs = Organization.objects.bulk_create(OrganizationFactory.build_batch(1000))
    RoleGrant.objects.bulk_create(RoleGrant(role="ORG_MEMBER", org=org, **holder) for org in orgs)
    path = f"/users/{user.id}" if kind == "user" else f"/admin/apiKeys/{key.id}"
    assert written_back(owner, path) == 1001


@pytest.mark.parametrize(("most", "joining"), [("MOST_MEMBERS", 3), ("MOST_JOINING", 2)])
def test_a_team_grows_no_further_than_it_may(
    owner: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch, most: str, joining: int
) -> None:
    monkeypatch.setattr(teams, most, joining)
    first, *more = [user.username for user in crowd(4)]
    team = make_team(project, User.objects.get(username=first))
    path = f"/orgs/{project.org_id}/teams/{team.id}"
    answer = owner.post(f"{path}/users", [{"username": name} for name in [first, *more]])
    assert (refusal(answer), fields(answer)) == ((400, "INVALID_ATTRIBUTE"), ["[3].username"])
    answer = owner.patch(path, {"usernames": [*more, first]})
    assert (refusal(answer), fields(answer)) == ((400, "INVALID_ATTRIBUTE"), ["usernames[2]"])
    answer = owner.post(f"/orgs/{project.org_id}/teams", {"name": "x", "usernames": [*more, first]})
    assert refusal(answer) == (400, "INVALID_ATTRIBUTE")
    assert team.members.count() == 1
    assert owner.patch(path, {"usernames": [first, *more[:2]]}).status_code == 200
    assert team.members.count() == 3
