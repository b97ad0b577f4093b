"""The same without a mouse, and the navigation of a phone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from accesslist.models import ApiKey, Project, User
from alerting.models import Alert, MaintenanceWindow
from opsapi import clock
from opsapi.console.admin_urls import list_url
from tests.browser.accessibility import tab_to
from tests.browser.people import LOGIN, START, account_menu
from tests.browser.viewports import PHONE
from tests.factories.accesslist import PASSWORD
from tests.factories.alerting import make_alert, make_config

pytestmark = pytest.mark.chromium


def _press(target: Locator, key: str = "Enter") -> None:
    tab_to(target)
    target.page.keyboard.press(key)


def _type(target: Locator, text: str) -> None:
    tab_to(target)
    target.page.keyboard.type(text)


def _skip(page: Page) -> None:
    """Past the navigation."""
    _press(page.get_by_role("link", name="Skip to the content"))


def test_the_keyboard_is_enough(page: Page, operator: User, project: Project) -> None:
    # A browser with windows gives this to the page that has the focus.
    page.context.grant_permissions(["clipboard-write"])
    alert = make_alert(project, config_id=make_config(project).id)
    page.goto(LOGIN)
    _type(page.get_by_label("Username"), operator.username)
    _type(page.get_by_label("Password"), PASSWORD)
    page.keyboard.press("Enter")
    expect(page).to_have_url(START)

    _skip(page)
    _press(page.get_by_role("link", name="Host down"))
    _skip(page)
    _press(page.get_by_role("link", name="Acknowledge"))
    _skip(page)
    _type(page.get_by_label("Comment"), "on it")
    _press(page.get_by_role("button", name="Acknowledge"))
    expect(page.get_by_role("region", name="Timeline")).to_contain_text("on it")
    alert.refresh_from_db()
    assert alert.acknowledged_until
    assert alert.acknowledged_until > clock.now()

    _skip(page)
    _press(page.get_by_role("link", name="Create maintenance window"))
    _skip(page)
    _press(page.get_by_role("button", name="Create maintenance window"))
    expect(page.get_by_text("Maintenance window created")).to_be_visible()
    assert MaintenanceWindow.objects.get().group_id == project.id

    _press(page.get_by_role("link", name="People & access"))
    _skip(page)
    _press(page.get_by_role("link", name="Keys", exact=True))
    _skip(page)
    _press(page.get_by_role("link", name="New API key").first)
    _skip(page)
    _type(page.get_by_label("Description"), "pipeline")
    _press(page.get_by_role("combobox", name="Project"))
    page.keyboard.type(project.name)
    expect(page.get_by_role("option", name=project.name)).to_be_visible()
    page.keyboard.press("Enter")
    _press(page.get_by_label("GROUP_READ_ONLY"), "Space")
    _press(page.get_by_role("button", name="Save"))
    _skip(page)
    _press(page.get_by_role("button", name="Copy the private key"))
    expect(page.get_by_text("Copied.")).to_be_visible()
    _press(page.get_by_role("link", name="I've saved it"))
    assert ApiKey.objects.get().grants.get().project_id == project.id

    _press(account_menu(page))
    _press(page.get_by_role("button", name="Log out"))
    expect(account_menu(page)).not_to_be_visible()


@pytest.mark.parametrize("look", [PHONE], ids=str)
def test_the_navigation_of_a_phone_opens_and_closes(console: Page) -> None:
    console.goto(START)
    link = console.locator("#nav-sidebar").get_by_role("link", name="Alerts", exact=True)
    expect(link).to_be_hidden()
    _press(console.get_by_role("button", name="Navigation", exact=True))
    expect(link).to_be_visible()
    _press(console.get_by_role("button", name="Close the navigation"))
    expect(link).to_be_hidden()
    console.get_by_role("button", name="Navigation", exact=True).tap()
    expect(link).to_be_visible()
    console.get_by_role("button", name="Close the navigation").tap()
    expect(link).to_be_hidden()
    console.get_by_role("button", name="Navigation", exact=True).tap()
    link.tap()
    expect(console).to_have_url(re.compile(re.escape(list_url(Alert))))
    expect(link).to_be_hidden()
