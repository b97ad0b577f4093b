"""Replica sets and clusters in the console."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from automation.hosts.models import Cluster, Host, ReplicaSet
from automation.hosts.states import HostColumns, alerts_about, cluster_state, set_state
from automation.hosts.store import MembersNow, members_now
from opsapi import clock
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.display import badge, link, project, short_field
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline, Section

_COUNTS = ("known_primaries", "known_healthy", "known_unhealthy", "all_unknown")


class MemberInline(HostColumns, ConsoleInline):
    """The hosts of a replica set or a cluster."""

    model = Host
    verbose_name_plural = "members"
    hide_title = True
    fields = ["host", "state", "database", "reported"]
    ordering = ["hostname", "port"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Host]:
        """Excludes hosts that the worker is still purging."""
        rows: QuerySet[Host] = super().get_queryset(request)
        return rows.filter(deleted=None).select_related("reported_by")

    @admin.display(description="host")
    def host(self, host: Host) -> SafeString:
        return link(page_url(host), host)


class WithMembers(ConsoleAdmin):
    """Rows that consist of hosts: replica sets and clusters."""

    section = Section.FLEET
    group_path = "group_id"
    inlines = [MemberInline]
    members_by: ClassVar[Literal["replica_set_id", "cluster_id"]]

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Adds `members_now` to each row."""
        members = members_now(self.members_by, [row.id for row in rows], clock.now())
        for row in rows:
            row.members_now = members.get(row.id, MembersNow())

    @admin.display(description="alerts")
    def alerts(self, row: Any) -> SafeString:
        """Alerts about the replica set or cluster."""
        return alerts_about(row.name, row.group_id)


@admin.register(Cluster)
class ClusterAdmin(WithMembers):
    """Clusters as reported by agents."""

    help = "how-to/use-the-console#fleet"
    members_by = "cluster_id"
    icon = "hub"
    rank = 30
    list_display = [short_field("name"), "state", "hosts", project, "created"]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["name", "group__name", "group__id__exact"]
    ordering = ["name", "id"]
    fields = ["name", "state", "hosts", "sets", "alerts", "group", "id", "created"]
    filled_by = "automation.agent"
    empty_text = "No clusters yet. Clusters appear when agents report hosts with a cluster name."

    @admin.display(description="state")
    def state(self, cluster: Any) -> SafeString:
        return badge(*cluster_state(cluster.members_now, clock.now()))

    @admin.display(description="replica sets")
    def sets(self, cluster: Cluster) -> SafeString:
        """Replica sets of the cluster that have members."""
        return link(list_url(ReplicaSet, cluster__id__exact=cluster.id), "Replica sets")

    @admin.display(description="hosts")
    def hosts(self, cluster: Any) -> int:
        return int(cluster.members_now.hosts)


@admin.register(ReplicaSet)
class ReplicaSetAdmin(WithMembers):
    """Replica sets as reported by agents, with their health."""

    help = "how-to/use-the-console#fleet"
    members_by = "replica_set_id"
    icon = "account_tree"
    rank = 20
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
    filled_by = "automation.agent"
    empty_text = "No replica sets yet. Replica sets appear when agents report hosts with a replica set name."

    @admin.display(description="state")
    def state(self, replica_set: Any) -> SafeString:
        return badge(*set_state(replica_set, replica_set.members_now, clock.now()))

    @admin.display(description="primaries")
    def known_primaries(self, replica_set: Any) -> int:
        return int(replica_set.members_now.known.primaries)

    @admin.display(description="healthy")
    def known_healthy(self, replica_set: Any) -> int:
        return int(replica_set.members_now.known.healthy)

    @admin.display(description="unhealthy")
    def known_unhealthy(self, replica_set: Any) -> int:
        return int(replica_set.members_now.known.unhealthy)

    @admin.display(description="unknown")
    def all_unknown(self, replica_set: Any) -> int:
        """Members without a recent report, and reachable members whose role is not known."""
        return int(replica_set.members_now.unknown + replica_set.members_now.known.unknown)
