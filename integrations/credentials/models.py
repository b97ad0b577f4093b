"""Integrations of projects with external services (contract 2.8, decisions 7)."""

from django.db import models

from accesslist.models import Project
from integrations.types import INTEGRATION_TYPES
from opsapi.fields import EncryptedField, PrimaryIdField


class Integration(models.Model):
    """The integration of a project with a type of service.

    `fields` is what answers show, with redacted secrets; `secrets` has the secrets as encrypted JSON.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="integrations", verbose_name="project"
    )
    type = models.CharField(max_length=30)
    fields = models.JSONField(default=dict)
    secrets = EncryptedField(null=True)
    created = models.DateTimeField()
    updated = models.DateTimeField()
    tested = models.DateTimeField(
        null=True, help_text="When the service last accepted a test message with these credentials."
    )
    test_failed = models.DateTimeField(
        null=True, help_text="When the last test message with these credentials was not accepted."
    )
    test_error = models.TextField(null=True, help_text="Why it was not accepted.")

    class Meta:
        constraints = [
            # Also finds the integrations of a project, at most one per type.
            models.UniqueConstraint(fields=["group", "type"], name="integration_once"),
        ]

    def __str__(self) -> str:
        return INTEGRATION_TYPES[self.type].label
