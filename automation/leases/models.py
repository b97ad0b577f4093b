"""Agents that share hosts, and their leases."""

from django.db import models

from accesslist.models import Project
from automation.addresses import Address
from automation.agents.models import Agent
from opsapi.fields import OptionalIdField, PrimaryIdField


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
    """The lease of a host (`automation.leases.rules`).

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
