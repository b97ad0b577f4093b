"""Replica sets and clusters in the console."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from automation.admin.states import alerts_about, cluster_state, host_state, set_state, with_behind
from automation.models import Cluster, Host, ReplicaSet
from automation.selectors.hosts import MembersNow, members_now
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
        return link(page_url(host), host)

    @admin.display(description="state")
    def state(self, host: Host) -> SafeString:
        return badge(*host_state(host, clock.now()))

    @admin.display(description="version")
    def shown_version(self, host: Host) -> str:
        """The version, marked if another host runs a newer version of the same series."""
        return with_behind(host.version, behind=host.version_behind)

    @admin.display(description="last report")
    def reported(self, host: Host) -> SafeString | str:
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
        found = members_now("cluster_id", [cluster.id for cluster in rows], clock.now())
        for cluster in rows:
            cluster.members_now = found.get(cluster.id, MembersNow())

    @admin.display(description="state")
    def state(self, cluster: Any) -> SafeString:
        return badge(*cluster_state(cluster.members_now, clock.now()))

    @admin.display(description="replica sets")
    def sets(self, cluster: Cluster) -> SafeString:
        """Replica sets of the cluster that have members."""
        return link(list_url(ReplicaSet, cluster__id__exact=cluster.id), "Replica sets")

    @admin.display(description="alerts")
    def alerts(self, cluster: Cluster) -> SafeString:
        return alerts_about(cluster.name, cluster.group_id)

    @admin.display(description="hosts")
    def hosts(self, cluster: Any) -> int:
        return int(cluster.members_now.hosts)


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
        found = members_now("replica_set_id", [replica_set.id for replica_set in rows], clock.now())
        for replica_set in rows:
            replica_set.members_now = found.get(replica_set.id, MembersNow())

    @admin.display(description="state")
    def state(self, replica_set: Any) -> SafeString:
        return badge(*set_state(replica_set, replica_set.members_now, clock.now()))

    @admin.display(description="alerts")
    def alerts(self, replica_set: ReplicaSet) -> SafeString:
        return alerts_about(replica_set.name, replica_set.group_id)

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
    def unknown(self, replica_set: Any) -> int:
        """Members without a recent report."""
        return int(replica_set.members_now.unknown)
