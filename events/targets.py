"""The target of an event: the object that its alerts are about. Pure.

A target is written as a text, `target_key`. Events of the same condition with the same key are about the same
alert.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from events.types import Target

_HOST = ("hostname", "port")
# A host is identified by its address, which signals of unknown hosts have as well.
TARGET_FACTS: Mapping[Target, tuple[str, ...]] = {
    Target.AGENT: ("sourceTypeName", "hostname"),
    Target.HOST: _HOST,
    Target.HOST_METRIC: (*_HOST, "metricName"),
    Target.REPLICA_SET: ("replicaSetName", "clusterName", "shardName"),
    Target.CLUSTER: ("clusterName", "shardName"),
    Target.GROUP: (),
}
"""The facts of each kind of target that identify it, by their wire names."""
# An index accepts no longer key; names may have hundreds of characters of four bytes each.
_LONGEST = 500


def target_key(target: Target, facts: Mapping[str, Any]) -> str:
    """The target of a signal as text, from its facts under their wire names.

    Host names are equal in any case. Missing facts stay empty: such a signal has the same target as other
    signals with the same facts missing. A key that is too long for an index is hashed.
    """
    values = [_fact(target, name, facts) for name in TARGET_FACTS[target]]
    key = orjson.dumps([target.value, *values])
    if len(key) <= _LONGEST:
        return key.decode()
    return f"{target.value} {hashlib.sha256(key).hexdigest()}"


def _fact(target: Target, name: str, facts: Mapping[str, Any]) -> Any:
    value = facts.get(name)
    if name == "hostname" and value:
        return value.lower()
    # A set name is unique in its cluster. Its members may disagree on the shard, or report it later.
    if target is Target.REPLICA_SET and name == "shardName" and facts.get("replicaSetName"):
        return None
    return value
