"""The form of an alert configuration: it shows what goes with the chosen types, by mouse and by keyboard."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from accesslist.models import Project
from alerting.configs.inputs import NOTIFICATION_INPUTS, THRESHOLD_OF, event_types, matched_fields
from alerting.configs.resource import config_facts
from alerting.models import AlertConfig
from automation.metrics import Metric
from opsapi.console.document_inputs import label_of
from tests.browser.accessibility import tab_to
from tests.factories.alerting import WEBHOOK, make_config

pytestmark = pytest.mark.chromium

ADD = "/admin/alerting/alertconfig/add/"
PAGE = re.compile(r"/admin/alerting/alertconfig/[0-9a-f]{24}/change/(#.*)?$")


def _row(page: Page, number: int) -> Locator:
    return page.get_by_role("group", name=f"Notification {number}")


def _of(row: Locator, name: str) -> Locator:
    """The input of that name in a row."""
    return row.locator(f'[name$=".{name}"]:not([type=hidden])')


def test_a_notification_shows_the_inputs_of_its_type_alone(console: Page) -> None:
    console.goto(f"{ADD}?group=global")
    every = {name for inputs in NOTIFICATION_INPUTS.values() for name in inputs}
    row = _row(console, 1)
    for type_name, inputs in NOTIFICATION_INPUTS.items():
        _of(row, "typeName").select_option(type_name)
        for name in every:
            shown = _of(row, name).locator("visible=true")
            if name in inputs:
                expect(shown).not_to_have_count(0)
            else:
                expect(shown).to_have_count(0)


def test_an_event_type_shows_the_parts_it_takes_alone(console: Page) -> None:
    console.goto(f"{ADD}?group=global")
    specs = {spec.name: spec for spec in event_types(is_global=True)}
    for name in (
        "HOST_DOWN",
        "NO_PRIMARY",
        "TOO_FEW_HEALTHY_MEMBERS",
        "OUTSIDE_METRIC_THRESHOLD",
        "JOINED_GROUP",
    ):
        console.get_by_label("Event type").select_option(name)
        matchers = console.get_by_role("button", name="Add matcher")
        expect(matchers).to_be_visible(visible=bool(matched_fields(specs[name])))
        for part in ("metricThreshold", "threshold"):
            legend = console.get_by_role("group", name=label_of(part), exact=True)
            expect(legend).to_be_visible(visible=THRESHOLD_OF.get(specs[name].needs) == part)


def test_a_metric_says_what_it_means_and_offers_its_units(console: Page, project: Project) -> None:
    console.goto(ADD)
    console.get_by_label("Event type").select_option("OUTSIDE_METRIC_THRESHOLD")
    threshold = console.get_by_role("group", name=label_of("metricThreshold"), exact=True)
    metric, units = threshold.get_by_label("Metric"), threshold.get_by_label("Units")
    metric.select_option("CONNECTIONS_PERCENT")
    expect(threshold.get_by_text(Metric.CONNECTIONS_PERCENT.spec.meaning)).to_be_visible()
    expect(units.locator("option:not([hidden])")).to_have_text(["%", "%"])
    metric.select_option("OPCOUNTER_QUERY")
    expect(threshold.get_by_text(f"{Metric.OPCOUNTER_QUERY.spec.meaning} Rate per second.")).to_be_visible()
    metric.select_option("")
    expect(threshold.get_by_text(Metric.OPCOUNTER_QUERY.spec.meaning)).to_be_hidden()


def test_presets_that_were_added_are_offered_no_more(console: Page, project: Project) -> None:
    console.goto("/admin/alerting/alertconfig/")
    console.get_by_role("link", name="Add presets").click()
    expect(console.get_by_label("Project")).to_have_value(project.id)
    console.get_by_label("No read tickets").uncheck()
    console.get_by_label("Notify").select_option("GROUP")
    console.get_by_role("button", name="Add presets").click()
    expect(console.get_by_role("button", name="Create key")).to_be_visible()
    console.goto("/admin/alerting/alertconfig/")
    console.get_by_role("link", name="Add presets").click()
    expect(console.get_by_role("link", name="Host down exists")).to_be_visible()
    expect(console.get_by_role("checkbox", name="Host down")).not_to_be_checked()
    expect(console.get_by_role("checkbox", name="No read tickets")).to_be_checked()


def test_only_presets_of_the_selected_databases_are_shown(console: Page, project: Project) -> None:
    console.goto(f"/admin/alerting/alertconfig/do/presets/?group={project.id}")
    expect(console.get_by_role("checkbox", name="No read tickets")).to_be_visible()
    expect(console.get_by_role("checkbox", name="Long wait for a lock")).to_be_hidden()
    expect(console.get_by_role("checkbox", name="End of support")).to_be_visible()
    console.get_by_label("PostgreSQL", exact=True).check()
    console.get_by_label("MongoDB", exact=True).uncheck()
    expect(console.get_by_role("checkbox", name="Long wait for a lock")).to_be_checked()
    expect(console.get_by_label("No read tickets")).to_be_hidden()
    expect(console.get_by_label("No read tickets")).to_be_disabled()
    console.get_by_role("link", name="What to do about Long wait for a lock").click()
    expect(console.get_by_role("heading", level=1)).to_contain_text("Locks")


def test_a_global_one_is_asked_for_its_projects(console: Page, project: Project) -> None:
    console.goto(ADD)
    console.get_by_label("Project", exact=True).select_option(project.id)
    expect(console.get_by_label("All projects")).to_be_hidden()
    console.get_by_label("Project", exact=True).select_option("global")
    expect(console.get_by_label("Projects", exact=True)).to_be_visible()
    console.get_by_label("All projects").check()
    expect(console.get_by_label("Projects", exact=True)).to_be_hidden()


def test_the_keyboard_is_enough_to_make_one(console: Page, project: Project) -> None:
    console.goto(ADD)
    tab_to(console.get_by_role("link", name="Skip to the content"))
    console.keyboard.press("Enter")
    tab_to(console.get_by_label("Project", exact=True))
    console.keyboard.type(project.name)
    tab_to(console.get_by_label("Event type"))
    console.keyboard.type("Host down")
    tab_to(_of(_row(console, 1), "typeName"))
    console.keyboard.type("EMAIL")
    tab_to(console.get_by_label("E-mail address"))
    console.keyboard.type("oncall@example.com")
    tab_to(console.get_by_role("button", name="Add notification"))
    console.keyboard.press("Enter")
    expect(_of(_row(console, 2), "typeName")).to_be_focused()
    console.keyboard.type("SMS")
    tab_to(_of(_row(console, 2), "mobileNumber"))
    console.keyboard.type("+12025550100")
    console.keyboard.press("Enter")
    expect(console).to_have_url(PAGE)
    stored = config_facts(AlertConfig.objects.get(group=project))["notifications"]
    assert [notification["typeName"] for notification in stored] == ["EMAIL", "SMS"]


def test_a_notification_is_taken_out(console: Page, project: Project) -> None:
    config = make_config(project, notifications=[WEBHOOK, {**WEBHOOK, "delayMin": 9}])
    console.goto(f"/admin/alerting/alertconfig/{config.id}/do/change/")
    _row(console, 1).get_by_role("button", name="Remove").click()
    expect(_row(console, 2)).to_have_count(0)
    console.get_by_role("button", name="Change", exact=True).last.click()
    expect(console).to_have_url(PAGE)
    (left,) = AlertConfig.objects.get().settings.all()
    assert left.delay_min == 9


def test_a_new_condition_is_above_a_threshold(console: Page) -> None:
    console.goto(ADD)
    console.get_by_label("Event type").select_option("OUTSIDE_METRIC_THRESHOLD")
    expect(console.get_by_label("Operator").locator("visible=true")).to_have_value("GREATER_THAN")
    console.get_by_label("Metric", exact=True).select_option("CONNECTIONS")
    console.get_by_label("Operator").locator("visible=true").select_option("LESS_THAN")
    console.get_by_label("Event type").press("Tab")
    expect(console.get_by_label("Operator").locator("visible=true")).to_have_value("LESS_THAN")


def test_a_missing_threshold_is_marked_and_its_error_is_below_it(console: Page, project: Project) -> None:
    console.goto(f"{ADD}?group={project.id}")
    console.get_by_label("Event type").select_option("OUTSIDE_METRIC_THRESHOLD")
    console.get_by_label("Metric", exact=True).select_option("CONNECTIONS")
    console.locator("button[type=submit]:visible").last.click()
    threshold = console.locator('[name="metricThreshold.threshold"]')
    error = console.locator(".rule-part-threshold").get_by_text("Is required.")
    expect(error).to_be_visible()
    above, below = threshold.bounding_box(), error.bounding_box()
    assert above is not None
    assert below is not None
    assert below["y"] >= above["y"] + above["height"]
    operator = console.locator('[name="metricThreshold.operator"]')
    colors = [
        part.evaluate("(input) => getComputedStyle(input).borderColor") for part in (threshold, operator)
    ]
    assert colors[0] != colors[1]
