"""What was done or dismissed on the way to a watched installation."""

from django.db import models
from django.db.models import Q

from accesslist.models import Project
from alerting.choices import SetupMarkName
from opsapi.fields import PrimaryIdField


class SetupMark(models.Model):
    """Something that was done or dismissed once, in a project or in the whole installation."""

    id = PrimaryIdField()
    name = models.CharField(max_length=32, choices=[(name.value, name.value) for name in SetupMarkName])
    group = models.ForeignKey(
        Project,
        null=True,
        on_delete=models.CASCADE,
        related_name="setup_marks",
        verbose_name="project",
        help_text="Empty for the installation.",
    )
    created = models.DateTimeField()
    username = models.CharField(max_length=254, help_text="The user, or the public key.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="setup_mark_once_per_project", fields=["group", "name"], condition=Q(group__isnull=False)
            ),
            models.UniqueConstraint(name="setup_mark_once", fields=["name"], condition=Q(group__isnull=True)),
        ]

    def __str__(self) -> str:
        return self.name
