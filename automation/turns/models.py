"""Paused plans of projects."""

from django.db import models

from accesslist.models import Project
from opsapi.api.principal import ActorKind
from opsapi.clock import time_words
from opsapi.fields import OptionalIdField, PrimaryIdField


class PausedPlan(models.Model):
    """The pause of a project's plan: a project whose plan is not paused has no row.

    Who paused it is plain text without foreign keys: a pause outlives keys and users.
    """

    id = PrimaryIdField()
    group = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="paused_plan", verbose_name="project"
    )
    since = models.DateTimeField()
    actor_kind = models.CharField(max_length=6, choices=[(kind.value, kind.value) for kind in ActorKind])
    actor_id = OptionalIdField()
    actor_name = models.CharField(max_length=254, null=True)

    def __str__(self) -> str:
        return f"since {time_words(self.since)}"
