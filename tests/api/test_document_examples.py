"""The JSON of the documents for people is accepted by the API as it is."""

import json
from pathlib import Path

import pytest

from accesslist.models import Project
from alerting.configs.notification_types import NOTIFICATION_TYPES
from integrations.channels import CHANNELS
from integrations.channels.base import Channel
from integrations.webhooks.templates import TEMPLATES, Template
from tests.client import ApiClient
from tests.documents import ROOT, blocks
from tests.each import each

PAGES = {
    channel: ROOT
    / "docs"
    / "channels"
    / f"{channel.label.lower().replace(' ', '-').replace('e-mail', 'email')}.md"
    for channel in CHANNELS.values()
}
RECIPES = ROOT / "docs" / "how-to" / "alert-recipes.md"
pytestmark = pytest.mark.django_db


def examples(page: Path, kind: str) -> list[dict[str, object]]:
    """The JSON blocks of a page that are marked with this word."""
    return [
        json.loads(block.text) for block in blocks(page) if (block.language, block.info) == ("json", kind)
    ]


def store_integration(owner: ApiClient, project: Project, channel: Channel) -> None:
    """Store each example of the channel's page; the first example stays."""
    for example in reversed(examples(PAGES[channel], "integration")):
        answer = owner.put(f"/groups/{project.id}/integrations/{channel.type}", example)
        assert answer.status_code == 200, answer.content


@each("channel", list(CHANNELS.values()), ids=lambda channel: channel.label)
def test_the_page_of_a_channel_names_all_its_fields_and_its_examples_work(
    channel: Channel, owner: ApiClient, project: Project
) -> None:
    text = PAGES[channel].read_text()
    assert text.startswith(f"# {channel.label}\n")
    assert f"| type in the API | `{channel.type}` |" in text
    names = {field.name for field in channel.fields} | {
        field.name for field in NOTIFICATION_TYPES[channel.type].fields
    }
    assert {name for name in names if f"`{name}`" not in text} == set()
    assert {
        field.label for field in channel.fields if field.in_config and f"({field.label}" not in text
    } == set()
    if not channel.has_address:
        store_integration(owner, project, channel)
    notifications = examples(PAGES[channel], "notification")
    assert notifications
    body = {"eventTypeName": "HOST_DOWN", "notifications": notifications}
    answer = owner.post(f"/groups/{project.id}/alertConfigs", body)
    assert answer.status_code == 201, answer.content


def test_the_page_of_all_channels_lists_each() -> None:
    text = (ROOT / "docs" / "channels" / "index.md").read_text()
    for channel, page in PAGES.items():
        assert f"| [{channel.label}]({page.name}) | `{channel.type}` |" in text


@each("template", list(TEMPLATES.values()), ids=lambda template: template.name)
def test_the_page_of_a_ready_template_has_the_example_of_the_template(template: Template) -> None:
    page = ROOT / "docs" / "channels" / f"{template.name}.md"
    assert page.read_text().startswith(f"# {template.label}\n")
    (stored,) = examples(page, "integration")
    expected = {"url": template.url, "template": template.name, "authorization": template.authorization}
    assert stored == {name: value for name, value in expected.items() if value}
    _, notification = examples(page, "notification")
    names = {name: f"webhook{name.capitalize()}" for name in stored}
    assert notification == {"typeName": "WEBHOOK"} | {names[name]: value for name, value in stored.items()}


@each("template", list(TEMPLATES.values()), ids=lambda template: template.name)
def test_the_api_accepts_the_examples_of_a_ready_template(
    template: Template, owner: ApiClient, project: Project
) -> None:
    page = ROOT / "docs" / "channels" / f"{template.name}.md"
    (stored,) = examples(page, "integration")
    answer = owner.put(f"/groups/{project.id}/integrations/WEBHOOK", stored)
    assert answer.status_code == 200, answer.content
    body = {"eventTypeName": "HOST_DOWN", "notifications": examples(page, "notification")}
    answer = owner.post(f"/groups/{project.id}/alertConfigs", body)
    assert answer.status_code == 201, answer.content
    assert [sent.get("webhookTemplate") for sent in answer.json()["notifications"]] == [None, template.name]


def test_the_page_of_all_channels_lists_each_ready_template() -> None:
    text = (ROOT / "docs" / "channels" / "index.md").read_text()
    for template in TEMPLATES.values():
        row = f"| [{template.label}]({template.name}.md) | `WEBHOOK`, template `{template.name}` |"
        assert row in text


def test_the_api_accepts_every_recipe(owner: ApiClient, project: Project) -> None:
    for channel in CHANNELS.values():
        if not channel.has_address:
            store_integration(owner, project, channel)
    recipes = examples(RECIPES, "recipe")
    assert len(recipes) >= 10
    for recipe in recipes:
        answer = owner.post(f"/groups/{project.id}/alertConfigs", recipe)
        assert answer.status_code == 201, (recipe, answer.content)
