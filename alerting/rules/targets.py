"""What an alert is about, as one text: at most one alert per config and target (decisions 6 "one alert")."""

import json
from collections.abc import Mapping
from typing import Any

from events.types import Target

_FACTS: Mapping[Target, tuple[str, ...]] = {
    Target.AGENT: ("sourceTypeName", "hostname"),
    Target.HOST: ("hostId",),
    Target.HOST_METRIC: ("hostId", "metricName"),
    Target.REPLICA_SET: ("replicaSetName", "clusterName", "shardName"),
    Target.CLUSTER: ("clusterName", "shardName"),
    Target.GROUP: (),
}
_HOST_BY_NAME = ("hostname", "port")


def target_key(target: Target, facts: Mapping[str, Any]) -> str:
    """The target of a signal as text, from its facts under their wire names.

    A host that the fleet does not know is told by its address. Facts that are missing leave their
    place empty: such a signal is about whatever else bears as little.
    """
    names = _FACTS[target]
    if "hostId" in names and not facts.get("hostId"):
        names = (*_HOST_BY_NAME, *names[1:])
    return json.dumps([target.value, *[facts.get(name) for name in names]], separators=(",", ":"))
