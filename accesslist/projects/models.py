"""Organizations and projects."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from opsapi.fields import PrimaryIdField


class Organization(models.Model):
    """A customer or department that owns projects. Names need not be unique."""

    id = PrimaryIdField()
    name = models.CharField(max_length=200)
    created = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class LiveProjectManager(models.Manager["Project"]):
    """Projects that are not deleted. Only the purge sees deleted projects."""

    def get_queryset(self) -> models.QuerySet["Project"]:
        """Excludes projects that the worker is still purging."""
        return super().get_queryset().filter(deleted=None)


class Project(models.Model):
    """A project, which the API calls a group. Hosts, alerts and configurations belong to it.

    A deleted project disappears at once and frees its name and organization. Its row stays until the worker
    has purged its contents.
    """

    id = PrimaryIdField()
    name = models.CharField(max_length=200)
    org = models.ForeignKey(Organization, null=True, on_delete=models.PROTECT, related_name="projects")
    tags = ArrayField(models.CharField(max_length=100), default=list)
    host_count = models.PositiveIntegerField(
        default=0, help_text="Number of hosts. Updated when hosts are added and deleted."
    )
    created = models.DateTimeField()
    deleted = models.DateTimeField(null=True)

    objects = LiveProjectManager()
    with_deleted: ClassVar[models.Manager["Project"]] = models.Manager()

    class Meta:
        base_manager_name = "with_deleted"
        constraints = [
            models.UniqueConstraint(name="project_name_once", fields=["name"], condition=Q(deleted=None)),
            models.CheckConstraint(
                name="project_has_org_until_deleted",
                condition=Q(org__isnull=False, deleted=None) | Q(org=None, deleted__isnull=False),
            ),
        ]
        indexes = [
            # Projects are listed in the order of creation.
            models.Index(fields=["created", "id"], name="project_created"),
            # Projects that the worker must purge.
            models.Index(fields=["deleted"], name="project_deleted", condition=Q(deleted__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name
