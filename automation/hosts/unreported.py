"""Deletes what no report has named for 30 days: agents, process states, and clusters and sets without hosts.

It runs in the worker, every ten minutes for all workers, in batches of a project. Rows are checked again when
no report of the project runs. The caller passes the time of the database. After its clock has jumped,
everything that reports has a day to report again before anything counts as unreported.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accesslist.locks import project_lock_exclusive
from accesslist.throttles import hit
from automation.agents.models import Agent, FleetWatch
from automation.agents.store import facts_of_agent
from automation.desired_state.models import ProcessStatus
from automation.hooks import agents_deleting, sets_deleting
from automation.hosts.models import Cluster, Host, ReplicaSet
from automation.hosts.signals import versions_signal
from automation.reports.models import StoredDay
from events.choices import DiffType
from events.diffs import diff
from events.log.changes import NewEvent, events_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.batches import delete_batch

UNREPORTED_AFTER = timedelta(days=30)
EVERY = timedelta(minutes=10)
STEADY_FOR = timedelta(days=1)
"""How long heartbeat timeouts must have been counted without a jump of the clock or an absence of workers."""
SWEPT_WITHIN = timedelta(minutes=2)
DAYS_KEPT = timedelta(days=400)
"""How long the growth of a day is kept."""
ROWS_AT_ONCE = 500
"""Maximum number of rows of a kind that a transaction deletes or marks."""
PROJECTS_AT_ONCE = 100
"""Maximum number of projects of a kind in a run; the next run continues."""


def unreported_rows_trim(*, now: datetime, progress: Callable[[], object] = lambda: None) -> None:
    """Delete unreported rows if the clock is steady, and no worker did so within EVERY.

    `progress` is called before each project.
    """
    if _is_steady(now) and hit("unreported rows", limit=1, window=EVERY, now=now).wait is None:
        unreported_rows_delete(now=now, progress=progress)


def _is_steady(now: datetime) -> bool:
    """Whether reports had the time to arrive: a sweep notices a jump of the clock and counts again."""
    return FleetWatch.objects.filter(
        counting_since__lte=now - STEADY_FOR, swept__gt=now - SWEPT_WITHIN, swept__lte=now + SWEPT_WITHIN
    ).exists()


def unreported_rows_delete(*, now: datetime, progress: Callable[[], object] = lambda: None) -> None:
    """Delete a batch of the unreported rows of each project; rows without hosts are marked first."""

    def each_project(rows: QuerySet[Any], delete: Callable[..., None]) -> None:
        for group_id in _projects_of(rows):
            progress()
            _delete_of(group_id, delete, now)

    limit = now - UNREPORTED_AFTER
    processes = ProcessStatus.objects.filter(reported__lt=limit)
    chosen = list(processes.order_by("id").values_list("id", flat=True)[:ROWS_AT_ONCE])
    processes.filter(id__in=chosen).delete()
    delete_batch(StoredDay.objects.filter(day__lt=(now - DAYS_KEPT).date()), ROWS_AT_ONCE)
    each_project(_unreported_agents(limit), agents_delete)
    for model in (ReplicaSet, Cluster):
        _mark(model, now)
    each_project(_empty_sets(limit), sets_delete)
    each_project(_empty_clusters(limit), sets_delete)


def _projects_of(rows: QuerySet[Any]) -> list[str]:
    """The first live projects with such rows; the purge of a deleted project deletes its rows."""
    groups = rows.filter(group__deleted=None).order_by("group_id").values_list("group_id", flat=True)
    return list(groups.distinct()[:PROJECTS_AT_ONCE])


def _delete_of(group_id: str, delete: Callable[..., None], now: datetime) -> None:
    """Delete such rows of a project. If the project was deleted meanwhile, its purge deletes them."""
    try:
        delete(group_id=group_id, now=now)
    except ApiError as refusal:
        if refusal.code is not ErrorCode.GROUP_NOT_FOUND:
            raise


def _unreported_agents(limit: datetime) -> QuerySet[Agent]:
    """Agents without a report since. An agent stays while it was the last to report a host.

    Otherwise nothing would say why the state of the host is unknown.
    Agents of the demonstration never report.
    """
    hosts = Host.objects.filter(reported_by=OuterRef("pk"))
    return Agent.objects.filter(~Exists(hosts), last_report__lt=limit, demonstration=False)


@transaction.atomic
def agents_delete(*, group_id: str, now: datetime) -> None:
    """Delete a batch of the unreported agents of a project, with their alerts and an event for each.

    Raises: ApiError: GROUP_NOT_FOUND, if the project was deleted meanwhile.
    """
    unreported = _unreported_agents(now - UNREPORTED_AFTER).filter(group_id=group_id)
    ids = list(unreported.order_by("id").values_list("id", flat=True)[:ROWS_AT_ONCE])
    # First, because the receivers take locks whose holders may wait for the lock of the project.
    named = list(unreported.filter(id__in=ids))
    agents_deleting.send(sender=Agent, group_id=group_id, agents=named, actor=SYSTEM, now=now)
    project_lock_exclusive(group_id=group_id)
    agents = list(unreported.filter(id__in=ids))
    events = [
        NewEvent(
            event_type=EventType.AGENT_DELETED_AUDIT,
            facts=facts_of_agent(agent),
            diffs=diff(
                DiffType(f"{agent.agent_type}_AGENT"),
                agent.id,
                old={"agentType": agent.agent_type, "hostname": agent.hostname, "version": agent.version},
            ),
        )
        for agent in agents
    ]
    events_record(events=events, actor=SYSTEM, now=now, group_id=group_id)
    ids = [agent.id for agent in agents]
    Host.with_deleted.filter(group_id=group_id, reported_by__in=ids).update(reported_by=None)
    Agent.objects.filter(id__in=ids).delete()
    if ids:
        versions_signal(group_id=group_id, now=now)


def _has_hosts(model: type[ReplicaSet | Cluster]) -> Q:
    """Deleted hosts count until they are purged, and replica sets of a cluster until they are deleted."""
    if model is ReplicaSet:
        return Q(Exists(Host.with_deleted.filter(replica_set=OuterRef("pk"))))
    hosts, sets = Host.with_deleted.all(), ReplicaSet.objects.all()
    return Q(Exists(hosts.filter(cluster=OuterRef("pk")))) | Q(Exists(sets.filter(cluster=OuterRef("pk"))))


def _mark(model: type[ReplicaSet | Cluster], now: datetime) -> None:
    """Write since when rows have no hosts, and remove the time from rows that have hosts again.

    A time that is ahead was written by a wrong clock: it starts again.
    """
    has_hosts = _has_hosts(model)
    emptied = model._default_manager.filter(~has_hosts, Q(empty_since=None) | Q(empty_since__gt=now))
    filled = model._default_manager.filter(has_hosts, ~Q(empty_since=None))
    for rows, since in ((filled, None), (emptied, now)):
        with transaction.atomic():
            # Rows that a report counts at the moment are left to the next run.
            locked = rows.order_by("id").select_for_update(skip_locked=True, of=("self",))
            ids = list(locked.values_list("id", flat=True)[:ROWS_AT_ONCE])
            model._default_manager.filter(id__in=ids).update(empty_since=since)


def _empty_sets(limit: datetime) -> QuerySet[ReplicaSet]:
    return ReplicaSet.objects.filter(~_has_hosts(ReplicaSet), empty_since__lt=limit)


def _empty_clusters(limit: datetime) -> QuerySet[Cluster]:
    return Cluster.objects.filter(~_has_hosts(Cluster), empty_since__lt=limit)


@transaction.atomic
def sets_delete(*, group_id: str, now: datetime) -> None:
    """Delete a batch of the replica sets and clusters of a project that have had no hosts for long.

    A host that names them again gets a new row. Alerts identify them by name, and are cancelled.

    Raises: ApiError: GROUP_NOT_FOUND, if the project was deleted meanwhile.
    """
    limit = now - UNREPORTED_AFTER
    sets = _empty_sets(limit).filter(group_id=group_id)
    clusters = _empty_clusters(limit).filter(group_id=group_id)
    set_ids = list(sets.order_by("id").values_list("id", flat=True)[:ROWS_AT_ONCE])
    cluster_ids = list(clusters.order_by("id").values_list("id", flat=True)[:ROWS_AT_ONCE])
    sets_deleting.send(
        sender=ReplicaSet,
        group_id=group_id,
        replica_sets=list(sets.filter(id__in=set_ids).select_related("cluster")),
        clusters=list(clusters.filter(id__in=cluster_ids)),
        actor=SYSTEM,
        now=now,
    )
    # Reports hold the project, so none of them is about to use the rows.
    project_lock_exclusive(group_id=group_id)
    sets.filter(id__in=set_ids).delete()
    clusters.filter(id__in=cluster_ids).delete()
