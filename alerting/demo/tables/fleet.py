"""Hosts in replica sets and shards, the agents that report them, and what is usual for each."""

from collections.abc import Iterator
from dataclasses import dataclass

from automation.choices import AgentType, HostType

VERSION = "8.0.4"
NEWER_VERSION = "8.0.5"
PORT = 27017


@dataclass(frozen=True, slots=True)
class HostSpec:
    """A host as it is on a quiet day; `load` is how busy, 1 being usual."""

    group: str
    hostname: str
    type_name: HostType
    replica_set: str | None = None
    cluster: str | None = None
    shard: str | None = None
    load: float = 1.0
    databases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetSpec:
    """A replica set: its members are named by letters, the first one is the primary."""

    group: str
    prefix: str
    domain: str
    members: int
    name: str
    databases: tuple[str, ...] = ()
    cluster: str | None = None
    shard: str | None = None
    arbiter: bool = False
    load: float = 1.0


SETS = (
    SetSpec("payments", "pay-s0", "harbour.example", 3, "pay-s0", ("ledger", "cards"), "pay", "s0", load=1.4),
    SetSpec("payments", "pay-s1", "harbour.example", 3, "pay-s1", ("ledger", "cards"), "pay", "s1", load=1.2),
    SetSpec("customer-accounts", "accounts", "harbour.example", 3, "accounts", ("profiles", "consents")),
    SetSpec(
        "customer-accounts",
        "sessions",
        "harbour.example",
        3,
        "sessions",
        ("sessions",),
        arbiter=True,
        load=0.7,
    ),
    SetSpec("parcel-tracking", "track-eu", "fernhill.example", 3, "track-eu", ("parcels", "scans"), load=1.6),
    SetSpec("parcel-tracking", "track-us", "fernhill.example", 3, "track-us", ("parcels", "scans"), load=1.1),
    SetSpec("route-planning", "routes", "fernhill.example", 3, "routes", ("maps", "routes"), load=0.8),
    SetSpec("catalogue", "cat-s0", "brightside.example", 3, "cat-s0", ("titles",), "cat", "s0"),
    SetSpec("catalogue", "cat-s1", "brightside.example", 3, "cat-s1", ("titles",), "cat", "s1", load=0.9),
    SetSpec("recommendations", "rec", "brightside.example", 3, "rec", ("models",), load=0.6),
)
_ROUTERS = (("payments", "pay", "harbour.example", 2), ("catalogue", "cat", "brightside.example", 2))
_CONFIG_SERVERS = (("payments", "pay", "harbour.example", 3),)
_STANDALONES = (
    ("recommendations", "rec-sandbox.brightside.example", ("experiments",)),
    ("route-planning", "routes-archive.fernhill.example", ("archive",)),
    ("customer-accounts", "accounts-reporting.harbour.example", ("reports",)),
)


def _members(one: SetSpec) -> Iterator[HostSpec]:
    for place in range(one.members):
        last = place == one.members - 1
        yield HostSpec(
            one.group,
            f"{one.prefix}-{'abc'[place]}.{one.domain}",
            _type_of(one, place, is_arbiter=one.arbiter and last),
            one.name,
            one.cluster,
            one.shard,
            one.load if place == 0 else one.load / 2,
            () if one.arbiter and last else one.databases,
        )


def _type_of(one: SetSpec, place: int, *, is_arbiter: bool) -> HostType:
    if is_arbiter:
        return HostType.REPLICA_ARBITER
    if one.shard:
        return HostType.SHARD_SECONDARY if place else HostType.SHARD_PRIMARY
    return HostType.REPLICA_SECONDARY if place else HostType.REPLICA_PRIMARY


def _all_hosts() -> Iterator[HostSpec]:
    for one in SETS:
        yield from _members(one)
    for group, cluster, domain, count in _CONFIG_SERVERS:
        for place in range(count):
            name = f"{cluster}-config-{'abc'[place]}.{domain}"
            yield HostSpec(group, name, HostType.SHARD_CONFIG, cluster=cluster, load=0.2)
    for group, cluster, domain, count in _ROUTERS:
        for place in range(count):
            name = f"{cluster}-router-{place + 1}.{domain}"
            yield HostSpec(group, name, HostType.SHARD_MONGOS, cluster=cluster, load=1.3)
    for group, hostname, databases in _STANDALONES:
        yield HostSpec(group, hostname, HostType.STANDALONE, load=0.4, databases=databases)


HOSTS: tuple[HostSpec, ...] = tuple(_all_hosts())


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent; what `silent_for` minutes has not been heard is silent."""

    group: str
    hostname: str
    agent_type: AgentType = AgentType.MONITORING
    version: str = "13.2.0"
    silent_for: int = 0


AGENTS = (
    AgentSpec("payments", "agent-1.harbour.example"),
    AgentSpec("customer-accounts", "agent-2.harbour.example"),
    AgentSpec("parcel-tracking", "agent-1.fernhill.example"),
    AgentSpec("route-planning", "agent-2.fernhill.example"),
    AgentSpec("catalogue", "agent-1.brightside.example"),
    AgentSpec("recommendations", "agent-2.brightside.example"),
    AgentSpec("payments", "backup-1.harbour.example", AgentType.BACKUP),
    AgentSpec("customer-accounts", "backup-2.harbour.example", AgentType.BACKUP, silent_for=95),
    AgentSpec("catalogue", "automation-1.brightside.example", AgentType.AUTOMATION),
)
