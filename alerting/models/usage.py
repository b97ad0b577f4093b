"""The time of workers that projects use."""

from django.db import models

from accesslist.models import Project
from opsapi.fields import OptionalIdField


class ProjectUsage(models.Model):
    """The seconds of workers' time that a project used in a minute and in the minute before.

    Evaluation takes the project first that used least (`rules.shares`). `exceeded` is the last minute in
    which the project exceeded its share, and `config_id` or `window_id` took most of the turn or step
    in which it did.
    """

    group = models.OneToOneField(
        Project, on_delete=models.CASCADE, primary_key=True, related_name="usage", verbose_name="project"
    )
    minute = models.BigIntegerField(help_text="Minutes since 1970.")
    seconds = models.FloatField(help_text="Seconds in this minute.")
    seconds_before = models.FloatField(help_text="Seconds in the minute before.")
    exceeded = models.BigIntegerField(
        null=True, help_text="The last minute in which the project exceeded its share."
    )
    config_id = OptionalIdField(
        help_text="The alert configuration that took most of the turn in which"
        " the project exceeded its share."
    )
    window_id = OptionalIdField(
        help_text="The maintenance window that took most of the step in which the project exceeded its share."
    )

    class Meta:
        indexes = [
            # The projects that have exceeded their share.
            models.Index(
                fields=["exceeded"], name="usage_exceeded", condition=models.Q(exceeded__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.group_id
