"""Incidents: alerts whose messages are grouped."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accesslist.models import Project
from opsapi.fields import IdField, PrimaryIdField


class Incident(models.Model):
    """An outage: related alerts of a configuration in a project, whose messages are sent together.

    It ends with its last open alert. Its messages are notifications of `lead_id`, its first alert. Alerts and
    notifications refer to it by ID. `units` are the keys of what its alerts concern (`rules.topology`).
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="incidents", verbose_name="project"
    )
    config_id = IdField()
    lead_id = IdField()
    units = ArrayField(models.TextField(db_collation="C"), default=list)
    created = models.DateTimeField()
    grown = models.DateTimeField(help_text="When an alert last joined.")
    ended = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # The incidents that an alert of a configuration can join, the oldest first.
            models.Index(
                fields=["config_id", "group", "created"], name="incident_open", condition=Q(ended=None)
            ),
            # Ended incidents, for retention.
            models.Index(fields=["ended"], name="incident_ended", condition=Q(ended__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.id
