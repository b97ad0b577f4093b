"""Endpoint 5: the first user, later users, and who is refused."""

import re
from typing import Any

import pytest
from django.utils.module_loading import import_string
from pytest_django import Settings

from accesslist.models import AccessListEntry, ApiKey, User
from events.models import Event
from opsapi import settings as service
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, UserFactory

PATH = "/unauth/users"
pytestmark = pytest.mark.django_db


def refused(answer: Any, status: int, code: str) -> bool:
    """Whether it is that refusal, and left nothing behind."""
    assert (answer.status_code, answer.json()["errorCode"]) == (status, code)
    return not Event.objects.exists()


@pytest.fixture
def first(stranger: ApiClient) -> Any:
    """The answer that created the first user."""
    return stranger.post(PATH, bodies.user(emailAddress="ada@example.org", mobileNumber="+12025550100"))


def test_the_first_user_is_a_global_owner(first: Any) -> None:
    assert first.status_code == 201
    user = first.json()["user"]
    assert re.fullmatch("[0-9a-f]{24}", user.pop("id"))
    assert user.pop("links")[0]["rel"] == "self"
    assert user == {
        "username": "ada@example.com",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "emailAddress": "ada@example.org",
        "mobileNumber": "+12025550100",
        "roles": [{"roleName": "GLOBAL_OWNER"}],
        "teamIds": [],
    }


def test_the_first_user_gets_a_key_of_the_documented_shape(first: Any) -> None:
    key = first.json()["programmaticApiKey"]
    assert set(key) == {"id", "desc", "publicKey", "privateKey", "roles", "links"}
    assert re.fullmatch("[a-z0-9]{6}", key["publicKey"])
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", key["privateKey"])
    assert len(key["privateKey"]) == 31
    assert key["roles"] == [{"roleName": "GLOBAL_OWNER"}]


def test_the_key_opens_the_installation_and_is_shown_once(first: Any) -> None:
    key = first.json()["programmaticApiKey"]
    caller = ApiClient(KeyPair(key["id"], key["publicKey"], key["privateKey"]))
    shown = caller.get(f"/admin/apiKeys/{key['id']}").json()
    assert shown == {**key, "privateKey": "******" + key["privateKey"][-4:]}
    assert caller.get(f"/users/{first.json()['user']['id']}").json() == first.json()["user"]


def test_stored_keys_and_passwords_are_unreadable(first: Any) -> None:
    key = ApiKey.objects.get()
    kept = f"{key.ha1} {key.private_last4} {User.objects.get().password}"
    assert first.json()["programmaticApiKey"]["privateKey"] not in kept
    assert "correct horse battery" not in kept
    assert User.objects.get().password.startswith("argon2")


def test_in_service_passwords_are_hashed_at_full_cost() -> None:
    # The tests insert a hasher of their own before it (tests/passwords.py).
    (path,) = service.PASSWORD_HASHERS
    hasher = import_string(path)()
    assert (hasher.algorithm, hasher.time_cost, hasher.memory_cost) == ("argon2", 2, 100 * 1024)


def test_a_username_that_is_an_address_serves_as_one(stranger: ApiClient) -> None:
    assert stranger.post(PATH, bodies.user()).json()["user"]["emailAddress"] == "ada@example.com"
    plain = stranger.post(PATH, bodies.user(username="grace")).json()["user"]
    assert "emailAddress" not in plain


@each("parameter", ["accessList", "whitelist"])
def test_the_first_user_fills_the_global_access_list(stranger: ApiClient, parameter: str) -> None:
    values = ("192.0.2.7", "::ffff:198.51.100.0/120", "2001:db8::/32", "192.0.2.7/32")
    query = "&".join(f"{parameter}={value}" for value in values)
    assert stranger.post(f"{PATH}?{query}", bodies.user()).status_code == 201
    entries = AccessListEntry.objects.filter(api_key=None).order_by("id")
    assert [entry.cidr_block for entry in entries] == ["192.0.2.7/32", "198.51.100.0/24", "2001:db8::/32"]
    recorded = Event.objects.filter(event_type="ACCESS_LIST_ENTRY_ADDED_AUDIT").count()
    assert recorded == 3


@each("bad", ["nonsense", "192.0.2.7/33", "192.0.2.7/24", "", "300.1.1.1", "example.com", "fe80::1%25eth0"])
def test_one_bad_address_refuses_the_whole_call(stranger: ApiClient, bad: str) -> None:
    answer = stranger.post(f"{PATH}?accessList=192.0.2.7&accessList={bad}", bodies.user())
    assert refused(answer, 400, "INVALID_QUERY_PARAMETER")
    assert answer.json()["badFields"][0]["field"] == "accessList"
    assert not User.objects.exists()
    assert not ApiKey.objects.exists()
    assert not AccessListEntry.objects.exists()


def test_a_later_user_gets_no_key_and_no_role(first: Any, stranger: ApiClient) -> None:
    answer = stranger.post(f"{PATH}?accessList=nonsense", bodies.user(username="grace"))
    assert answer.status_code == 201
    assert set(answer.json()) == {"user"}
    assert answer.json()["user"]["roles"] == []
    assert ApiKey.objects.count() == 1
    assert not AccessListEntry.objects.exists()


@each(
    ("roles", "code"),
    [
        (["GLOBAL_OWNER"], "CANNOT_ADD_GLOBAL_ROLE"),
        ([{"roleName": "GLOBAL_READ_ONLY"}], "CANNOT_ADD_GLOBAL_ROLE"),
        ([{"roleName": "GROUP_OWNER", "groupId": "a" * 24}], "ROLE_NOT_HELD"),
        ([{"roleName": "ORG_MEMBER", "orgId": "a" * 24}], "ROLE_NOT_HELD"),
    ],
)
def test_a_later_user_gets_no_role_by_asking(stranger: ApiClient, roles: list[Any], code: str) -> None:
    UserFactory.create()
    assert refused(stranger.post(PATH, bodies.user(roles=roles)), 403, code)
    assert User.objects.count() == 1


def test_the_literal_reading_can_be_restored(stranger: ApiClient, settings: Settings) -> None:
    UserFactory.create()
    settings.OPSAPI_UNAUTH_GLOBAL_ROLES = True
    answer = stranger.post(PATH, bodies.user(roles=["GLOBAL_OWNER"]))
    assert answer.status_code == 201
    assert answer.json()["user"]["roles"] == [{"roleName": "GLOBAL_OWNER"}]
    assert set(answer.json()) == {"user"}


@each("again", ["ada@example.com", "ADA@example.COM", "ａda@example.com"])
def test_a_username_is_unique_in_any_case_and_form(stranger: ApiClient, again: str) -> None:
    UserFactory.create(username="Ada@example.com")
    assert refused(stranger.post(PATH, bodies.user(username=again)), 409, "USER_ALREADY_EXISTS")


@each(
    ("password", "recorded"),
    [
        ("password", "too common"),
        ("x7", "too short"),
        ("48151623421342", "entirely numeric"),
        ("ada@example.com", "too similar to the username"),
    ],
)
def test_a_weak_password_is_explained(stranger: ApiClient, password: str, recorded: str) -> None:
    answer = stranger.post(PATH, bodies.user(password=password))
    assert refused(answer, 400, "WEAK_PASSWORD")
    assert recorded in answer.json()["badFields"][0]["message"]
    assert answer.json()["badFields"][0]["field"] == "password"


@each(
    ("change", "field", "code"),
    [
        ({"username": "a\tb"}, "username", "INVALID_ATTRIBUTE"),
        ({"emailAddress": "ada"}, "emailAddress", "INVALID_EMAIL_ADDRESS"),
        ({"mobileNumber": "call me"}, "mobileNumber", "INVALID_ATTRIBUTE"),
        ({"roles": ["KING"]}, "roles[0].roleName", "INVALID_ENUM_VALUE"),
        ({"email": "ada@example.com"}, "email", "INVALID_ATTRIBUTE"),
    ],
)
def test_a_wrong_field_is_named(stranger: ApiClient, change: dict[str, Any], field: str, code: str) -> None:
    answer = stranger.post(PATH, bodies.user(**change) | {k: v for k, v in change.items() if v is not None})
    assert refused(answer, 400, code)
    assert answer.json()["badFields"][0]["field"] == field


@each("username", ["a" * 254, "\ufdfa" * 33, "ada lovelace", "😀" * 254])
def test_any_text_without_control_characters_is_a_username(stranger: ApiClient, username: str) -> None:
    answer = stranger.post(PATH, bodies.user(username=username))
    assert (answer.status_code, answer.json()["user"]["username"]) == (201, username)


def test_a_username_that_normalizes_to_something_endless_is_refused(stranger: ApiClient) -> None:
    assert refused(stranger.post(PATH, bodies.user(username="\ufdfa" * 254)), 400, "INVALID_USERNAME")


@pytest.mark.parametrize(
    ("rule", "username", "status"),
    [
        ("none", "ada", 201),
        ("loose", "ada", 400),
        ("loose", "ada@localhost", 400),
        ("loose", "a.da@localhost", 400),
        ("loose", "ada@local.host", 201),
        ("loose", "ada @ local . host", 201),
        ("strict", "ada @ local . host", 400),
        ("strict", "ada@localhost", 201),
        ("strict", "ada@example.com", 201),
    ],
)
def test_a_setting_restricts_usernames(
    stranger: ApiClient, settings: Settings, rule: str, username: str, status: int
) -> None:
    settings.OPSAPI_USERNAME_VALIDATION = rule
    answer = stranger.post(PATH, bodies.user(username=username))
    assert answer.status_code == status
    assert status == 201 or answer.json()["errorCode"] == "INVALID_USERNAME"


@pytest.mark.parametrize(("invitation_only", "ldap"), [(False, False), (True, True), (False, True)])
def test_registration_is_refused_without_invitation_only_mode_or_with_ldap(
    stranger: ApiClient, settings: Settings, invitation_only: bool, ldap: bool
) -> None:
    settings.OPSAPI_INVITATION_ONLY, settings.OPSAPI_LDAP = invitation_only, ldap
    answer = stranger.request("POST", f"{PATH}?pretty=maybe", b"nonsense", content_type="text/plain")
    assert refused(answer, 403, "INVITATION_ONLY_MODE_OR_LDAP")


def test_the_event_names_the_new_user_and_the_address(stranger: ApiClient) -> None:
    made = stranger.post(PATH, bodies.user(), REMOTE_ADDR="203.0.113.9").json()
    event = Event.objects.get(event_type="USER_CREATED_AUDIT")
    assert event.details == {
        "userId": made["user"]["id"],
        "username": "ada@example.com",
        "isGlobalAdmin": True,
        "remoteAddress": "203.0.113.9",
        "targetUsername": "ada@example.com",
    }
    key_made = Event.objects.get(event_type="API_KEY_CREATED_AUDIT")
    assert key_made.details["targetPublicKey"] == made["programmaticApiKey"]["publicKey"]


def test_an_unknown_host_is_refused_before_a_user_is_created(stranger: ApiClient) -> None:
    answer = stranger.post(PATH, bodies.user(), HTTP_HOST="evil.example.com")
    assert refused(answer, 400, "INVALID_ATTRIBUTE")
    assert answer.json()["badFields"][0]["field"] == "Host"
    assert not User.objects.exists()
