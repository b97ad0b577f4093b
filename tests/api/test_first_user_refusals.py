"""Endpoint 5: all faults of a call are named at once, and in order."""

from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import AccessListEntry, User
from events.models import Event
from tests.api import bodies
from tests.api.recipients import fields, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import UserFactory

PATH = "/unauth/users"
PLACE = "a" * 24
pytestmark = pytest.mark.django_db

WRONG_BODIES = [
    pytest.param({"password": "short", "emailAddress": "x"}, "WEAK_PASSWORD", id="password, address"),
    pytest.param({"password": "short", "firstName": 1}, "WEAK_PASSWORD", id="password, first name"),
    pytest.param({"username": "ada", "password": "short"}, "INVALID_USERNAME", id="username, password"),
    pytest.param({"username": "ada", "lastName": ""}, "INVALID_USERNAME", id="username, last name"),
    pytest.param({"username": 5, "password": "48151623421342"}, "INVALID_ATTRIBUTE", id="username's type"),
    pytest.param({"password": "x7", "roles": ["KING"]}, "WEAK_PASSWORD", id="password, role"),
]


@pytest.mark.parametrize(("changes", "code"), WRONG_BODIES)
def test_every_wrong_field_is_named_in_the_documented_order(
    stranger: ApiClient, settings: Settings, changes: dict[str, Any], code: str
) -> None:
    settings.OPSAPI_USERNAME_VALIDATION = "strict"
    answer = stranger.post(PATH, bodies.user(**changes))
    assert refusal(answer) == (400, code)
    assert [name.partition("[")[0] for name in fields(answer)] == list(changes)
    assert not User.objects.exists()


def test_a_missing_field_is_named_with_a_weak_password(stranger: ApiClient) -> None:
    answer = stranger.post(PATH, {"password": "short", "emailAddress": "x"})
    assert refusal(answer) == (400, "MISSING_ATTRIBUTE")
    assert fields(answer) == ["username", "password", "firstName", "lastName", "emailAddress"]


def test_a_password_like_the_name_is_named_with_another_fault(stranger: ApiClient) -> None:
    body = bodies.user(firstName="Wilhelmina", password="wilhelmina1", lastName=5)
    answer = stranger.post(PATH, body)
    assert (refusal(answer), fields(answer)) == ((400, "WEAK_PASSWORD"), ["password", "lastName"])


@each(
    ("query", "named"),
    [
        ("accessList=bad&pretty=maybe&envelope=2", ["pretty", "envelope", "accessList"]),
        ("accessList=bad&accessList=10.0.0.1/8&whitelist=x", ["accessList", "accessList", "whitelist"]),
        ("accessList=192.0.2.7&accessList=bad", ["accessList"]),
        ("whitelist=", ["whitelist"]),
    ],
)
@each("body", [bodies.user(), {}, b"nonsense"], ids=["right", "empty", "not JSON"])
def test_every_wrong_value_of_the_query_is_named_before_the_body(
    stranger: ApiClient, query: str, named: list[str], body: Any
) -> None:
    answer = stranger.post(f"{PATH}?{query}", body)
    assert (refusal(answer), fields(answer)) == ((400, "INVALID_QUERY_PARAMETER"), named)
    assert not User.objects.exists()
    assert not Event.objects.exists()


def test_each_wrong_value_is_shown(stranger: ApiClient) -> None:
    answer = stranger.post(f"{PATH}?accessList=bad&accessList=10.0.0.1/8", bodies.user())
    messages = [bad["message"] for bad in answer.json()["badFields"]]
    assert messages == [
        "'bad' must be an address or a range in CIDR notation",
        "'10.0.0.1/8' must have no host bits set: 10.0.0.0/8 is the range around it",
    ]


def test_once_there_is_a_user_the_access_list_is_not_looked_at(stranger: ApiClient) -> None:
    UserFactory.create()
    query = "accessList=bad&whitelist=x&accessList=192.0.2.7"
    answer = stranger.post(f"{PATH}?{query}&pretty=maybe", bodies.user())
    assert (refusal(answer), fields(answer)) == ((400, "INVALID_QUERY_PARAMETER"), ["pretty"])
    assert stranger.post(f"{PATH}?{query}", bodies.user()).status_code == 201
    assert not AccessListEntry.objects.exists()


@each(
    ("roles", "code"),
    [
        (["GROUP_OWNER", "GLOBAL_OWNER"], "CANNOT_ADD_GLOBAL_ROLE"),
        (["ORG_MEMBER", {"roleName": "GLOBAL_OWNER", "groupId": PLACE}], "CANNOT_ADD_GLOBAL_ROLE"),
        (["GROUP_OWNER"], "ROLE_NOT_HELD"),
    ],
)
def test_a_global_role_is_refused_whatever_else_is_asked_for(
    stranger: ApiClient, roles: list[Any], code: str
) -> None:
    UserFactory.create()
    assert refusal(stranger.post(PATH, bodies.user(roles=roles))) == (403, code)
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("place", "code"), [("groupId", "ROLE_NEEDS_NO_GROUP_ID"), ("orgId", "INVALID_ATTRIBUTE")]
)
def test_a_global_role_has_no_place_where_it_may_be_asked_for(
    stranger: ApiClient, settings: Settings, place: str, code: str
) -> None:
    UserFactory.create()
    settings.OPSAPI_UNAUTH_GLOBAL_ROLES = True
    roles = ["GLOBAL_OWNER", {"roleName": "GLOBAL_READ_ONLY", place: PLACE}]
    answer = stranger.post(PATH, bodies.user(roles=roles))
    assert (refusal(answer), fields(answer)) == ((400, code), [f"roles[1].{place}"])
    answer = stranger.post(PATH, bodies.user(roles=roles, lastName=5))
    assert fields(answer) == ["lastName", f"roles[1].{place}"]
    answer = stranger.post(PATH, bodies.user(roles=[roles[0], "GROUP_OWNER"]))
    assert refusal(answer) == (403, "ROLE_NOT_HELD")
    assert User.objects.count() == 1
