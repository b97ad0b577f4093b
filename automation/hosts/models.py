"""Hosts with their databases, replica sets and clusters."""

from typing import ClassVar

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce, Lower

from accesslist.models import Project
from automation.addresses import Address
from automation.choices import HostType
from automation.metrics import Engine
from automation.wording import ENGINE_WORDS, TYPE_WORDS
from opsapi.fields import PrimaryIdField


class Cluster(models.Model):
    """Hosts with the same cluster name; visible while it has hosts, and deleted 30 days later."""

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="clusters", verbose_name="project"
    )
    name = models.CharField(max_length=200)
    created = models.DateTimeField()
    empty_since = models.DateTimeField(
        null=True, help_text="When the worker first found the cluster without hosts."
    )

    class Meta:
        constraints = [
            # Also finds and lists clusters.
            models.UniqueConstraint("group", Lower("name"), name="cluster_once"),
        ]

    def __str__(self) -> str:
        return self.name


class ReplicaSet(models.Model):
    """Hosts with the same replica set name in a cluster, or without a cluster.

    The numbers count its members as last reported. Without members it is not visible; its row stays for 30
    days, for the next member with this name. Counting locks the row, so the last of several reports sees all
    members.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="replica_sets", verbose_name="project"
    )
    name = models.CharField(max_length=200)
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.CASCADE, related_name="replica_sets")
    shard_name = models.CharField(max_length=200, null=True)
    primaries = models.PositiveIntegerField(default=0)
    healthy = models.PositiveIntegerField(default=0)
    unhealthy = models.PositiveIntegerField(default=0)
    unknown = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Reachable members whose role is not known."
    )
    primary_unknown = models.BooleanField(
        default=False,
        db_default=False,
        help_text="There is no known primary, and NO_PRIMARY has not begun: an unknown member may be the "
        "primary.",
    )
    created = models.DateTimeField()
    empty_since = models.DateTimeField(
        null=True, help_text="When the worker first found the replica set without hosts."
    )

    class Meta:
        constraints = [
            # Also finds the replica sets of a report.
            models.UniqueConstraint("group", "name", Coalesce("cluster", Value("")), name="replica_set_once"),
        ]

    def __str__(self) -> str:
        return self.name


class LiveHostManager(models.Manager["Host"]):
    """Hosts that are not deleted. Only the purge sees deleted hosts."""

    def get_queryset(self) -> models.QuerySet["Host"]:
        """Excludes hosts that the worker is still purging."""
        return super().get_queryset().filter(deleted=None)


class Host(models.Model):
    """A database process at hostname:port, with its last reported state .

    A deleted host disappears at once and frees its address. Its row stays until the worker has purged its
    measurements.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="hosts", verbose_name="project")
    hostname = models.CharField(max_length=253)
    port = models.PositiveIntegerField()
    type_name = models.CharField(
        "type",
        max_length=20,
        choices=[(host_type.value, TYPE_WORDS[host_type]) for host_type in HostType],
        default=HostType.NO_DATA.value,
    )
    type_guessed = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The host was never reached: its agent assumes the type.",
    )
    type_unknown = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The newest observation reached the host and did not see its type. The stored type may be "
        "old.",
    )
    down = models.BooleanField(default=False)
    version = models.CharField(max_length=50, null=True)
    engine = models.CharField(
        max_length=20,
        null=True,
        choices=[(engine.value, ENGINE_WORDS[engine]) for engine in Engine],
        help_text="The database engine, as its agent reports it. Empty if no report says it.",
    )
    version_behind = models.BooleanField(
        default=False, help_text="Another host of the project runs a newer version of the same series."
    )
    replica_set_name = models.CharField(max_length=200, null=True)
    # Its index finds the members of a replica set. A report that does not change it does not touch the index.
    replica_set = models.ForeignKey(ReplicaSet, null=True, on_delete=models.SET_NULL, related_name="hosts")
    # Not indexed: an index below starts with the cluster.
    cluster = models.ForeignKey(
        Cluster, null=True, on_delete=models.SET_NULL, related_name="hosts", db_index=False
    )
    cluster_name = models.CharField(max_length=200, null=True, help_text="Name of the cluster.")
    shard_name = models.CharField(max_length=200, null=True)
    uptime_seconds = models.BigIntegerField(null=True)
    labels = models.JSONField(
        null=True, help_text="Labels from the agent, value by name; null without labels."
    )
    created = models.DateTimeField()
    last_report = models.DateTimeField(null=True)
    observed = models.DateTimeField(
        null=True, help_text="The newest observation of its state. Older observations change nothing."
    )
    measured = models.DateTimeField(null=True, help_text="The newest sample of any of its metrics.")
    problem = models.TextField(
        null=True, help_text="Why the agent could not measure the host, although it is reachable."
    )
    unmeasured_since = models.DateTimeField(
        null=True,
        help_text="The first of the newest observations that reached the host and did not measure it. Empty "
        "if the newest observation measured the host or did not reach it.",
    )
    not_measured = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The host was reachable without a measurement for four minutes, and not measured since.",
    )
    # Without a constraint, because agents are deleted only with their project, after its hosts.
    reported_by = models.ForeignKey(
        "Agent", null=True, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False, related_name="+"
    )
    deleted = models.DateTimeField(null=True)

    objects = LiveHostManager()
    with_deleted: ClassVar[models.Manager["Host"]] = models.Manager()

    class Meta:
        base_manager_name = "with_deleted"
        # Every report changes every host that it names. No changed column may be indexed, so that the new
        # version of a row fits on the same page and no index is touched (HOT).
        constraints = [
            # Also finds and lists hosts.
            models.UniqueConstraint(
                "group", Lower("hostname"), "port", name="host_once", condition=Q(deleted=None)
            ),
        ]
        indexes = [
            # Hosts that the worker must purge.
            models.Index(fields=["deleted"], name="host_deleted", condition=Q(deleted__isnull=False)),
            # Hosts that are down, for the start page of the console. A report without changes touches neither
            # this index nor its condition.
            models.Index(
                fields=["group", "hostname", "port"], name="host_down", condition=Q(down=True, deleted=None)
            ),
            # The hosts of a cluster, of a shard, and of an agent.
            models.Index(fields=["cluster", "shard_name"], name="host_shard"),
            models.Index(fields=["reported_by"], name="host_agent"),
            # The hosts with a label.
            GinIndex(fields=["labels"], name="host_labels", opclasses=["jsonb_path_ops"]),
        ]

    def __str__(self) -> str:
        return str(self.address)

    @property
    def address(self) -> Address:
        return Address(self.hostname, self.port)


class Database(models.Model):
    """A database of a host, as last reported."""

    id = models.BigAutoField(primary_key=True)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="databases")
    name = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(name="database_once", fields=["host", "name"])]

    def __str__(self) -> str:
        return self.name
