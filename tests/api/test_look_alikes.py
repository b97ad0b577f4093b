"""People are who they look like: names that look alike, names that hide something, and who registered."""

from collections import Counter
from urllib.parse import quote

import pytest
from pytest_django import Settings

from accesslist.models import User
from opsapi.roles import Role
from tests.api import bodies
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import UserFactory, make_key
from tests.racing import THREADS, at_once

PATHS = ["/unauth/users", "/users"]
LOOK_ALIKE = "\u0430da"  # its first letter is Cyrillic
pytestmark = pytest.mark.django_db


@each("path", PATHS)
@each(
    ("there", "again"),
    [("ada", LOOK_ALIKE), (LOOK_ALIKE, "ADA"), ("ivan", "\u0406van"), ("ali", "aIi"), ("admin", "adrnin")],
    ids=ascii,
)
def test_a_name_that_looks_like_an_existing_one_is_409(
    owner: ApiClient, path: str, there: str, again: str, settings: Settings
) -> None:
    UserFactory.create(username=there, password=None)
    settings.PASSWORD_HASHERS = []  # A refusal computes no hash, which is expensive on purpose.
    answer = owner.post(path, bodies.user(username=again))
    assert refusal(answer) == (409, "USER_ALREADY_EXISTS")
    assert "similar-looking" in answer.json()["detail"]
    assert answer.json()["parameters"] == [again]
    assert User.objects.count() == 1


@each("path", PATHS)
@each("name", ["ada\u200b", "ada ", " ada", "a\u202eda", "ada\u00a0lovelace"], ids=ascii)
def test_invisible_characters_in_a_name_are_refused_and_named(owner: ApiClient, path: str, name: str) -> None:
    answer = owner.post(path, bodies.user(username=name))
    assert refusal(answer) == (400, "INVALID_USERNAME")
    (fault,) = answer.json()["badFields"]
    assert fault["field"] == "username"
    assert fault["message"].startswith("it must not ")
    assert not User.objects.exists()


@each("path", PATHS)
def test_names_in_any_script_are_accepted(owner: ApiClient, path: str) -> None:
    for name in (
        "ada",
        "\u0418\u0432\u0430\u043d",
        "\u7530\u4e2d\u592a\u90ce",
        "\u05d3\u05d5\u05d3@example.com",
    ):
        assert owner.post(path, bodies.user(username=name)).status_code == 201


def test_the_name_of_a_deleted_user_is_free_for_similar_names(owner: ApiClient) -> None:
    made = owner.post("/users", bodies.user(username="ada")).json()
    assert owner.delete(f"/users/{made['id']}").status_code == 204
    assert owner.post("/users", bodies.user(username=LOOK_ALIKE)).status_code == 201


def test_existing_users_with_similar_names_stay(owner: ApiClient) -> None:
    UserFactory.create(username="ada")
    UserFactory.create(username=LOOK_ALIKE, username_skeleton=None, username_key_skeleton=None)
    for name in ("ada", LOOK_ALIKE):
        assert owner.get(f"/users/byName/{quote(name)}").json()["username"] == name


@pytest.mark.django_db(transaction=True)
def test_one_of_concurrent_similar_names_is_accepted(transactional_db: None) -> None:
    names = ["ada", LOOK_ALIKE, "\u0430d\u0430", "ad\u0430", "\u0391DA"]
    answers = at_once(lambda number: ApiClient().post(PATHS[0], bodies.user(username=names[number % 5])))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: THREADS - 1}
    assert User.objects.count() == 1


def test_a_user_who_registered_is_marked(stranger: ApiClient) -> None:
    first = stranger.post(PATHS[0], bodies.user(username="owner")).json()["user"]
    later = stranger.post(PATHS[0], bodies.user(username="grace")).json()["user"]
    admin = ApiClient(make_key(Role.GLOBAL_OWNER))
    made = admin.post("/users", bodies.user(username="joan")).json()
    assert [user.get("selfRegistered") for user in (first, later, made)] == [None, True, None]
    shown = {row["username"]: row.get("selfRegistered") for row in admin.get("/users").json()["results"]}
    assert shown == {"owner": None, "grace": True, "joan": None}


def test_the_mark_can_be_written_back_and_not_changed(stranger: ApiClient) -> None:
    UserFactory.create()
    later = stranger.post(PATHS[0], bodies.user(username="grace")).json()["user"]
    admin = ApiClient(make_key(Role.GLOBAL_OWNER))
    roles = [{"roleName": "GLOBAL_READ_ONLY"}]
    changed = admin.patch(f"/users/{later['id']}", {**later, "roles": roles})
    assert (changed.status_code, changed.json()["selfRegistered"]) == (200, True)
    refused = admin.patch(f"/users/{later['id']}", {"roles": roles, "selfRegistered": False})
    assert refusal(refused) == (400, "ATTRIBUTE_READ_ONLY")
