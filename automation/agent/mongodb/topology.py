"""Parses what servers say about themselves and each other into hosts and types. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from automation.agent.engine import ServerAddress, read_address
from automation.agent.faults import printable

DEFAULT_PORT = 27017

NAMES_ALLOWED = (
    "the platform accepts IP addresses and host names of RFC 1123, which have letters, digits, hyphens and"
    " dots, and no underscores"
)

STANDALONE = "STANDALONE"
ARBITER = "REPLICA_ARBITER"
ROUTER = "SHARD_MONGOS"
CONFIG_SERVER = "SHARD_CONFIG"
RECOVERING = "RECOVERING"
NO_DATA = "NO_DATA"
"""The type of a server that never answered."""

ROUTER_GONE = timedelta(hours=1)
"""A router writes to `config.mongos` every 30 s; the row of a router that stopped stays."""


@dataclass(frozen=True)
class NamedMember:
    """A server as named by others.

    `type_name` is the type of a server that only others know, NO_DATA if its type can change: which member is
    primary is known when it answers.
    """

    address: ServerAddress
    type_name: str
    replica_set: str | None = None
    shard: str | None = None
    cluster: str | None = None


@dataclass(frozen=True)
class Shard:
    """The place of a replica set in a sharded cluster; `name` is None for the config servers."""

    cluster: str
    name: str | None


@dataclass(frozen=True)
class NamedServers:
    """The servers that a server names, invalid addresses, and the sets of a sharded cluster.

    `has_other_names` says that the members know each other under other names than clients (split horizons).
    """

    members: tuple[NamedMember, ...] = ()
    unreadable: tuple[str, ...] = ()
    shards: Mapping[str, Shard] | None = None
    has_other_names: bool = False


def is_primary(hello: Mapping[str, Any]) -> bool:
    """Whether it is the primary of a replica set."""
    return bool(hello.get("setName") and (hello.get("isWritablePrimary") or hello.get("ismaster")))


def type_of(hello: Mapping[str, Any], *, is_shard: bool) -> str:
    """The type of a server from its answer to `hello`. Only a router knows whether a set is a shard."""
    if hello.get("msg") == "isdbgrid":
        return ROUTER
    if hello.get("arbiterOnly"):
        return ARBITER
    if "configsvr" in hello:
        return CONFIG_SERVER
    if not hello.get("setName") and not hello.get("isreplicaset"):
        return "SHARD_STANDALONE" if is_shard else STANDALONE
    prefix = "SHARD" if is_shard else "REPLICA"
    if is_primary(hello):
        return f"{prefix}_PRIMARY"
    # Without a set name, the server is waiting to be added to a set.
    return f"{prefix}_SECONDARY" if hello.get("secondary") else RECOVERING


def own_address(hello: Mapping[str, Any]) -> ServerAddress | None:
    """The address of the server in its replica set; None if unknown."""
    me = hello.get("me")
    return read_address(str(me), DEFAULT_PORT) if me else None


def members_of_set(
    hello: Mapping[str, Any], status: Mapping[str, Any] | None, shard: Shard | None
) -> NamedServers:
    """The members of a replica set: `hello` lists all but the hidden members, which the status lists.

    With split horizons, `hello` lists the names that this client can use, and the status lists other names of
    the same members. Then only the names of `hello` count, and hidden members are unknown.
    """
    set_name = printable(hello.get("setName"))
    if not set_name:
        return NamedServers()
    arbiters = set(_texts(hello.get("arbiters")))
    texts = {text for part in ("hosts", "passives") for text in _texts(hello.get(part))} | arbiters
    states = _states(status or {})
    has_other_names = bool(states) and own_address(hello) not in {
        read_address(name, DEFAULT_PORT) for name in states
    }
    if not has_other_names:
        texts |= states.keys()
        arbiters |= {name for name, state in states.items() if state == "ARBITER"}
    usual = CONFIG_SERVER if "configsvr" in hello else NO_DATA
    named = _named(
        texts,
        lambda address, text: NamedMember(
            address,
            ARBITER if text in arbiters else usual,
            set_name,
            shard.name if shard else None,
            shard.cluster if shard else None,
        ),
    )
    return replace(named, has_other_names=has_other_names)


def _states(status: Mapping[str, Any]) -> Mapping[str, object]:
    """The members in the status of a replica set: name → state; invalid items are skipped."""
    members = status.get("members")
    return {
        member["name"]: member.get("stateStr")
        for member in (members if isinstance(members, list) else ())
        if isinstance(member, Mapping) and isinstance(member.get("name"), str)
    }


def members_of_cluster(
    shards: Iterable[Mapping[str, Any]],
    shard_map: Mapping[str, Any],
    routers: Iterable[Mapping[str, Any]],
    now: datetime,
) -> NamedServers:
    """The servers of a sharded cluster, as reported by a router.

    `shards` is `listShards.shards`, `shard_map` is `getShardMap.map`, `routers` are rows of `config.mongos`;
    `now` has no time zone, like the times in the rows. The cluster has the name of the replica set of its
    config servers.
    """
    config_set, config_hosts = _set_and_hosts(str(shard_map.get("config", "")))
    cluster = config_set or "sharded cluster"
    parts = [
        _named(
            config_hosts, lambda address, _: NamedMember(address, CONFIG_SERVER, config_set, None, cluster)
        ),
        _named(
            [str(router.get("_id")) for router in routers if _is_there(router, now)],
            lambda address, _: NamedMember(address, ROUTER, None, None, cluster),
        ),
    ]
    places = {config_set: Shard(cluster, None)} if config_set else {}
    for row in shards:
        name = printable(row.get("_id")) or "shard"
        set_name, hosts = _set_and_hosts(str(row.get("host", "")))
        if set_name:
            places[set_name] = Shard(cluster, name)
        type_name = NO_DATA if set_name else "SHARD_STANDALONE"
        parts.append(_in_shard(hosts, type_name, set_name, name, cluster))
    return NamedServers(
        tuple(member for part in parts for member in part.members),
        tuple(text for part in parts for text in part.unreadable),
        places,
    )


def _texts(value: object) -> Sequence[str]:
    """The texts of a list; invalid items are skipped."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _in_shard(
    hosts: Iterable[str], type_name: str, set_name: str | None, shard: str, cluster: str
) -> NamedServers:
    return _named(hosts, lambda address, _: NamedMember(address, type_name, set_name, shard, cluster))


def _named(texts: Iterable[str], member: Any) -> NamedServers:
    members, unreadable = {}, []
    for text in sorted(texts):
        address = read_address(text, DEFAULT_PORT)
        if address is None:
            unreadable.append(text)
        else:
            members[address] = member(address, text)
    return NamedServers(tuple(members.values()), tuple(unreadable))


def _set_and_hosts(text: str) -> tuple[str | None, list[str]]:
    """`set/host:port,host:port` or `host:port`."""
    name, _, hosts = text.rpartition("/")
    return printable(name), [host for host in hosts.split(",") if host]


def _is_there(router: Mapping[str, Any], now: datetime) -> bool:
    ping = router.get("ping")
    return not isinstance(ping, datetime) or now - ping < ROUTER_GONE
