"""The navigation of the console: its entries, their tabs, and who sees them."""

import re
from html import unescape

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.sitemap import ENTRIES
from opsapi.roles import Role
from tests.admin.operators import browser_with
from tests.admin.rows import fill
from tests.each import each
from tests.factories.alerting import make_config

pytestmark = pytest.mark.django_db

PAGES = [page for entry in ENTRIES for page in entry.pages]
_FOR_READERS = [
    "Home",
    "Alerts",
    "Fleet",
    "Rules",
    "Quiet times",
    "Channels",
    "Changes",
    "Automation",
    "People & access",
]


def entries(page: str) -> dict[str, str]:
    """The entries that a page shows, with their addresses."""
    navigation = page[page.index('id="nav-sidebar-apps"') : page.index("</ol>")]
    links = re.findall(r'<a href="([^"]*)".*?<span>([^<]*)</span>', navigation, re.DOTALL)
    return {unescape(title): url for url, title in links}


def tabs(page: str) -> dict[str, str]:
    """The tabs that a page shows, with their addresses."""
    _, _, after = page.partition('class="console-tabs"')
    links = re.findall(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', after.partition("</nav>")[0])
    return {title: unescape(url) for url, title in links}


def current_tab(page: str) -> list[str]:
    _, _, after = page.partition('class="console-tabs"')
    return re.findall(r'aria-current="page">([^<]*)</a>', after.partition("</nav>")[0])


def crumbs(page: str) -> list[str]:
    heading = page[page.index("<h1") : page.index("</h1>")]
    return [unescape(text).strip() for text in re.findall(r'class="console-crumb">([^<]*)<', heading)]


def text_of(browser: Client, url: str) -> str:
    answer = browser.get(url)
    assert answer.status_code == 200, url
    return answer.content.decode()


@pytest.fixture
def owner(project: Project) -> Client:
    return browser_with(Role.GLOBAL_OWNER)


def test_every_list_of_the_console_has_one_place() -> None:
    lists = [page.model for page in PAGES if page.is_list]
    models = {
        pages.opts.label_lower for pages in admin.site._registry.values() if isinstance(pages, ConsoleAdmin)
    }
    assert sorted(lists) == sorted(models)


def test_titles_and_keys_are_unique() -> None:
    keys = [entry.key for entry in ENTRIES]
    assert len(set(keys)) == len(keys) == 10
    titles = [page.title for page in PAGES]
    assert len(set(titles)) == len(titles)


def test_a_global_owner_sees_ten_entries_that_work(owner: Client) -> None:
    shown = entries(text_of(owner, reverse("admin:index")))
    assert list(shown) == [*_FOR_READERS, "System health"]
    for title, url in shown.items():
        assert crumbs(text_of(owner, url))[0] == title


def test_a_reader_of_a_project_sees_no_system_health(project: Project) -> None:
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    shown = entries(text_of(browser, reverse("admin:index")))
    assert list(shown) == _FOR_READERS
    assert list(tabs(text_of(browser, shown["Rules"]))) == ["Rules", "Noise"]
    assert "Mail server" not in tabs(text_of(browser, shown["Channels"]))


@each("title", [entry.title for entry in ENTRIES])
def test_every_tab_is_the_current_one_on_its_page(title: str, owner: Client) -> None:
    first = entries(text_of(owner, reverse("admin:index")))[title]
    for tab, url in tabs(text_of(owner, first)).items():
        page = text_of(owner, url)
        assert current_tab(page) == [tab]
        assert crumbs(page)[0] == title


def test_the_rows_and_forms_below_a_list_name_their_place(owner: Client, project: Project) -> None:
    fill(project)
    config = make_config(project)
    page = text_of(owner, reverse("admin:alerting_alertconfig_change", args=[config.pk]))
    assert crumbs(page)[:1] == ["Rules"]
    assert len(crumbs(page)) == 2
    assert tabs(page) == {}
    assert crumbs(text_of(owner, reverse("admin:automation_agent_add"))) == ["Fleet", "Agents", "Add agent"]
    assert crumbs(text_of(owner, reverse("account"))) == ["Your account"]


def test_noise_lists_the_noisiest_rules_first(owner: Client, project: Project) -> None:
    url = tabs(text_of(owner, reverse("admin:alerting_alertconfig_changelist")))["Noise"]
    shown = owner.get(url)
    columns = shown.context["cl"].get_ordering_field_columns()
    ((column, direction),) = columns.items()
    assert shown.context["cl"].list_display[int(column)] == "per_week"
    assert direction == "desc"
