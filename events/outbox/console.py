"""The signals that alerting has not evaluated yet, in the console."""

from django.contrib import admin

from events.outbox.models import Signal
from opsapi.console.display import json_field, project_id
from opsapi.console.model_admin import ConsoleAdmin


@admin.register(Signal)
class SignalAdmin(ConsoleAdmin):
    """Signals that alerting has not evaluated yet. A signal that stays could not be evaluated."""

    help = "runbooks/worker-gone#4-if-workers-run-and-do-not-keep-up"
    list_display = ["id", "created", "project", "kind", "failed"]
    list_filter = ["failed"]
    search_fields = ["group_id__exact"]
    search_help_text = "Full ID of a project."
    ordering = ["-id"]
    sortable_by = ()
    fields = ["id", "created", "project", "kind", "failed", "payload_json"]
    empty_text = "No signals are waiting to be evaluated."

    project = staticmethod(project_id)
    payload_json = staticmethod(json_field("payload"))
