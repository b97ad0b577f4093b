"""Closed sets of the fleet; the values are the wire values."""

from enum import StrEnum


class HostType(StrEnum):
    """What a host is (decisions 8 "hosts"); NO_DATA until the first report."""

    STANDALONE = "STANDALONE"
    REPLICA_PRIMARY = "REPLICA_PRIMARY"
    REPLICA_SECONDARY = "REPLICA_SECONDARY"
    REPLICA_ARBITER = "REPLICA_ARBITER"
    RECOVERING = "RECOVERING"
    SHARD_MONGOS = "SHARD_MONGOS"
    SHARD_CONFIG = "SHARD_CONFIG"
    SHARD_STANDALONE = "SHARD_STANDALONE"
    SHARD_PRIMARY = "SHARD_PRIMARY"
    SHARD_SECONDARY = "SHARD_SECONDARY"
    NO_DATA = "NO_DATA"


class AgentType(StrEnum):
    """What an agent does."""

    MONITORING = "MONITORING"
    BACKUP = "BACKUP"
    AUTOMATION = "AUTOMATION"
