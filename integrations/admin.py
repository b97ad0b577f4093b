"""Integrations in the console."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from integrations.choices import IntegrationType
from integrations.forms import IntegrationForm, NewIntegrationForm, read_integration
from integrations.labels import SERVICES
from integrations.models import Integration
from integrations.selectors import integration_facts
from integrations.services.integrations import integration_create, integration_delete, integration_put
from integrations.views.integrations import IntegrationViewSet
from opsapi.console.actions import Action, Call, Outcome
from opsapi.console.display import project
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section


def _make(call: Call) -> Outcome:
    values = call.values
    integration_create(
        group_id=values["group_id"],
        integration_type=values["type"],
        values=values["values"],
        actor=call.actor,
        now=call.now,
    )
    made = Integration.objects.get(group_id=values["group_id"], type=values["type"].value)
    return Outcome(row=made)


def _change(call: Call) -> None:
    integration_type = IntegrationType(call.row.type)
    integration_put(
        group_id=call.row.group_id,
        integration_type=integration_type,
        read=partial(read_integration, integration_type, call.values),
        actor=call.actor,
        now=call.now,
    )


def _delete(call: Call) -> None:
    integration_type = IntegrationType(call.row.type)
    integration_delete(
        group_id=call.row.group_id, integration_type=integration_type, actor=call.actor, now=call.now
    )


@admin.register(Integration)
class IntegrationAdmin(ConsoleAdmin):
    """Integrations of all projects; secrets stand redacted among the fields."""

    section = Section.ALERTING
    icon = "extension"
    rank = 60
    group_path = "group_id"
    add_action = Action(
        label="New integration",
        done="Made",
        text="Of each type a project has one. Notifications that name no credentials take them from it.",
        run=_make,
        access=IntegrationViewSet.access["create"],
        form=NewIntegrationForm,
    )
    actions_of_row = {
        "change": Action(
            label="Change",
            done="Changed",
            run=_change,
            access=IntegrationViewSet.access["replace"],
            form=IntegrationForm,
            icon="edit",
        ),
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="Its secrets go with it. Notifications that took their credentials from it will fail.",
            run=_delete,
            access=IntegrationViewSet.access["destroy"],
            icon="delete",
            danger=True,
        ),
    }
    list_display = ["service", project, "created", "updated"]
    list_filter = ["type", ("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["group__name", "id__exact", "group__id__exact"]
    search_help_text = "Part of a project's name, or a whole id of a project or an integration."
    ordering = ["group__name", "created", "id"]
    fields = ["service", "type", "group", "settings", "id", "created", "updated"]
    empty_text = "No integration yet. With one the alerts of a project reach a pager, a chat or a webhook."

    @admin.display(description="service", ordering="type")
    def service(self, integration: Integration) -> str:
        """The service people know."""
        return SERVICES[integration.type]

    @admin.display(description="settings")
    def settings(self, integration: Integration) -> SafeString:
        """Its fields as answers of the API show them."""
        row = {"type": integration.type, "fields": integration.fields}
        facts: Mapping[str, Any] = integration_facts(row)
        words = {True: "yes", False: "no"}
        shown = [(name, words.get(value, value)) for name, value in facts.items() if name != "type"]
        return format_html_join("", "<div><strong>{}</strong> {}</div>", shown)
