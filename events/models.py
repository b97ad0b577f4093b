"""The models of all slices, as Django and other apps import them, and the chosen retention."""

from django.db import models

from events.log.models import WHO, Event, EventCount
from events.outbox.models import Signal

__all__ = ["WHO", "Event", "EventCount", "Retention", "Signal"]


class Retention(models.Model):
    """The retention of events and ended alerts in days, as chosen in the console. Without a choice, no row
    exists.

    Settings in the environment take precedence (`events.retention`).
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    event_days = models.PositiveSmallIntegerField(help_text="0: forever.")
    alert_days = models.PositiveSmallIntegerField(help_text="0: forever.")
    updated = models.DateTimeField()
    username = models.CharField(max_length=254, help_text="The user who chose it.")

    class Meta:
        constraints = [models.CheckConstraint(name="retention_once", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"{self.event_days}, {self.alert_days}"
