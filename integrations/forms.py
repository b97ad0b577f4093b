"""The forms that make and change an integration: the fields of its type, as the registry declares them.

What is typed is checked by the API's own document. A secret is never shown: on changing, a field that
stays empty keeps what is stored.
"""

from collections.abc import Mapping
from typing import Any

from django import forms
from rest_framework import serializers

from accesslist.forms import InProjectForm
from integrations.choices import IntegrationType, SecretKind
from integrations.labels import LABELS, SERVICES
from integrations.redaction import Secrets
from integrations.serializers.integrations import IntegrationDocument
from integrations.types import INTEGRATION_TYPES
from integrations.types.base import IntegrationField, IntegrationKind
from opsapi.console.fields import CLEAR, SecretField
from opsapi.console.forms import ConsoleForm, themed
from opsapi.roles import Scope

_ASKED_FOR = "asked_for"
_TYPES = [(one.value, SERVICES[one.value]) for one in IntegrationType]


class _TypedForm(ConsoleForm):
    """A form with the fields of one type."""

    def add_fields(self, kind: IntegrationKind, stored: Mapping[str, Any]) -> None:
        """The fields of the type; `stored` is what is there of it, secrets redacted."""
        for field in kind.fields:
            asked = _form_field(field, stored.get(field.name))
            self.fields[field.name] = asked
            if isinstance(asked, SecretField) and field.name in stored and not field.form.required:
                self.fields[field.name + CLEAR] = asked.removal()
        for shown in self.fields.values():
            themed(shown)

    def body_of(self, kind: IntegrationKind, stored: Mapping[str, Any]) -> Mapping[str, Any]:
        """The document as a client would send it: secrets that stay, redacted."""
        typed = {field.name: self.cleaned_data.get(field.name) for field in kind.fields}
        kept = {name: stored[name] for name in kind.secret_fields if name in stored and self._stays(name)}
        return {**kept, **{name: value for name, value in typed.items() if value not in (None, "")}}

    def _stays(self, name: str) -> bool:
        return not self.cleaned_data.get(name + CLEAR)


class NewIntegrationForm(_TypedForm, InProjectForm):
    """To make one: which type and where, then the fields of that type."""

    from_address = frozenset({"group", "type"})

    type = forms.ChoiceField(choices=_TYPES)

    def __init__(self, data: Any = None, **options: Any) -> None:
        initial = options.get("initial") or {}
        if data is not None and data.get(_ASKED_FOR) != data.get("type"):
            # Its fields were not shown yet: the answer to this page is the page with them.
            initial, data = data.dict(), None
        super().__init__(data, **{**options, "initial": initial})
        self.kind = _kind_of((initial if data is None else data).get("type"))
        if self.kind:
            asked_for = forms.CharField(widget=forms.HiddenInput, initial=self.kind.type.value)
            self.fields[_ASKED_FOR] = asked_for
            self.initial[_ASKED_FOR] = self.kind.type.value
            self.add_fields(self.kind, {})

    def scope(self) -> Scope:
        """The project."""
        return Scope(group_id=self.cleaned_data["group"].id)

    @property
    def values(self) -> Mapping[str, Any]:
        """The project, the type, and the values of its document."""
        kind = INTEGRATION_TYPES[IntegrationType(self.cleaned_data["type"])]
        return {
            "group_id": self.cleaned_data["group"].id,
            "type": kind.type,
            "values": read_integration(kind.type, self.body_of(kind, {}), {}),
        }


class IntegrationForm(_TypedForm):
    """To change one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.kind = INTEGRATION_TYPES[IntegrationType(self.row.type)]
        self.add_fields(self.kind, self.row.fields)

    @property
    def values(self) -> Mapping[str, Any]:
        """The document as it is sent; it is read once nobody else writes the integration."""
        return self.body_of(self.kind, self.row.fields)


def read_integration(
    integration_type: IntegrationType, body: Mapping[str, Any], secrets: Secrets
) -> Mapping[str, Any]:
    """The checked values of a document, given the stored secrets.

    Raises:
        ApiError: with every wrong field.
    """
    return IntegrationDocument(context={"type": integration_type, "secrets": secrets}).read(body)


def _kind_of(name: Any) -> IntegrationKind | None:
    return next((kind for kind in INTEGRATION_TYPES.values() if kind.type.value == name), None)


def _form_field(field: IntegrationField, stored: Any) -> forms.Field:
    """How people type it: `stored` is what stands there now, redacted where it is secret."""
    form, label = field.form, LABELS[field.name]
    if field.secret is not SecretKind.PLAIN:
        return _secret(field, label, stored)
    default = None if form.default is serializers.empty else form.default
    initial = default if stored is None else stored
    if isinstance(form, serializers.BooleanField):
        return forms.BooleanField(required=False, label=label, initial=initial)
    if isinstance(form, serializers.ChoiceField):
        choices = [(one, one) for one in form.choices]
        return forms.ChoiceField(choices=choices, required=form.required, label=label, initial=initial)
    return forms.CharField(required=form.required, label=label, initial=initial)


def _secret(field: IntegrationField, label: str, stored: Any) -> SecretField:
    note = f" With another {LABELS[field.goes_with]} it has to be typed anew." if field.goes_with else ""
    return SecretField(required=field.form.required, label=label, stored=stored, note=note)
