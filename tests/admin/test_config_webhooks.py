"""The webhook of a notification in the form of an alert configuration: its preview, and its secrets."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project
from alerting.models import AlertConfig
from tests.admin.configs import ADD, typed_config
from tests.admin.writing import post

pytestmark = pytest.mark.django_db
ROW = "notifications[4]"
"""As the script numbers a row that was added after others were removed."""
SECRET = "a-typed-secret-0123"


def page_after(browser: Client, project: Project, button: dict[str, str], **typed: str) -> str:
    """The page after a button of the form, with a webhook in it."""
    row: dict[str, Any] = {
        f"{ROW}.typeName": "WEBHOOK",
        f"{ROW}.webhookUrl": f"https://hook.example/{SECRET}",
    }
    answer = post(browser, ADD, confirmed="yes", **button, **typed_config(project.id, **row, **typed))
    assert answer.status_code == 200
    page = unescape(answer.content.decode())
    assert SECRET not in page
    return page


def previewed(page: str) -> list[Any]:
    """The documents in the preview."""
    return [json.loads(found) for found in re.findall(r'<pre class="json"[^>]*>(.*?)</pre>', page, re.DOTALL)]


def test_a_preview_shows_what_the_webhook_sends_and_saves_nothing(console: Client, project: Project) -> None:
    number = AlertConfig.objects.count()
    body = json.dumps({"about": "{{what}}", "now": "{{condition}}"})
    page = page_after(console, project, {"preview": ROW}, **{f"{ROW}.webhookBody": body})
    assert [document["now"] for document in previewed(page)] == ["firing", "firing", "resolved"]
    assert "{{what}}" in page
    page = page_after(console, project, {"preview": ROW}, **{f"{ROW}.webhookTemplate": "discord"})
    assert len(previewed(page)) == 3
    assert AlertConfig.objects.count() == number


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"webhookBody": '{"a": [{"b": "{{titel}}"}]}'}, "body.a[0].b: "),
        ({"webhookBody": "{"}, "body: "),
        ({"webhookTemplate": "telegraf"}, "template: "),
        ({}, "Select a template, or enter a body."),
    ],
)
def test_a_preview_of_a_wrong_document_says_why(
    console: Client, project: Project, typed: dict[str, str], said: str
) -> None:
    page = page_after(
        console, project, {"preview": ROW}, **{f"{ROW}.{name}": text for name, text in typed.items()}
    )
    result = page.partition("data-trial-result>")[2].partition("</form>")[0]
    assert said in result
    assert not previewed(page)


@pytest.mark.parametrize("button", [{}, {"preview": ROW}, {"try": "yes"}, {"add": "matchers"}], ids=repr)
def test_a_page_that_does_not_save_asks_again_for_the_typed_secrets(
    console: Client, project: Project, button: dict[str, str]
) -> None:
    page = page_after(console, project, button, eventTypeName="")
    assert re.findall(r'id="([^"]+)_again"', page) == ["id_notifications[1].webhookUrl"]
