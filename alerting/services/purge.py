"""The end of a project, host or agent: alerts end at once, rows are deleted later in batches."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accesslist.models import Project
from accesslist.services.projects import project_purge
from alerting.choices import DropReason, NotificationStatus
from alerting.models import (
    Alert,
    AlertConfig,
    Destination,
    EvaluationTurn,
    MaintenanceWindow,
    Notification,
    NotificationAttempt,
    NotificationSetting,
)
from alerting.rules.targets import target_key
from alerting.selectors.windows import not_over
from alerting.services.alerts import alerts_cancel
from alerting.services.locks import project_lock
from alerting.services.notifications import notifications_drop, notifications_unsilence
from automation.models import Agent, Cluster, Host
from automation.selectors.agents import agent_state
from automation.selectors.hosts import (
    clusters_emptied,
    last_of_cluster,
    last_of_replica_set,
    replica_set_state,
)
from automation.services.hosts import fleet_purge
from events.models import Signal
from events.types import EVENT_TYPES, Target
from integrations.choices import MessageKind
from integrations.services.integrations import integrations_purge
from opsapi.api.principal import SYSTEM, Actor
from opsapi.batches import delete_batch

PURGED_AT_ONCE = 500
"""The most rows deleted in one transaction, so that it stays short."""
_ABOUT_CLUSTERS = [name.value for name, spec in EVENT_TYPES.items() if spec.target is Target.CLUSTER]


@transaction.atomic
def project_alerting_end(*, group_id: str, actor: Actor, now: datetime) -> None:
    """Delete a project's configurations and cancel its alerts; notified recipients are notified of it.

    Global configurations that name the project stay unchanged. From here on nothing is evaluated for the
    project: first because of the lock, then because the project is deleted.
    """
    project_lock(group_id)
    # Deliveries that decide with these windows end first; later deliveries see that the project is deleted.
    unexpired = MaintenanceWindow.objects.filter(not_over(now), group_id=group_id).order_by("id")
    list(unexpired.select_for_update().values_list("id"))
    AlertConfig.objects.filter(group_id=group_id, deleted=None).update(deleted=now, enabled=False)
    alerts_cancel(alerts=Alert.objects.filter(group_id=group_id), actor=actor, now=now)
    one_shot = Notification.objects.filter(group_id=group_id, kind=MessageKind.INFORM.value)
    notifications_drop(rows=one_shot, reason=DropReason.CONFIG_OFF)
    # The windows of a deleted project hold nothing back, nor its rows with it.
    notifications_unsilence(group_id=group_id, now=now)


@transaction.atomic
def host_alerting_end(*, host: Host, actor: Actor, now: datetime) -> None:
    """Cancel the alerts about a host that is deleted or gets a new address.

    Alerts that an agent's own event opened name only the address of the host.
    """
    project_lock(host.group_id)
    by_address = Q(facts__hostname__iexact=host.hostname, facts__port=host.port)
    about = Alert.objects.filter(Q(facts__hostId=host.id) | by_address, group_id=host.group_id)
    alerts_cancel(alerts=about, actor=actor, now=now)


@transaction.atomic
def agent_alerting_end(*, agent: Agent, actor: Actor, now: datetime) -> None:
    """Cancel the alerts about an agent that is deleted."""
    project_lock(agent.group_id)
    target = target_key(Target.AGENT, agent_state(agent))
    about = Alert.objects.filter(group_id=agent.group_id, target_key=target)
    alerts_cancel(alerts=about, actor=actor, now=now)


@transaction.atomic
def replica_set_alerting_end(*, host: Host, actor: Actor, now: datetime) -> None:
    """Cancel the alerts about the replica set whose last host is being deleted.

    If a report adds another member meanwhile, its signal opens them again.
    """
    ending = last_of_replica_set(host)
    if ending is None:
        return
    project_lock(host.group_id)
    target = target_key(Target.REPLICA_SET, replica_set_state(ending))
    about = Alert.objects.filter(group_id=host.group_id, target_key=target)
    alerts_cancel(alerts=about, actor=actor, now=now)


@transaction.atomic
def cluster_alerting_end(*, host: Host, actor: Actor, now: datetime) -> None:
    """Cancel the alerts about the cluster whose last host is being deleted."""
    ending = last_of_cluster(host)
    if ending is None:
        return
    project_lock(host.group_id)
    alerts_cancel(alerts=_about_cluster(ending), actor=actor, now=now)


@transaction.atomic
def left_clusters_alerting_end(*, cluster_ids: Collection[str], now: datetime) -> None:
    """Cancel the alerts about these clusters if they have no hosts; the caller has the project's lock.

    Nothing else would end them, because reports name a cluster only by its name.
    """
    for cluster in clusters_emptied(cluster_ids) if cluster_ids else ():
        alerts_cancel(alerts=_about_cluster(cluster), actor=SYSTEM, now=now)


def _about_cluster(cluster: Cluster) -> QuerySet[Alert]:
    """The alerts about all shards; alerts from before the cluster was known contain only its name."""
    named = Q(facts__clusterId=cluster.id) | Q(facts__clusterName__iexact=cluster.name)
    return Alert.objects.filter(named, group_id=cluster.group_id, event_type__in=_ABOUT_CLUSTERS)


@transaction.atomic
def deleted_project_purge(*, now: datetime) -> bool:
    """Delete one batch of a deleted project's rows, finally the project. Return whether there was a project.

    Workers share the work: each locks another project. Projects with pending notifications wait. Each batch
    is a transaction, so a crash loses nothing.
    """
    pending = Notification.objects.filter(group_id=OuterRef("id"), status=NotificationStatus.PENDING.value)
    deleted = Project.with_deleted.filter(~Exists(pending), deleted__isnull=False).order_by("deleted")
    project = deleted.select_for_update(skip_locked=True).first()
    if project is None:
        return False
    if not _purge_batch(project.id):
        project_purge(project=project, now=now)
    return True


def _purge_batch(group_id: str) -> int:
    """Delete a batch, children first, and return the number of rows, 0 if none are left."""
    of_group = {"group_id": group_id}
    return (
        delete_batch(Signal.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(NotificationAttempt.objects.filter(notification__group_id=group_id), PURGED_AT_ONCE)
        or delete_batch(Notification.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(Destination.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(EvaluationTurn.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(Alert.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(NotificationSetting.with_removed.filter(config__group_id=group_id), PURGED_AT_ONCE)
        or delete_batch(AlertConfig.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(MaintenanceWindow.objects.filter(**of_group), PURGED_AT_ONCE)
        or integrations_purge(group_id=group_id, limit=PURGED_AT_ONCE)
        or fleet_purge(group_id=group_id, limit=PURGED_AT_ONCE)
    )
