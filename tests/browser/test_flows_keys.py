"""What is shown once: the private key of an API key, the secret of a second factor."""

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import ApiKey, Project, User
from opsapi import clock
from opsapi.console.admin_urls import page_url
from tests.browser.people import START, account_menu, log_in, log_out, type_credentials
from tests.client import ApiClient
from tests.factories.accesslist import PASSWORD, KeyPair
from tests.factories.second_factors import STEP, code_at

pytestmark = pytest.mark.chromium

# Whether each press sends the form.
_PRESSED_TWICE = """button => {
    const sent = [];
    button.form.addEventListener("submit", event => sent.push(!event.defaultPrevented));
    button.click();
    button.click();
    return sent;
}"""


def test_a_key_is_created_and_its_private_part_is_shown_once(console: Page, project: Project) -> None:
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    console.goto(START)
    console.get_by_role("link", name="People & access").click()
    console.get_by_role("link", name="Keys", exact=True).click()
    console.get_by_role("link", name="New API key").first.click()
    console.get_by_label("Description").fill("pipeline")
    console.get_by_role("combobox", name="Project").click()
    console.get_by_role("option", name=project.name).click()
    console.get_by_label("GROUP_READ_ONLY").check()
    console.get_by_role("button", name="Save").click()

    console.get_by_role("button", name="Copy the private key").click()
    expect(console.get_by_text("Copied.")).to_be_visible()
    private = console.evaluate("navigator.clipboard.readText()")
    expect(console.get_by_text(private, exact=True)).to_be_visible()
    key = ApiKey.objects.get()
    client = ApiClient(KeyPair(key.id, key.public_key, private))
    assert [row["id"] for row in client.get("/groups").json()["results"]] == [project.id]

    console.get_by_role("link", name="I've saved it").click()
    expect(console).to_have_url(page_url(key))
    console.reload()
    assert private not in console.content()


def test_a_key_is_created_once_by_an_impatient_operator(console: Page) -> None:
    console.goto("/admin/accesslist/apikey/add/")
    console.get_by_label("Description").fill("pipeline")
    console.get_by_label("GLOBAL_READ_ONLY").check()
    assert console.get_by_role("button", name="Save").evaluate(_PRESSED_TWICE) == [True, False]
    private = console.locator("#private-key").inner_text()
    key = ApiKey.objects.get()

    console.reload()
    expect(console).to_have_url(page_url(key))
    expect(console.get_by_text("This was already done and was not repeated.")).to_be_visible()
    assert private not in console.content()
    assert ApiKey.objects.get() == key


def test_a_second_factor_is_set_up_and_asked_for(page: Page, operator: User, project: Project) -> None:
    log_in(page, operator.username, PASSWORD)
    account_menu(page).click()
    page.get_by_role("link", name="Your account").click()
    page.get_by_role("link", name="Set up second factor").click()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    secret = page.get_by_role("listitem").locator("code").inner_text()
    page.get_by_role("textbox", name="Code").fill(code_at(secret, clock.now()))
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    page.get_by_role("link", name="I've saved them").click()

    log_out(page)
    page.goto(START)
    type_credentials(page, operator.username, PASSWORD)
    page.get_by_role("button", name="Log in").click()
    # A code is good once: that of this step has been used.
    page.get_by_role("textbox", name="Code").fill(code_at(secret, clock.now() + STEP))
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(START)
