"""A password that somebody else set is changed at the first log-in."""

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.test import Client

from accesslist.models import Project, User
from accesslist.principal import UserPrincipal
from accesslist.users.changes import NewUser, user_create
from opsapi import clock
from opsapi.roles import Role
from tests.admin.logging_in import ACCOUNT, BEGIN, CHANGE, LOGIN, errors_of, type_password
from tests.admin.operators import action_url, page_of
from tests.admin.writing import confirm
from tests.each import each
from tests.factories.accesslist import PASSWORD, UserFactory

OWN = "a passphrase of my own"
PAGES = ("/admin/", ACCOUNT, BEGIN, "/admin/accesslist/user/", "/admin/overview/", "/admin/invitation/")
pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(project: Project) -> User:
    """A reader of the project whose password somebody else set."""
    user: User = UserFactory.create(username="ada", password_given=True)
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    return user


@pytest.fixture
def browser(ada: User) -> Client:
    """A browser in which this user has logged in."""
    browser = Client()
    assert type_password(browser)["Location"] == "/admin/"
    return browser


def change(browser: Client, password: str = OWN) -> object:
    """The answer to the form of the change."""
    return browser.post(CHANGE, {"oldPassword": PASSWORD, "password": password, "again": password})


def is_given(user: User) -> bool:
    """Whether the user must change the password."""
    return User.objects.get(id=user.id).password_given


@each("url", PAGES)
def test_every_page_leads_to_the_change(browser: Client, url: str) -> None:
    answer = browser.get(url)
    assert (answer.status_code, answer["Location"]) == (302, CHANGE)
    assert browser.post(url)["Location"] == CHANGE


def test_the_change_opens_the_console(browser: Client, ada: User) -> None:
    page = browser.get(CHANGE)
    assert page.status_code == 200
    assert page.context["password_given"]
    assert change(browser)["Location"] == "/admin/"  # type: ignore[index]
    assert browser.get("/admin/").status_code == 200
    assert not is_given(ada)
    assert not browser.get(CHANGE).context["password_given"]


def test_the_same_password_is_refused(browser: Client, ada: User) -> None:
    assert list(errors_of(change(browser, PASSWORD))) == ["password"]
    assert is_given(ada)
    assert browser.get("/admin/")["Location"] == CHANGE


def test_logging_out_needs_no_change(browser: Client) -> None:
    assert browser.post("/admin/logout/").status_code in {200, 302}
    assert browser.get("/admin/")["Location"].startswith(LOGIN)


def test_the_second_factor_comes_after_the_password(browser: Client, settings: LazySettings) -> None:
    settings.OPSAPI_SECOND_FACTOR = "required"
    assert browser.get("/admin/")["Location"] == CHANGE
    assert browser.get(CHANGE).status_code == 200
    change(browser)
    assert browser.get("/admin/")["Location"] == BEGIN


def test_an_administrator_who_creates_a_user_or_sets_a_password_gives_it(
    console: Client, operator: User, project: Project
) -> None:
    by = UserPrincipal(operator, None)
    new = NewUser(username="new", password=PASSWORD, first_name="N", last_name="N")
    assert is_given(user_create(new=new, by=by.grants, actor=by.actor(), now=clock.now()))
    other: User = UserFactory.create()
    assert not is_given(other)
    assert "The user chose it." in console.get(page_of(other)).content.decode()
    confirm(console, action_url(other, "reset_password"), password=OWN, again=OWN)
    assert is_given(other)
    assert "must change the password" in console.get(page_of(other)).content.decode().lower()


def test_the_command_that_sets_a_password_gives_it(operator: User) -> None:
    call_command("reset_password", operator.username)
    assert is_given(operator)


def test_the_first_user_owns_the_printed_password(db: None) -> None:
    call_command("bootstrap", "ada")
    assert not is_given(User.objects.get())
