"""Incidents: the alerts of an outage, whose messages are sent together."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from accesslist.models import Project
from alerting.models.alerts import Alert
from opsapi.fields import IdField, PrimaryIdField


class Incident(models.Model):
    """An outage: related alerts of a configuration in a project, whose messages are sent together.

    It ends with its last open alert. Its messages are notifications of `lead`, its first alert. Alerts and
    notifications refer to it by ID. `units` are the keys of what its alerts concern (`rules.topology`).

    The incident of an alert whose configuration groups no alerts has the ID of the alert: receivers know it.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="incidents", verbose_name="project"
    )
    config_id = IdField()
    lead = models.ForeignKey(
        Alert, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
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


GROUPED = ~Q(id=F("lead_id"))
"""The incidents that group alerts."""
