"""The severity and the texts of configurations on the pages of the console."""

import re
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete
from alerting.models import Alert, AlertConfig
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Role
from tests.admin.alert_pages import ALERTS, alert_page
from tests.admin.configs import ADD, CONFIGS, HOSTILE, do, facts, send, typed_config
from tests.admin.operators import browser_with, page_of
from tests.admin.reading import admin_of, shown
from tests.admin.typed import typed_in
from tests.each import each
from tests.factories.alerting import (
    CONNECTIONS_ABOVE_100,
    WEBHOOK,
    make_alert,
    make_config,
    make_global_config,
)

TEXTS: dict[str, Any] = {
    "name": "Primary down",
    "description": f"Call the team.\n{HOSTILE}",
    "runbookUrl": "https://wiki.example.com/primary?a=1&b=2",
}
LABEL = re.compile(r'class="[^"]*bg-(red|orange|blue)-[^"]*"[^>]*>\s*(Critical|Warning|Info)\b')
pytestmark = pytest.mark.django_db


def labels(page: str) -> list[tuple[str, str]]:
    """The colour and the word of each severity that a page shows as a label."""
    return LABEL.findall(page)


@pytest.fixture
def alerts(project: Project) -> dict[str, Alert]:
    """An alert of each severity, by the name of its host; the last is of an earlier build."""
    given = {"alpha": "CRITICAL", "beta": "WARNING", "gamma": "INFO", "delta": None}
    return {
        name: make_alert(project, severity=severity, facts={"hostname": f"{name}.example.com", "port": 1})
        for name, severity in given.items()
    }


@each(
    ("value", "names"),
    [
        ("", ["alpha", "beta", "gamma", "delta"]),
        ("CRITICAL", ["alpha", "delta"]),
        ("WARNING", ["beta"]),
        ("INFO", ["gamma"]),
        ("nonsense", []),
    ],
)
def test_the_list_of_alerts_is_filtered_by_severity(
    console: Client, alerts: dict[str, Alert], value: str, names: list[str]
) -> None:
    text = shown(console, f"{ALERTS}?severity={value}" if value else ALERTS)
    assert [name for name in alerts if f"{name}.example.com" in text] == names


def test_each_severity_has_a_colour(console: Client, alerts: dict[str, Alert]) -> None:
    colours = {"Critical": "red", "Warning": "orange", "Info": "blue"}
    assert {word for _, word in labels(shown(console, ALERTS))} == set(colours)
    for alert in alerts.values():
        word = alert.effective_severity.capitalize()
        assert (colours[word], word) in labels(shown(console, alert_page(alert)))


def test_the_page_of_an_alert_shows_the_texts_of_its_configuration(console: Client, project: Project) -> None:
    config = make_config(project, **TEXTS)
    page = shown(console, alert_page(make_alert(project, config_id=config.id)))
    assert "Primary down: Host down" in page
    assert "Call the team.<br>" in page
    assert '<a href="https://wiki.example.com/primary?a=1&amp;b=2"' in page
    assert HOSTILE not in page
    alert_config_delete(config=config, actor=SYSTEM, now=clock.now())


def test_readers_of_a_project_see_no_texts_of_a_global_configuration(project: Project) -> None:
    config = make_global_config(**TEXTS)
    alert = make_alert(project, config_id=config.id, is_global=True)
    page = shown(browser_with(Role.GROUP_READ_ONLY, project=project), alert_page(alert))
    assert not any(text in page for text in ("Primary down", "Call the team", "wiki.example.com"))
    assert "Primary down" in shown(browser_with(Role.GLOBAL_READ_ONLY), alert_page(alert))


def test_the_list_of_configurations_shows_name_and_condition(console: Client, project: Project) -> None:
    make_config(project, **CONNECTIONS_ABOVE_100, name="Too busy", severity="CRITICAL")
    make_config(project, severity="INFO")
    page = shown(console, CONFIGS)
    row = page[page.index("Too busy") :][:300]
    assert "Connections &gt; 100" in row
    assert {word for _, word in labels(page)} == {"Critical", "Info"}


@each(("question", "is_found"), [("too bus", True), ("HOST_DOWN", False), ("nobody", False)])
def test_configurations_are_found_by_a_part_of_their_name(
    console: Client, project: Project, question: str, is_found: bool
) -> None:
    make_config(project, **CONNECTIONS_ABOVE_100, name="Too busy")
    assert ("Too busy" in shown(console, f"{CONFIGS}?q={question}")) is is_found


def test_configurations_are_filtered_and_sorted_by_severity(console: Client, project: Project) -> None:
    made = [make_config(project, severity=severity) for severity in ("INFO", "WARNING", "CRITICAL")]
    AlertConfig.objects.filter(id=made[2].id).update(severity=None)
    column = admin_of("alerting.alertconfig").list_display.index("severity_label") + 1
    for sign, expected in (("", made), ("-", made[::-1])):
        page = shown(console, f"{CONFIGS}?o={sign}{column}")
        assert sorted(made, key=lambda config: page.index(f"{config.id}/change")) == expected
    page = shown(console, f"{CONFIGS}?severity=CRITICAL")
    assert [config for config in made if config.id in page] == [made[2]]


def test_the_page_of_a_configuration_shows_its_texts(console: Client, project: Project) -> None:
    config = make_config(project, **TEXTS, notifications=[{**WEBHOOK, "minSeverity": "WARNING"}])
    page = shown(console, page_of(config))
    assert "Primary down" in page
    assert "Call the team.<br>" in page
    assert 'href="https://wiki.example.com/primary?a=1&amp;b=2"' in page
    assert "only of the severities WARNING and CRITICAL" in page
    assert HOSTILE not in page


def test_texts_that_are_typed_are_stored_and_can_be_emptied(console: Client, project: Project) -> None:
    typed: dict[str, Any] = {
        **TEXTS,
        "description": "Call the team.\r\nAt once.",
        "severity": "INFO",
        "notifications[0].minSeverity": "WARNING",
    }
    send(console, ADD, typed_config(project.id, **typed))
    config = AlertConfig.objects.get()
    stored = facts(config)
    assert {name: stored[name] for name in (*TEXTS, "severity")} == {
        **TEXTS,
        "description": "Call the team.\nAt once.",
        "severity": "INFO",
    }
    assert stored["notifications"][0]["minSeverity"] == "WARNING"
    form = typed_in(shown(console, do(config, "change")))
    send(console, do(config, "change"), {**form, **dict.fromkeys((*TEXTS, "severity"), "")})
    assert not facts(config).keys() & TEXTS.keys()
    assert facts(config)["severity"] == "CRITICAL"


def test_a_text_that_is_refused_is_named_at_its_field(console: Client, project: Project) -> None:
    page = send(console, ADD, typed_config(project.id, runbookUrl="ftp://wiki.example.com"))
    assert "ust be an http or https URL" in page.content.decode()
    assert not AlertConfig.objects.exists()
