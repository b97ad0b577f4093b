"""The end of a project, host or agent, and of what is older than its retention.

Alerts end at once: the functions that end them follow the hooks of other packages. Rows are deleted later, in
batches.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Upper

from accesslist.models import Invitation, Kiosk, Project
from accesslist.projects.changes import project_purge
from alerting.configs.locks import project_lock
from alerting.configs.models import AlertConfig, NotificationSetting, SetupMark
from alerting.destinations.models import Destination
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import EvaluationTurn, Notification, NotificationAttempt, ProjectUsage
from alerting.engine.schedule import notifications_drop, notifications_unmute
from alerting.incidents.changes import alerts_cancel
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.models import Alert, Incident
from alerting.reasons import NotificationReason
from alerting.windows.models import MaintenanceWindow
from alerting.windows.store import unexpired
from automation.agents.store import agent_state
from automation.hosts.changes import fleet_purge
from automation.hosts.store import clusters_emptied, last_of_cluster, last_of_replica_set, replica_set_state
from automation.models import Agent, Cluster, Host, ReplicaSet
from automation.reports.rules import LATEST
from events.choices import SignalKind
from events.models import Event, Signal
from events.retention import kept_rows
from events.targets import target_key
from events.types import EVENT_TYPES, Target
from integrations.choices import MessageKind
from integrations.credentials.changes import integrations_purge
from opsapi.api.principal import SYSTEM, Actor
from opsapi.batches import ROWS_AT_ONCE, delete_batch
from opsapi.fields import Among
from opsapi.ids import first_id

PURGED_AT_ONCE = 500
"""The most rows deleted in one transaction, so that it stays short."""
_ABOUT_CLUSTERS = [name.value for name, spec in EVENT_TYPES.items() if spec.target is Target.CLUSTER]


@transaction.atomic
def project_alerting_end(*, project: Project, actor: Actor, now: datetime, **_: Any) -> None:
    """Delete a project's configurations and cancel its alerts; notified recipients are notified of it.

    Global configurations that name the project stay unchanged. From here on nothing is evaluated for the
    project: first because of the lock, then because the project is deleted.
    """
    group_id = project.id
    project_lock(group_id)
    # Deliveries that decide with these windows end first; later deliveries see that the project is deleted.
    windows = MaintenanceWindow.objects.filter(unexpired(now), group_id=group_id).order_by("id")
    list(windows.select_for_update().values_list("id"))
    AlertConfig.objects.filter(group_id=group_id, deleted=None).update(deleted=now, enabled=False)
    alerts_cancel(alerts=Alert.objects.filter(group_id=group_id), actor=actor, now=now)
    one_shot = Notification.objects.filter(group_id=group_id, kind=MessageKind.INFORM.value)
    notifications_drop(rows=one_shot, reason=NotificationReason.CONFIG_OFF)
    # The windows of a deleted project hold nothing back, nor its rows with it.
    notifications_unmute(group_id=group_id, now=now)


@transaction.atomic
def host_alerting_end(*, host: Host, actor: Actor, now: datetime, **_: Any) -> None:
    """Cancel the alerts about a host that is deleted or gets a new address.

    Alerts that an agent's own event opened name only the address of the host.
    """
    project_lock(host.group_id)
    by_address = Q(facts__hostname__iexact=host.hostname, facts__port=host.port)
    about = Alert.objects.filter(Q(facts__hostId=host.id) | by_address, group_id=host.group_id)
    alerts_cancel(alerts=about, actor=actor, now=now)


@transaction.atomic
def agents_alerting_end(
    *, group_id: str, agents: Sequence[Agent], actor: Actor, now: datetime, **_: Any
) -> None:
    """Cancel the alerts about the agents of a project that are being deleted."""
    project_lock(group_id)
    targets = [target_key(Target.AGENT, agent_state(agent)) for agent in agents]
    about = Alert.objects.filter(group_id=group_id, target_key__in=targets)
    alerts_cancel(alerts=about, actor=actor, now=now)


@transaction.atomic
def last_host_alerting_end(*, host: Host, actor: Actor, now: datetime, **_: Any) -> None:
    """Cancel the alerts about the replica set and the cluster whose last host is being deleted.

    If a report adds another member meanwhile, its signal opens them again.
    """
    if replica_set := last_of_replica_set(host):
        project_lock(host.group_id)
        target = target_key(Target.REPLICA_SET, replica_set_state(replica_set))
        about = Alert.objects.filter(group_id=host.group_id, target_key=target)
        alerts_cancel(alerts=about, actor=actor, now=now)
    if cluster := last_of_cluster(host):
        project_lock(host.group_id)
        alerts_cancel(alerts=_about_clusters([cluster]), actor=actor, now=now)


@transaction.atomic
def sets_alerting_end(
    *,
    group_id: str,
    replica_sets: Sequence[ReplicaSet],
    clusters: Sequence[Cluster],
    actor: Actor,
    now: datetime,
    **_: Any,
) -> None:
    """Cancel the alerts about replica sets and clusters that are deleted because they have no hosts."""
    project_lock(group_id)
    targets = [target_key(Target.REPLICA_SET, replica_set_state(replica_set)) for replica_set in replica_sets]
    about = Alert.objects.filter(group_id=group_id, target_key__in=targets)
    alerts_cancel(alerts=about, actor=actor, now=now)
    if clusters:
        alerts_cancel(alerts=_about_clusters(clusters), actor=actor, now=now)


@transaction.atomic
def emptied_clusters_alerts_cancel(*, cluster_ids: Collection[str], at: datetime, limit: int) -> bool:
    """Cancel alerts about these clusters of a project if they have no hosts; the caller has its lock.

    Nothing else would end them, because reports name a cluster only by its name. At most `limit` alerts are
    cancelled. Return whether none are left.
    """
    clusters = list(clusters_emptied(cluster_ids)) if cluster_ids else []
    if not clusters:
        return True
    active = _about_clusters(clusters).filter(status__in=ACTIVE)
    started = dict(active.values_list("id", "created")[:limit])
    # A changed configuration may have started alerts after `at`.
    end = max([at, *started.values()])
    alerts_cancel(alerts=Alert.objects.filter(Among("id", started)), actor=SYSTEM, now=end)
    return len(started) < limit


def _about_clusters(clusters: Sequence[Cluster]) -> QuerySet[Alert]:
    """The alerts about all shards of clusters of a project.

    Alerts from before a cluster was known contain only its name.
    """
    names = Alert.objects.alias(cluster_name=Upper(KT("facts__clusterName")))
    named = Q(facts__clusterId__in=[cluster.id for cluster in clusters]) | Q(
        cluster_name__in=[Upper(Value(cluster.name)) for cluster in clusters]
    )
    return names.filter(named, group_id=clusters[0].group_id, event_type__in=_ABOUT_CLUSTERS)


@transaction.atomic
def deleted_project_purge(*, now: datetime) -> bool:
    """Delete one batch of a deleted project's rows, finally the project. Return whether there was a project.

    Workers share the work: each locks another project. Projects with pending notifications, or with cancelled
    alerts whose messages are not written, wait. Each batch is a transaction, so a crash loses nothing.
    """
    pending = Notification.objects.filter(group_id=OuterRef("id"), status=NotificationStatus.PENDING.value)
    ending = Signal.objects.filter(group_id=OuterRef("id"), kind=SignalKind.CANCELLED.value, failed=None)
    deleted = Project.with_deleted.filter(~Exists(pending), ~Exists(ending), deleted__isnull=False)
    project = deleted.order_by("deleted").select_for_update(skip_locked=True).first()
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
        or delete_batch(ProjectUsage.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(Alert.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(Incident.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(NotificationSetting.with_removed.filter(config__group_id=group_id), PURGED_AT_ONCE)
        or delete_batch(AlertConfig.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(MaintenanceWindow.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(SetupMark.objects.filter(**of_group), PURGED_AT_ONCE)
        or delete_batch(Invitation.objects.filter(project_id=group_id), PURGED_AT_ONCE)
        or delete_batch(Kiosk.objects.filter(project_id=group_id), PURGED_AT_ONCE)
        or integrations_purge(group_id=group_id, limit=PURGED_AT_ONCE)
        or fleet_purge(group_id=group_id, limit=PURGED_AT_ONCE)
    )


ALERTS_AT_ONCE = 1_000
"""The alerts or one-shot notifications whose data is deleted together. Each batch selects them again."""
FAILED_SIGNALS_KEPT = timedelta(days=7)
"""Long enough to see in the console which signals failed."""
_PENDING = NotificationStatus.PENDING.value


def events_trim(*, now: datetime) -> bool:
    """Delete one batch of the events whose retention is over, the oldest first.

    Events with pending notifications stay. Return whether there were any.
    """
    kept = kept_rows().events.period
    if kept is None:
        return False
    old = Event.objects.filter(created__lt=_evaluated_until(now - kept))
    pending = Notification.objects.filter(event_id=OuterRef("id"), status=_PENDING)
    return delete_batch(old.filter(~Exists(pending)), ROWS_AT_ONCE, first=("created", "id")) > 0


def alerts_trim(*, now: datetime) -> bool:
    """Delete one batch of the data of ended alerts whose retention is over.

    The same applies to one-shot notifications of this age. Attempts are deleted first, then notifications,
    then alerts. Alerts with pending notifications stay. Return whether there was data to delete.
    """
    kept = kept_rows().alerts.period
    if kept is None:
        return False
    limit = now - kept
    return _ended_trim(limit) or _one_shots_trim(limit) or _incidents_trim(limit)


def failed_signals_trim(*, now: datetime) -> bool:
    """Delete one batch of the signals that failed a week ago. Return whether there were any."""
    failed = Signal.objects.filter(failed__lt=now - FAILED_SIGNALS_KEPT)
    return delete_batch(failed, ROWS_AT_ONCE, first=("failed",)) > 0


def _evaluated_until(limit: datetime) -> datetime:
    """The limit, or the earlier time of the oldest waiting signal: its events may have to be notified."""
    waiting = Signal.objects.filter(failed=None).order_by("id").values_list("created", flat=True).first()
    # Later signals can be of earlier events, by as much as reports may be late.
    return limit if waiting is None else min(limit, waiting - LATEST)


def _ended_trim(limit: datetime) -> bool:
    pending = Notification.objects.filter(alert_id=OuterRef("id"), status=_PENDING)
    # The first alert of an incident has its messages, which the end of the incident needs.
    lasting = Alert.objects.filter(incident_id=OuterRef("incident_id"), status=AlertStatus.OPEN.value)
    ended = Alert.objects.filter(~Exists(pending), ~Exists(lasting), resolved__lt=limit).order_by("resolved")
    alerts = list(ended.values_list("id", flat=True)[:ALERTS_AT_ONCE])
    if not alerts:
        return False
    if not _log_trim(Notification.objects.filter(alert__in=alerts)):
        delete_batch(Alert.objects.filter(id__in=alerts), ROWS_AT_ONCE, first=("resolved",))
    return True


def _incidents_trim(limit: datetime) -> bool:
    without_alerts = ~Exists(Alert.objects.filter(incident_id=OuterRef("id")))
    ended = Incident.objects.filter(without_alerts, ended__lt=limit)
    return delete_batch(ended, ROWS_AT_ONCE, first=("ended",)) > 0


def _one_shots_trim(limit: datetime) -> bool:
    # The id of an event contains its time, and these rows are found by it.
    finished = Notification.objects.filter(event_id__lt=first_id(limit)).exclude(status=_PENDING)
    chosen = list(finished.order_by("event_id").values_list("id", flat=True)[:ALERTS_AT_ONCE])
    return bool(chosen) and _log_trim(Notification.objects.filter(id__in=chosen))


def _log_trim(notifications: QuerySet[Notification]) -> bool:
    """Delete one batch of their attempts, or of the notifications if no attempts are left."""
    attempts = NotificationAttempt.objects.filter(notification__in=notifications.values("id"))
    return bool(delete_batch(attempts, ROWS_AT_ONCE) or delete_batch(notifications, ROWS_AT_ONCE))
