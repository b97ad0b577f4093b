"""Integrations of projects with outside services (contract 2.8, decisions 7)."""

from django.db import models

from accesslist.models import Project
from opsapi.fields import PrimaryIdField, SealedField


class Integration(models.Model):
    """A project's integration with one kind of service; on the wire its type is its name.

    `fields` is what answers show, secrets redacted; `secrets` holds these in full, sealed JSON.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="integrations", verbose_name="project"
    )
    type = models.CharField(max_length=30)
    fields = models.JSONField(default=dict)
    secrets = SealedField(null=True)
    created = models.DateTimeField()
    updated = models.DateTimeField()

    class Meta:
        constraints = [
            # Also the way to a project's integrations, of which there are as many as types at most.
            models.UniqueConstraint(fields=["group", "type"], name="integration_once"),
        ]

    def __str__(self) -> str:
        return f"{self.type} ({self.group_id})"
