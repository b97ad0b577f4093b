"""Replica sets and clusters in the console."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from automation.admin.shown import SET_TONES, host_state, set_state, with_behind
from automation.models import Cluster, Host, ReplicaSet
from opsapi.console.display import ago, link, project, short_field
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline, Section
from opsapi.console.places import page_url


class MemberInline(ConsoleInline):
    """The hosts of a replica set or a cluster."""

    model = Host
    verbose_name_plural = "members"
    hide_title = True
    fields = ["host", "type_name", "state", "shown_version", "reported"]
    ordering = ["hostname", "port"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Host]:
        """Without those the worker is still taking away."""
        rows: QuerySet[Host] = super().get_queryset(request)
        return rows.filter(deleted=None)

    @admin.display(description="host")
    def host(self, host: Host) -> SafeString:
        """With a link to its page."""
        return link(page_url(host), host)

    @admin.display(description="state")
    def state(self, host: Host) -> str:
        """How it stands."""
        return host_state(host)

    @admin.display(description="version")
    def shown_version(self, host: Host) -> str:
        """And whether others have a higher one of its series."""
        return with_behind(host.version, behind=host.version_behind)

    @admin.display(description="last report")
    def reported(self, host: Host) -> SafeString | str:
        """How long ago an agent spoke of it."""
        return ago(host.last_report)


@admin.register(Cluster)
class ClusterAdmin(ConsoleAdmin):
    """Clusters as agents name them."""

    section = Section.FLEET
    icon = "hub"
    rank = 30
    group_path = "group_id"
    list_display = [short_field("name"), project, "created"]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["name", "group__name", "group__id__exact"]
    ordering = ["name", "id"]
    fields = ["name", "group", "id", "created"]
    inlines = [MemberInline]
    empty_text = "Clusters appear here when agents report hosts with a cluster name."


@admin.register(ReplicaSet)
class ReplicaSetAdmin(ConsoleAdmin):
    """Replica sets as agents name them, and how they stand."""

    section = Section.FLEET
    icon = "account_tree"
    rank = 20
    group_path = "group_id"
    list_display = [short_field("name"), "state", "primaries", "healthy", "unhealthy", "cluster", project]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["cluster", "group"]
    search_fields = ["name", "cluster__name", "group__name", "group__id__exact"]
    ordering = ["name", "id"]
    fields = [
        "name",
        "state",
        "primaries",
        "healthy",
        "unhealthy",
        "cluster",
        "shard_name",
        "group",
        "id",
        "created",
    ]
    inlines = [MemberInline]
    empty_text = "Replica sets appear here when agents report hosts with a replica set name."

    @display(description="state", label=SET_TONES)  # type: ignore[untyped-decorator]  # the theme is not typed
    def state(self, one: ReplicaSet) -> str:
        """How it stands."""
        return set_state(one)
