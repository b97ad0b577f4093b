"""One word for the state of an alert, and one order, wherever alerts are shown."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project
from alerting.models import Alert
from alerting.windows import store as windows
from opsapi import clock
from tests.admin.alert_pages import ALERTS, alert_page, make_window
from tests.admin.operators import page_of
from tests.admin.reading import shown
from tests.each import each
from tests.factories.alerting import make_alert, make_config
from tests.factories.automation import make_host

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
START = "/admin/"
ALL_ALERTS = f"{ALERTS}?state=all"


def states(page: str) -> list[str]:
    """The words of states, in their order."""
    return re.findall(r">\s*(Pending|Open|Acknowledged|Muted|Open or muted|Closed|Cancelled)\s*</span>", page)


@pytest.mark.slow
@each(
    ("changes", "muted", "word"),
    [
        ({"status": "TRACKING"}, False, "Pending"),
        ({}, False, "Open"),
        ({"acknowledged_until": HOUR}, False, "Acknowledged"),
        ({}, True, "Muted"),
        ({"acknowledged_until": HOUR}, True, "Acknowledged"),
        ({"status": "CLOSED", "acknowledged_until": HOUR}, True, "Closed"),
        ({"status": "CANCELLED"}, True, "Cancelled"),
    ],
)
def test_every_page_has_the_same_word(
    changes: dict[str, Any], muted: bool, word: str, console: Client, project: Project
) -> None:
    config, host = make_config(project), make_host(project, "db1.example.com")
    if "acknowledged_until" in changes:
        changes = {**changes, "acknowledged_until": clock.now() + changes["acknowledged_until"]}
    alert = make_alert(project, config_id=config.id, **changes)
    if muted:
        make_window(project, description="new disks")
    pages = [ALL_ALERTS, alert_page(alert)]
    if word not in {"Closed", "Cancelled"}:
        pages += [START, page_of(host), page_of(config)]
    assert {url: set(states(shown(console, url))) for url in pages} == {url: {word} for url in pages}


@pytest.mark.slow
def test_every_page_says_that_it_does_not_know_whether_an_alert_is_muted(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "COMPARE_SECONDS", 0)
    config, host = make_config(project), make_host(project, "db1.example.com")
    alert = make_alert(project, config_id=config.id)
    pages = [ALL_ALERTS, alert_page(alert), START, page_of(host), page_of(config)]
    assert {word for url in pages for word in states(shown(console, url))} == {"Open"}
    make_window(project, description="new disks")
    assert {url: set(states(shown(console, url))) for url in pages} == {
        url: {"Open or muted"} for url in pages
    }
    assert "may omit windows" in shown(console, alert_page(alert))


def test_a_muted_alert_names_the_window_that_mutes_it(console: Client, project: Project) -> None:
    alert, window = make_alert(project), make_window(project, description="new disks")
    page = shown(console, alert_page(alert))
    assert f'<a href="{page_of(window)}">new disks</a>' in page


@pytest.fixture
def twelve(project: Project) -> list[Alert]:
    """Of one host and configuration, in their order: one is acknowledged, though it is the newest."""
    config = make_config(project)
    make_host(project, "db1.example.com")
    now = clock.now()
    made = {"config_id": config.id}
    open_ones = [make_alert(project, created=now - (place + 1) * HOUR, **made) for place in range(11)]
    return [*open_ones, make_alert(project, created=now, acknowledged_until=now + HOUR, **made)]


def test_every_page_has_the_same_order(console: Client, project: Project, twelve: list[Alert]) -> None:
    order = [alert.id for alert in twelve]
    host = page_of(project.hosts.get())
    config = f"/admin/alerting/alertconfig/{twelve[0].config_id}/change/"
    assert linked(shown(console, ALL_ALERTS)) == order
    for url in (START, host, config):
        assert linked(shown(console, url)) == order[:10], url


@pytest.mark.slow
def test_what_is_not_shown_is_behind_a_link_to_all_that_is(
    console: Client, project: Project, twelve: list[Alert]
) -> None:
    make_alert(project, facts={"hostname": "db1.example.com", "port": 27017}, status="CLOSED")
    other = make_alert(project, facts={"hostname": "other", "port": 1}, config_id="0" * 24)
    host = page_of(project.hosts.get())
    config = f"/admin/alerting/alertconfig/{twelve[0].config_id}/change/"
    order = [alert.id for alert in twelve]
    for url, expected in ((START, [other.id, *order]), (host, order), (config, order)):
        (more,) = re.findall(
            r'href="(/admin/alerting/alert/\?state=all[^"]*)">(?:see all|… and)', shown(console, url)
        )
        assert linked(shown(console, more.replace("&amp;", "&")))[: len(expected)] == expected


def linked(page: str) -> list[str]:
    """The alerts a page links to, each once, in their order."""
    return list(dict.fromkeys(re.findall(r"/admin/alerting/alert/(\w{24})/change/", page)))
