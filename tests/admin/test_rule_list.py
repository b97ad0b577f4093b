"""The rows of the list of rules: condition, targets, destinations, and what is off."""

import re
from html import unescape

import pytest
from django.test import Client

from accesslist.models import Project
from alerting.configs.presets import Preset
from alerting.models import AlertConfig
from tests.admin.configs import CONFIGS
from tests.admin.reading import shown
from tests.factories.accesslist import make_team
from tests.factories.alerting import CONNECTIONS_ABOVE_100, WEBHOOK, make_config, make_global_config

pytestmark = pytest.mark.django_db
MAIL = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 0}
ADMINS = {"typeName": "ADMIN", "delayMin": 0, "emailEnabled": True}


def row_of(console: Client, config: AlertConfig) -> str:
    """The text of the row of a configuration, without tags."""
    rows = shown(console, CONFIGS).split('class="data-row')
    row = next(row for row in rows if f"{config.id}/change" in row)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", row.partition(">")[2])).split())


def test_a_row_says_name_condition_duration_and_targets(console: Client, project: Project) -> None:
    mail = [{**MAIL, "delayMin": 5}]
    config = make_config(project, **CONNECTIONS_ABOVE_100, name="Too busy", notifications=mail)
    row = row_of(console, config)
    assert f"Too busy Connections > 100 for 5 min · all hosts of {project.name}" in row


def test_a_row_without_name_says_its_condition_once(console: Client, project: Project) -> None:
    row = row_of(console, make_config(project, **CONNECTIONS_ABOVE_100, notifications=[MAIL]))
    assert row.count("Connections > 100") == 1


def test_a_row_says_its_matchers_in_words(console: Client, project: Project) -> None:
    matcher = {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}
    row = row_of(console, make_config(project, matchers=[matcher], notifications=[MAIL]))
    assert f"hostname starts with “db” of {project.name}" in row


def test_a_row_of_a_global_rule_says_its_projects(console: Client, project: Project) -> None:
    tagged = make_global_config(forAllGroups=True, tags=["prod"], notifications=[ADMINS])
    assert "of projects tagged prod" in row_of(console, tagged)


def test_only_a_rule_that_is_off_has_a_mark(console: Client, project: Project) -> None:
    on, off = make_config(project), make_config(project, enabled=False)
    assert "off" not in row_of(console, on).split()
    assert "off" in row_of(console, off).split()


def test_a_chip_says_channel_recipient_and_delay(console: Client, project: Project) -> None:
    team = make_team(project)
    config = make_config(
        project,
        notifications=[
            MAIL,
            {**WEBHOOK, "webhookUrl": "https://hooks.example.com/in/secret", "delayMin": 5},
            {"typeName": "TEAM", "teamId": team.id, "emailEnabled": True, "delayMin": 0},
        ],
    )
    row = row_of(console, config)
    assert "E-mail oncall@example.com Webhook hooks.example.com after 5 min" in row
    assert f"Team {team.name}" in row
    assert "secret" not in row


def test_the_presets_are_listed_in_words(console: Client, project: Project) -> None:
    page = shown(console, f"{CONFIGS}do/presets/?group={project.id}")
    preset = Preset.HOST_DOWN
    assert f'title="{preset}">{preset.spec.title}</label>' in page
    assert f">{preset}<" not in page
