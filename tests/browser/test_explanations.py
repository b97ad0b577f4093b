"""Explanations that operators ask for on the pages of alerts and alert configurations."""

import pytest
from playwright.sync_api import Locator, Page, expect

from accesslist.models import Project
from opsapi.console.admin_urls import page_url
from opsapi.roles import Role
from tests.api.recipients import group, make_user
from tests.browser.accessibility import is_for_everybody
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.factories.alerting import EMAIL, make_alert, make_config
from tests.factories.automation import make_host

pytestmark = pytest.mark.chromium
MATCHERS = [
    {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"},
    {"fieldName": "TYPE_NAME", "operator": "EQUALS", "value": "STANDALONE"},
]
OWNERS = {"typeName": "GROUP", "roles": ["GROUP_OWNER"], "emailEnabled": True, "delayMin": 0}


def _part(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_an_operator_asks_why_a_user_was_not_notified(
    look: Viewport, console: Page, project: Project
) -> None:
    make_user(group(Role.GROUP_READ_ONLY, project), username="grace", email_address="grace@example.com")
    config = make_config(project, matchers=MATCHERS, notifications=[OWNERS, EMAIL])
    console.goto(page_url(make_alert(project, config_id=config.id)))
    expect(_part(console, "Why it started")).to_contain_text("not recorded")
    asked = _part(console, "Why was this user not notified?")
    asked.get_by_label("User").select_option("grace")
    asked.get_by_role("button", name="Explain").click()
    expect(asked).to_contain_text("grace was not notified")
    expect(asked.get_by_role("row").filter(has_text="does not have the required role")).to_be_visible()
    is_for_everybody(console)


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_an_operator_asks_whether_a_host_alerts(look: Viewport, console: Page, project: Project) -> None:
    host = make_host(project)
    console.goto(page_url(make_config(project, enabled=False)))
    asked = _part(console, "Explain for a host")
    asked.get_by_label("Host").fill(str(host))
    asked.get_by_role("button", name="Explain").click()
    expect(asked).to_contain_text(f"{host} does not alert now.")
    is_for_everybody(console)
