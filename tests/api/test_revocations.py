"""After a revocation is answered, nothing more of the key or user is written."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import transaction

from accesslist.locks import actor_lock_shared, identities_lock_exclusive
from accesslist.models import ApiKey, Project, Team, User
from accesslist.roles.changes import keys_revoke
from alerting.models import MaintenanceWindow
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from opsapi.roles import Grant, Role
from opsapi.sql import fetch_rows
from tests.admin.operators import action_url, operator_with
from tests.admin.writing import confirm
from tests.api import bodies
from tests.client import ApiClient
from tests.eventually import eventually
from tests.factories.accesslist import KeyPair, make_entry, make_key, make_team
from tests.meanwhile import meanwhile
from tests.racing import THREADS, at_once, on_own_connection, while_it_waits

pytestmark = pytest.mark.django_db(transaction=True)
ELSEWHERE = "198.51.100.0/24"
Revocation = Callable[[ApiClient, Project, KeyPair], object]


@pytest.fixture
def key(project: Project) -> KeyPair:
    """A key that writes maintenance windows, and holds another role elsewhere."""
    return make_key(
        Grant(Role.GROUP_MONITORING_ADMIN, group_id=project.id),
        Grant(Role.ORG_MEMBER, org_id=project.org_id),
    )


@pytest.fixture
def windows(project: Project) -> str:
    """Where it writes them."""
    return f"/groups/{project.id}/maintenanceWindows"


def _delete_everywhere(owner: ApiClient, project: Project, key: KeyPair) -> object:
    return owner.delete(f"/admin/apiKeys/{key.id}").status_code


def _take_the_roles_of_the_project(owner: ApiClient, project: Project, key: KeyPair) -> object:
    return owner.delete(f"/groups/{project.id}/apiKeys/{key.id}").status_code


def _give_a_lesser_role(owner: ApiClient, project: Project, key: KeyPair) -> object:
    path = f"/groups/{project.id}/apiKeys/{key.id}"
    return owner.patch(path, {"roles": ["GROUP_READ_ONLY"]}).status_code


def _begin_its_list(owner: ApiClient, project: Project, key: KeyPair) -> object:
    return owner.post(f"/admin/apiKeys/{key.id}/accessList", [{"cidrBlock": ELSEWHERE}]).status_code


def _delete_the_project(owner: ApiClient, project: Project, key: KeyPair) -> object:
    return owner.delete(f"/groups/{project.id}").status_code


REVOCATIONS: list[tuple[Revocation, int, str]] = [
    (_delete_everywhere, 401, "UNAUTHORIZED"),
    (_take_the_roles_of_the_project, 403, "NOT_IN_GROUP"),
    (_give_a_lesser_role, 403, "USER_UNAUTHORIZED"),
    (_begin_its_list, 403, "IP_ADDRESS_NOT_ON_ACCESS_LIST"),
    (_delete_the_project, 403, "NOT_IN_GROUP"),
]


@pytest.mark.parametrize(("revoke", "status", "code"), REVOCATIONS)
def test_a_key_writes_nothing_after_the_answer_to_its_revocation(
    *,
    owner: ApiClient,
    project: Project,
    key: KeyPair,
    windows: str,
    monkeypatch: pytest.MonkeyPatch,
    revoke: Revocation,
    status: int,
    code: str,
) -> None:
    meanwhile(monkeypatch, lambda: revoke(owner, project, key))
    answer = ApiClient(key).post(windows, bodies.window(), REMOTE_ADDR="192.0.2.7")
    assert (answer.status_code, answer.json()["errorCode"]) == (status, code)
    assert not MaintenanceWindow.objects.exists()


def test_a_global_key_writes_nothing_after_the_global_list_blocks_it(
    owner: ApiClient, windows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = make_entry("0.0.0.0/0")
    meanwhile(monkeypatch, lambda: owner.patch(f"/admin/accessList/{entry.id}", {"cidrBlock": "127.0.0.0/8"}))
    answer = ApiClient(make_key(Role.GLOBAL_OWNER)).post(windows, bodies.window(), REMOTE_ADDR="192.0.2.7")
    assert answer.json()["errorCode"] == "IP_ADDRESS_NOT_ON_ACCESS_LIST"
    assert not MaintenanceWindow.objects.exists()


def test_a_key_that_may_write_still_does(
    owner: ApiClient, project: Project, key: KeyPair, windows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(
        monkeypatch,
        lambda: owner.patch(f"/groups/{project.id}/apiKeys/{key.id}", {"roles": ["GROUP_OWNER"]}),
    )
    assert ApiClient(key).post(windows, bodies.window()).status_code == 200
    assert MaintenanceWindow.objects.count() == 1


def test_a_revocation_waits_for_the_running_write_and_the_next_write_waits_for_it(
    owner: ApiClient, key: KeyPair, windows: str
) -> None:
    """A stream of writes cannot delay a revocation: later writes wait for it."""
    actor = Actor(ActorKind.KEY, key.id, key.public_key, revocations=0)
    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            actor_lock_shared(actor)
            revoked = pool.submit(on_own_connection, lambda: owner.delete(f"/admin/apiKeys/{key.id}"))
            eventually(lambda: _waiting() == 1)
            later = pool.submit(on_own_connection, lambda: ApiClient(key).post(windows, bodies.window()))
            eventually(lambda: _waiting() == 2)
        assert revoked.result().status_code == 204
        assert later.result().status_code == 401
    assert not MaintenanceWindow.objects.exists()


def test_a_write_that_waited_for_a_revocation_is_refused(key: KeyPair) -> None:
    actor = Actor(ActorKind.KEY, key.id, key.public_key, revocations=0)

    def write() -> None:
        with transaction.atomic():
            actor_lock_shared(actor)

    def revoke() -> None:
        identities_lock_exclusive([key.id])
        keys_revoke(ids=[key.id], actor=SYSTEM)

    with pytest.raises(ApiError) as refused:
        while_it_waits(write, revoke)
    assert refused.value.code is ErrorCode.SERVICE_UNAVAILABLE


def test_keys_can_add_to_the_same_list_at_the_same_time(owner: ApiClient, key: KeyPair) -> None:
    make_entry("127.0.0.0/8")
    answers = at_once(
        lambda n: owner.post("/admin/accessList", bodies.entry(cidrBlock=f"10.0.{n}.0/24")).status_code
    )
    assert answers == [200] * THREADS
    assert not ApiKey.objects.exclude(revocations=0).exists()


def test_a_key_that_deletes_its_projects_goes_on(project: Project) -> None:
    maker = make_key(Grant(Role.ORG_OWNER, org_id=project.org_id))
    made = ApiClient(maker).post("/groups", bodies.group(orgId=project.org_id)).json()
    assert ApiClient(maker).delete(f"/groups/{made['id']}").status_code == 204
    assert ApiKey.objects.get(id=maker.id).revocations == 0


def test_of_two_keys_that_delete_each_other_exactly_one_does(db: None) -> None:
    make_key(Role.GLOBAL_OWNER)
    keys = [make_key(Role.GLOBAL_OWNER) for _ in range(2)]

    def delete_the_other(number: int) -> int:
        path = f"/admin/apiKeys/{keys[1 - number].id}"
        status: int = ApiClient(keys[number]).delete(path).status_code
        return status

    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            # Both have been let in when the first of them begins to write.
            for key in keys:
                actor_lock_shared(Actor(ActorKind.KEY, key.id, key.public_key, revocations=0))
            answers = [pool.submit(on_own_connection, lambda n=n: delete_the_other(n)) for n in range(2)]
            eventually(lambda: _waiting() == 2)
        assert sorted(answer.result() for answer in answers) == [204, 401]
    assert ApiKey.objects.filter(id__in=[key.id for key in keys]).count() == 1


def _take_their_role(owner: ApiClient, project: Project, user: User) -> object:
    return owner.patch(f"/users/{user.id}", {"roles": []}).status_code


def _delete_them(owner: ApiClient, project: Project, user: User) -> object:
    return owner.delete(f"/users/{user.id}").status_code


def _take_them_from_their_team(owner: ApiClient, project: Project, user: User) -> object:
    team = Team.objects.get()
    return owner.delete(f"/orgs/{project.org_id}/teams/{team.id}/users/{user.id}").status_code


def _replace_the_members_of_their_team(owner: ApiClient, project: Project, user: User) -> object:
    return owner.patch(f"/orgs/{project.org_id}/teams/{Team.objects.get().id}", {"usernames": []}).status_code


def _take_the_roles_of_their_team(owner: ApiClient, project: Project, user: User) -> object:
    return owner.delete(f"/groups/{project.id}/teams/{Team.objects.get().id}").status_code


def _delete_their_team(owner: ApiClient, project: Project, user: User) -> object:
    return owner.delete(f"/orgs/{project.org_id}/teams/{Team.objects.get().id}").status_code


@pytest.mark.parametrize(
    ("revoke", "by_team"),
    [
        (_take_their_role, False),
        (_delete_them, False),
        (_take_them_from_their_team, True),
        (_replace_the_members_of_their_team, True),
        (_take_the_roles_of_their_team, True),
        (_delete_their_team, True),
    ],
)
def test_an_operator_does_nothing_after_the_answer_to_a_revocation(
    *,
    owner: ApiClient,
    project: Project,
    windows: str,
    monkeypatch: pytest.MonkeyPatch,
    revoke: Callable[[ApiClient, Project, User], object],
    by_team: bool,
) -> None:
    window = MaintenanceWindow.objects.get(id=owner.post(windows, bodies.window()).json()["id"])
    if by_team:
        user, browser = operator_with(Role.ORG_MEMBER, org=project.org)
        make_team(project, user).grants.update(role=Role.GROUP_OWNER.value)
    else:
        user, browser = operator_with(Role.GROUP_OWNER, project=project)
    meanwhile(monkeypatch, lambda: revoke(owner, project, user))
    answer = confirm(browser, action_url(window, "delete"))
    assert answer.status_code < 500
    assert MaintenanceWindow.objects.filter(id=window.id).exists()


def _waiting() -> int:
    """How many sessions wait for a lock of this database."""
    [(count,)] = fetch_rows(
        "SELECT count(*) FROM pg_locks WHERE NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    return int(count)
