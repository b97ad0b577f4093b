"""Replica sets and clusters in the console."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from automation.admin.states import (
    alerts_about,
    cluster_state,
    host_state,
    set_state,
    with_behind,
)
from automation.models import Cluster, Host, ReplicaSet
from automation.selectors.members import MembersNow, members_now
from opsapi import clock
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.display import ago, badge, link, project, short_field
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline, Section

_COUNTS = ("known_primaries", "known_healthy", "known_unhealthy", "unknown")


class MemberInline(ConsoleInline):
    """The hosts of a replica set or a cluster."""

    model = Host
    verbose_name_plural = "members"
    hide_title = True
    fields = ["host", "type_name", "state", "shown_version", "reported"]
    ordering = ["hostname", "port"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Host]:
        """Excludes hosts that the worker is still purging."""
        rows: QuerySet[Host] = super().get_queryset(request)
        return rows.filter(deleted=None)

    @admin.display(description="host")
    def host(self, host: Host) -> SafeString:
        """The host, linked to its page."""
        return link(page_url(host), host)

    @admin.display(description="state")
    def state(self, host: Host) -> SafeString:
        """Up, down or no data."""
        return badge(*host_state(host, clock.now()))

    @admin.display(description="version")
    def shown_version(self, host: Host) -> str:
        """The version, marked if another host runs a newer version of the same series."""
        return with_behind(host.version, behind=host.version_behind)

    @admin.display(description="last report")
    def reported(self, host: Host) -> SafeString | str:
        """Time since the last report."""
        return ago(host.last_report)


@admin.register(Cluster)
class ClusterAdmin(ConsoleAdmin):
    """Clusters as reported by agents."""

    section = Section.FLEET
    icon = "hub"
    rank = 30
    group_path = "group_id"
    list_display = [short_field("name"), "state", "hosts", project, "created"]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["name", "group__name", "group__id__exact"]
    ordering = ["name", "id"]
    fields = ["name", "state", "hosts", "sets", "alerts", "group", "id", "created"]
    inlines = [MemberInline]
    empty_text = "No clusters yet. Clusters appear when agents report hosts with a cluster name."

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Loads the hosts."""
        found = members_now("cluster_id", [one.id for one in rows], clock.now())
        for one in rows:
            one.members_now = found.get(one.id, MembersNow())

    @admin.display(description="state")
    def state(self, one: Any) -> SafeString:
        """Number of hosts that are down or unknown."""
        return badge(*cluster_state(one.members_now, clock.now()))

    @admin.display(description="replica sets")
    def sets(self, one: Cluster) -> SafeString:
        """Replica sets of the cluster that have members."""
        return link(list_url(ReplicaSet, cluster__id__exact=one.id), "Replica sets")

    @admin.display(description="alerts")
    def alerts(self, one: Cluster) -> SafeString:
        """Alerts about the cluster."""
        return alerts_about(one.name, one.group_id)

    @admin.display(description="hosts")
    def hosts(self, one: Any) -> int:
        """Number of hosts."""
        return int(one.members_now.hosts)


@admin.register(ReplicaSet)
class ReplicaSetAdmin(ConsoleAdmin):
    """Replica sets as reported by agents, with their health."""

    section = Section.FLEET
    icon = "account_tree"
    rank = 20
    group_path = "group_id"
    list_display = [short_field("name"), "state", *_COUNTS, "cluster", project]
    list_filter = [("cluster", RelatedFilter), ("group", RelatedFilter)]
    list_select_related = ["cluster", "group"]
    search_fields = ["name", "cluster__name", "group__name", "group__id__exact"]
    ordering = ["name", "id"]
    fields = [
        "name",
        "state",
        *_COUNTS,
        "cluster",
        "shard_name",
        "alerts",
        "group",
        "id",
        "created",
    ]
    inlines = [MemberInline]
    empty_text = "No replica sets yet. Replica sets appear when agents report hosts with a replica set name."

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Loads the members."""
        found = members_now("replica_set_id", [one.id for one in rows], clock.now())
        for one in rows:
            one.members_now = found.get(one.id, MembersNow())

    @admin.display(description="state")
    def state(self, one: Any) -> SafeString:
        """The worst known state."""
        return badge(*set_state(one, one.members_now, clock.now()))

    @admin.display(description="alerts")
    def alerts(self, one: ReplicaSet) -> SafeString:
        """Alerts about the replica set."""
        return alerts_about(one.name, one.group_id)

    @admin.display(description="primaries")
    def known_primaries(self, one: Any) -> int:
        """The current primaries."""
        return int(one.members_now.known.primaries)

    @admin.display(description="healthy")
    def known_healthy(self, one: Any) -> int:
        """Members reported as healthy."""
        return int(one.members_now.known.healthy)

    @admin.display(description="unhealthy")
    def known_unhealthy(self, one: Any) -> int:
        """Members reported as unhealthy."""
        return int(one.members_now.known.unhealthy)

    @admin.display(description="unknown")
    def unknown(self, one: Any) -> int:
        """Members without a recent report."""
        return int(one.members_now.unknown)
