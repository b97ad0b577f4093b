"""Reading the fleet."""

from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Lower

from automation.models import Host, Measurement
from events.facts import EventFacts
from opsapi.fields import WireTime

HostRow = dict[str, Any]


def host_rows(group_id: str) -> QuerySet[Host, Any]:
    """The hosts of a project, by hostname and port."""
    hosts = Host.objects.filter(group_id=group_id).order_by("hostname", "port")
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
        "shard_name",
        "uptime_seconds",
        wire_created=WireTime("created"),
        wire_last_report=WireTime("last_report"),
    )


def hosts_by_address(
    group_id: str, keys: Collection[tuple[str, int]], *, lock: bool = False
) -> dict[tuple[str, int], Host]:
    """Hosts of a project by (lower-case hostname, port); `lock` takes them in one order for update."""
    if not keys:
        return {}
    hosts = Host.objects.filter(group_id=group_id).annotate(key=Lower("hostname"))
    hosts = hosts.filter(key__in={name for name, _ in keys})
    if lock:
        hosts = hosts.order_by("id").select_for_update(of=("self",))
    return {
        (host.hostname.lower(), host.port): host
        for host in hosts
        if (host.hostname.lower(), host.port) in keys
    }


def facts_of_host(host: Host) -> EventFacts:
    """A host as events name it."""
    return EventFacts(
        host_id=host.id,
        hostname=host.hostname,
        port=host.port,
        replica_set_name=host.replica_set_name,
        cluster_name=host.cluster_name,
        shard_name=host.shard_name,
    )


def host_state(host: Host) -> dict[str, Any]:
    """A host's state as signals carry it, under the wire names."""
    return {**facts_of_host(host).document(), "typeName": host.type_name, "reachable": not host.down}


def newest_measurements(host_ids: Iterable[str]) -> dict[str, Measurement]:
    """The newest measurement of each host that has one, by host id."""
    newest = Measurement.objects.filter(host_id__in=list(host_ids)).order_by("host_id", "-reported")
    return {one.host_id: one for one in newest.distinct("host_id")}
