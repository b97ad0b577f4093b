"""Services check new users too, for callers that do not use the API."""

from collections.abc import Callable

import pytest
from pytest_django import Settings

from accesslist.models import User
from accesslist.users.changes import NewUser, unauth_user_create, user_create
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.roles import Grant, Role

pytestmark = pytest.mark.django_db
WRONG = NewUser(username="ada", password="short", first_name="Ada", last_name="Lovelace")


def by_nobody() -> None:
    """As endpoint 5."""
    unauth_user_create(new=WRONG, access_list=(), remote_address=None, now=clock.now())


def by_owner() -> None:
    """As POST /users."""
    user_create(new=WRONG, by=[Grant(Role.GLOBAL_OWNER)], actor=SYSTEM, now=clock.now())


@pytest.mark.parametrize("make", [by_nobody, by_owner])
def test_the_refusal_names_username_and_password(settings: Settings, make: Callable[[], None]) -> None:
    settings.OPSAPI_USERNAME_VALIDATION = "strict"
    with pytest.raises(ApiError) as refused:
        make()
    faults = [(fault.field, fault.code.value) for fault in refused.value.bad_fields]
    assert faults == [("username", "INVALID_USERNAME"), ("password", "WEAK_PASSWORD")]
    assert not User.objects.exists()
