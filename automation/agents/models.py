"""Agents, and the worker's watch over them."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accesslist.models import Project
from automation.choices import AgentType
from automation.wording import AGENT_WORDS
from opsapi.clock import time_words
from opsapi.fields import PrimaryIdField


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
