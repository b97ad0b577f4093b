"""How forms of the console show and read header fields and documents."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from integrations.webhook_fields import Unread, WebhookBody
from integrations.webhooks.preview import PreviewedRequest, previewed_requests
from integrations.webhooks.templates import NAMES, TEMPLATES, own_template
from opsapi.api.documents import InvalidField
from opsapi.api.fields import OneOf
from opsapi.console.forms import VERBATIM, DocumentInput
from opsapi.wire_json import read_json

NOTHING_TO_PREVIEW = (
    "Select a template, or enter a body. Without them, the webhook gets the document of the alert."
)


class JsonInput(DocumentInput):
    """A JSON document with placeholders."""

    def widget_attrs(self, widget: forms.Widget) -> dict[str, str]:
        """Ten lines high, without corrections by the browser."""
        return {**super().widget_attrs(widget), **VERBATIM, "rows": "10"}


def shown_secret(redacted: Any) -> str:
    """The redacted form of a secret; header fields in a line."""
    if isinstance(redacted, Mapping):
        return ", ".join(f"{name}: {text}" for name, text in redacted.items())
    return str(redacted)


def shown_text(value: Any) -> str:
    """A value that is no secret; a document as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)


def read_headers(text: str) -> dict[str, str] | Unread | None:
    """The header fields of a text with `Name: value` in each line; None without any."""
    headers: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        name, _, value = (part.strip() for part in line.partition(":"))
        if name in headers:
            return Unread(f"{name} is given twice")
        headers[name] = value
    return headers or None


def preview_of(template: str, body: str) -> Sequence[PreviewedRequest]:
    """The requests that a webhook sends with this template or body, as they are typed; none without both.

    Raises:
        InvalidField: the path is that of a wrong field, `template` or `body`, and of the place in it.
    """
    name, document = "body", read_body(body)
    try:
        if document is not None:
            return previewed_requests(own_template(WebhookBody().run_validation(document)))
        name = "template"
        return previewed_requests(TEMPLATES[OneOf(NAMES).run_validation(template)]) if template else ()
    except InvalidField as error:
        raise InvalidField(*(fault.below(name) for fault in error.bad_fields)) from None


def read_body(text: str) -> Any:
    """The document of a text; None without text."""
    if not text.strip():
        return None
    try:
        return read_json(text.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        return Unread(str(error))
