"""Delivery in the console: destinations, hosts that cannot be connected to, workers."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from unfold.decorators import display

from alerting.looks import DESTINATION_TONES, destination_state
from alerting.models import Destination, EvaluationTurn, UnreachableHost, WorkerHeartbeat
from alerting.selectors.destinations import with_waiting
from opsapi import clock
from opsapi.api.principal import Reach
from opsapi.console.ages import ago_words
from opsapi.console.display import project, short, short_field
from opsapi.console.model_admin import ConsoleAdmin, Section


@admin.register(Destination)
class DestinationAdmin(ConsoleAdmin):
    """Where notifications go, those that fail first: since when, why, and what waits for them."""

    section = Section.ALERTING
    icon = "outgoing_mail"
    rank = 45
    group_path = "group_id"

    list_display = ["recipient_words", "channel", "state", "since", "why", "waiting", "oldest", project]
    list_select_related = ["group"]
    search_fields = ["recipient", "host"]
    search_help_text = "Part of a recipient or of a host's name."
    sortable_by = ()
    fields = [
        "recipient_words",
        "channel",
        "host",
        "group",
        "state",
        "failures",
        "failing_since",
        "last_error",
        "waiting",
        "oldest",
        "next_try",
        "pace_ms",
        "answered",
        "tried",
        "id",
    ]
    empty_text = "No notification was sent yet. A destination is listed here from its first notification on."

    def visible(self, rows: QuerySet[Any], reach: Reach) -> QuerySet[Any]:
        """Recipients of global configurations only to operators who may read these (decisions 10)."""
        seen = super().visible(rows, reach)
        return with_waiting(seen if reach.everything else seen.filter(is_global=False))

    @admin.display(description="recipient")
    def recipient_words(self, destination: Destination) -> str:
        """Its recipient, redacted where it is a secret."""
        return short(destination.recipient) or destination.channel

    @display(description="state", label=DESTINATION_TONES)  # type: ignore[untyped-decorator]  # the theme is not typed
    def state(self, destination: Destination) -> str:
        """Healthy, failing, or slowed down."""
        return destination_state(destination)

    @admin.display(description="since")
    def since(self, destination: Destination) -> str | None:
        """Since when it fails."""
        return ago_words(destination.failing_since, clock.now()) if destination.failing_since else None

    @admin.display(description="last error")
    def why(self, destination: Destination) -> str | None:
        """Why the last attempt failed."""
        return short(destination.last_error)

    @admin.display(description="waiting")
    def waiting(self, destination: Any) -> int:
        """How many messages wait for it."""
        return int(destination.waiting_count)

    @admin.display(description="oldest")
    def oldest(self, destination: Any) -> str | None:
        """Since when the oldest of these waits."""
        return ago_words(destination.waiting_since, clock.now()) if destination.waiting_since else None


@admin.register(UnreachableHost)
class UnreachableHostAdmin(ConsoleAdmin):
    """Hosts that no connection can be made to: their destinations wait until one can be made."""

    section = Section.PLATFORM
    icon = "sms_failed"

    list_display = [short_field("host"), "failures", "since", "next_try"]
    search_fields = ["host"]
    ordering = ["-since"]
    fields = ["host", "failures", "since", "next_try"]
    empty_text = "Every host could be connected to when a message was last sent there."


@admin.register(EvaluationTurn)
class EvaluationTurnAdmin(ConsoleAdmin):
    """When each project's signals were last evaluated."""

    list_display = ["group_id", "served"]
    ordering = ["served"]
    fields = ["group_id", "served"]
    empty_text = "No signal was evaluated yet."


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(ConsoleAdmin):
    """Workers and when each was last seen."""

    section = Section.PLATFORM
    icon = "engineering"

    list_display = [short_field("name"), "seen"]
    ordering = ["-seen"]
    fields = ["name", "seen"]
    empty_text = "No worker was ever seen: alerts are not evaluated. Start one with manage.py run_worker."
