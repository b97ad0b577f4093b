"""The fleet: hosts, their databases, the agents that report them, and what was measured."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce, Lower

from accesslist.models import Project
from automation.choices import AgentType, HostType
from automation.reports import Address
from opsapi.api.principal import ActorKind
from opsapi.clock import time_words
from opsapi.fields import OptionalIdField, PrimaryIdField, SealedField


class Cluster(models.Model):
    """Hosts that agents report under one cluster name; it is there for others while it has hosts."""

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="clusters", verbose_name="project"
    )
    name = models.CharField(max_length=200)
    created = models.DateTimeField()

    class Meta:
        constraints = [
            # Also finds the clusters a report names, and lists them.
            models.UniqueConstraint("group", Lower("name"), name="cluster_once"),
        ]

    def __str__(self) -> str:
        return self.name


class ReplicaSet(models.Model):
    """Hosts that agents report under one replica set name in one cluster, or in none.

    Its numbers are those of its members as last reported; without members it is there no more, and its
    row waits for the name to come again. Whoever counts holds the row's lock, so that of reports of
    different members the last one to count sees all.
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
    created = models.DateTimeField()

    class Meta:
        constraints = [
            # Also finds the replica sets a report names.
            models.UniqueConstraint("group", "name", Coalesce("cluster", Value("")), name="replica_set_once"),
        ]

    def __str__(self) -> str:
        return self.name


class LiveHostManager(models.Manager["Host"]):
    """Hosts that were not deleted: what everybody but the purge sees."""

    def get_queryset(self) -> models.QuerySet["Host"]:
        """Without those the worker is still taking away."""
        return super().get_queryset().filter(deleted=None)


class Host(models.Model):
    """A database process at hostname:port, with its state as last reported (decisions 8 "hosts").

    A deleted one is gone for everybody at once, gives its address free, and its row stays until the
    worker has taken away what was measured on it.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="hosts", verbose_name="project")
    hostname = models.CharField(max_length=253)
    port = models.PositiveIntegerField()
    type_name = models.CharField(
        "type",
        max_length=20,
        choices=[(one.value, one.value) for one in HostType],
        default=HostType.NO_DATA.value,
    )
    down = models.BooleanField(default=False)
    version = models.CharField(max_length=50, null=True)
    version_behind = models.BooleanField(
        default=False, help_text="Another host of the project has a higher version of the same series."
    )
    replica_set_name = models.CharField(max_length=200, null=True)
    # Its index finds the members of a replica set; a report that changes nothing of it does not touch it.
    replica_set = models.ForeignKey(ReplicaSet, null=True, on_delete=models.SET_NULL, related_name="hosts")
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.SET_NULL, related_name="hosts")
    cluster_name = models.CharField(max_length=200, null=True, help_text="The name of its cluster.")
    shard_name = models.CharField(max_length=200, null=True)
    uptime_seconds = models.BigIntegerField(null=True)
    created = models.DateTimeField()
    last_report = models.DateTimeField(null=True)
    # Agents go with their project alone, after its hosts; a constraint would need an index to be checked by.
    reported_by = models.ForeignKey(
        "Agent", null=True, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False, related_name="+"
    )
    deleted = models.DateTimeField(null=True)

    objects = LiveHostManager()
    with_deleted: ClassVar[models.Manager["Host"]] = models.Manager()

    class Meta:
        base_manager_name = "with_deleted"
        # Every report changes every host it names: none of that may stand in an index, so that the
        # new version of a row fits into the page of the old one and no index is touched (HOT).
        constraints = [
            # Also finds the hosts a report names, and lists them.
            models.UniqueConstraint(
                "group", Lower("hostname"), "port", name="host_once", condition=Q(deleted=None)
            ),
        ]
        indexes = [
            # What the worker has to take away.
            models.Index(fields=["deleted"], name="host_deleted", condition=Q(deleted__isnull=False)),
            # Those that are down: the console's start page. A report that leaves a host as it was touches
            # neither this index nor its condition.
            models.Index(
                fields=["group", "hostname", "port"], name="host_down", condition=Q(down=True, deleted=None)
            ),
        ]

    def __str__(self) -> str:
        return str(self.address)

    @property
    def address(self) -> Address:
        """Where it is."""
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


class Agent(models.Model):
    """An agent that reports, and when it last did: its heartbeat."""

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="agents", verbose_name="project"
    )
    agent_type = models.CharField(max_length=12, choices=[(one.value, one.value) for one in AgentType])
    hostname = models.CharField(max_length=253)
    version = models.CharField(max_length=50)
    version_behind = models.BooleanField(
        default=False, help_text="Another agent of its type in the project has a higher version."
    )
    created = models.DateTimeField()
    last_report = models.DateTimeField()
    down = models.BooleanField(default=False, help_text="It has fallen silent.")
    returned = models.DateTimeField(null=True, help_text="When it was last heard again after a silence.")

    class Meta:
        # No index on the heartbeat: as with hosts.
        constraints = [
            models.UniqueConstraint("group", "agent_type", Lower("hostname"), name="agent_once"),
        ]
        indexes = [
            # Those that have fallen silent: the console's start page.
            models.Index(
                fields=["group", "agent_type", "hostname"], name="agent_silent", condition=Q(down=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent_type} {self.hostname}"


class Source(models.Model):
    """What readings are of, under a short number: a host, or one of its databases.

    Added by who has locked the host. That of a database stays while it has readings, whatever the host's list
    says by then.
    """

    # Four bytes: it stands in each row of readings.
    id = models.AutoField(primary_key=True)
    # No index of its own: that of the constraint begins with the host.
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="sources", db_index=False)
    database = models.CharField(max_length=200, default="", help_text="Empty: the host itself.")

    class Meta:
        constraints = [models.UniqueConstraint(name="source_once", fields=["host", "database"])]

    def __str__(self) -> str:
        return f"{self.host_id} {self.database}".rstrip()


class Reading(models.Model):
    """What one report measured of one source at one moment.

    The table is partitioned by the day (UTC) of `reported`; `automation/services/days.py` makes and drops the
    partitions. There are no constraints: `report` tells apart the reports of one microsecond, and rows that
    are alike are two measurements. In this order the columns leave no gap.
    """

    pk = models.CompositePrimaryKey("source", "reported", "report", "age")
    source = models.ForeignKey(
        Source, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="readings"
    )
    reported = models.DateTimeField()
    report = models.SmallIntegerField()
    age = models.SmallIntegerField(
        help_text="Seconds from the measurement to `reported`, fractions of both cut."
    )
    # By the number of the metric (automation/metric_numbers.py), in its base unit.
    numbers = ArrayField(models.FloatField(null=True))

    class Meta:
        # The readings of a source in a range of time, newest first.
        indexes = [models.Index(fields=["source", "reported"], name="reading_newest")]

    def __str__(self) -> str:
        return f"{self.source_id} {time_words(self.reported)}"


class Watcher(models.Model):
    """An agent that shares hosts with others, as it asked last; two of one hostname differ by their instance.

    Its leases end together, `until`: an ask that changes nothing else writes this row alone.
    """

    id = PrimaryIdField()
    # No index of its own: one that begins with the project stands below.
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="watchers", verbose_name="project", db_index=False
    )
    # Without a constraint: checking it would lock the agent, which a report may hold that waits for an ask.
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="watchers", db_constraint=False)
    instance = models.CharField(max_length=64)
    interval = models.DurationField()
    asked = models.DateTimeField()
    until = models.DateTimeField()
    metrics = models.JSONField(default=dict, help_text="What it says of the metrics of its hosts.")
    metrics_digest = models.CharField(max_length=64, default="")

    class Meta:
        constraints = [
            # Also finds the watchers of a project. Nothing that an ask changes stands in it (HOT).
            models.UniqueConstraint(name="watcher_once", fields=["group", "agent", "instance"]),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.instance}"


class HostLease(models.Model):
    """Which watcher has a host (`automation.rules.leases`). A host is an address: it need not be known yet.

    `token` names the lease, which began `since`, in reports; `earlier` are those before it, each with its
    end.
    """

    id = PrimaryIdField()
    # No index of its own: one that begins with the project stands below.
    group = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="host_leases", db_index=False)
    hostname = models.CharField(max_length=253, help_text="In lower case.")
    port = models.PositiveIntegerField()
    # Ids of watchers, without constraints: one that is gone holds nothing.
    held_by = OptionalIdField()
    wanted_by = OptionalIdField()
    free_from = models.DateTimeField(null=True)
    together = models.CharField(max_length=200, default="", help_text="What its replica set has in common.")
    token = models.CharField(max_length=32, default="")
    since = models.DateTimeField()
    created = models.DateTimeField()
    earlier = models.JSONField(
        default=dict, help_text="Token and end of leases that ended in the last hours."
    )

    class Meta:
        constraints = [
            # Also finds the leases of a project and of the hosts that a report names.
            models.UniqueConstraint(name="host_lease_once", fields=["group", "hostname", "port"]),
        ]

    def __str__(self) -> str:
        return str(Address(self.hostname, self.port))


class Measurement(models.Model):
    """What one report measured on one host, as earlier versions stored it: becomes rows of `Reading`.

    `metrics` is metric → samples as [ISO time, number] in the metric's base unit; `databases` the
    same below each database's name. `automation/old_measurements.py` is what still reads it.
    """

    id = models.BigAutoField(primary_key=True)
    # No index of its own: one that begins with the host stands below.
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="measurements", db_index=False)
    reported = models.DateTimeField()
    metrics = models.JSONField(default=dict)
    databases = models.JSONField(default=dict)

    class Meta:
        indexes = [
            # The measurements of a host in a range of time, newest first.
            models.Index(fields=["host", "-reported"], name="measurement_host_newest"),
            # The oldest, which retention takes away.
            models.Index(fields=["reported"], name="measurement_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.host_id} {time_words(self.reported)}"


class ReportAnswer(models.Model):
    """The answer to a report that was sent with an Idempotency-Key, kept for repeats (decisions 8).

    `id` is a digest of project, API key and Idempotency-Key, `body` one of the report: one index finds the
    answer and keeps it unique. Rows live a day.
    """

    id = models.UUIDField(primary_key=True)
    body = models.CharField(max_length=64, db_collation="C")
    # Text, and not JSONField, which keeps no order.
    answer = models.TextField()
    created = models.DateTimeField()

    class Meta:
        # The oldest, which are forgotten.
        indexes = [models.Index(fields=["created"], name="report_answer_oldest")]

    def __str__(self) -> str:
        return time_words(self.created)


class FleetWatch(models.Model):
    """Since when silence counts, and when it was last looked for: one row for the installation."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    counting_since = models.DateTimeField()
    swept = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="fleet_watch_once")]
        verbose_name_plural = "fleet watch"

    def __str__(self) -> str:
        return f"since {time_words(self.counting_since)}"


class ProcessStatus(models.Model):
    """How far automation has brought a process, as last reported (decisions 8 "agent report", 9)."""

    id = models.BigAutoField(primary_key=True)
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="process_statuses", verbose_name="project"
    )
    name = models.CharField(max_length=200)
    hostname = models.CharField(max_length=253)
    goal_version = models.PositiveIntegerField()
    error = models.TextField(null=True)
    reported = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="process_status_once", fields=["group", "name"])]
        verbose_name = "process"
        verbose_name_plural = "processes"

    def __str__(self) -> str:
        return self.name


class AutomationRevision(models.Model):
    """A published automation configuration (decisions 9); what a project starts from has no row.

    Who published it stands as plain text, without foreign keys: revisions outlive keys and users.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="automation_revisions", verbose_name="project"
    )
    number = models.PositiveIntegerField(help_text="The document's version.")
    document = SealedField()
    masked = SealedField(null=True, help_text="The document as readers see it; None where nothing is masked.")
    masked_by = models.CharField(max_length=16, null=True, help_text="The rule that masked it.")
    processes = models.JSONField(default=list, help_text="Name and hostname of each process.")
    diffs = models.JSONField(default=list, help_text="What it changed in each process, secrets redacted.")
    changes = models.JSONField(default=dict, help_text="How many processes it changed, by status.")
    restored_from = models.PositiveIntegerField(null=True, help_text="The revision it repeats.")
    actor_kind = models.CharField(max_length=6, choices=[(one.value, one.value) for one in ActorKind])
    actor_id = OptionalIdField()
    actor_name = models.CharField(max_length=254, null=True)
    created = models.DateTimeField()

    class Meta:
        constraints = [
            # Of two who publish at once it lets one; it also finds the newest one, and lists them.
            models.UniqueConstraint(name="automation_revision_once", fields=["group", "number"]),
        ]

    def __str__(self) -> str:
        return f"version {self.number}"
