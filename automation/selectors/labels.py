"""Reading the labels of hosts."""

from collections.abc import Collection
from itertools import accumulate
from typing import Literal

from django.db.models import Count, Exists, OuterRef

from automation.labels import LabelSets, label_texts
from automation.models import Host, ReplicaSet
from opsapi.fields import Among

HostColumn = Literal["id", "replica_set_id", "cluster_id"]
"""The column of hosts by which labels are read."""


def labels_of_hosts(of: HostColumn, ids: Collection[str]) -> dict[str, LabelSets]:
    """Return the labels of hosts by the id of the host, its replica set or its cluster.

    Ids without hosts are left out. A deleted host still has the labels of its last report: a window that
    mutes the host also mutes that its alerts are cancelled.
    """
    hosts = (Host.with_deleted if of == "id" else Host.objects).filter(Among(of, ids)).order_by()
    found: dict[str, list[tuple[str, ...]]] = {}
    for key, labels in hosts.values_list(of, "labels").distinct():
        found.setdefault(key, []).append(label_texts(labels))
    return {key: tuple(sets) for key, sets in found.items()}


def readable_labels(of: HostColumn, ids: Collection[str], *, most: int) -> set[str]:
    """Return the ids whose labels can be read from at most `most` hosts; ids with fewer hosts come first."""
    counts = Host.objects.filter(Among(of, ids)).order_by().values_list(of).annotate(Count("id"))
    sizes = dict.fromkeys(ids, 1 if of == "id" else 0) | ({} if of == "id" else dict(counts))
    by_size = sorted(ids, key=lambda name: (sizes[name], name))
    together = accumulate(sizes[name] for name in by_size)
    return {name for name, read in zip(by_size, together, strict=True) if read <= most}


def replica_set_ids(
    group_ids: Collection[str], names: Collection[str]
) -> dict[tuple[str, str, str | None], str]:
    """Return the ids of the replica sets with these names, by project, name and cluster.

    A replica set whose hosts have all moved to another set is left out.
    """
    has_hosts = Exists(Host.with_deleted.filter(replica_set_id=OuterRef("id")))
    sets = ReplicaSet.objects.filter(has_hosts, Among("group_id", group_ids), Among("name", names))
    rows = sets.values_list("group_id", "name", "cluster_id", "id")
    return {(group_id, name, cluster_id): set_id for group_id, name, cluster_id, set_id in rows}
