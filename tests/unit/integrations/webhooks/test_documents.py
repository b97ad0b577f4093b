"""The page about webhooks has the placeholders, and its example sends what it says."""

import json
import re
from pathlib import Path

from django.conf import settings

from integrations.webhooks.placeholders import PLACEHOLDERS
from integrations.webhooks.sample import sample_message
from integrations.webhooks.templates import own_template, request_of

PAGE = (Path(settings.BASE_DIR) / "docs/channels/webhook.md").read_text("utf-8")


def test_the_table_is_the_table_of_placeholders() -> None:
    rows = re.findall(r"^\| `\{\{([A-Za-z]+)\}\}` \| (\w+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == [(row.name, row.type, row.meaning) for row in PLACEHOLDERS.values()]


def test_the_example_sends_the_document_that_follows() -> None:
    blocks = re.findall(
        r"```json(?: integration)?\n(.*?)```", PAGE.partition("## Send another body")[2], re.DOTALL
    )
    integration, sent = map(json.loads, blocks)
    request = request_of(own_template(integration["body"]), integration["url"], sample_message())
    assert request.url == "https://hooks.example.com/alerts"
    assert json.loads(request.body) == sent
