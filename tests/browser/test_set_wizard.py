"""The wizard of a replica set in a browser: its steps, its folded inputs, and its look on a phone."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from automation.choices import AgentType
from automation.models import AutomationRevision
from automation.turns.console import SET_WIZARD
from opsapi.console.admin_urls import creation_url
from tests.browser.accessibility import is_for_everybody
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.factories.automation import make_agent, publish
from tests.factories.documents import process

pytestmark = pytest.mark.chromium


def _open(console: Page, project: Project) -> None:
    for number in (1, 2, 3):
        make_agent(project, f"db{number}.example.com", agent_type=AgentType.AUTOMATION.value)
    console.goto(creation_url(AutomationRevision, SET_WIZARD, group=project.pk))


def _button(console: Page, name: str) -> Any:
    return console.get_by_role("button", name=name, exact=True)


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_a_newcomer_makes_a_replica_set_from_the_page_of_the_plan(
    look: Viewport, console: Page, project: Project
) -> None:
    _open(console, project)
    console.goto(f"/admin/automation-plan/?project={project.pk}")
    console.get_by_role("link", name="New replica set").click()
    is_for_everybody(console)
    console.get_by_label("Name of the replica set").fill("orders")
    console.locator("#id_new_version").fill("6.0.5")
    console.get_by_label("Download URL").fill("https://downloads.example.com/6.0.5.tgz")
    console.get_by_label("Commit").fill("abc")
    expect(console.get_by_label("Machine 3")).to_have_value("db3.example.com")
    _button(console, "Show the plan").click()
    expect(console.get_by_text("Enter the 40 hexadecimal digits of the commit.")).to_be_visible()
    expect(_button(console, "Publish")).to_have_count(0)
    console.get_by_label("Commit").fill("a" * 40)
    _button(console, "Show the plan").click()
    expect(console.get_by_role("heading", name="Before you publish")).to_be_visible()
    expect(console.get_by_label("Name of the replica set")).to_be_hidden()
    is_for_everybody(console)
    _button(console, "Publish").click()
    expect(console.get_by_text("Version 1 was published.")).to_be_visible()
    expect(console).to_have_url(re.compile(r"/automation-plan/\?project="))
    is_for_everybody(console)


def test_the_inputs_of_another_version_appear_when_it_is_selected(console: Page, project: Project) -> None:
    publish(project, 0, processes=[process(hostname="db9.example.com")])
    _open(console, project)
    url = console.get_by_label("Download URL")
    expect(url).to_be_hidden()
    console.get_by_label("MongoDB version").select_option("Another version")
    expect(url).to_be_visible()
    expect(console.get_by_label("Machine 4")).to_be_hidden()
    console.get_by_text("More machines, up to seven").click()
    expect(console.get_by_label("Machine 4")).to_be_visible()
