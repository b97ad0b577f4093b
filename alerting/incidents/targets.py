"""The targets of alerts: rows of the fleet that have a page."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from django.db.models import Model
from django.db.models.functions import Lower

from alerting.incidents.models import Alert
from automation.models import Agent, Cluster, Host, ReplicaSet
from events.types import EVENT_TYPES, EventType, Target
from opsapi.fields import Among

# Each kind with the column of its name, and the fact that distinguishes rows of a project with that name.
_KINDS: tuple[tuple[type[Model], str, Callable[[Any], Any]], ...] = (
    (Host, "hostname", lambda host: host.port),
    (Agent, "hostname", lambda agent: agent.agent_type),
    (ReplicaSet, "name", lambda replica_set: replica_set.cluster and replica_set.cluster.name),
    (Cluster, "name", lambda _: None),
)


def targets_of(alerts: Collection[Alert]) -> dict[str, Model]:
    """The host, agent, replica set or cluster of each alert, by the alert's id, if it exists.

    A query for each kind, however many alerts. Operators who can read an alert can read its target.
    """
    targets: dict[str, Model] = {}
    named = [(kind, alert, name.lower(), other) for alert in alerts for kind, name, other in _names(alert)]
    for kind, column, other_of in _KINDS:
        keys = {alert.id: (alert.group_id, *key) for model, alert, *key in named if model is kind}
        if keys:
            groups, names = {key[0] for key in keys.values()}, {key[1] for key in keys.values()}
            objects: Any = kind._default_manager
            rows = objects.alias(key=Lower(column)).filter(Among("group_id", groups), Among("key", names))
            rows = rows.select_related("cluster") if kind is ReplicaSet else rows
            by_key = {(row.group_id, getattr(row, column).lower(), other_of(row)): row for row in rows}
            targets |= {alert_id: by_key[key] for alert_id, key in keys.items() if key in by_key}
    return targets


def _names(alert: Alert) -> Iterator[tuple[type[Model], str, Any]]:
    """What the facts of an alert say about its target: a kind, a name, and the rest of the key."""
    facts, target = alert.facts, EVENT_TYPES[EventType(alert.event_type)].target
    hostname = facts.get("hostname")
    if hostname and facts.get("port") is not None:
        yield Host, hostname, facts["port"]
    if hostname and target is Target.AGENT:
        yield Agent, hostname, facts.get("sourceTypeName")
    if facts.get("replicaSetName") and target is Target.REPLICA_SET:
        yield ReplicaSet, facts["replicaSetName"], facts.get("clusterName")
    if facts.get("clusterName") and target is Target.CLUSTER:
        yield Cluster, facts["clusterName"], None
