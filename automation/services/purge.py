"""Deletes the hosts, agents and measurements of a deleted project, a batch at a time."""

from automation.models import (
    Agent,
    AutomationRevision,
    Cluster,
    Database,
    Host,
    HostLease,
    Measurement,
    ProcessStatus,
    ReplicaSet,
    Source,
    Watcher,
)
from automation.services.measurements import readings_delete
from opsapi.batches import delete_batch


def fleet_purge(*, group_id: str, limit: int) -> int:
    """Delete at most `limit` rows of a project's fleet. Return the number of deleted rows, 0 at the end.

    Children are deleted first, so the deletion of a host cascades to nothing.
    """
    of_hosts = {"host__group_id": group_id}
    sources = Source.objects.filter(**of_hosts)
    return (
        delete_batch(Measurement.objects.filter(**of_hosts), limit)
        or readings_delete(sources=list(sources.values_list("id", flat=True)), limit=limit)
        or delete_batch(sources, limit)
        or delete_batch(Database.objects.filter(**of_hosts), limit)
        or delete_batch(Host._base_manager.filter(group_id=group_id), limit)
        or delete_batch(ReplicaSet.objects.filter(group_id=group_id), limit)
        or delete_batch(Cluster.objects.filter(group_id=group_id), limit)
        or delete_batch(ProcessStatus.objects.filter(group_id=group_id), limit)
        or delete_batch(AutomationRevision.objects.filter(group_id=group_id), limit)
        or delete_batch(HostLease.objects.filter(group_id=group_id), limit)
        or delete_batch(Watcher.objects.filter(group_id=group_id), limit)
        or delete_batch(Agent.objects.filter(group_id=group_id), limit)
    )
