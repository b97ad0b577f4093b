"""Logging in and out, with and without a mouse."""

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project, User
from opsapi import clock
from tests.browser.accessibility import is_for_everybody, tab_to
from tests.browser.faults import Faults
from tests.browser.people import LOGIN, START, account_menu, log_in, log_out, type_credentials
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.factories.accesslist import PASSWORD, ProjectFactory
from tests.factories.second_factors import make_second_factor

pytestmark = pytest.mark.chromium

WRONG = "Incorrect username or password"


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_the_login_page_is_for_everybody(look: Viewport, page: Page, faults: Faults, operator: User) -> None:
    page.goto(LOGIN)
    steps = page.get_by_role("listitem")
    expect(steps).to_have_count(3)
    expect(steps.first).to_contain_text("create_key")
    expect(steps.nth(1)).to_contain_text("curl")
    is_for_everybody(page)
    ProjectFactory.create()
    page.goto(LOGIN)
    expect(steps).to_have_count(0)
    is_for_everybody(page)
    _log_in_wrongly(page, faults, operator)
    expect(page.get_by_text(WRONG)).to_be_visible()
    is_for_everybody(page)


def test_a_refused_log_in_can_be_tried_again(
    page: Page, faults: Faults, operator: User, project: Project
) -> None:
    _log_in_wrongly(page, faults, operator)
    expect(page.get_by_label("Username")).to_have_value(operator.username)
    expect(page.get_by_label("Password")).to_have_value("")
    type_credentials(page, operator.username, PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(START)


def test_the_first_field_has_the_focus_on_arrival(page: Page, operator: User, project: Project) -> None:
    page.goto(LOGIN)
    expect(page.get_by_label("Username")).to_be_focused()
    make_second_factor(operator, clock.now())
    type_credentials(page, operator.username, PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Code")).to_be_focused()


def test_the_keyboard_is_enough_to_log_in(page: Page, operator: User, project: Project) -> None:
    page.goto(LOGIN)
    tab_to(page.get_by_label("Username"))
    page.keyboard.type(operator.username)
    tab_to(page.get_by_label("Password"))
    page.keyboard.type(PASSWORD)
    tab_to(page.get_by_role("button", name="Log in"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(START)


def test_enter_is_enough_after_the_password(page: Page, operator: User, project: Project) -> None:
    page.goto(LOGIN)
    type_credentials(page, operator.username, PASSWORD)
    page.keyboard.press("Enter")
    expect(page).to_have_url(START)


def test_who_asked_for_a_page_comes_to_it(page: Page, operator: User, project: Project) -> None:
    page.goto("/admin/alerting/alert/")
    expect(page).to_have_url(f"{LOGIN}?next=/admin/alerting/alert/")
    type_credentials(page, operator.username, PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url("/admin/alerting/alert/")


def test_logging_out_ends_it(page: Page, operator: User, project: Project) -> None:
    log_in(page, operator.username, PASSWORD)
    log_out(page)
    expect(account_menu(page)).not_to_be_visible()
    page.goto(START)
    expect(page).to_have_url(f"{LOGIN}?next={START}")


def test_the_keyboard_is_enough_to_log_out(console: Page) -> None:
    console.goto(START)
    tab_to(account_menu(console))
    console.keyboard.press("Enter")
    tab_to(console.get_by_role("button", name="Log out"))
    console.keyboard.press("Enter")
    expect(account_menu(console)).not_to_be_visible()
    console.goto(START)
    expect(console).to_have_url(f"{LOGIN}?next={START}")


def test_going_back_after_logging_out_shows_nothing(page: Page, operator: User, project: Project) -> None:
    log_in(page, operator.username, PASSWORD)
    page.goto("/admin/alerting/alert/")
    log_out(page)
    expect(account_menu(page)).not_to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def _log_in_wrongly(page: Page, faults: Faults, operator: User) -> None:
    faults.expects(403)
    page.goto(LOGIN)
    type_credentials(page, operator.username, "wrong")
    page.get_by_role("button", name="Log in").click()
