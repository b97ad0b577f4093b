"""Integrations in the console: to be read."""

from django.contrib import admin

from integrations.models import Integration
from opsapi.console.display import json_field
from opsapi.console.model_admin import ConsoleAdmin


@admin.register(Integration)
class IntegrationAdmin(ConsoleAdmin):
    """Integrations of all projects; secrets stand redacted among the fields."""

    list_display = ["type", "group", "created", "updated"]
    list_filter = ["type"]
    list_select_related = ["group"]
    search_fields = ["group__name", "id__exact", "group__id__exact"]
    search_help_text = "Part of a project's name, or a whole id of a project or an integration."
    ordering = ["group__name", "created", "id"]
    fields = ["id", "group", "type", "fields_json", "created", "updated"]
    empty_text = "No integration yet. They are made with POST /groups/{id}/integrations/{type}."

    fields_json = staticmethod(json_field("fields"))
