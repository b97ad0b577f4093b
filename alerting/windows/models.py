"""Maintenance windows."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.text import Truncator

from accesslist.models import Project
from alerting.windows.rules import MUTING_FIELDS, WindowRule, window_rule
from events.types import ALERT_CATEGORIES
from events.wording import in_words
from opsapi.fields import PrimaryIdField

LONGEST_TITLE = 120
"""Maximum characters of a window's title in links and headings."""


class MaintenanceWindow(models.Model):
    """A period in which notifications for some categories of a project's alerts are muted.

    The time alone decides whether it is pending, active or over; the state is not stored.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="maintenance_windows", verbose_name="project"
    )
    alert_types = ArrayField(
        models.CharField(
            max_length=30, choices=[(category.value, in_words(category)) for category in ALERT_CATEGORIES]
        )
    )
    start = models.DateTimeField(
        help_text="Notifications are muted from this time, the start of the first occurrence if it repeats."
    )
    end = models.DateTimeField(
        help_text="Notifications are sent again from this time, the end of the first occurrence if it "
        "repeats."
    )
    description = models.CharField(max_length=1000, null=True)
    recurrence = models.JSONField(null=True, help_text="As in the API; null if the window occurs once.")
    last_end = models.DateTimeField(
        null=True, help_text="End of the last occurrence; null if the window occurs once or never ends."
    )
    matchers = models.JSONField(null=True, help_text="As in the API; null if the window mutes all targets.")
    created = models.DateTimeField()
    updated = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(name="window_ends_later", condition=Q(end__gt=F("start"))),
        ]
        indexes = [
            # Windows of a project that have not ended, for muting and for the list.
            models.Index(fields=["group", "end"], name="window_group_end"),
            # Windows of all projects that have not ended, for the start page of the console.
            models.Index(fields=["end"], name="window_end"),
            # Windows of a project that recur: they can be in effect after their first end.
            models.Index(fields=["group"], name="window_recurring", condition=Q(recurrence__isnull=False)),
        ]

    def __str__(self) -> str:
        return Truncator(self.rule.title).chars(LONGEST_TITLE)

    @property
    def rule(self) -> WindowRule:
        """What the window mutes and when."""
        return window_rule(id=self.id, description=self.description, **self.muting_fields)

    @property
    def muting_fields(self) -> dict[str, Any]:
        """The columns that decide what the window mutes and when."""
        return {name: getattr(self, name) for name in MUTING_FIELDS}
