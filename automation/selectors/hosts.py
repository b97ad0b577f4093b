"""Reading hosts and their databases."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from automation.addresses import Address
from automation.models import Database, Host
from automation.rules.heartbeats import heard_limit
from events.facts import EventFacts
from opsapi.api.principal import VisibleScope
from opsapi.fields import Among
from opsapi.first_rows import FirstRows, first_rows, in_visible_scope
from opsapi.wire_json import JsonObject

_COLUMNS = [field.attname for field in Host._meta.concrete_fields]
# Every report runs this statement. Django needs longer to compose it than PostgreSQL to run it.
_LOCKED_IF_KNOWN = f"""
WITH known AS (
    SELECT host.id, given.is_needed
      FROM unnest(%(names)s::text[], %(ports)s::integer[], %(needed)s::boolean[])
           AS given (name, port, is_needed)
      JOIN automation_host AS host
        ON host.group_id = %(group_id)s AND lower(host.hostname) = given.name AND host.port = given.port
           AND host.deleted IS NULL
)
SELECT {", ".join(_COLUMNS)} FROM automation_host
 WHERE id IN (SELECT id FROM known) AND deleted IS NULL
   AND (SELECT count(*) FROM known WHERE is_needed) = %(count)s
 ORDER BY id FOR UPDATE
"""  # noqa: S608 - contains only our own names


def hosts_of(group_id: str, *, cluster_id: str | None = None) -> QuerySet[Host]:
    """Return the hosts of a project, or of one of its clusters, by hostname and port."""
    hosts = Host.objects.filter(group_id=group_id).order_by(Lower("hostname"), "port")
    return hosts if cluster_id is None else hosts.filter(cluster=cluster_id)


def host_with_id(host_id: str, *, group_id: str) -> QuerySet[Host]:
    """Return the host of a project with this id: at most one row."""
    return hosts_of(group_id).filter(id=host_id)


def host_at(address: Address | None, *, group_id: str) -> QuerySet[Host]:
    """Return the host of a project at an address, ignoring case: at most one row."""
    if address is None:
        return Host.objects.none()
    name, port = address.key
    return hosts_of(group_id).alias(key=Lower("hostname")).filter(key=name, port=port)


def known_addresses(group_id: str, keys: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return the addresses, as (lower-case hostname, port), at which the project has a host."""
    named = _hosts_named(group_id, keys) if keys else Host.objects.none()
    return set(named.values_list(Lower("hostname"), "port")).intersection(keys)


def hosts_locked(group_id: str, keys: Collection[tuple[str, int]]) -> dict[tuple[str, int], Host]:
    """Return the hosts of a project by address, locked for update in the order of their ids."""
    named = _hosts_named(group_id, keys) if keys else Host.objects.none()
    hosts = named.order_by("id").select_for_update(of=("self",))
    return {host.address.key: host for host in hosts if host.address.key in keys}


def hosts_locked_if_known(
    group_id: str, needed: Collection[tuple[str, int]], keys: Collection[tuple[str, int]]
) -> dict[tuple[str, int], Host]:
    """Return the same as `hosts_locked`, if the project has a host at each of the `needed` addresses.

    Otherwise the result is empty and nothing is locked, because new hosts are added before known hosts are
    locked.
    """
    if not keys:
        return {}
    values: JsonObject = {
        "group_id": group_id,
        "names": [name for name, _ in keys],
        "ports": [port for _, port in keys],
        "needed": [key in needed for key in keys],
        "count": len(needed),
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOCKED_IF_KNOWN, values)
        hosts = [_host_of(row) for row in cursor.fetchall()]
    return {host.address.key: host for host in hosts if host.address.key in keys}


def _host_of(row: Sequence[Any]) -> Host:
    host = Host.from_db(connection.alias, _COLUMNS, row)
    if host.labels is not None:
        host.labels = json.loads(host.labels)  # The cursor returns JSON as text.
    return host


def hosts_at(group_id: str, keys: Collection[tuple[str, int]]) -> dict[tuple[str, int], Host]:
    """Return the hosts of a project by address."""
    named = _hosts_named(group_id, keys) if keys else Host.objects.none()
    return {host.address.key: host for host in named if host.address.key in keys}


def _hosts_named(group_id: str, keys: Collection[tuple[str, int]]) -> QuerySet[Host]:
    hosts = Host.objects.filter(group_id=group_id).alias(key=Lower("hostname"))
    return hosts.filter(Among("key", {name for name, _ in keys}))


def facts_of_host(host: Host) -> EventFacts:
    """Return the facts that identify a host in events."""
    return EventFacts(
        cluster_id=host.cluster_id,
        cluster_name=host.cluster_name,
        host_id=host.id,
        hostname=host.hostname,
        port=host.port,
        replica_set_name=host.replica_set_name,
        shard_name=host.shard_name,
    )


def host_state(host: Host) -> JsonObject:
    """Return the state of a host under its wire names, for signals."""
    return {
        **facts_of_host(host).document(),
        "typeName": host.type_name,
        "reachable": not host.down,
        "versionBehind": host.version_behind,
    }


def databases_of(host: Host) -> QuerySet[Database]:
    """Return the databases of a host, by name."""
    return host.databases.order_by("name")


def has_database(host: Host, name: str) -> bool:
    """Return whether the host has a database with this name."""
    # PostgreSQL rejects NUL characters, and no stored name contains one.
    return "\0" not in name and databases_of(host).filter(name=name).exists()


def without_data(now: datetime) -> Q:
    """Hosts with an unknown state: without a report, or without a recent report.

    Hosts that are down count as down.
    """
    return Q(down=False) & (Q(last_report=None) | Q(last_report__lte=heard_limit(now)))


def hosts_down(visible_scope: VisibleScope) -> FirstRows[Host]:
    """Return hosts that are down, by project and name."""
    # The hosts of a deleted project are deleted later.
    down = Host.objects.filter(down=True, group__deleted=None).select_related("group", "replica_set")
    return first_rows(in_visible_scope(down, visible_scope).order_by("group_id", "hostname", "port"))


def hosts_without_data(visible_scope: VisibleScope, now: datetime) -> FirstRows[Host]:
    """Return hosts with an unknown state, by project and name."""
    # The last report is not indexed, because every report changes it; the table of hosts is small.
    unknown = Host.objects.filter(without_data(now), group__deleted=None).select_related(
        "group", "reported_by"
    )
    return first_rows(in_visible_scope(unknown, visible_scope).order_by("group_id", "hostname", "port"))
