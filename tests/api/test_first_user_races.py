"""However many calls race to create the first user, exactly one succeeds."""

from collections import Counter

import pytest

from accesslist.models import AccessListEntry, ApiKey, RoleGrant, User
from tests.api import bodies
from tests.client import ApiClient
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_many_racing_calls_one_makes_the_first_user() -> None:
    answers = at_once(
        lambda number: ApiClient().post(
            f"/unauth/users?accessList=192.0.2.{number}", bodies.user(username=f"ada{number}")
        )
    )
    assert [answer.status_code for answer in answers] == [201] * THREADS
    assert sum("programmaticApiKey" in answer.json() for answer in answers) == 1
    assert (User.objects.count(), ApiKey.objects.count(), RoleGrant.objects.count()) == (THREADS, 1, 2)
    assert AccessListEntry.objects.count() == 1


def test_of_many_racing_calls_with_one_name_one_is_taken() -> None:
    answers = at_once(lambda _: ApiClient().post("/unauth/users", bodies.user()))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: THREADS - 1}
    assert (User.objects.count(), ApiKey.objects.count()) == (1, 1)
