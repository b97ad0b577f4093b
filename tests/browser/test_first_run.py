"""The first set-up, from the link that the server prints to the page that adds an agent."""

import json

import pytest
from playwright.sync_api import Page, expect

from alerting.models import AlertConfig
from events.models import Event
from opsapi.page_paths import SETUP_PATH
from opsapi.setup_link import setup_link
from tests.browser.accessibility import is_for_everybody_as_opened
from tests.browser.faults import Faults
from tests.browser.people import LOGIN, fill_in_the_set_up
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.chromium

SECRET, TESTED = "a secret of our own", "ALERT_CONFIG_TESTED_AUDIT"


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_from_the_link_of_the_server_to_the_first_agent(
    look: Viewport, page: Page, faults: Faults, http_receiver: HttpReceiver
) -> None:
    page.context.set_extra_http_headers({"X-Forwarded-For": "192.0.2.1"})
    page.goto(LOGIN)
    is_for_everybody_as_opened(page)
    page.get_by_role("link", name="Enter the token").click()
    is_for_everybody_as_opened(page)
    page.goto(f"{SETUP_PATH}#{setup_link().partition('#')[2]}")
    expect(page.get_by_label("First name")).to_be_visible()
    expect(page).to_have_url(SETUP_PATH)
    is_for_everybody_as_opened(page)
    fill_in_the_set_up(page)
    steps = page.get_by_role("list", name="Steps of the set-up").get_by_role("listitem")
    expect(steps.nth(1)).to_have_attribute("aria-current", "step")
    is_for_everybody_as_opened(page)
    page.get_by_role("link", name="What should wake you?").last.click()
    expect(steps.nth(2)).to_have_attribute("aria-current", "step")
    _choose_presets(page, http_receiver)
    expect(steps.nth(3)).to_have_attribute("aria-current", "step")
    expect(page.get_by_role("button", name="Create key")).to_be_visible()
    is_for_everybody_as_opened(page)
    expect(page.get_by_role("combobox", name="Project")).to_contain_text("first-project")
    expect(page.get_by_label("PostgreSQL")).to_be_checked()
    expect(page.get_by_text("What should wake you?")).to_have_count(1)  # the step: the project is watched


def _choose_presets(page: Page, receiver: HttpReceiver) -> None:
    """PostgreSQL instead of MongoDB, and a webhook, which refuses the first test."""
    expect(page.get_by_label("Project")).to_contain_text("first-project")
    expect(page.get_by_text("No mail server is set.")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Host down")).to_be_checked()
    page.get_by_label("MongoDB").uncheck()
    page.get_by_label("PostgreSQL").check()
    expect(page.get_by_role("checkbox", name="Replication lag")).to_be_hidden()
    expect(page.get_by_role("checkbox", name="Standby lag")).to_be_checked()
    page.get_by_role("checkbox", name="Deadlock").uncheck()
    url = page.get_by_label("URL (Webhook)")
    expect(url).to_be_hidden()
    page.get_by_label("Notify").select_option("WEBHOOK")
    url.fill(f"http://127.0.0.1:{receiver.port}/in")
    page.get_by_label("Secret for signing (Webhook)").fill(SECRET)
    is_for_everybody_as_opened(page)
    receiver.answer(404)
    page.get_by_role("button", name="Send test").click()
    expect(page.get_by_text("The test message was not delivered.")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Deadlock")).not_to_be_checked()
    is_for_everybody_as_opened(page)
    receiver.answer(200)
    page.get_by_role("button", name="Send test").click()
    expect(page.get_by_text("The test message was delivered.")).to_be_visible()
    assert SECRET not in page.content()
    assert [json.loads(request.body)["eventTypeName"] for request in receiver.requests] == [TESTED, TESTED]
    assert not AlertConfig.objects.filter(event_type="HOST_DOWN").exists()
    page.get_by_role("button", name="Add presets").click()
    expect(page.get_by_role("button", name="Create key")).to_be_visible()
    made = AlertConfig.objects.filter(event_type="HOST_DOWN").get()
    assert [setting.type_name for setting in made.settings.all()] == ["WEBHOOK"]
    assert Event.objects.filter(event_type=TESTED).count() == 2
