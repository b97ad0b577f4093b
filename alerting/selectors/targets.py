"""What alerts are about, as rows of the fleet that have a page."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from django.db.models import Model, QuerySet
from django.db.models.functions import Lower

from alerting.models import Alert
from automation.models import Agent, Cluster, Host, ReplicaSet
from events.types import EVENT_TYPES, EventType, Target
from opsapi.fields import Among

Key = tuple[Any, ...]


def targets_of(alerts: Collection[Alert]) -> dict[str, Model]:
    """The host, agent, replica set or cluster of each alert, by the alert's id, where it is there.

    A query for each kind, however many alerts. Whoever may read an alert may read what it is about.
    """
    found: dict[str, Model] = {}
    for key_of, rows_of in _KINDS:
        keys = {alert.id: key for alert in alerts if (key := key_of(alert))}
        rows = rows_of({key[0] for key in keys.values()}, {key[1] for key in keys.values()}) if keys else {}
        found |= {alert_id: rows[key] for alert_id, key in keys.items() if key in rows}
    return found


def _target(alert: Alert) -> Target:
    return EVENT_TYPES[EventType(alert.event_type)].target


def _host_key(alert: Alert) -> Key | None:
    facts = alert.facts
    if not facts.get("hostname") or facts.get("port") is None:
        return None
    return alert.group_id, facts["hostname"].lower(), facts["port"]


def _hosts(groups: Collection[str], names: Collection[str]) -> Mapping[Key, Model]:
    rows = _named(Host.objects, "hostname", groups, names)
    return {(row.group_id, row.hostname.lower(), row.port): row for row in rows}


def _agent_key(alert: Alert) -> Key | None:
    facts = alert.facts
    if _target(alert) is not Target.AGENT or not facts.get("hostname"):
        return None
    return alert.group_id, facts["hostname"].lower(), facts.get("sourceTypeName")


def _agents(groups: Collection[str], names: Collection[str]) -> Mapping[Key, Model]:
    rows = _named(Agent.objects, "hostname", groups, names)
    return {(row.group_id, row.hostname.lower(), row.agent_type): row for row in rows}


def _set_key(alert: Alert) -> Key | None:
    facts = alert.facts
    if _target(alert) is not Target.REPLICA_SET or not facts.get("replicaSetName"):
        return None
    return alert.group_id, facts["replicaSetName"].lower(), facts.get("clusterName")


def _sets(groups: Collection[str], names: Collection[str]) -> Mapping[Key, Model]:
    rows = _named(ReplicaSet.objects.select_related("cluster"), "name", groups, names)
    return {(row.group_id, row.name.lower(), row.cluster and row.cluster.name): row for row in rows}


def _cluster_key(alert: Alert) -> Key | None:
    name = alert.facts.get("clusterName")
    return (alert.group_id, name.lower()) if _target(alert) is Target.CLUSTER and name else None


def _clusters(groups: Collection[str], names: Collection[str]) -> Mapping[Key, Model]:
    rows = _named(Cluster.objects, "name", groups, names)
    return {(row.group_id, row.name.lower()): row for row in rows}


def _named(rows: Any, field: str, groups: Iterable[str], names: Iterable[str]) -> QuerySet[Any]:
    found: QuerySet[Any] = rows.alias(key=Lower(field)).filter(Among("group_id", groups), Among("key", names))
    return found


_KINDS: tuple[
    tuple[
        Callable[[Alert], Key | None],
        Callable[[Collection[str], Collection[str]], Mapping[Key, Model]],
    ],
    ...,
] = ((_host_key, _hosts), (_agent_key, _agents), (_set_key, _sets), (_cluster_key, _clusters))
