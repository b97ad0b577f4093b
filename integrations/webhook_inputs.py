"""How forms of the console show and read header fields and documents."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms

from integrations.webhook_fields import Unread
from opsapi.console.forms import VERBATIM, DocumentInput
from opsapi.wire_json import read_json


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


def read_body(text: str) -> Any:
    """The document of a text; None without text."""
    if not text.strip():
        return None
    try:
        return read_json(text.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        return Unread(str(error))
