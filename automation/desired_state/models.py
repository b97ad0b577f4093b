"""Revisions of automation configurations, and the state of processes."""

from django.db import models

from accesslist.models import Project
from automation.sections import LONGEST_PROCESS_NAME
from opsapi.api.principal import ActorKind
from opsapi.fields import EncryptedField, OptionalIdField, PrimaryIdField

LONGEST_AGENT_VERSION = 50
"""A longer name in a document is no version of an agent. It is cut."""


class ProcessStatus(models.Model):
    """The automation state of a process in its newest observation, at `reported`."""

    id = models.BigAutoField(primary_key=True)
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="process_statuses", verbose_name="project"
    )
    name = models.CharField(max_length=LONGEST_PROCESS_NAME)
    hostname = models.CharField(max_length=253)
    goal_version = models.PositiveIntegerField()
    error = models.TextField(null=True)
    plan = models.JSONField(null=True, help_text="Its moves and why they wait, as its agent reports them.")
    reported = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="process_status_once", fields=["group", "name"])]
        verbose_name = "process"
        verbose_name_plural = "processes"

    def __str__(self) -> str:
        return self.name


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
    agent_version = models.CharField(
        max_length=LONGEST_AGENT_VERSION,
        default="",
        db_default="",
        help_text="The version of the platform's agent that the document asks for.",
    )
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
