"""What maintenance windows mute in their projects, in numbers."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from django.db.models import Count, Model

from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.windows.models import MaintenanceWindow
from alerting.windows.rules import MuteCounts, MuteExtent
from automation.models import Agent, Cluster, Host, ReplicaSet
from events.types import EVENT_TYPES, Category, EventType

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
    *, group_id: str, project: str, categories: Collection[str], is_narrow: bool = False, not_only: str = ""
) -> MuteExtent:
    """Return the extent of a window for these categories in a project."""
    counts = mute_counts([group_id])[group_id]
    return MuteExtent(
        categories=categories, project=project, counts=counts, is_narrow=is_narrow, not_only=not_only
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
        )
        for window in listed
    }
