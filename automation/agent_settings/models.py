"""The settings that a project keeps for its agents."""

from django.db import models

from accesslist.models import Project
from opsapi.fields import EncryptedField, IdField, PrimaryIdField


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
