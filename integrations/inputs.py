"""The inputs of forms for the fields of integrations and notifications."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from integrations.channels.webhook_fields import Unread, WebhookBody
from integrations.choices import SecretKind
from integrations.fields import Field
from integrations.webhooks.preview import PreviewedRequest, previewed_requests
from integrations.webhooks.templates import NAMES, TEMPLATES, own_template
from opsapi.api.documents import InvalidField
from opsapi.api.fields import OneOf
from opsapi.console.document_inputs import ApiField, document_input
from opsapi.console.forms import VERBATIM, DocumentInput, SecretInput
from opsapi.wire_json import read_json

NOTHING_TO_PREVIEW = (
    "Select a template, or enter a body. Without them, the webhook gets the document of the alert."
)


class JsonInput(DocumentInput):
    """A JSON document with placeholders."""

    def widget_attrs(self, widget: forms.Widget) -> dict[str, str]:
        """Ten lines high, without corrections by the browser."""
        return {**super().widget_attrs(widget), **VERBATIM, "rows": "10"}

    def to_python(self, value: Any) -> Any:
        """The document; None without text."""
        return read_body(super().to_python(value))

    def prepare_value(self, value: Any) -> Any:
        """The text of a stored document."""
        return None if value is None else shown_text(value)


class HeadersInput(SecretInput):
    """Secret header fields, one on each line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(has_lines=True, **options)

    def to_python(self, value: Any) -> Any:
        """The header fields; None without any."""
        return read_headers(super().to_python(value) or "")


def field_input(
    field: Field, form: ApiField, *, before: Mapping[str, Any] | None = None, note: str = "", **options: Any
) -> forms.Field:
    """The input of a field. `form` validates it; `before` are the stored values with redacted secrets.

    `note` is a help text of a secret.
    """
    options = {"required": form.required, "label": field.label, **options}
    if field.secret is not SecretKind.PLAIN:
        kind = HeadersInput if field.secret is SecretKind.HEADERS else SecretInput
        options |= {"note": f"{note} {field.help}".rstrip(), "strip": False}
        return kind(stored=(before or {}).get(field.name), **options)
    options.setdefault("help_text", field.help)
    if isinstance(form, WebhookBody):
        return JsonInput(**options)
    if isinstance(form, OneOf) and isinstance(form.default, str):
        options |= {"choices": form.labelled, "initial": form.default}
    return document_input(field.name, form, before=before, **options)


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
