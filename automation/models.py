"""The fleet: hosts, databases, agents and measurements."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce, Lower

from accesslist.models import Project
from automation.addresses import Address
from automation.choices import AgentType, HostType
from automation.metrics import Engine
from automation.wording import AGENT_WORDS, ENGINE_WORDS, TYPE_WORDS
from opsapi.api.principal import ActorKind
from opsapi.clock import time_words
from opsapi.fields import EncryptedField, IdField, OptionalIdField, PrimaryIdField


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


class Agent(models.Model):
    """A reporting agent with the time of its last report, its heartbeat."""

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="agents", verbose_name="project"
    )
    agent_type = models.CharField(
        max_length=12, choices=[(agent_type.value, AGENT_WORDS[agent_type]) for agent_type in AgentType]
    )
    hostname = models.CharField(max_length=253)
    version = models.CharField(max_length=50)
    version_behind = models.BooleanField(
        default=False, help_text="Another agent of the same type in the project runs a newer version."
    )
    created = models.DateTimeField()
    last_report = models.DateTimeField()
    observed = models.DateTimeField(null=True, help_text="The newest observation in its reports.")
    waiting_observed = models.DateTimeField(
        null=True, help_text="The newest observation in its reports that said how many other reports wait."
    )
    waiting_since = models.DateTimeField(
        null=True,
        help_text="When a report first said that other reports wait on the agent's disk. Empty if none wait.",
    )
    down = models.BooleanField(default=False, help_text="The agent has a heartbeat timeout.")
    returned = models.DateTimeField(
        null=True, help_text="When the agent last reported again after a heartbeat timeout."
    )
    update_problem = models.TextField(
        null=True,
        help_text="Why the agent did not update itself, although the settings of the project say so.",
    )
    demonstration = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The agent belongs to the demonstration, so it has no heartbeat timeout. "
        "A real report removes the mark.",
    )

    class Meta:
        # The heartbeat is not indexed, as for hosts.
        constraints = [
            models.UniqueConstraint("group", "agent_type", Lower("hostname"), name="agent_once"),
        ]

    def __str__(self) -> str:
        return f"{AGENT_WORDS[AgentType(self.agent_type)]} agent {self.hostname}"


class Source(models.Model):
    """The source of readings, with a short number: a host or one of its databases.

    Added while the host is locked. The source of a database stays while it has readings, even if the host no
    longer lists the database.
    """

    # Four bytes, because each row of readings has it.
    id = models.AutoField(primary_key=True)
    # Not indexed: the index of the constraint starts with the host.
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="sources", db_index=False)
    database = models.CharField(max_length=200, default="", help_text="Empty for the host itself.")

    class Meta:
        constraints = [models.UniqueConstraint(name="source_once", fields=["host", "database"])]

    def __str__(self) -> str:
        return f"{self.host_id} {self.database}".rstrip()


class Reading(models.Model):
    """The measurements of a source at a moment, from a single report.

    The table is partitioned by the UTC day of `reported`; `automation/services/days.py` creates and drops the
    partitions. There are no constraints: `report` distinguishes reports of the same microsecond, and equal
    rows are two measurements. This order of columns leaves no gaps.
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
    # By the number of the metric (automation/metrics.py), in its base unit.
    numbers = ArrayField(models.FloatField(null=True))

    class Meta:
        # The readings of a source in a time range, newest first.
        indexes = [models.Index(fields=["source", "reported"], name="reading_newest")]

    def __str__(self) -> str:
        return f"{self.source_id} {time_words(self.reported)}"


class Watcher(models.Model):
    """An agent that shares hosts, from its last request. Agents with the same hostname differ by instance.

    Its leases end together, at `until`: a request that changes nothing else writes only this row.
    """

    id = PrimaryIdField()
    # Not indexed: an index below starts with the project.
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="watchers", verbose_name="project", db_index=False
    )
    # Without a constraint: checking it would lock the agent, which a report may hold while it waits for a
    # request.
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="watchers", db_constraint=False)
    instance = models.CharField(max_length=64)
    interval = models.DurationField()
    asked = models.DateTimeField()
    until = models.DateTimeField()
    metrics = models.JSONField(default=dict, help_text="Metric coverage of its hosts.")
    metrics_digest = models.CharField(max_length=64, default="")

    class Meta:
        constraints = [
            # Also finds the watchers of a project. It has no column that a request changes (HOT).
            models.UniqueConstraint(name="watcher_once", fields=["group", "agent", "instance"]),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.instance}"


class HostLease(models.Model):
    """The lease of a host (`automation.rules.leases`).

    A host is an address and need not be known yet. `token` identifies the lease, which started at `since`, in
    reports; `earlier` has recent leases with their ends.
    """

    id = PrimaryIdField()
    # Not indexed: an index below starts with the project.
    group = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="host_leases", db_index=False)
    hostname = models.CharField(max_length=253, help_text="In lower case.")
    port = models.PositiveIntegerField()
    # IDs of watchers, without constraints: a deleted watcher holds nothing.
    held_by = OptionalIdField()
    wanted_by = OptionalIdField()
    free_from = models.DateTimeField(null=True)
    together = models.CharField(
        max_length=200, default="", help_text="Identifies the replica set of the host."
    )
    token = models.CharField(max_length=32, default="")
    since = models.DateTimeField()
    created = models.DateTimeField()
    earlier = models.JSONField(default=dict, help_text="Token and end of recent leases.")

    class Meta:
        constraints = [
            # Also finds the leases of a project and of the hosts in a report.
            models.UniqueConstraint(name="host_lease_once", fields=["group", "hostname", "port"]),
        ]

    def __str__(self) -> str:
        return str(Address(self.hostname, self.port))


class Measurement(models.Model):
    """The measurements of a host from a report, as earlier versions stored them.

    They become rows of `Reading`. `metrics` is metric → samples as [ISO time, number] in the base unit of
    the metric; `databases` has the same for each database name. Only `automation/old_measurements.py` still
    reads it.
    """

    id = models.BigAutoField(primary_key=True)
    # Not indexed: an index below starts with the host.
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="measurements", db_index=False)
    reported = models.DateTimeField()
    metrics = models.JSONField(default=dict)
    databases = models.JSONField(default=dict)

    class Meta:
        indexes = [
            # The measurements of a host in a time range, newest first.
            models.Index(fields=["host", "-reported"], name="measurement_host_newest"),
            # The oldest rows, for retention.
            models.Index(fields=["reported"], name="measurement_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.host_id} {time_words(self.reported)}"


class ReportAnswer(models.Model):
    """The answer to a report with an Idempotency-Key, stored for repeats.

    `id` is a digest of project, API key and Idempotency-Key, `body` is a digest of the report: a single index
    finds the answer and keeps it unique. Rows live for a day.
    """

    id = models.UUIDField(primary_key=True)
    body = models.CharField(max_length=64, db_collation="C")
    # Text rather than JSONField, which does not keep the order of keys.
    answer = models.TextField()
    created = models.DateTimeField()

    class Meta:
        # The oldest rows, for deletion.
        indexes = [models.Index(fields=["created"], name="report_answer_oldest")]

    def __str__(self) -> str:
        return time_words(self.created)


class FleetWatch(models.Model):
    """When the clocks of heartbeat timeouts started, and the last search: one row per installation.

    A trigger refuses a start more than a minute ahead of the database (migration `clocks_not_ahead`).
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    counting_since = models.DateTimeField()
    swept = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="fleet_watch_once")]
        verbose_name_plural = "fleet watch"

    def __str__(self) -> str:
        return f"since {time_words(self.counting_since)}"


class ProcessStatus(models.Model):
    """The automation state of a process in its newest observation, at `reported`."""

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


class ReachedLimit(models.Model):
    """A limit of a project that refused a report: since when, and the last refusal.

    `words` name the limited rows as in the refusal, `most` is the limit at the last refusal.
    """

    id = models.BigAutoField(primary_key=True)
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="reached_limits", verbose_name="project"
    )
    words = models.CharField(max_length=100)
    most = models.BigIntegerField()
    since = models.DateTimeField()
    refused = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="reached_limit_once", fields=["group", "words"])]

    def __str__(self) -> str:
        return f"{self.most} {self.words}"


class StoredDay(models.Model):
    """About how many bytes the reports of a project stored on a UTC day (`automation.services.growth`)."""

    id = models.BigAutoField(primary_key=True)
    # Not indexed: the index of the constraint starts with the project.
    group = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="stored_days",
        verbose_name="project",
        db_index=False,
    )
    day = models.DateField()
    octets = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(name="stored_day_once", fields=["group", "day"])]

    def __str__(self) -> str:
        return f"{self.octets} bytes on {self.day}"


class AutomationRevision(models.Model):
    """A published automation configuration; the initial document of a project has no row.

    The author is plain text without foreign keys: revisions outlive keys and users.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="automation_revisions", verbose_name="project"
    )
    number = models.PositiveIntegerField(help_text="Version of the document.")
    document = EncryptedField()
    masked = EncryptedField(
        null=True, help_text="The document with secrets masked; null if the document has no secrets."
    )
    masked_by = models.CharField(max_length=16, null=True, help_text="Version of the masking rules.")
    processes = models.JSONField(default=list, help_text="Name and hostname of each process.")
    diffs = models.JSONField(default=list, help_text="Changes per process, with secrets redacted.")
    changes = models.JSONField(default=dict, help_text="Number of changed processes, by status.")
    restored_from = models.PositiveIntegerField(null=True, help_text="The revision that was restored.")
    actor_kind = models.CharField(max_length=6, choices=[(kind.value, kind.value) for kind in ActorKind])
    actor_id = OptionalIdField()
    actor_name = models.CharField(max_length=254, null=True)
    created = models.DateTimeField()

    class Meta:
        constraints = [
            # Lets only one of two parallel publications pass; also finds the newest revision and lists
            # revisions.
            models.UniqueConstraint(name="automation_revision_once", fields=["group", "number"]),
        ]

    def __str__(self) -> str:
        return f"version {self.number}"


class AgentSettings(models.Model):
    """What the agents of a project watch, unless their own files say otherwise.

    A project has no row before the first write. `shown` is the document with secrets redacted. `version` is
    another ID after each write.
    """

    id = PrimaryIdField()
    group = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="agent_settings", verbose_name="project"
    )
    version = IdField()
    shown = models.JSONField(help_text="The settings, with secrets redacted.")
    secrets = EncryptedField(help_text="The settings as JSON, with secrets.")

    class Meta:
        verbose_name = "settings of agents"
        verbose_name_plural = "settings of agents"

    def __str__(self) -> str:
        return self.version
