"""Delivery in the console: hosts that cannot be connected to, turns of projects, workers."""

from django.contrib import admin

from alerting.models import EvaluationTurn, UnreachableHost, WorkerHeartbeat
from opsapi.console.display import short_field
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.program import COMMAND


@admin.register(UnreachableHost)
class UnreachableHostAdmin(ConsoleAdmin):
    """Hosts that no connection can be made to: their destinations wait until one can be made."""

    section = Section.PLATFORM
    icon = "sms_failed"

    list_display = [short_field("host"), "failures", "since", "next_try"]
    search_fields = ["host"]
    ordering = ["-since"]
    fields = ["host", "failures", "since", "next_try"]
    empty_text = "All hosts are reachable. A host is listed here when a message cannot connect to it."


@admin.register(EvaluationTurn)
class EvaluationTurnAdmin(ConsoleAdmin):
    """When each project's signals were last evaluated."""

    list_display = ["group_id", "served"]
    ordering = ["served"]
    fields = ["group_id", "served"]
    empty_text = "No signals have been evaluated yet."


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ConsoleAdmin):
    """Workers and when each was last seen."""

    section = Section.PLATFORM
    icon = "engineering"

    list_display = [short_field("name"), "seen"]
    ordering = ["-seen"]
    fields = ["name", "seen"]
    empty_text = (
        f"No worker has ever run, so alerts are not evaluated. Start a worker with {COMMAND} run_worker."
    )
