"""The fleet in words for the console: engines and types of hosts. Pure."""

from collections.abc import Mapping

from automation.choices import AgentType, HostType
from automation.metrics import Engine

ENGINE_WORDS: Mapping[Engine, str] = {Engine.MONGODB: "MongoDB", Engine.POSTGRESQL: "PostgreSQL"}
UNKNOWN_ENGINE = "Unknown engine"
"""Shown while no report says the engine of a host."""

TYPE_WORDS: Mapping[HostType, str] = {
    HostType.STANDALONE: "Standalone",
    HostType.REPLICA_PRIMARY: "Primary",
    HostType.REPLICA_SECONDARY: "Secondary or standby",
    HostType.REPLICA_ARBITER: "Arbiter",
    HostType.RECOVERING: "Recovering",
    HostType.SHARD_MONGOS: "mongos",
    HostType.SHARD_CONFIG: "Config server",
    HostType.SHARD_STANDALONE: "Shard standalone",
    HostType.SHARD_PRIMARY: "Shard primary",
    HostType.SHARD_SECONDARY: "Shard secondary",
    HostType.NO_DATA: "No data",
}
_SECONDARY: Mapping[Engine | None, str] = {Engine.MONGODB: "Secondary", Engine.POSTGRESQL: "Standby"}
"""The engines have different words for the same type."""
_MEMBERS = frozenset(
    {
        HostType.REPLICA_PRIMARY,
        HostType.REPLICA_SECONDARY,
        HostType.REPLICA_ARBITER,
        HostType.SHARD_PRIMARY,
        HostType.SHARD_SECONDARY,
    }
)
AGENT_WORDS: Mapping[AgentType, str] = {
    AgentType.MONITORING: "Monitoring",
    AgentType.BACKUP: "Backup",
    AgentType.AUTOMATION: "Automation",
}


def engine_words(engine: str | None) -> str:
    """The name of an engine, by its stored value: `PostgreSQL`."""
    return ENGINE_WORDS[Engine(engine)] if engine else UNKNOWN_ENGINE


def type_words(type_name: str, engine: str | None) -> str:
    """The type of a host in the words of its engine: `Standby`."""
    host_type = HostType(type_name)
    if host_type is HostType.REPLICA_SECONDARY and engine:
        return _SECONDARY[Engine(engine)]
    return TYPE_WORDS[host_type]


def database_words(
    *, engine: str | None, version: str | None, type_name: str, replica_set: str | None = None
) -> str:
    """The server of a host: `PostgreSQL 18.4 · primary`, `MongoDB 6.0.5 · secondary of rs0`."""
    server = f"{engine_words(engine)} {version or ''}".rstrip()
    role = type_words(type_name, engine)
    of_set = f" of {replica_set}" if replica_set and HostType(type_name) in _MEMBERS else ""
    return f"{server} · {role[:1].lower()}{role[1:]}{of_set}"
