"""Finding alerts in the console: the list, its filters and its search."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.models import Alert
from automation.models import Host
from opsapi import clock
from opsapi.roles import Role
from tests.admin.alert_pages import ALERTS, alert_page
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import evaluate

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def found(browser: Client, **question: str) -> list[str]:
    """The host names a list shows."""
    text = shown(browser, f"{ALERTS}?{urlencode({'state': 'all', **question})}")
    return [name for name in ("alpha", "beta", "gamma") if f"{name}.example.com" in text]


@pytest.fixture
def three(project: Project) -> list[Alert]:
    """An old one that is over, one that is acknowledged, one that is tracked."""
    now = clock.now()
    rows: dict[str, dict[str, Any]] = {
        "alpha": {"status": "CLOSED", "resolved": now, "created": now - timedelta(days=9)},
        "beta": {"acknowledged_until": now + HOUR, "acknowledging_username": "bob"},
        "gamma": {"status": "TRACKING", "event_type": "HOST_RECOVERING"},
    }
    return [
        make_alert(project, facts={"hostname": f"{name}.example.com", "port": 1}, **changes)
        for name, changes in rows.items()
    ]


@pytest.mark.slow
@each(
    ("question", "names"),
    [
        ({}, ["alpha", "beta", "gamma"]),
        ({"state": "acknowledged"}, ["beta"]),
        ({"state": "pending"}, ["gamma"]),
        ({"state": "closed"}, ["alpha"]),
        ({"state": "needs-you"}, []),
        ({"state": "nonsense"}, []),
        ({"type": "HOST_RECOVERING"}, ["gamma"]),
        ({"type": "nonsense"}, []),
        ({"age": "1h"}, ["beta", "gamma"]),
        ({"age": "over-7d"}, ["alpha"]),
        ({"age": "nonsense"}, []),
        ({"q": "ALPHA"}, ["alpha"]),
        ({"q": "recovering"}, ["gamma"]),
        ({"q": "alpha", "state": "acknowledged"}, []),
        ({"q": "x" * 3000}, []),
        ({"group__id__exact": "0" * 24}, []),
        ({"group__id__exact": "nonsense"}, []),
    ],
    ids=str,
)
def test_the_list_is_filtered_and_searched(
    console: Client, three: list[Alert], question: dict[str, str], names: list[str]
) -> None:
    assert found(console, **question) == names


def test_it_is_searched_by_every_id(console: Client, three: list[Alert], project: Project) -> None:
    make_alert(ProjectFactory.create(), facts={"hostname": "beta.example.com"})
    assert found(console, q=three[1].id) == ["beta"]
    assert found(console, q=three[2].config_id) == ["gamma"]
    assert found(console, q=project.id) == ["alpha", "beta", "gamma"]
    assert found(console, group__id__exact=project.id, state="closed") == ["alpha"]


def test_it_says_who_acknowledged_it_and_how_old_it_is(console: Client, three: list[Alert]) -> None:
    text = shown(console, f"{ALERTS}?state=all")
    assert "bob, until" in text
    assert ">9 d, ended " in text


@each("lookup", ["acknowledging_username", "facts__hostname", "target_key__startswith"])
def test_nothing_else_can_be_guessed_at(console: Client, three: list[Alert], lookup: str) -> None:
    assert console.get(f"{ALERTS}?{lookup}=a").status_code in {302, 400}


def test_an_empty_list_says_what_it_would_show(console: Client, project: Project) -> None:
    assert "No alert needs you" in shown(console, ALERTS)
    assert "No alerts yet." in shown(console, f"{ALERTS}?state=all")


def test_the_list_takes_as_many_statements_however_long_it_is(console: Client, project: Project) -> None:
    console.get(ALERTS)
    numbers = []
    for more in (1, 30):
        for _ in range(more):
            make_alert(project)
        with CaptureQueriesContext(connection) as statements:
            console.get(ALERTS)
        numbers.append(len(statements))
    assert numbers[0] == numbers[1]


def test_an_operator_without_a_role_there_sees_nothing(project: Project, three: list[Alert]) -> None:
    elsewhere = browser_with(Role.GROUP_READ_ONLY, project=ProjectFactory.create())
    assert found(elsewhere) == []
    assert found(elsewhere, q=three[0].id) == []


@each(
    ("changes", "words"),
    [
        ({}, "Host down"),
        ({"event_type": "HOST_SSL_CERTIFICATE_STALE"}, "Host SSL certificate stale"),
        (
            {"event_type": "OUTSIDE_METRIC_THRESHOLD", "metric_name": "CONNECTIONS", "current_value": 1.0},
            "Outside metric threshold: Connections",
        ),
    ],
    ids=["a word or two", "an acronym", "a metric"],
)
def test_words_come_before_the_name_of_the_type(
    changes: dict[str, Any], words: str, console: Client, project: Project
) -> None:
    alert = make_alert(project, **changes)
    name = f'<small class="console-name">{alert.event_type}</small>'
    assert f'title="{alert.event_type}">{words}</a>' in shown(console, ALERTS)
    page = shown(console, alert_page(alert))
    assert f"<strong>{words}</strong>" in page
    assert name in page


def test_an_alert_is_called_by_what_it_is_and_about(console: Client, project: Project) -> None:
    alert = make_alert(project, facts={"hostname": "db1.example.com", "port": 27017})
    assert str(alert) == "Host down, db1.example.com:27017"
    assert f"<li>{alert}</li>" in shown(console, alert_page(alert, "acknowledge"))


def test_the_page_of_a_down_host_says_who_reports_it_and_how(console: Client, project: Project) -> None:
    config = make_config(project)
    ingest(project, host_report("db1"), agent="vm")
    ingest(project, host_report("db1", reachable=False), agent="vm")
    evaluate()
    alert = Alert.objects.get(config_id=config.id, status="OPEN")
    page = shown(console, alert_page(alert))
    assert "The host db1:27017 is down." in page
    assert re.search(r'class="console-button console-button-primary"[^>]*>\s*<span[^>]*>front_hand<', page)
    assert "that it cannot reach the host." in page
    assert ">HOST_DOWN.<" not in page
    known = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page))
    assert (known["Reported by"], known["State now"]) == ("Monitoring agent vm", "down")
    Host.objects.update(last_report=clock.now() - timedelta(minutes=9))
    known = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", shown(console, alert_page(alert))))
    assert known["State now"] == "down"
    assert known["Last report"].endswith("9 min ago")


@each(
    ("changes", "title"),
    [
        ({"name": "Too few & slow"}, "Too few &amp; slow, db1.example.com:27017"),
        ({}, "Host down, db1.example.com:27017"),
    ],
)
def test_the_page_of_an_alert_has_the_name_of_its_rule_as_title(
    changes: dict[str, Any], title: str, console: Client, project: Project
) -> None:
    config = make_config(project, **changes)
    facts = {"hostname": "db1.example.com", "port": 27017}
    page = shown(console, alert_page(make_alert(project, config_id=config.id, facts=facts)))
    assert f" {title} | Alerts | Ops API</title>" in " ".join(page.split())
    heading = page.partition("<h1")[2].partition("</h1>")[0]
    assert f">{title}</a>" in heading
