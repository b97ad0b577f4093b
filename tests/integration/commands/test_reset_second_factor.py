"""manage.py reset_second_factor."""

import io

import pytest
from django.core.management import CommandError, call_command

from accesslist.login.store import has_second_factor
from events.models import Event
from opsapi import clock
from tests.admin.rows import make_operator
from tests.each import each
from tests.factories.accesslist import UserFactory
from tests.factories.second_factors import make_second_factor

pytestmark = pytest.mark.django_db


def run(username: str) -> str:
    """What the command prints."""
    printed = io.StringIO()
    call_command("reset_second_factor", username, stdout=printed)
    return printed.getvalue()


def test_it_takes_the_second_factor_also_of_a_global_owner() -> None:
    ada, grace = make_operator(username="ada"), make_operator(username="grace")
    for user in (ada, grace):
        make_second_factor(user, clock.now())
    assert "ada now logs in with the password only" in run("ADA")
    assert not has_second_factor(ada.id)
    assert has_second_factor(grace.id)
    event = Event.objects.latest("id")
    assert event.event_type == "USER_SECOND_FACTOR_REMOVED_AUDIT"
    assert event.details == {"targetUsername": "ada"}
    assert event.raw["actor"] == "system"


@each(
    ("username", "message"),
    [("nobody", "no user has the username nobody"), ("ada", "ada has no second factor")],
)
def test_an_error_is_one_line(username: str, message: str) -> None:
    UserFactory.create(username="ada")
    with pytest.raises(CommandError, match=message):
        run(username)
    assert not Event.objects.exists()
