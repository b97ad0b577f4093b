"""What maintenance windows mute in their projects, in numbers."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import CharField, Count, Model, QuerySet, Value
from django.db.models.functions import Cast, Concat, Lower

from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.windows.input import only_hosts
from alerting.windows.models import MaintenanceWindow
from alerting.windows.rules import MuteCounts, MuteExtent
from automation.models import Agent, Cluster, Host, ReplicaSet
from events.types import EVENT_TYPES, Category, EventType
from opsapi.fields import Among

_TARGETS: Mapping[Category, type[Model]] = {
    Category.HOST: Host,
    Category.REPLICA_SET: ReplicaSet,
    Category.CLUSTER: Cluster,
    Category.AGENT: Agent,
}


def mute_counts(group_ids: Collection[str]) -> dict[str, MuteCounts]:
    """Return the numbers of objects and open alerts in each category, by project."""
    targets: dict[str, dict[Category, int]] = {id_: {} for id_ in group_ids}
    for category, model in _TARGETS.items():
        rows = model._default_manager.filter(group_id__in=group_ids).order_by()
        for group_id, count in rows.values_list("group_id").annotate(Count("pk")):
            targets[group_id][category] = count
    alerts: dict[str, dict[Category, int]] = {id_: defaultdict(int) for id_ in group_ids}
    opened = Alert.objects.filter(group_id__in=group_ids, status=AlertStatus.OPEN.value).order_by()
    for group_id, event_type, count in opened.values_list("group_id", "event_type").annotate(Count("pk")):
        alerts[group_id][EVENT_TYPES[EventType(event_type)].category] += count
    return {id_: MuteCounts(targets[id_], alerts[id_]) for id_ in group_ids}


def mute_extent(
    *,
    group_id: str,
    project: str,
    categories: Collection[str],
    is_narrow: bool = False,
    hosts: Sequence[str] = (),
    not_only: str = "",
) -> MuteExtent:
    """Return the extent of a window for these categories in a project."""
    return MuteExtent(
        categories=categories,
        project=project,
        counts=mute_counts([group_id])[group_id],
        is_narrow=is_narrow,
        hosts=hosts,
        not_only=not_only,
    )


def window_extents(windows: Iterable[MaintenanceWindow]) -> dict[str, MuteExtent]:
    """Return the extent of each window, by its id."""
    listed = list(windows)
    counts = mute_counts({window.group_id for window in listed})
    return {
        window.id: MuteExtent(
            categories=window.alert_types,
            project=str(window.group),
            counts=counts[window.group_id],
            is_narrow=bool(window.matchers),
            hosts=only_hosts(window.matchers),
        )
        for window in listed
    }


def hosts_named(group_id: str, names: Iterable[str]) -> QuerySet[Any]:
    """Return the hosts of a project with these names, host:port; `name` is their name in lower case."""
    name = Lower(Concat("hostname", Value(":"), Cast("port", CharField())))
    hosts: QuerySet[Any] = Host.objects.filter(group_id=group_id).annotate(name=name)
    return hosts.filter(Among("name", {wanted.lower() for wanted in names}))


def unknown_hosts(group_id: str, names: Sequence[str]) -> list[str]:
    """Return the names that no host of the project has."""
    known = set(hosts_named(group_id, names).values_list("name", flat=True)) if names else set()
    return [name for name in names if name.lower() not in known]
