"""Where everybody has to have a second factor, and how one is reset."""

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from accesslist.login.store import factor_state, has_second_factor
from accesslist.models import Project, User
from events.types import EventType
from opsapi.roles import Role
from tests.admin.logging_in import ACCOUNT, BEGIN, CHANGE, LOGIN, SETUP, type_password
from tests.admin.operators import action_url, page_of
from tests.admin.reading import is_in, text_of
from tests.admin.rows import make_operator
from tests.admin.times import NOON
from tests.admin.writing import confirm, leaves_events, post
from tests.factories.accesslist import PASSWORD, UserFactory
from tests.factories.second_factors import STEP, code_at, make_second_factor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


@pytest.fixture
def required(settings: LazySettings) -> None:
    """Who has no second factor has to set one up."""
    settings.OPSAPI_SECOND_FACTOR = "required"


def test_a_required_second_factor_must_be_set_up_first(required: None, console: Client) -> None:
    for url in ("/admin/", ACCOUNT, CHANGE, "/admin/events/event/", "/admin/nothing/", "/admin/jsi18n/"):
        for answer in (console.get(url), console.post(url)):
            assert (answer.status_code, answer["Location"]) == (302, BEGIN), url
    assert console.get(BEGIN).status_code == 200
    assert post(console, BEGIN, password=PASSWORD)["Location"] == SETUP
    assert console.get("/admin/")["Location"] == BEGIN
    state = factor_state(User.objects.get(username="ada").id)
    assert state.setup
    assert post(console, SETUP, code=code_at(state.setup.secret, NOON)).status_code == 200
    assert is_in(console)


def test_a_required_second_factor_allows_log_in_and_log_out(
    required: None, client: Client, operator: User, project: Project
) -> None:
    assert client.get(LOGIN).status_code == 200
    assert client.get("/admin/")["Location"].startswith(LOGIN)
    type_password(client)
    assert client.get("/admin/")["Location"] == BEGIN
    assert client.post(reverse("admin:logout")).status_code in {200, 302}
    assert client.get("/admin/")["Location"].startswith(LOGIN)


def test_a_reset_second_factor_must_be_set_up_again(
    required: None, console: Client, operator: User, factor: tuple[str, list[str]]
) -> None:
    grace = make_operator(username="grace")
    make_second_factor(grace, NOON - STEP)
    grace.refresh_from_db()
    console.force_login(grace)
    url = action_url(operator, "reset_second_factor")
    assert "Verify who is asking" in text_of(console.get(url))
    with leaves_events(grace, EventType.USER_SECOND_FACTOR_REMOVED_AUDIT):
        post(console, url, confirmed="yes")
    browser = Client()
    type_password(browser)
    assert browser.get("/admin/")["Location"] == BEGIN


def test_only_user_admins_are_offered_to_reset_it(client: Client, project: Project) -> None:
    user, reader = UserFactory.create(), UserFactory.create()
    reader.grants.create(role=Role.GLOBAL_READ_ONLY.value)
    make_second_factor(user, NOON)
    client.force_login(reader)
    url = page_of(user)
    assert "Reset second factor" not in text_of(client.get(url))
    assert confirm(client, action_url(user, "reset_second_factor")).status_code == 403
    assert has_second_factor(user.id)
    reader.grants.create(role=Role.GLOBAL_USER_ADMIN.value)
    assert "Reset second factor" in text_of(client.get(url))
