"""Active filters: each by its name, and a link that takes this one off and keeps the others."""

import re
from html import unescape

import pytest
from django.contrib import admin
from django.test import Client

from accesslist.models import Project
from alerting.incidents.store import Age
from opsapi.console.admin_urls import list_url
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.roles import Role
from tests.admin.operators import browser_with
from tests.admin.reading import shown, text_of
from tests.each import each
from tests.factories.accesslist import ProjectFactory

pytestmark = pytest.mark.django_db

ALERTS = "/admin/alerting/alert/"
CHIP = r'class="console-chip" href="([^"]*)" aria-label="Remove the filter ([^"]*)"'


def _chips(browser: Client, url: str) -> dict[str, str]:
    """What each chip of a page says, and where it leads."""
    found = re.findall(CHIP, shown(browser, url))
    return {unescape(words): unescape(target) for target, words in found}


def test_every_active_filter_is_named_and_taken_off_alone(console: Client, project: Project) -> None:
    url = f"{ALERTS}?severity=CRITICAL&group__id__exact={project.id}&age={Age.HOUR}&q=db1&p=2"
    chips = _chips(console, url)
    assert list(chips) == ["Severity: Critical", f"Project: {project.name}", "Age: Started in the last hour"]
    for words, target in chips.items():
        left = _chips(console, f"{ALERTS}{target}")
        assert set(left) == set(chips) - {words}
        assert "q=db1" in target
        assert "p=2" not in target


def test_removing_the_last_filter_leads_to_the_whole_list(console: Client) -> None:
    (target,) = _chips(console, f"{ALERTS}?severity=CRITICAL").values()
    assert target == "?"
    assert _chips(console, ALERTS) == {}
    assert _chips(console, f"{ALERTS}?severity=&type=") == {}


@each(
    ("url", "words"),
    [
        ("/admin/automation/host/?down__exact=1", "Down: Yes"),
        ("/admin/automation/host/?type_name__exact=STANDALONE", "Type: Standalone"),
        ("/admin/alerting/notification/?status__exact=FAILED", "State: Failed"),
        ("/admin/alerting/alertconfig/?enabled__exact=0", "Enabled: No"),
        ("/admin/alerting/alert/?severity=nothing", "Severity: nothing"),
    ],
)
def test_each_kind_of_filter_shows_its_value(url: str, words: str, console: Client) -> None:
    assert _chips(console, url) == {words: "?"}


def test_an_invisible_project_is_not_named(project: Project) -> None:
    other = ProjectFactory.create(name="theirs")
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    url = f"{ALERTS}?group__id__exact={other.id}"
    assert list(_chips(browser, url)) == [f"Project: {other.id}"]
    assert "theirs" not in shown(browser, url)


def test_the_event_list_shows_active_filters(console: Client, project: Project) -> None:
    chips = _chips(console, f"/admin/events/event/?category=HOST&last=day&project={project.name}&before=")
    assert list(chips.values())
    assert len(chips) == 3
    for words, target in chips.items():
        assert set(_chips(console, f"/admin/events/event/{target}")) == set(chips) - {words}


@pytest.mark.slow
def test_every_list_with_filters_has_a_button_and_no_dialog(console: Client) -> None:
    listed = [
        (model, pages)
        for model, pages in admin.site._registry.items()
        if isinstance(pages, ConsoleAdmin) and pages.list_filter
    ]
    assert len(listed) > 10
    for model, _ in listed:
        text = text_of(console.get(list_url(model)))
        assert re.search(r'<button type="button" id="filters-button"[^>]*aria-expanded="false"', text), model
        assert "filterOpen = true" not in text
        assert text.count('id="filter-form"') == 1
