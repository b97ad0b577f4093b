"""Reading which agent watches which host."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from automation.addresses import Address
from automation.models import Agent, HostLease
from automation.rules.leases import Key
from opsapi.fields import Among


@dataclass(frozen=True, slots=True)
class WatchedHost:
    """A host that an agent watches; `metric_set` is the index of its metric coverage."""

    address: Address
    since: datetime
    until: datetime
    metric_set: int | None


@dataclass(frozen=True, slots=True)
class Watching:
    """The hosts that an agent watches. A metric set has metric names by state, as agents report them."""

    hosts: Sequence[WatchedHost]
    metric_sets: Sequence[Mapping[str, Any]]


def leases_named(group_id: str, keys: Collection[Key]) -> dict[Key, HostLease]:
    """Return the leases of these hosts of a project, by host."""
    named = HostLease.objects.filter(Among("hostname", {name for name, _ in keys}), group_id=group_id)
    found = {(lease.hostname, lease.port): lease for lease in named}
    return {key: found[key] for key in keys & found.keys()}


def watching(agent: Agent, now: datetime) -> Watching:
    """Return the hosts that the agents with this hostname hold leases of."""
    watchers = {watcher.id: watcher for watcher in agent.watchers.filter(until__gt=now)}
    held = HostLease.objects.filter(group_id=agent.group_id, held_by__in=list(watchers))
    rows = held.filter(Q(free_from=None) | Q(free_from__gt=now)).order_by("hostname", "port")
    used: dict[tuple[str, int], int] = {}
    sets: list[Mapping[str, Any]] = []
    hosts = []
    for row in rows if watchers else ():
        watcher = watchers[str(row.held_by)]
        address = Address(row.hostname, row.port)
        place = watcher.metrics.get("hosts", {}).get(str(address))
        if place is not None and (watcher.id, place) not in used:
            used[watcher.id, place] = len(sets)
            sets.append(watcher.metrics["sets"][place])
        until = min(watcher.until, row.free_from or watcher.until)
        metric_set = None if place is None else used[watcher.id, place]
        hosts.append(WatchedHost(address, row.since, until, metric_set))
    return Watching(hosts, sets)
