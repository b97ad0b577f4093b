"""Closed sets of the fleet; the values are the wire values."""

from enum import StrEnum


class HostType(StrEnum):
    """Host types; NO_DATA while no report says the type."""

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
    """Agent types."""

    MONITORING = "MONITORING"
    BACKUP = "BACKUP"
    AUTOMATION = "AUTOMATION"


class ClusterType(StrEnum):
    """Cluster types, derived from the reported hosts."""

    REPLICA_SET = "REPLICA_SET"
    SHARDED_REPLICA_SET = "SHARDED_REPLICA_SET"


class Granularity(StrEnum):
    """Bucket lengths of a measurement series, as ISO 8601 durations."""

    PT1M = "PT1M"
    PT5M = "PT5M"
    PT1H = "PT1H"
    P1D = "P1D"


class AgentState(StrEnum):
    """Whether an agent reports, or has a heartbeat timeout."""

    ACTIVE = "ACTIVE"
    DOWN = "DOWN"


class MetricState(StrEnum):
    """The state of a metric of a monitored host; reports use lower case."""

    REPORTED = "REPORTED"
    ABSENT = "ABSENT"
    REFUSED = "REFUSED"
    FAILED = "FAILED"


class Tier(StrEnum):
    """The stored values of a series: as measured, or in buckets of five minutes or an hour."""

    RAW = "RAW"
    PT5M = "PT5M"
    PT1H = "PT1H"


class Aggregate(StrEnum):
    """How the series of several hosts become one."""

    SUM = "SUM"
    AVG = "AVG"
    MAX = "MAX"
    MIN = "MIN"
    P95 = "P95"
