"""Integrations in the console: forms with the fields of a type from the registry, and pages.

The request schema of the API checks the input. Secrets are never shown: when changing an integration, an
empty field keeps the stored secret.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.forms.utils import ErrorDict
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from accesslist.forms import InProjectForm
from integrations.access import WRITE
from integrations.channels import CHANNELS
from integrations.choices import SecretKind
from integrations.credentials.changes import integration_create, integration_delete, integration_put
from integrations.credentials.models import Integration
from integrations.credentials.resource import DOCUMENTS, IntegrationDocument
from integrations.fields import Field, FieldSet
from integrations.inputs import NOTHING_TO_PREVIEW, field_input, preview_of, shown_text
from integrations.redaction import Secrets
from integrations.types import INTEGRATION_TYPES
from integrations.webhooks.preview import PreviewedRequest
from opsapi.api.documents import Document, InvalidField
from opsapi.api.errors import ApiError
from opsapi.api.fields import OneOf
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.display import link, project
from opsapi.console.document_forms import DocumentForm, Inputs
from opsapi.console.earlier import EVENT, RowInEvents
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.forms import CLEAR, SecretInput, shown_secret
from opsapi.console.model_admin import ConsoleAdmin

_ASKED_FOR = "asked_for"
_TYPES = [(name, kind.label) for name, kind in INTEGRATION_TYPES.items()]


class _TypedForm(DocumentForm):
    """A form with the fields of a type; of a webhook, with a preview of what it sends."""

    fields_template = "console/webhook_fields.html"
    preview_name = "preview"
    kind: FieldSet

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

    def declared(self) -> Document:
        """The document of the type."""
        return DOCUMENTS[self.kind.type]()

    def inputs(self) -> Inputs:
        """The inputs of the type. A stored secret that is not required can be removed."""
        before = self.row.fields if self.row else None
        inputs: Inputs = {}
        for field in self.kind.fields:
            note = _note(field, self.kind) if before and field.name in before else ""
            inputs[field.name] = asked = field_input(field, field.form, before=before, note=note)
            if isinstance(asked, SecretInput) and asked.stored is not None and not field.form.required:
                inputs[field.name + CLEAR] = asked.removal()
        return inputs


class NewIntegrationForm(_TypedForm, InProjectForm):
    """Creates an integration: asks for project and type first, then for the fields of the type."""

    from_address = frozenset({"group", "type"})

    type = forms.ChoiceField(choices=_TYPES)

    def __init__(self, data: Any = None, **options: Any) -> None:
        initial = options.get("initial") or {}
        if data is not None and data.get(_ASKED_FOR) != data.get("type"):
            # The fields were not shown yet, so this shows the page with them.
            initial, data = data.dict(), None
        self.chosen = INTEGRATION_TYPES.get((initial if data is None else data).get("type", ""))
        super().__init__(data, **{**options, "initial": initial})

    def inputs(self) -> Inputs:
        """Nothing until the type is known."""
        if self.chosen is None:
            return {}
        self.kind = self.chosen
        self.initial[_ASKED_FOR] = self.kind.type
        return {_ASKED_FOR: forms.CharField(widget=forms.HiddenInput), **super().inputs()}

    def read(self) -> Mapping[str, Any]:
        """The values of a new integration."""
        return read_integration(self.kind.type, self.body(), {})

    @property
    def values(self) -> Mapping[str, Any]:
        group_id = self.cleaned_data["group"].id
        return {"group_id": group_id, "integration_type": self.kind.type, "values": self._values}


class IntegrationForm(_TypedForm):
    """Changes an integration."""

    from_address = frozenset({EVENT})

    def row_in_events(self) -> RowInEvents:
        """Within a project, the type names an integration."""
        return replace(super().row_in_events(), name=self.row.type)

    def inputs(self) -> Inputs:
        """The inputs of the type of the row."""
        self.kind = INTEGRATION_TYPES[self.row.type]
        return super().inputs()

    def stored(self) -> Mapping[str, Any]:
        """The stored values, with redacted secrets."""
        return self.row.fields if self.row else {}

    def read(self) -> Mapping[str, Any]:
        """The request body. It is checked while the integration is locked."""
        return self.body()

    @property
    def values(self) -> Mapping[str, Any]:
        """The request body."""
        return self._values


def read_integration(integration_type: str, body: Mapping[str, Any], secrets: Secrets) -> Mapping[str, Any]:
    """The checked values of a request body, given the stored secrets.

    Raises:
        ApiError: with every wrong field.
    """
    return IntegrationDocument(context={"type": integration_type, "secrets": secrets}).read(body)


def _note(field: Field, kind: FieldSet) -> str:
    url = next((other.label for other in kind.fields if other.name == field.goes_with), None)
    return f" If you change the {url}, enter it again." if url else ""


def _create(call: ActionCall) -> ActionOutcome:
    integration = integration_create(**call.values, actor=call.actor, now=call.now)
    url = f"{reverse('channels')}?{urlencode({'created': integration.pk})}"
    return ActionOutcome(row=integration, url=url)


def _change(call: ActionCall) -> None:
    integration_put(
        group_id=call.row.group_id,
        integration_type=call.row.type,
        read=partial(read_integration, call.row.type, call.values),
        actor=call.actor,
        now=call.now,
    )


class ServiceFilter(ChoiceFilter):
    title = "service"
    parameter_name = "type__exact"
    offered = tuple((name, kind.label) for name, kind in INTEGRATION_TYPES.items())


@admin.register(Integration)
class IntegrationAdmin(ConsoleAdmin):
    """Integrations of all projects, with redacted secrets."""

    help = "channels/index#store-credentials-once"
    group_path = "group_id"
    add_action = Action(
        label="New service",
        done="Created",
        text="Each project can have one integration per service. Notifications without their own "
        "credentials use it.",
        run=_create,
        access=WRITE,
        form=NewIntegrationForm,
    )
    actions_of_row = {
        "change": Action(
            label="Change",
            done="Changed",
            run=_change,
            access=WRITE,
            form=IntegrationForm,
            icon="edit",
        ),
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="Also deletes its secrets. Notifications that use its credentials will fail.",
            run=lambda call: integration_delete(
                group_id=call.row.group_id, integration_type=call.row.type, actor=call.actor, now=call.now
            ),
            access=WRITE,
            icon="delete",
            danger=True,
        ),
    }
    list_display = ["service", project, "created", "updated"]
    list_filter = [ServiceFilter, ("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["group__name", "id__exact", "group__id__exact"]
    search_help_text = "Part of a project name, or the full ID of a project or an integration."
    ordering = ["group__name", "created", "id"]
    fields = ["service", "type", "group", "settings", "test", "id", "created", "updated"]
    empty_text = (
        "No integrations yet. Create an integration to send the alerts of a project to Slack, "
        "PagerDuty and other services."
    )

    @admin.display(description="service", ordering="type")
    def service(self, integration: Integration) -> str:
        return INTEGRATION_TYPES[integration.type].label

    @admin.display(description="test")
    def test(self, integration: Integration) -> SafeString | None:
        """The way to the card with the button that sends a test message; None for what sends nothing."""
        if integration.type not in CHANNELS:
            return None
        card = f"{reverse('channels')}#channel-{integration.group_id}-{integration.type}"
        return link(card, "Send a test message, on the page Channels")

    @admin.display(description="settings")
    def settings(self, integration: Integration) -> SafeString:
        stored, words = integration.fields, {True: "yes", False: "no"}
        rows = []
        for field in INTEGRATION_TYPES[integration.type].fields:
            if field.name in stored:
                value = stored[field.name]
                text = shown_text(value) if field.secret is SecretKind.PLAIN else shown_secret(value)
                if isinstance(field.form, OneOf):
                    text = field.form.labels.get(value, text)
                rows.append((field.label, words[value] if isinstance(value, bool) else text))
        return format_html_join("", "<div><strong>{}</strong> {}</div>", rows)
