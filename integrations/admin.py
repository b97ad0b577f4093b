"""Integrations in the console."""

from functools import partial

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from integrations.access import WRITE
from integrations.choices import SecretKind
from integrations.forms import IntegrationForm, NewIntegrationForm, read_integration
from integrations.inputs import shown_text
from integrations.models import Integration
from integrations.services import integration_create, integration_delete, integration_put
from integrations.types import INTEGRATION_TYPES
from opsapi.api.fields import OneOf
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.display import project
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.forms import shown_secret
from opsapi.console.model_admin import ConsoleAdmin, Section


def _create(call: ActionCall) -> ActionOutcome:
    return ActionOutcome(row=integration_create(**call.values, actor=call.actor, now=call.now))


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
    section = Section.ALERTING
    icon = "extension"
    rank = 60
    group_path = "group_id"
    add_action = Action(
        label="New integration",
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
    fields = ["service", "type", "group", "settings", "id", "created", "updated"]
    empty_text = (
        "No integrations yet. Create an integration to send the alerts of a project to Slack, "
        "PagerDuty and other services."
    )

    @admin.display(description="service", ordering="type")
    def service(self, integration: Integration) -> str:
        return INTEGRATION_TYPES[integration.type].label

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
