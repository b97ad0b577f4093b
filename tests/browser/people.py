"""Logging in and out, as people do."""

from playwright.sync_api import Locator, Page

LOGIN = "/admin/login/"
START = "/admin/"


def log_in(page: Page, username: str, password: str) -> None:
    """By the login page, to the start page."""
    page.goto(LOGIN)
    type_credentials(page, username, password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(START)


def type_credentials(page: Page, username: str, password: str) -> None:
    """Into the form of the login page."""
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)


def fill_in_the_set_up(page: Page) -> None:
    """The form of the first user and project, and send it."""
    page.get_by_label("Username").fill("ada")
    for label in ("Password", "Confirm password"):
        page.get_by_role("textbox", name=label).first.fill("correct horse battery")
    page.get_by_label("First name").fill("Ada")
    page.get_by_label("Last name").fill("Lovelace")
    page.get_by_label("E-mail address").fill("ada@example.com")
    page.get_by_label("Project name").fill("first-project")
    page.get_by_role("button", name="Create and log in").click()


def account_menu(page: Page) -> Locator:
    """The button that opens the operator's menu."""
    return page.get_by_role("button", name="Account of")


def log_out(page: Page) -> None:
    """By the operator's menu, which is on every page."""
    account_menu(page).click()
    page.get_by_role("button", name="Log out").click()
