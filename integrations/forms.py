"""Forms that create and change an integration, with the fields of its type from the registry.

The request schema of the API checks the input. Secrets are never shown: when changing an integration, an
empty field keeps the stored secret.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.forms.utils import ErrorDict
from rest_framework import serializers

from accesslist.forms import InProjectForm
from integrations.choices import SecretKind
from integrations.fields import Field, FieldSet
from integrations.redaction import Secrets
from integrations.serializers import IntegrationDocument
from integrations.types import INTEGRATION_TYPES
from integrations.webhook_fields import WebhookBody
from integrations.webhook_inputs import (
    NOTHING_TO_PREVIEW,
    JsonInput,
    preview_of,
    read_body,
    read_headers,
    shown_secret,
    shown_text,
)
from integrations.webhooks.preview import PreviewedRequest
from opsapi.api.documents import InvalidField
from opsapi.api.errors import ApiError
from opsapi.api.fields import OneOf, Option
from opsapi.console.forms import CLEAR, ConsoleForm, SecretInput, themed

_ASKED_FOR = "asked_for"
_TYPES = [(name, kind.label) for name, kind in INTEGRATION_TYPES.items()]


class _TypedForm(ConsoleForm):
    """A form with the fields of a type; of a webhook, with a preview of what it sends."""

    fields_template = "console/webhook_fields.html"
    preview_name = "preview"

    @property
    def has_preview(self) -> bool:
        """Whether the fields include a template or a body."""
        return "body" in self.fields

    @property
    def is_preview(self) -> bool:
        """Whether a preview is requested, and nothing else."""
        return self.has_preview and self.preview_name in self.data

    def is_valid(self) -> bool:
        """Not valid while only a preview is requested, so that nothing is saved."""
        return not self.is_preview and super().is_valid()

    def full_clean(self) -> None:
        """A preview checks the body alone: secrets may be blank."""
        if not self.is_preview:
            super().full_clean()
            return
        self._errors, self.cleaned_data = ErrorDict(), {}
        self.previewed: Sequence[PreviewedRequest] = ()
        try:
            self.previewed = preview_of(self.data.get("template", ""), self.data.get("body", ""))
        except InvalidField as error:
            self.add_refusal(ApiError.of_fields(error.bad_fields))
        else:
            if not self.previewed:
                self.add_error("template", NOTHING_TO_PREVIEW)

    def add_fields(self, kind: FieldSet, stored: Mapping[str, Any]) -> None:
        """Add the fields of the type; `stored` are the stored values with redacted secrets."""
        for field in kind.fields:
            asked = _form_field(field, kind, stored.get(field.name))
            self.fields[field.name] = asked
            if isinstance(asked, SecretInput) and field.name in stored and not field.form.required:
                self.fields[field.name + CLEAR] = asked.removal()
        for shown in self.fields.values():
            themed(shown)

    def body_of(self, kind: FieldSet, stored: Mapping[str, Any]) -> Mapping[str, Any]:
        typed = {field.name: _sent(field, self.cleaned_data.get(field.name)) for field in kind.fields}
        kept = {
            name: stored[name]
            for name in kind.secret_fields
            if name in stored and not self.cleaned_data.get(name + CLEAR)
        }
        off = {
            field.name for field in kind.fields if isinstance(field.form, Option) and not typed[field.name]
        }
        return {
            **kept,
            **{name: value for name, value in typed.items() if value not in (None, "") and name not in off},
        }


class NewIntegrationForm(_TypedForm, InProjectForm):
    """Creates an integration: asks for project and type first, then for the fields of the type."""

    from_address = frozenset({"group", "type"})

    type = forms.ChoiceField(choices=_TYPES)

    def __init__(self, data: Any = None, **options: Any) -> None:
        initial = options.get("initial") or {}
        if data is not None and data.get(_ASKED_FOR) != data.get("type"):
            # The fields were not shown yet, so this shows the page with them.
            initial, data = data.dict(), None
        super().__init__(data, **{**options, "initial": initial})
        self.kind = INTEGRATION_TYPES.get((initial if data is None else data).get("type", ""))
        if self.kind:
            asked_for = forms.CharField(widget=forms.HiddenInput, initial=self.kind.type)
            self.fields[_ASKED_FOR] = asked_for
            self.initial[_ASKED_FOR] = self.kind.type
            self.add_fields(self.kind, {})

    @property
    def values(self) -> Mapping[str, Any]:
        kind = INTEGRATION_TYPES[self.cleaned_data["type"]]
        return {
            "group_id": self.cleaned_data["group"].id,
            "integration_type": kind.type,
            "values": read_integration(kind.type, self.body_of(kind, {}), {}),
        }


class IntegrationForm(_TypedForm):
    """Changes an integration."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.kind = INTEGRATION_TYPES[self.row.type]
        self.add_fields(self.kind, self.row.fields)

    @property
    def values(self) -> Mapping[str, Any]:
        """The request body. It is checked while the integration is locked."""
        return self.body_of(self.kind, self.row.fields)


def read_integration(integration_type: str, body: Mapping[str, Any], secrets: Secrets) -> Mapping[str, Any]:
    """The checked values of a request body, given the stored secrets.

    Raises:
        ApiError: with every wrong field.
    """
    return IntegrationDocument(context={"type": integration_type, "secrets": secrets}).read(body)


def _form_field(field: Field, kind: FieldSet, stored: Any) -> forms.Field:
    """The console form field; `stored` is the stored value, redacted if secret."""
    form, label = field.form, field.label
    if field.secret is not SecretKind.PLAIN:
        return SecretInput(
            required=form.required,
            label=label,
            stored=stored and shown_secret(stored),
            note=f"{_note(field, kind) if stored else ''} {field.help}".rstrip(),
            has_lines=field.secret is SecretKind.HEADERS,
        )
    default = None if form.default is serializers.empty else form.default
    initial = default if stored is None else stored
    if isinstance(form, serializers.BooleanField):
        return forms.BooleanField(required=False, label=label, initial=initial)
    if isinstance(form, WebhookBody):
        initial = None if stored is None else shown_text(stored)
        return JsonInput(required=form.required, label=label, initial=initial, help_text=field.help)
    if isinstance(form, OneOf):
        blank = [] if form.required or default is not None else [("", "–")]
        return forms.ChoiceField(
            choices=[*blank, *form.labelled],
            required=form.required,
            label=label,
            initial=initial,
            help_text=field.help,
        )
    return forms.CharField(required=form.required, label=label, initial=initial)


def _sent(field: Field, typed: Any) -> Any:
    """The typed value as the API takes it."""
    if field.secret is SecretKind.HEADERS:
        return read_headers(typed or "")
    return read_body(typed or "") if isinstance(field.form, WebhookBody) else typed


def _note(field: Field, kind: FieldSet) -> str:
    url = next((other.label for other in kind.fields if other.name == field.goes_with), None)
    return f" If you change the {url}, enter it again." if url else ""
