"""The form of a maintenance window: matchers are rows, as in alert configurations."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from accesslist.models import Project
from alerting.models import MaintenanceWindow
from automation.models import Host
from tests.factories.automation import make_host

pytestmark = pytest.mark.chromium

ADD = "/admin/alerting/maintenancewindow/add/"
PAGE = re.compile(r"/admin/alerting/maintenancewindow/[0-9a-f]{24}/change/$")


def _fill(row: Locator, field: str, operator: str, value: str) -> None:
    row.get_by_label("Field").select_option(field)
    row.get_by_label("Operator").select_option(operator)
    row.get_by_label("Value").fill(value)


def _matcher(page: Page, number: int) -> Locator:
    return page.get_by_role("group", name=f"Matcher {number}")


def test_matchers_are_added_and_taken_out_and_the_preview_follows(console: Page, project: Project) -> None:
    make_host(project, "db1.example.com")
    make_host(project, "db2.example.com")
    host = str(Host.objects.get(hostname="db2.example.com"))
    console.goto(f"{ADD}?group={project.id}&alertTypeNames=HOST")
    console.get_by_label("Start").fill("2099-01-01T00:00:00")
    console.get_by_label("End").fill("2099-01-01T02:00:00")
    add = console.get_by_role("button", name="Add matcher")
    add.click()
    expect(_matcher(console, 1).get_by_label("Field")).to_be_focused()
    _fill(_matcher(console, 1), "HOSTNAME", "STARTS_WITH", "nothing")
    add.click()
    _fill(_matcher(console, 2), "HOSTNAME", "STARTS_WITH", "db2")
    _matcher(console, 1).get_by_role("button", name="Remove this matcher").click()
    expect(add).to_be_focused()
    expect(_matcher(console, 2)).to_have_count(0)
    expect(_matcher(console, 1).get_by_label("Value")).to_have_value("db2")
    effect = console.get_by_role("region", name="Muted hosts 1")
    expect(effect.get_by_role("link")).to_have_text([host])
    console.get_by_role("button", name="Save").click()
    expect(console).to_have_url(PAGE)
    assert MaintenanceWindow.objects.get().matchers == [
        {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db2"}
    ]


def test_a_preview_waits_for_the_one_before_and_the_last_input_counts(
    console: Page, project: Project
) -> None:
    make_host(project, "db1.example.com")
    console.goto(f"{ADD}?group={project.id}&alertTypeNames=HOST")
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            held.append(route)
        else:
            route.continue_()

    console.route(lambda url: ADD in url, hold)
    with console.expect_request(lambda request: request.method == "POST"):
        console.get_by_label("Start").fill("2099-01-01T00:00:00")
        console.get_by_label("End").fill("2099-01-01T02:00:00")
    console.get_by_role("button", name="Add matcher").click()
    for value in ("a", "b", "c", "db1"):
        _fill(_matcher(console, 1), "HOSTNAME", "STARTS_WITH", value)
        _matcher(console, 1).get_by_label("Value").blur()
    assert len(held) == 1
    with console.expect_request(lambda request: request.method == "POST"):
        held.pop().continue_()
    expect(console.get_by_role("button", name="Preview")).to_be_hidden()
    assert len(held) == 1
    held.pop().continue_()
    effect = console.get_by_role("region", name="Muted hosts 1")
    expect(effect.get_by_role("link")).to_have_text(["db1.example.com:27017"])
    assert held == []


def test_enter_saves_and_adds_no_row(console: Page, project: Project) -> None:
    console.goto(f"{ADD}?group={project.id}&alertTypeNames=HOST")
    console.get_by_label("Start").fill("2099-01-01T00:00:00")
    console.get_by_label("End").fill("2099-01-01T02:00:00")
    console.get_by_role("button", name="Add matcher").click()
    _fill(_matcher(console, 1), "PORT", "EQUALS", "27017")
    _matcher(console, 1).get_by_label("Value").press("Enter")
    expect(console).to_have_url(PAGE)
    assert [matcher["value"] for matcher in MaintenanceWindow.objects.get().matchers or ()] == ["27017"]


def test_an_answer_without_the_effect_leaves_the_button_that_asks_for_it(
    console: Page, project: Project
) -> None:
    console.goto(f"{ADD}?group={project.id}&alertTypeNames=HOST")
    preview = console.get_by_role("button", name="Preview")
    expect(preview).to_be_hidden()
    console.route(
        lambda url: ADD in url,
        lambda route: route.fulfill(body="<p>The window is saved.</p>", content_type="text/html"),
    )
    console.get_by_label("Start").fill("2099-01-01T00:00:00")
    console.get_by_label("End").fill("2099-01-01T02:00:00")
    expect(preview).to_be_visible()
