"""The fleet: hosts, their databases, the agents that report them, and what was measured."""

from django.db import models
from django.db.models.functions import Lower

from accesslist.models import Project
from automation.choices import AgentType, HostType
from opsapi.fields import PrimaryIdField


class Host(models.Model):
    """A database process at hostname:port, with its state as last reported (decisions 8 "hosts")."""

    id = PrimaryIdField()
    group = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="hosts")
    hostname = models.CharField(max_length=253)
    port = models.PositiveIntegerField()
    type_name = models.CharField(
        max_length=20, choices=[(one.value, one.value) for one in HostType], default=HostType.NO_DATA.value
    )
    down = models.BooleanField(default=False)
    version = models.CharField(max_length=50, null=True)
    replica_set_name = models.CharField(max_length=200, null=True)
    cluster_name = models.CharField(max_length=200, null=True)
    shard_name = models.CharField(max_length=200, null=True)
    uptime_seconds = models.BigIntegerField(null=True)
    created = models.DateTimeField()
    last_report = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # Also finds the hosts a report names.
            models.UniqueConstraint("group", Lower("hostname"), "port", name="host_once"),
        ]

    def __str__(self) -> str:
        return f"{self.hostname}:{self.port}"


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
    group = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="agents")
    agent_type = models.CharField(max_length=12, choices=[(one.value, one.value) for one in AgentType])
    hostname = models.CharField(max_length=253)
    version = models.CharField(max_length=50)
    created = models.DateTimeField()
    last_report = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint("group", "agent_type", Lower("hostname"), name="agent_once"),
        ]

    def __str__(self) -> str:
        return f"{self.agent_type} {self.hostname}"


class Measurement(models.Model):
    """What one report measured on one host: one row, never one per metric.

    `metrics` is metric → samples as [ISO time, number] in the metric's base unit; `databases` the
    same below each database's name.
    """

    id = models.BigAutoField(primary_key=True)
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="measurements")
    reported = models.DateTimeField()
    metrics = models.JSONField(default=dict)
    databases = models.JSONField(default=dict)

    class Meta:
        # The measurements of a host in a range of time, newest first.
        indexes = [models.Index(fields=["host", "-reported"], name="measurement_host_newest")]

    def __str__(self) -> str:
        return f"{self.host_id} {self.reported:%Y-%m-%dT%H:%M:%SZ}"
