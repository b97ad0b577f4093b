"""However many calls race for a key, it ends in one state, and a Global owner is left."""

from collections import Counter

import pytest

from accesslist.models import ApiKey, Project, RoleGrant
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import make_key
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db(transaction=True)


def recorded(event_type: str) -> int:
    """How many events of the type there are."""
    return Event.objects.filter(event_type=event_type).count()


def test_racing_calls_make_a_key_each(owner: ApiClient, project: Project) -> None:
    answers = at_once(lambda _: owner.post(f"/groups/{project.id}/apiKeys", bodies.api_key()))
    assert [answer.status_code for answer in answers] == [201] * THREADS
    assert len({answer.json()["publicKey"] for answer in answers}) == THREADS
    assert ApiKey.objects.count() == THREADS + 1
    assert recorded("API_KEY_CREATED_AUDIT") == THREADS


def test_a_key_is_deleted_once_and_what_changes_it_comes_before(owner: ApiClient, project: Project) -> None:
    key = make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id))
    path = f"/groups/{project.id}/apiKeys/{key.id}"
    roles = ["GROUP_OWNER", "GROUP_AGENT", "GROUP_READ_ONLY"]
    answers = at_once(
        lambda number: (
            owner.patch(path, {"desc": f"{number}", "roles": [roles[number % 3]]})
            if number % 2
            else owner.delete(path)
        )
    )
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) <= {200, 204, 404}
    assert statuses[204] == 1
    assert not ApiKey.objects.filter(id=key.id).exists()
    assert not RoleGrant.objects.filter(project=project).exists()
    assert recorded("API_KEY_DELETED_AUDIT") == 1
    assert recorded("API_KEY_CHANGED_AUDIT") == statuses[200]


def test_racing_changes_leave_the_roles_of_one_of_them(owner: ApiClient, project: Project) -> None:
    key = make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id))
    path = f"/groups/{project.id}/apiKeys/{key.id}"
    wanted = [["GROUP_OWNER", "GROUP_AGENT"], ["GROUP_BACKUP_ADMIN"]]
    answers = at_once(lambda number: owner.patch(path, {"roles": wanted[number % 2]}))
    assert [answer.status_code for answer in answers] == [200] * THREADS
    held = RoleGrant.objects.filter(api_key_id=key.id).order_by("id").values_list("role", flat=True)
    assert list(held) in wanted


@pytest.mark.parametrize("by_deleting", [True, False])
def test_owners_who_demote_each_other_leave_an_owner(db: None, by_deleting: bool) -> None:
    keys = [make_key(Role.GLOBAL_OWNER, Role.GLOBAL_READ_ONLY) for _ in range(2)]

    def demote(number: int) -> tuple[int, str]:
        caller, path = ApiClient(keys[number % 2]), f"/admin/apiKeys/{keys[1 - number % 2].id}"
        answer = caller.delete(path) if by_deleting else caller.patch(path, {"roles": ["GLOBAL_READ_ONLY"]})
        return answer.status_code, answer.json()["errorCode"] if answer.status_code >= 400 else ""

    answers = Counter(at_once(demote))
    assert RoleGrant.objects.filter(role="GLOBAL_OWNER").count() == 1
    assert set(answers) <= {
        (204, ""),
        (200, ""),
        (401, "UNAUTHORIZED"),
        (403, "USER_UNAUTHORIZED"),
        (403, "CANNOT_DEMOTE_LAST_OWNER"),
        (404, "API_KEY_NOT_FOUND"),
    }
    assert recorded("API_KEY_DELETED_AUDIT" if by_deleting else "API_KEY_CHANGED_AUDIT") == 1


def test_no_role_is_given_in_a_project_that_is_deleted_meanwhile(owner: ApiClient, project: Project) -> None:
    key = make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id))
    path = f"/groups/{project.id}"

    def call(number: int) -> int:
        if number == 0:
            answer = owner.delete(path)
        elif number % 2:
            answer = owner.post(f"{path}/apiKeys", bodies.api_key())
        else:
            answer = owner.patch(
                f"{path}/apiKeys/{key.id}",
                {"roles": ["GROUP_OWNER", ["GROUP_AGENT", "GROUP_READ_ONLY"][number % 4 // 2]]},
            )
        return int(answer.status_code)

    statuses = at_once(call)
    assert statuses[0] == 204
    assert set(statuses[1:]) <= {200, 201, 404}
    assert list(ApiKey.objects.values_list("id", flat=True)) == [owner.key.id if owner.key else ""]
    assert not RoleGrant.objects.filter(project=project).exists()
