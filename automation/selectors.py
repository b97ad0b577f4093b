"""Reading the fleet."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Lower

from automation.choices import AgentType
from automation.document.publishing import NEW_PROJECT
from automation.document.text import read
from automation.models import (
    Agent,
    AutomationRevision,
    Cluster,
    Database,
    Host,
    Measurement,
    ProcessStatus,
    ReplicaSet,
)
from automation.reports import Address
from automation.rules.processes import ProcessState, process_states
from automation.rules.silence import SILENCE
from events.facts import EventFacts
from opsapi.encryption import decrypt
from opsapi.fields import Among, WireTime

HostRow = dict[str, Any]
ClusterRow = dict[str, Any]
DatabaseRow = dict[str, Any]
AgentRow = dict[str, Any]
RevisionRow = dict[str, Any]


def host_rows(group_id: str) -> QuerySet[Host, Any]:
    """The hosts of a project, by hostname and port."""
    hosts = Host.objects.filter(group_id=group_id).order_by(Lower("hostname"), "port")
    return hosts.values(
        "id",
        "group_id",
        "hostname",
        "port",
        "type_name",
        "down",
        "version",
        "replica_set_name",
        "cluster_name",
        "cluster_id",
        "shard_name",
        "uptime_seconds",
        wire_created=WireTime("created"),
        wire_last_report=WireTime("last_report"),
    )


def host_row(host_id: str, *, group_id: str) -> HostRow | None:
    """One host of a project; None when there is none."""
    return host_rows(group_id).filter(id=host_id).first()


def host_row_at(address: Address, *, group_id: str) -> HostRow | None:
    """The host of a project at an address, whose name counts without regard to case."""
    name, port = address.key
    return host_rows(group_id).alias(key=Lower("hostname")).filter(key=name, port=port).first()


def known_addresses(group_id: str, keys: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
    """Those of the addresses, as (lower-case hostname, port), at which the project has a host."""
    named = _hosts_named(group_id, keys) if keys else Host.objects.none()
    return set(named.values_list(Lower("hostname"), "port")).intersection(keys)


def hosts_locked(group_id: str, keys: Collection[tuple[str, int]]) -> dict[tuple[str, int], Host]:
    """The hosts of a project at these addresses, by them, taken in one order for update."""
    named = _hosts_named(group_id, keys) if keys else Host.objects.none()
    hosts = named.order_by("id").select_for_update(of=("self",))
    return {host.address.key: host for host in hosts if host.address.key in keys}


def _hosts_named(group_id: str, keys: Collection[tuple[str, int]]) -> QuerySet[Host]:
    hosts = Host.objects.filter(group_id=group_id).alias(key=Lower("hostname"))
    return hosts.filter(Among("key", {name for name, _ in keys}))


def database_rows(host_id: str) -> QuerySet[Database, Any]:
    """The databases of a host, by name."""
    return Database.objects.filter(host_id=host_id).order_by("name").values("name")


def database_row(name: str, *, host_id: str) -> DatabaseRow | None:
    """One database of a host; None when there is none."""
    # PostgreSQL refuses a NUL, and no name holds one.
    return None if "\0" in name else database_rows(host_id).filter(name=name).first()


def cluster_rows(group_id: str) -> QuerySet[Cluster, Any]:
    """The clusters of a project that have hosts, by name, with what their hosts tell of them."""
    hosts = Host.objects.filter(cluster=OuterRef("pk"))
    sharded = Q(type_name__startswith="SHARD_") | Q(shard_name__isnull=False)
    replicated = Q(type_name__startswith="REPLICA_") | Q(replica_set_name__isnull=False)
    clusters = Cluster.objects.filter(Exists(hosts), group_id=group_id).order_by(Lower("name"))
    return clusters.values(
        "id",
        "group_id",
        "name",
        sharded=Exists(hosts.filter(sharded)),
        replicated=Exists(hosts.filter(replicated)),
        replica_set_names=_distinct(hosts, "replica_set_name"),
        shard_names=_distinct(hosts, "shard_name"),
    )


def cluster_row(cluster_id: str, *, group_id: str) -> ClusterRow | None:
    """One cluster of a project; None when there is none."""
    return cluster_rows(group_id).filter(id=cluster_id).first()


def _distinct(hosts: QuerySet[Host], column: str) -> ArraySubquery:
    known = hosts.filter(**{f"{column}__isnull": False})
    return ArraySubquery(known.order_by(column).values(column).distinct())


def agent_rows(group_id: str) -> QuerySet[Agent, Any]:
    """The agents of a project, by type and hostname."""
    agents = Agent.objects.filter(group_id=group_id).order_by("agent_type", Lower("hostname"))
    return agents.values(
        "agent_type",
        "hostname",
        "version",
        "down",
        wire_created=WireTime("created"),
        wire_last_report=WireTime("last_report"),
    )


def agents_named(group_id: str, agent_type: AgentType, hostname: str) -> QuerySet[Agent]:
    """The agent of a project that is called so, whose name counts without regard to case; one at most."""
    agents = Agent.objects.filter(group_id=group_id, agent_type=agent_type.value)
    # PostgreSQL refuses a NUL, and no name holds one.
    return agents.alias(key=Lower("hostname")).filter(key=hostname.lower().replace("\0", "/"))


def facts_of_host(host: Host) -> EventFacts:
    """A host as events name it."""
    return EventFacts(
        cluster_id=host.cluster_id,
        cluster_name=host.cluster_name,
        host_id=host.id,
        hostname=host.hostname,
        port=host.port,
        replica_set_name=host.replica_set_name,
        shard_name=host.shard_name,
    )


def host_state(host: Host) -> dict[str, Any]:
    """A host's state as signals carry it, under the wire names."""
    return {
        **facts_of_host(host).document(),
        "typeName": host.type_name,
        "reachable": not host.down,
        "versionBehind": host.version_behind,
    }


def facts_of_replica_set(one: ReplicaSet) -> EventFacts:
    """A replica set as events name it."""
    return EventFacts(
        cluster_id=one.cluster_id,
        cluster_name=one.cluster.name if one.cluster else None,
        replica_set_name=one.name,
        shard_name=one.shard_name,
    )


def replica_set_state(one: ReplicaSet) -> dict[str, Any]:
    """A replica set's state as signals carry it: its names, and what was counted of its members."""
    counted = {"primaries": one.primaries, "healthy": one.healthy, "unhealthy": one.unhealthy}
    return {**facts_of_replica_set(one).document(), **counted}


def replica_sets_there(group_id: str) -> QuerySet[ReplicaSet]:
    """The replica sets of a project that have members, with their clusters, in one order."""
    members = Q(healthy__gt=0) | Q(unhealthy__gt=0)
    return ReplicaSet.objects.filter(members, group_id=group_id).select_related("cluster").order_by("id")


def last_of_replica_set(host: Host) -> ReplicaSet | None:
    """The replica set that goes with the host, which is its last one; None when there is none."""
    others = Host.objects.filter(replica_set=host.replica_set_id).exclude(id=host.id)
    if host.replica_set_id is None or others.exists():
        return None
    return ReplicaSet.objects.select_related("cluster").get(id=host.replica_set_id)


def last_of_cluster(host: Host) -> Cluster | None:
    """The cluster that goes with the host, which is its last one; None when there is none."""
    others = Host.objects.filter(cluster=host.cluster_id).exclude(id=host.id)
    if host.cluster_id is None or others.exists():
        return None
    return Cluster.objects.get(id=host.cluster_id)


def clusters_emptied(cluster_ids: Collection[str]) -> QuerySet[Cluster]:
    """Those of the clusters that have no hosts."""
    hosts = Host.objects.filter(cluster=OuterRef("pk"))
    return Cluster.objects.filter(~Exists(hosts), id__in=cluster_ids)


def facts_of_agent(agent: Agent) -> EventFacts:
    """An agent as events name it."""
    return EventFacts(hostname=agent.hostname, source_type_name=agent.agent_type)


def agent_state(agent: Agent) -> dict[str, Any]:
    """An agent's state under the wire names, as alerting takes it."""
    return {
        **facts_of_agent(agent).document(),
        "down": agent.down,
        "versionBehind": agent.version_behind,
    }


def newest_measurements(host_ids: Iterable[str]) -> dict[str, Measurement]:
    """The newest measurement of each host that has one, by host id."""
    # One look into the index per host; DISTINCT ON would read all that was ever measured.
    of_host = Measurement.objects.filter(host=OuterRef("pk")).order_by("-reported", "-id")
    newest = Host.objects.filter(Among("id", host_ids)).values(newest=Subquery(of_host.values("id")[:1]))
    return {one.host_id: one for one in Measurement.objects.filter(id__in=newest)}


def revision_rows(group_id: str) -> QuerySet[AutomationRevision, Any]:
    """The revisions of a project's automation configuration, newest first, without their documents."""
    revisions = AutomationRevision.objects.filter(group_id=group_id).order_by("-number")
    return revisions.values(
        "group_id",
        "number",
        "changes",
        "restored_from",
        "actor_kind",
        "actor_id",
        "actor_name",
        wire_created=WireTime("created"),
    )


def goal_version(group_id: str) -> int:
    """The version of a project's automation configuration; 0 before anything was published."""
    newest = revision_rows(group_id).values_list("number", flat=True).first()
    return newest or 0


def goal_document(group_id: str) -> Mapping[str, Any]:
    """A project's automation configuration as it is, in full."""
    newest = AutomationRevision.objects.filter(group_id=group_id).order_by("-number").first()
    return revision_document(newest) if newest else NEW_PROJECT


def document_at(number: int, *, group_id: str) -> Mapping[str, Any] | None:
    """The document of that version, in full; None when there is none. 0 is what a project starts from."""
    if number == NEW_PROJECT["version"]:
        return NEW_PROJECT
    revision = AutomationRevision.objects.filter(group_id=group_id, number=number).first()
    return revision_document(revision) if revision else None


def revision_document(revision: AutomationRevision) -> Mapping[str, Any]:
    """The document of a revision, in full."""
    return read(decrypt(revision.document or "", owner=revision.id))


def process_status(group_id: str, now: datetime) -> tuple[int, list[ProcessState]]:
    """The version wanted, and how far each process has come.

    One that the document does not name counts while it is still being reported.
    """
    newest = AutomationRevision.objects.filter(group_id=group_id).order_by("-number")
    version, wanted = newest.values_list("number", "processes").first() or (0, [])
    is_meant = Q(Among("name", [name for name, _ in wanted])) | Q(reported__gt=now - SILENCE)
    told = ProcessStatus.objects.filter(is_meant, group_id=group_id)
    reported = told.values_list("name", "hostname", "goal_version", "error")
    return version, process_states(wanted, (ProcessState(*one) for one in reported))
