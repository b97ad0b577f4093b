"""Replica sets and clusters in the console."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from automation.hosts.chart_pages import ChartPages
from automation.hosts.charts import MOST_HOSTS
from automation.hosts.heartbeats import heartbeats
from automation.hosts.models import Cluster, Host, ReplicaSet
from automation.hosts.states import (
    HostColumns,
    State,
    alerts_about,
    cluster_state,
    host_state,
    set_state,
    with_behind,
)
from automation.hosts.store import MembersNow, members_now
from automation.measurements.store import MeasuredReport, newest_measurements
from automation.metrics import Metric
from automation.quantities import quantity_of
from automation.wording import type_words
from opsapi import clock
from opsapi.clock import AHEAD, ago_words
from opsapi.console.actions import buttons_of, operator_of
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.display import Context, badge, link, project, short_field
from opsapi.console.filters import RelatedFilter
from opsapi.console.heartbeats import HeartbeatBar
from opsapi.console.model_admin import ConsoleInline
from opsapi.console.widgets import Tone, set_links, set_panels

_RECENT = timedelta(minutes=15)
_LAGS = (Metric.OPLOG_SLAVE_LAG_MASTER_TIME, Metric.PG_REPLICATION_LAG_TIME)
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


@dataclass(frozen=True, slots=True)
class MemberCard:
    """A member of a set in words: its role, its state, and how far it is behind."""

    name: str
    url: str
    role: str
    type_name: str
    state: str
    tone: str
    version: str
    lag: str
    reported: str
    heartbeat: HeartbeatBar


def member_cards(hosts: Sequence[Host], now: datetime) -> list[MemberCard]:
    """Return a card of each host."""
    newest = newest_measurements(
        [host.id for host in hosts], since=now - _RECENT, until=now + AHEAD, metrics=_LAGS
    )
    bars = heartbeats(hosts, now)
    return [_card(host, newest.get(host.id), bars[host.id], now) for host in hosts]


def _card(host: Host, measured: MeasuredReport | None, heartbeat: HeartbeatBar, now: datetime) -> MemberCard:
    words, tone = host_state(host, now)
    # The last lag of a host that is not up and measured says nothing about now.
    samples = measured.samples if measured and tone is Tone.GOOD else {}
    lag = next((quantity_of(metric, samples[metric][-1][1]) for metric in _LAGS if metric in samples), "")
    return MemberCard(
        name=str(host),
        url=page_url(host),
        role=type_words(host.type_name, host.engine),
        type_name=host.type_name,
        state=words,
        tone=tone.value,
        version=with_behind(host.version, behind=host.version_behind),
        lag=lag,
        reported=ago_words(host.last_report, now) if host.last_report else "never",
        heartbeat=heartbeat,
    )


class WithMembers(ChartPages):
    """Rows that consist of hosts: replica sets and clusters."""

    is_live = True
    group_path = "group_id"
    inlines = [MemberInline]
    members_by: ClassVar[Literal["replica_set_id", "cluster_id"]]

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Adds `members_now` to each row."""
        members = members_now(self.members_by, [row.id for row in rows], clock.now())
        for row in rows:
            row.members_now = members.get(row.id, MembersNow())

    def charted_hosts(self, row: Any) -> Sequence[Host]:
        """The members, by name."""
        members = Host.objects.filter(**{self.members_by: row.id}, deleted=None)
        ordered = members.select_related("reported_by", "replica_set", "cluster").order_by("hostname", "port")
        return list(ordered[: MOST_HOSTS + 1])

    def state_of(self, row: Any, now: datetime) -> State:
        """The state of the row in words, and its tone."""
        raise NotImplementedError

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """Adds the state, the members, and the panels of other apps."""
        operator, now = operator_of(request), clock.now()
        scope, hosts = operator.visible_scope(), list(self.charted_hosts(row))
        words, tone = self.state_of(row, now)
        context = super().page_context(request, row)
        # Without all hosts, a form would be about a part of the row.
        links = set_links() if 0 < len(hosts) <= MOST_HOSTS else []
        return {
            **context,
            "row_actions": [*buttons_of(links, operator, hosts, self.scope_of(row)), *context["row_actions"]],
            "state": words,
            "tone": tone,
            "members": member_cards(hosts[:MOST_HOSTS], now),
            "more_members": len(hosts) > MOST_HOSTS,
            "panels": [contribute(scope, row, hosts, now) for contribute in set_panels()],
        }

    class Media:
        css = {"all": ["console/overview.css", "console/fleet.css"]}

    @admin.display(description="alerts")
    def alerts(self, row: Any) -> SafeString:
        """Alerts about the replica set or cluster."""
        return alerts_about(row.name, row.group_id)


@admin.register(Cluster)
class ClusterAdmin(WithMembers):
    """Clusters as reported by agents."""

    help = "how-to/use-the-console#fleet"
    members_by = "cluster_id"
    list_display = [short_field("name"), "state", "hosts", project, "created"]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["group"]
    palette_fields = ("name",)
    search_fields = ["name", "group__name", "group__id__exact"]
    ordering = ["name", "id"]
    fields = ["name", "state", "hosts", "sets", "alerts", "group", "id", "created"]
    filled_by = "automation.agent"
    empty_text = "No clusters yet. Clusters appear when agents report hosts with a cluster name."

    @admin.display(description="state")
    def state(self, cluster: Any) -> SafeString:
        return badge(*self.state_of(cluster, clock.now()))

    def state_of(self, row: Any, now: datetime) -> State:
        """The state of the cluster."""
        return cluster_state(row.members_now, now)

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
    list_display = [short_field("name"), "state", *_COUNTS, "cluster", project]
    list_filter = [("cluster", RelatedFilter), ("group", RelatedFilter)]
    list_select_related = ["cluster", "group"]
    palette_fields = ("name",)
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
    list_actions_elsewhere = (("automation.automationrevision", "replica-set"),)
    empty_text = (
        "No replica sets yet. Replica sets appear when agents report hosts with a replica set name. "
        "Agents can also make a new replica set on machines with automation."
    )

    @admin.display(description="state")
    def state(self, replica_set: Any) -> SafeString:
        return badge(*self.state_of(replica_set, clock.now()))

    def state_of(self, row: Any, now: datetime) -> State:
        """The state of the replica set."""
        return set_state(row, row.members_now, now)

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
