"""Stored leases: the agents that share hosts, and the hosts they watch."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from automation.addresses import Address
from automation.leases.models import HostLease, Watcher
from opsapi.console.admin_urls import page_url
from opsapi.console.display import link, project, short, short_field
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.fields import Among


@admin.register(Watcher)
class WatcherAdmin(ConsoleAdmin):
    """Agents that share hosts. Agents with the same hostname differ by instance."""

    help = "how-to/add-an-agent#two-agents-for-one-project"
    group_path = "group_id"
    # The first column leads to the row itself, so it has no link of its own.
    list_display = [short_field("instance"), "agent", "asked", "until", project]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["agent", "group"]
    search_fields = ["agent__hostname", "instance"]
    ordering = ["-asked", "id"]
    fields = ["agent", "instance", "interval", "asked", "until", "group", "id"]
    empty_text = "No agents share hosts."


@admin.register(HostLease)
class HostLeaseAdmin(ConsoleAdmin):
    """The agent that watches each host."""

    help = "how-to/add-an-agent#two-agents-for-one-project"
    group_path = "group_id"
    list_display = ["address", "holder", "since", "free_from", short_field("together"), project]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["hostname", "together"]
    ordering = ["group__name", "hostname", "port"]
    fields = ["hostname", "port", "holder", "since", "free_from", "together", "group", "created", "id"]
    empty_text = "No shared hosts. Hosts appear here when several agents share them."

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        held = Watcher.objects.filter(Among("id", {lease.held_by for lease in rows if lease.held_by}))
        agents = {watcher.id: watcher.agent for watcher in held.select_related("agent")}
        for lease in rows:
            lease.agent = agents.get(lease.held_by)

    @admin.display(description="host", ordering="hostname")
    def address(self, lease: HostLease) -> str | SafeString | None:
        return short(str(Address(lease.hostname, lease.port)))

    @admin.display(description="agent")
    def holder(self, lease: Any) -> SafeString | None:
        """The last agent of the host, linked to its page."""
        return link(page_url(lease.agent), short(lease.agent.hostname)) if lease.agent else None
