"""The workers in the console, and the receivers that do not answer them."""

from django.contrib import admin

from alerting.models import FailingReceiver, WorkerHeartbeat
from opsapi.console.display import short_field
from opsapi.console.model_admin import ConsoleAdmin, Section


@admin.register(FailingReceiver)
class FailingReceiverAdmin(ConsoleAdmin):
    """Receivers whose last attempts failed: after five in a row they are probed every ten seconds at most."""

    section = Section.PLATFORM
    icon = "sms_failed"

    list_display = [short_field("key"), "failures", "next_try", "updated"]
    search_fields = ["key"]
    ordering = ["-updated"]
    fields = ["key", "failures", "next_try", "updated"]
    empty_text = "Every receiver answered when it was last told something."


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ConsoleAdmin):
    """Workers and when each was last seen."""

    section = Section.PLATFORM
    icon = "engineering"

    list_display = [short_field("name"), "seen"]
    ordering = ["-seen"]
    fields = ["name", "seen"]
    empty_text = "No worker was ever seen: alerts are not evaluated. Start one with manage.py run_worker."
