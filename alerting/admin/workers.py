"""Internals of delivery in the console: unreachable hosts, evaluation turns and workers."""

from django.contrib import admin

from alerting.models import EvaluationTurn, UnreachableHost, WorkerHeartbeat
from opsapi.console.display import short_field
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.program import COMMAND


@admin.register(UnreachableHost)
class UnreachableHostAdmin(ConsoleAdmin):
    """Hosts that accept no connections; their destinations wait."""

    section = Section.PLATFORM
    icon = "sms_failed"

    list_display = [short_field("host"), "failures", "since", "next_try"]
    search_fields = ["host"]
    ordering = ["-since"]
    fields = ["host", "failures", "since", "next_try"]
    empty_text = "All hosts are reachable. A host is listed here when a message cannot connect to it."


@admin.register(EvaluationTurn)
class EvaluationTurnAdmin(ConsoleAdmin):
    """The last evaluation of each project's signals."""

    list_display = ["group_id", "served"]
    ordering = ["served"]
    fields = ["group_id", "served"]
    empty_text = "No signals have been evaluated yet."


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ConsoleAdmin):
    """Workers with the time they were last seen."""

    section = Section.PLATFORM
    icon = "engineering"

    list_display = [short_field("name"), "seen"]
    ordering = ["-seen"]
    fields = ["name", "seen"]
    empty_text = (
        f"No worker has ever run, so alerts are not evaluated. Start a worker with {COMMAND} run_worker."
    )
