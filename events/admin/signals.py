"""Signals that alerting has not evaluated yet."""

from django.contrib import admin

from events.models import Signal
from opsapi.console.display import json_field
from opsapi.console.model_admin import ConsoleAdmin, Section


@admin.register(Signal)
class SignalAdmin(ConsoleAdmin):
    """Signals that alerting has not evaluated yet. A signal that stays could not be evaluated."""

    section = Section.PLATFORM
    icon = "pending"
    list_display = ["id", "created", "group_id", "kind", "failed"]
    list_filter = ["failed"]
    search_fields = ["group_id__exact"]
    search_help_text = "Full ID of a project."
    ordering = ["-id"]
    sortable_by = ()
    fields = ["id", "created", "group_id", "kind", "failed", "payload_json"]
    empty_text = "No signals are waiting. Alerting has evaluated all events."

    payload_json = staticmethod(json_field("payload"))
